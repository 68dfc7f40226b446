"""Alterations of a right round, one at a time: what is done, how such a round is played, and the codes it is found as."""

import copy
import itertools
import random
from collections.abc import Callable
from typing import Any

from replay.verdict import Finding
from tests.round_builder import INSTALLED

__all__ = [
    "ALTERED",
    "CARRIED",
    "INTEGRITY",
    "Facts",
    "alter_one_field",
    "alter_order",
    "apply_total_without_heart",
    "assert_one",
    "award_spins",
    "carry_on",
    "count_hearts_of_losing_spin",
    "drop_before",
    "drop_events",
    "has_drop_after",
    "is_certain",
    "leave_heart_out",
    "number_paths",
    "of_kind",
    "set_field",
    "spin_ranges",
]

Facts = list[dict[str, Any]]


def assert_one(findings: list[Finding], codes: set[str], severities: set[str]) -> None:
    """Assert that there is one finding, of these codes and severities, which says what it wants and got."""
    assert len(findings) == 1, [f"{found.code}@{found.event_index} {found.message}" for found in findings]
    found = findings[0]
    assert (found.code in codes, found.severity in severities) == (True, True), found
    assert found.event_index >= 0
    assert found.want != found.got
    assert found.want in found.message
    assert found.got in found.message


def of_kind(facts: Facts, kind: str) -> list[int]:
    return [index for index, fact in enumerate(facts) if fact["kind"] == kind]


def spin_ranges(facts: Facts) -> list[tuple[int, int]]:
    starts = of_kind(facts, "spin_started")
    return list(itertools.pairwise([*starts, len(facts) - 1]))


def drop_before(facts: Facts, index: int) -> dict[str, Any]:
    return next(facts[at] for at in range(index, -1, -1) if facts[at]["kind"] == "drop")


def set_field(kind: str, field: str, change: Callable[[int], int], at: Callable[[Facts, int], bool] = lambda facts, index: True) -> Any:
    """Return an alteration of one number in a random event of a kind."""

    def alter(facts: Facts, rng: random.Random) -> bool:
        indexes = [index for index in of_kind(facts, kind) if at(facts, index)]
        if not indexes:
            return False
        index = rng.choice(indexes)
        facts[index][field] = change(facts[index][field])
        return True

    return alter


def leave_heart_out(facts: Facts, rng: random.Random) -> bool:
    changes = of_kind(facts, "multiplier_change")
    if not changes:
        return False
    index = rng.choice(changes)
    hearts = [value for value in drop_before(facts, index)["values"] if value]
    facts[index]["to_multiplier"] -= rng.choice(hearts)
    return True


def count_hearts_of_losing_spin(facts: Facts, rng: random.Random) -> bool:
    for first, after in spin_ranges(facts)[1:]:
        spin = facts[first:after]
        hearts = sum(spin[1]["values"])
        if hearts and not any(fact["kind"] == "win" for fact in spin):
            total = spin[0]["total_multiplier"]
            event = {
                "kind": "multiplier_change",
                "v": 1,
                "from_multiplier": total,
                "to_multiplier": total + hearts,
                "cause": "total_hearts",
            }
            facts.insert(first + 2, event)
            return True
    return False


def apply_total_without_heart(facts: Facts, rng: random.Random) -> bool:
    for first, after in spin_ranges(facts)[1:]:
        spin = facts[first:after]
        kinds = [fact["kind"] for fact in spin]
        if "win" in kinds and "multiplier_change" not in kinds and spin[0]["total_multiplier"] > 1:
            spin[kinds.index("spin_ended")]["spin_multiplier"] = spin[0]["total_multiplier"]
            return True
    return False


def swap_cells(facts: Facts, rng: random.Random) -> bool:
    drops = [index for index in of_kind(facts, "drop") if facts[index]["drop_index"]]
    if not drops:
        return False
    drop = facts[rng.choice(drops)]
    a, b = rng.sample(range(30), 2)
    if drop["symbols"][a] == drop["symbols"][b]:
        return False
    for name in ("symbols", "values"):
        drop[name][a], drop[name][b] = drop[name][b], drop[name][a]
    return True


