"""What a spin comes to at rest, in the words of the picture: multipliers, prizes, the cap, triggers, the award."""

from collections.abc import Sequence
from typing import NamedTuple

from audit_reports.round_report import (
    Amount,
    CapReport,
    ChoiceReport,
    MultiplierReport,
    PowerReport,
    PrizeReport,
    SpinEndReport,
    TriggerReport,
)

__all__ = [
    "ALARM",
    "CAP",
    "FEATURE",
    "FELL",
    "MONEY",
    "QUIET",
    "ROLES",
    "STRONG",
    "Line",
    "Span",
    "differing",
    "fact_spans",
    "name_words",
    "power_text",
]

QUIET, STRONG, ALARM, MONEY, FEATURE, FELL, CAP = "dim", "bold", "bold red", "bold green", "bold magenta", "bold green", "bold yellow"
ROLES = {
    "scatter": "bold magenta",
    "heart": "bold bright_red",
    "moon": "bold bright_yellow",
    "wild": "bold bright_cyan",
    "blank": QUIET,
    "unknown": ALARM,
}


class Span(NamedTuple):
    """A piece of text in one style, as rich writes styles."""

    text: str
    style: str = ""
    is_whole: bool = False  # not broken at its blanks


Line = list[Span]


def differing(computed: Amount | None, recorded: Amount, why: str) -> Line:
    """Return a mark where a recorded amount is not what it is made of."""
    if computed is None or computed.minor == recorded.minor:
        return []
    return [Span(f"  !! {why} {computed.text}", ALARM)]


def name_words(name: str) -> str:
    """Return a name of the record as words."""
    return name.replace("_", " ")


def power_text(power: PowerReport) -> str:
    """Return what a princess does: how many wilds, of how many drawn where there was no room for all."""
    count, name = len(power.turned_cells), "Power Wild" if power.power == "power_wilds" else "wild"
    short = f" of {power.size}" if power.size != count else ""
    place = " on a diagonal" if power.power == "diagonal" and count > 1 else ""
    return f"{power.princess}: {count}{short} {name}{'' if count == 1 else 's'}{place}"


def _sum_text(numbers: Sequence[int]) -> str:
    text = " + ".join(str(number) for number in numbers)
    return f"{text} = {sum(numbers)}" if len(numbers) > 1 else text


def fact_spans(fact: MultiplierReport | PrizeReport | CapReport | TriggerReport | SpinEndReport | ChoiceReport) -> tuple[str, Line]:
    """Return the title of an event and its text."""
    match fact:
        case MultiplierReport():
            return "hearts" if "hearts" in fact.cause else "multiplier", _change_spans(fact)
        case PrizeReport():
            of = f" for {fact.counted} {fact.counted_name}s" if fact.counted is not None else ""
            factor = f" x {fact.multiplier}" if fact.multiplier != 1 else ""
            spans = [Span(f"{fact.pay}{of}{factor} = "), Span(fact.prize.text, STRONG)]
            return name_words(fact.which), spans + differing(fact.computed, fact.prize, "that is")
        case CapReport():
            asked = f"{fact.total_before.text} + {fact.uncapped.text} reaches {fact.cap.text}: "
            return "win cap", [Span(asked), Span(f"awarded {fact.awarded.text}, cut {fact.cut.text}", CAP)]
        case TriggerReport():
            text = f"{fact.counted} {fact.counted_name}s award {fact.spins_awarded}, {fact.spins_left} left"
            if fact.counted_name == "empty cell":
                text = f"{fact.counted} {fact.counted_name}s, the grid is clear: as many as go with the choice"
            return name_words(fact.feature), [Span(text, FEATURE)]
        case ChoiceReport():
            if not fact.made_by:
                *first, last = fact.names or ("nothing",)
                return "choice", [Span(f"{', '.join(first)}{' or ' if first else ''}{last} offered", FEATURE)]
            by = "the player" if fact.made_by == "player" else "the system, as nobody chose"
            return "choice", [Span(fact.names[0], FEATURE), Span(f" made by {by}")]
        case SpinEndReport():
            return "award", _award_spans(fact)


def _change_spans(fact: MultiplierReport) -> Line:
    """Return a change of the multiplier in words; in free spins hearts are added to the total, a tumble climbs a ladder."""
    if fact.cause == "tumble":
        change = f"{fact.from_multiplier} -> {fact.to_multiplier}"
        return [Span("for the next wins "), Span(change, ROLES["heart"])]
    if fact.cause == "highlights":
        return [Span("for the next wins "), Span(f"{fact.from_multiplier} -> {fact.to_multiplier}", ROLES["heart"]), Span("  (highlights)")]
    is_total = fact.cause == "total_hearts"
    change = f"{fact.from_multiplier} -> {fact.to_multiplier}"
    spans = [Span("total multiplier " if is_total else "multiplier "), Span(change, ROLES["heart"])]
    hearts = sum(fact.hearts)
    if is_total:
        spans.append(Span(f"  ({' + '.join(map(str, (fact.from_multiplier, *fact.hearts)))} = {fact.from_multiplier + hearts})"))
    else:
        spans.append(Span(f"  ({f'hearts {_sum_text(fact.hearts)}' if hearts else 'no hearts'})"))
    wanted = fact.from_multiplier + hearts if is_total else hearts
    return spans if wanted == fact.to_multiplier else [*spans, Span(f"  !! the hearts on the board make it {wanted}", ALARM)]


def _award_spans(fact: SpinEndReport) -> Line:
    """Return what a spin awards as a sum: wins times multiplier, prizes, what the cap cuts."""
    terms = []
    if fact.wins.minor or fact.spin_multiplier != 1:
        factor = _sum_text(fact.hearts) or str(fact.spin_multiplier)
        factor = f"({factor})" if " " in factor else factor
        terms.append(f"{fact.wins_name} {fact.wins.text}" + (f" x {factor}" if fact.spin_multiplier != 1 or fact.hearts else ""))
    if fact.prizes.minor:
        terms.append(f"prizes {fact.prizes.text}")
    text = " + ".join(terms) or "no win"
    text += f" - cut {fact.cut.text}" if fact.cut.minor else ""
    is_nothing = not terms and not fact.award.minor
    spans = [Span("no win", QUIET)] if is_nothing else [Span(f"{text} = "), Span(fact.award.text, MONEY)]
    spans += differing(fact.computed, fact.award, "the terms make it")
    spans += [Span("; ", QUIET), Span(f"round so far {fact.total.text}", QUIET if is_nothing else "", is_whole=True)]
    return spans + ([Span(f", meter {fact.meter}")] if fact.meter else [])
