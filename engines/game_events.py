"""Game events: what an engine makes and a replay recomputes (`record/1`, Events).

The fields of a model, in the order written here, are also the fields of the integer buffer that kernels fill
(`event_buffer.py`): moving one changes the kernel's side too, never the bytes, whose keys are sorted.
Cells are numbered reel by reel from the left, top row first. Symbols and strip sets are indexes into the lists of
the rules file. Money is in minor units, pays in hundredths of the bet. A list is empty and a number 0 or -1 where a
game has no such thing.
"""

from typing import Annotated, Literal

from pydantic import Field

from engines.canonical import CanonicalFormError, Minor, RecordedEvent

__all__ = [
    "GAME_EVENTS",
    "CapHit",
    "ChoiceOffered",
    "Drop",
    "FeatureEnded",
    "FeatureTrigger",
    "GameEvent",
    "MultiplierChange",
    "Power",
    "Prize",
    "SpinEnded",
    "SpinStarted",
    "Tumble",
    "Win",
    "parse_game_event",
]

Count = Annotated[int, Field(ge=0, le=2**31)]
Index = Annotated[int, Field(ge=-1, le=2**31)]


class SpinStarted(RecordedEvent):
    """A spin begins: the paid one has index 0, every free spin, respin and Resonance counts on from there."""

    kind: Literal["spin_started"] = "spin_started"
    spin_index: Count
    part: Literal["base", "free", "respin", "resonance"]
    strip_set: Index
    spins_left: Count  # after this one
    multiplier: Count  # in force for the spin's wins as it starts
    total_multiplier: Count  # gathered over a feature; 0 where none is
    meter: Count  # sections filled as the spin starts
    highlighted_cells: tuple[Count, ...]  # ascending


class Drop(RecordedEvent):
    """The whole board when symbols have landed: drop 0 as drawn, n after tumble n of the spin."""

    kind: Literal["drop"] = "drop"
    drop_index: Count
    symbols: tuple[Count, ...]  # one for each cell
    values: tuple[Count, ...]  # one for each cell: a heart's multiplier, a Moon's cash in hundredths of the bet, else 0
    marks: tuple[Count, ...]  # one for each cell: 0 none, 1 gold, 2 Power Wild
    stops: tuple[Count, ...]  # strip position in the top visible row of each reel; empty after a tumble


class Win(RecordedEvent):
    """One winning combination of a drop: `win_minor` = pay_x100 * ways * multiplier * bet / 100."""

    kind: Literal["win"] = "win"
    symbol: Count
    line: Index
    count: Count
    cells: tuple[Count, ...]  # ascending
    ways: Count  # 1 where a game has none
    pay_x100: Count
    multiplier: Count
    win_minor: Minor


class Tumble(RecordedEvent):
    """Winning symbols leave, the rest fall, new ones come from above."""

    kind: Literal["tumble"] = "tumble"
    removed_cells: tuple[Count, ...]  # ascending, as numbered before the fall
    turned_cells: tuple[Count, ...]
    turned_symbols: tuple[Count, ...]
    new_symbols: tuple[tuple[Count, ...], ...]  # for each reel, from the top row down, after the fall


class MultiplierChange(RecordedEvent):
    """The multiplier that is applied changes."""

    kind: Literal["multiplier_change"] = "multiplier_change"
    from_multiplier: Count
    to_multiplier: Count
    cause: Literal["hearts", "total_hearts", "tumble", "highlights"]


class Prize(RecordedEvent):
    """An amount beside the wins: `prize_minor` = pay_x100 * multiplier * bet / 100, never cut."""

    kind: Literal["prize"] = "prize"
    which: Literal["scatter_pay", "moon_cash", "ladder", "constellation", "clear_grid"]
    pay_x100: Count
    multiplier: Count
    prize_minor: Minor


class FeatureTrigger(RecordedEvent):
    """A feature is won, or more spins within it."""

    kind: Literal["feature_trigger"] = "feature_trigger"
    feature: Literal["free_spins", "hold_and_respin", "resonance"]
    count: Count  # of what triggered it
    spins_awarded: Count
    spins_left: Count  # after the award


class CapHit(RecordedEvent):
    """A win or prize reaches or passes the win cap and is cut to what is left."""

    kind: Literal["cap_hit"] = "cap_hit"
    total_before_minor: Minor
    uncapped_minor: Minor
    awarded_minor: Minor


class SpinEnded(RecordedEvent):
    """A spin is at rest: `award_minor` = sum of win_minor * spin_multiplier + sum of prize_minor - cut_minor."""

    kind: Literal["spin_ended"] = "spin_ended"
    spin_multiplier: Count
    cut_minor: Minor
    award_minor: Minor
    total_minor: Minor  # of the round so far
    meter: Count  # sections filled at rest, after a full meter was taken


class FeatureEnded(RecordedEvent):
    """A feature is over."""

    kind: Literal["feature_ended"] = "feature_ended"
    feature: Literal["free_spins", "hold_and_respin", "resonance"]
    spins_played: Count
    total_minor: Minor  # what the feature's spins added to the round


class Power(RecordedEvent):
    """A princess acts on a board at rest: cells that held paying symbols turn into wilds."""

    kind: Literal["power"] = "power"
    princess: Count  # her place in the rules file's list
    size: Count  # as drawn
    turned_cells: tuple[Count, ...]  # ascending


class ChoiceOffered(RecordedEvent):
    """The round waits for the player: the leg ends here."""

    kind: Literal["choice_offered"] = "choice_offered"
    choices: tuple[Count, ...]  # places in the rules file's list of what can be chosen


GameEvent = (
    SpinStarted
    | Drop
    | Win
    | Tumble
    | MultiplierChange
    | Prize
    | FeatureTrigger
    | CapHit
    | SpinEnded
    | FeatureEnded
    | Power
    | ChoiceOffered
)

# The order gives each kind its code in the event buffer, from 1.
GAME_EVENTS: dict[str, type[RecordedEvent]] = {
    "spin_started": SpinStarted,
    "drop": Drop,
    "win": Win,
    "tumble": Tumble,
    "multiplier_change": MultiplierChange,
    "prize": Prize,
    "feature_trigger": FeatureTrigger,
    "cap_hit": CapHit,
    "spin_ended": SpinEnded,
    "feature_ended": FeatureEnded,
    "power": Power,
    "choice_offered": ChoiceOffered,
}


def parse_game_event(kind: str, data: bytes) -> GameEvent:
    """Return the game event of `kind` that `data` is the canonical form of.

    Raises CanonicalFormError for an unknown kind and for bytes that are not that kind's canonical form.
    """
    model = GAME_EVENTS.get(kind)
    if model is None:
        raise CanonicalFormError("one of " + ", ".join(GAME_EVENTS), data, f"kind {kind!r} is not known")
    return model.parse(data)  # type: ignore[return-value]