def let_symbol_hang(facts: Facts, rng: random.Random) -> bool:
    """A symbol stays where it was; what is between it and where it should lie moves up around it."""
    tumbles = of_kind(facts, "tumble")
    rng.shuffle(tumbles)
    for index in tumbles:
        removed, before, drop = facts[index]["removed_cells"], drop_before(facts, index), facts[index + 1]
        for cell in range(30):
            gaps = sum(1 for other in removed if other // 5 == cell // 5 and other > cell)
            if cell in removed or not gaps:
                continue
            for name in ("symbols", "values"):
                drop[name].insert(cell, drop[name].pop(cell + gaps))
            if drop["symbols"] != board_that_fell(facts, index, before):
                return True
    return False


def board_that_fell(facts: Facts, index: int, before: dict[str, Any]) -> list[int]:
    board: list[int] = []
    for reel, new in enumerate(facts[index]["new_symbols"]):
        kept = [before["symbols"][cell] for cell in range(5 * reel, 5 * reel + 5) if cell not in facts[index]["removed_cells"]]
        board += [*new, *kept]
    return board


def drop_events(kind: str, count: int = 1, at: Callable[[Facts, int], bool] = lambda facts, index: True) -> Any:
    """Return an alteration that leaves `count` events out, the first one of a kind."""

    def alter(facts: Facts, rng: random.Random) -> bool:
        indexes = [index for index in of_kind(facts, kind) if at(facts, index)]
        if not indexes:
            return False
        index = rng.choice(indexes)
        del facts[index : index + count]
        return True

    return alter


def award_spins(wanted: int, given: int) -> Any:
    def alter(facts: Facts, rng: random.Random) -> bool:
        found = [facts[index] for index in of_kind(facts, "feature_trigger") if facts[index]["spins_awarded"] == wanted]
        if not found:
            return False
        trigger = rng.choice(found)
        trigger["spins_awarded"] = given
        if rng.random() < 0.5:
            trigger["spins_left"] += given - wanted
        return True

    return alter


def cap_before_multiplier(facts: Facts, rng: random.Random) -> bool:
    for index in of_kind(facts, "cap_hit"):
        ended = next(fact for fact in facts[index:] if fact["kind"] == "spin_ended")
        if ended["spin_multiplier"] > 1 and facts[index - 1]["kind"] != "prize":
            facts[index]["uncapped_minor"] //= ended["spin_multiplier"]
            return True
    return False


def play_on_after_cap(facts: Facts, rng: random.Random) -> bool:
    ends = of_kind(facts, "feature_ended")
    if not of_kind(facts, "cap_hit") or not ends:
        return False
    first, after = next(((a, b) for a, b in spin_ranges(facts)[1:] if not any(f["kind"] == "win" for f in facts[a:b])), (0, 0))
    if not first:
        return False
    spin = [copy.deepcopy(fact) for fact in facts[first:after] if fact["kind"] in ("spin_started", "drop", "spin_ended")]
    if sum(symbol == 9 for symbol in spin[1]["symbols"]) > 2:
        return False
    last = facts[spin_ranges(facts)[-1][0]]
    total = facts[ends[0] - 1]["total_minor"]
    is_heart = any(fact["kind"] == "multiplier_change" for fact in facts[spin_ranges(facts)[-1][0] :])
    multiplier = last["total_multiplier"]
    if is_heart:
        multiplier = next(fact["to_multiplier"] for fact in reversed(facts) if fact["kind"] == "multiplier_change")
    spin[0] |= {"spin_index": last["spin_index"] + 1, "total_multiplier": multiplier, "spins_left": max(last["spins_left"] - 1, 0)}
    spin[2] |= {"award_minor": 0, "total_minor": total}
    facts[ends[0] : ends[0]] = spin
    return True


def pay_base_cost(facts: Facts, rng: random.Random) -> bool:
    facts[0]["cost_minor"] = facts[0]["bet_minor"]
    return bool(facts[0]["mode"] == "ante")


def is_retrigger(facts: Facts, index: int) -> bool:
    return int(facts[index]["spins_awarded"]) == 5


def has_drop_after(facts: Facts, index: int) -> bool:
    return bool(facts[index + 1]["kind"] == "drop")


# Altered afterwards, all else left as it was: name, what is done, how the round is played, the codes it may be found as.
ALTERED: dict[str, tuple[Any, str, set[str]]] = {
    "a win's amount": (set_field("win", "win_minor", lambda n: n + 20), "buy", {"win_amount"}),
    "a win's amount less": (set_field("win", "win_minor", lambda n: n // 2), "buy", {"win_amount"}),
    "a pay": (set_field("win", "pay_x100", lambda n: n + 5), "buy", {"win_pay"}),
    "a scatter pay": (set_field("prize", "pay_x100", lambda n: n + 100), "buy", {"prize_pay"}),
    "a symbol count": (set_field("win", "count", lambda n: n + 1), "buy", {"win_count"}),
    "a multiplier": (set_field("multiplier_change", "to_multiplier", lambda n: n + 1), "buy", {"multiplier_change"}),
    "a multiplier before": (set_field("multiplier_change", "from_multiplier", lambda n: n + 1), "buy", {"multiplier_from"}),
    "a spin's multiplier": (set_field("spin_ended", "spin_multiplier", lambda n: n + 1), "buy", {"spin_multiplier"}),
    "a total multiplier": (set_field("spin_started", "total_multiplier", lambda n: n + 3), "buy", {"total_multiplier"}),
    "a heart left out of the sum": (leave_heart_out, "buy", {"multiplier_change"}),
    "a heart left out of the sum, base game": (leave_heart_out, "base", {"multiplier_change"}),
    "hearts counted on a losing free spin": (count_hearts_of_losing_spin, "buy", {"multiplier_invented"}),
    "the total applied to a spin without a new heart": (apply_total_without_heart, "buy", {"spin_multiplier"}),
    "two different cells swapped after a tumble": (swap_cells, "buy", {"board_fall"}),
    "a symbol that did not fall": (let_symbol_hang, "buy", {"board_fall"}),
    "a tumble missing": (drop_events("tumble"), "buy", {"tumble_missing"}),
    "a tumble missing with its drop": (drop_events("tumble", 2, has_drop_after), "buy", {"tumble_missing"}),
    "a drop missing": (drop_events("drop", 1, lambda facts, index: facts[index]["drop_index"] > 0), "buy", {"drop_missing"}),
    "a win missed on the board": (drop_events("win"), "buy", {"win_missing"}),
    "a trigger not awarded": (drop_events("feature_trigger"), "buy", {"trigger_missing"}),
    "a retrigger not awarded": (drop_events("feature_trigger", 1, is_retrigger), "buy", {"trigger_missing"}),
    "a multiplier change missing": (drop_events("multiplier_change"), "buy", {"multiplier_missing"}),
    "a spin's end missing": (drop_events("spin_ended"), "buy", {"spin_ended_missing"}),
    "a spin's start missing": (drop_events("spin_started"), "buy", {"spin_started_missing"}),
    "a scatter pay missing": (drop_events("prize"), "buy", {"prize_missing"}),
    "the end of the free spins missing": (drop_events("feature_ended"), "buy", {"feature_ended_missing"}),
    "16 spins for 15": (award_spins(15, 16), "buy", {"spins_awarded"}),
    "a retrigger of +4": (award_spins(5, 4), "buy", {"spins_awarded"}),
    "a scatter pay multiplied": (set_field("prize", "multiplier", lambda n: n * 3), "buy", {"prize_multiplier"}),
    "a scatter prize multiplied": (set_field("prize", "prize_minor", lambda n: n * 3), "buy", {"prize_amount"}),
    "cap ignored": (drop_events("cap_hit"), "capped", {"cap_missing"}),
    "cap taken before the multiplier": (cap_before_multiplier, "capped", {"cap_hit"}),
    "play after the cap": (play_on_after_cap, "capped", {"after_cap"}),
    "a cut": (set_field("spin_ended", "cut_minor", lambda n: n + 20), "capped", {"cut"}),
    "an award": (set_field("spin_ended", "award_minor", lambda n: n + 20), "buy", {"award"}),
    "a wrong total": (set_field("spin_ended", "total_minor", lambda n: n + 20), "buy", {"total"}),
    "a wrong total of the free spins": (set_field("feature_ended", "total_minor", lambda n: n + 20), "buy", {"feature_total"}),
    "a wrong total of the round": (set_field("round_settled", "total_win_minor", lambda n: n + 20), "buy", {"total_win"}),
    "a wrong base part": (set_field("round_settled", "base_win_minor", lambda n: n + 20), "buy", {"base_win"}),
    "a wrong feature part": (set_field("round_settled", "feature_win_minor", lambda n: n + 20), "buy", {"feature_win"}),
    "a wrong balance": (set_field("round_settled", "balance_after_minor", lambda n: n + 1), "buy", {"balance"}),
    "a wrong balance before": (set_field("round_opened", "balance_before_minor", lambda n: n - 1), "buy", {"balance"}),
    "a bet": (set_field("round_opened", "bet_minor", lambda n: n + 20), "buy", {"cost"}),
    "a bet of no whole coin": (set_field("round_opened", "bet_minor", lambda n: n + 1), "buy", {"bet"}),
    "a cost": (set_field("round_opened", "cost_minor", lambda n: n + 20), "buy", {"cost"}),
    "an ante round at base cost": (pay_base_cost, "ante", {"cost"}),
}  # fmt: skip


def pay_more(facts: Facts, rng: random.Random) -> bool:
    return change_win(facts, rng, lambda win: win["pay_x100"] + 5, lambda win: True)


def count_more(facts: Facts, rng: random.Random) -> bool:
    """Count two cells more than there are, and pay the next band."""
    pays = {symbol: INSTALLED.symbols[symbol].pays_x100 for symbol in range(9)}
    band = {8: 1, 9: 1, 10: 2, 11: 2}
    return change_win(facts, rng, lambda win: pays[win["symbol"]][band[win["count"]]], lambda win: win["count"] in band, more=2)


def change_win(facts: Facts, rng: random.Random, pay: Callable[[Any], int], fits: Callable[[Any], bool], more: int = 0) -> bool:
    wins = [fact for fact in facts if fact["kind"] == "win" and fits(fact)]
    if not wins:
        return False
    win = rng.choice(wins)
    win["pay_x100"] = pay(win)
    win["count"] += more
    win["win_minor"] = win["pay_x100"] * facts[0]["bet_minor"] // 100
    return True


def multiply_scatter_pay(facts: Facts, rng: random.Random) -> bool:
    prizes = [fact for fact in facts if fact["kind"] == "prize"]
    if not prizes:
        return False
    prize = rng.choice(prizes)
    prize["multiplier"] *= 3
    prize["prize_minor"] *= 3
    return True


def miss_one_of_two_wins(facts: Facts, rng: random.Random) -> bool:
    places = [index for index in of_kind(facts, "win") if facts[index + 1]["kind"] == "win" and facts[index - 1]["kind"] == "drop"]
    if not places:
        return False
    del facts[rng.choice(places)]
    return True


def carry_on(facts: Facts) -> Facts:
    """Return a round without a cap added up again from its wins, prizes and multipliers, as a game with one fault would write it."""
    total = base = wins = prizes = gathered = spins = 0
    change: dict[str, Any] | None = None
    for fact in facts:
        match fact["kind"]:
            case "spin_started":
                fact["total_multiplier"], wins, prizes, change = gathered, 0, 0, None
            case "win":
                wins += fact["win_minor"]
            case "prize":
                prizes += fact["prize_minor"]
            case "multiplier_change":
                change = fact
                if fact["cause"] == "total_hearts":
                    gained = fact["to_multiplier"] - fact["from_multiplier"]
                    fact["from_multiplier"], fact["to_multiplier"] = gathered, gathered + gained
                    gathered += gained
            case "spin_ended":
                if change is not None:
                    fact["spin_multiplier"] = change["to_multiplier"] if wins else 1
                fact["award_minor"] = wins * fact["spin_multiplier"] + prizes
                total += fact["award_minor"]
                base = total if spins == 0 else base
                spins += 1
                fact["total_minor"] = total
            case "feature_ended":
                fact["total_minor"] = total - base
            case "round_settled":
                fact |= {"total_win_minor": total, "base_win_minor": base, "feature_win_minor": total - base}
                fact["balance_after_minor"] = facts[0]["balance_before_minor"] - facts[0]["cost_minor"] + total
    return facts


# Altered and then carried on to the settlement: name, what is done, the codes it may be found as.
CARRIED: dict[str, tuple[Any, set[str]]] = {
    "a win's amount": (set_field("win", "win_minor", lambda n: n + 20), {"win_amount"}),
    "a pay": (pay_more, {"win_pay"}),
    "a symbol count": (count_more, {"win_count"}),
    "a multiplier": (set_field("multiplier_change", "to_multiplier", lambda n: n + 1), {"multiplier_change"}),
    "a heart left out of the sum": (leave_heart_out, {"multiplier_change"}),
    "hearts counted on a losing free spin": (count_hearts_of_losing_spin, {"multiplier_invented"}),
    "the total applied to a spin without a new heart": (apply_total_without_heart, {"spin_multiplier"}),
    "a scatter pay multiplied": (multiply_scatter_pay, {"prize_multiplier"}),
    "a win missed on the board": (miss_one_of_two_wins, {"win_missing"}),
}
INTEGRITY = {
    "a symbol count", "a multiplier", "a multiplier before", "a spin's multiplier", "a total multiplier", "a heart left out of the sum",
    "a heart left out of the sum, base game", "hearts counted on a losing free spin", "the total applied to a spin without a new heart",
    "two different cells swapped after a tumble", "a symbol that did not fall", "a tumble missing with its drop", "a tumble missing",
    "a drop missing", "a win missed on the board", "a trigger not awarded", "a retrigger not awarded", "a multiplier change missing",
    "a spin's end missing", "a spin's start missing", "the end of the free spins missing", "16 spins for 15", "a retrigger of +4",
    "a scatter pay multiplied", "play after the cap", "cap ignored", "a scatter pay missing",
}  # fmt: skip


def number_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every number in an event."""
    if isinstance(value, dict):
        return [found for name, part in value.items() if name != "v" for found in number_paths(part, (*path, name))]
    if isinstance(value, list):
        return [found for place, part in enumerate(value) for found in number_paths(part, (*path, place))]
    return [path] if isinstance(value, int) else []


def is_certain(facts: Facts, index: int, path: tuple[Any, ...]) -> bool:
    """Return whether a change there must be found: amounts, applied multipliers, counts, cells of a win."""
    fact, name = facts[index], str(path[0])
    if name == "bonus_minor":
        return False
    if name == "symbols":
        wins = itertools.takewhile(lambda fact: fact["kind"] == "win", facts[index + 1 :])
        return any(path[1] in win["cells"] for win in wins)
    is_count = name in ("count", "spins_awarded", "spins_left", "spins_played")
    return name.endswith(("_minor", "_x100")) or (name.endswith("multiplier") and fact["kind"] != "drop") or is_count


WORDS = {
    "part": ("base", "free"),
    "cause": ("hearts", "total_hearts"),
    "ended": ("played", "auto_completed", "capped", "limit"),
    "mode": ("base", "ante", "buy"),
}


def alter_one_field(facts: Facts, rng: random.Random) -> tuple[int, tuple[Any, ...]]:
    """Change one field of one event, kinds and fields alike in chance, and return the event's index and the path."""
    kind = rng.choice(sorted({fact["kind"] for fact in facts}))
    index = rng.choice(of_kind(facts, kind))
    fact = facts[index]
    paths = number_paths(fact)
    name = rng.choice(sorted({path[0] for path in paths} | (WORDS.keys() & fact.keys())))
    if name in WORDS:
        fact[name] = rng.choice([word for word in WORDS[name] if word != fact[name]])
        return index, (name,)
    paths = [path for path in paths if path[0] == name]
    path = rng.choice([path for path in paths if name == "values" and _value(fact, path)] or paths)
    before = _value(fact, path)
    flavour = rng.choice(("more", "less", "random", "zero", "swap"))
    if flavour == "swap":
        other = rng.choice(paths)
        _put(fact, path, _value(fact, other))
        _put(fact, other, before)
    else:
        scale = 11 if name in ("symbols", "new_symbols") else 2 * before + 12
        after = {"more": before + rng.choice((1, 1, 20, 200)), "less": max(before - 1, 0), "zero": 0, "random": rng.randrange(scale)}
        _put(fact, path, after[flavour])
    return index, path


def _value(fact: Any, path: tuple[Any, ...]) -> int:
    for step in path:
        fact = fact[step]
    return int(fact)


def _put(fact: Any, path: tuple[Any, ...], value: int) -> None:
    for step in path[:-1]:
        fact = fact[step]
    fact[path[-1]] = value


def alter_order(facts: Facts, rng: random.Random) -> int:
    """Leave one event out, write it twice or change it with its neighbour, kinds alike in chance, and return its index."""
    kind = rng.choice(sorted({fact["kind"] for fact in facts[1:-1]}))
    index = rng.choice(of_kind(facts, kind))
    match rng.choice(("lost", "doubled", "moved")):
        case "lost":
            del facts[index]
        case "doubled":
            facts.insert(index, copy.deepcopy(facts[index]))
        case _ if index < len(facts) - 2:
            facts[index : index + 2] = facts[index + 1], facts[index]
    return index
