"""The order of a round's events: which of them make up a spin, and which stand where none of their kind may."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from engines.game_events import (
    CapHit,
    Drop,
    FeatureEnded,
    FeatureTrigger,
    GameEvent,
    MultiplierChange,
    Prize,
    SpinEnded,
    SpinStarted,
    Tumble,
    Win,
)
from replay.referee.notebook import Notebook

__all__ = ["SpinRecord", "Step", "split_spins"]

Placed = tuple[int, GameEvent]
RANKS = {"multiplier_change": 1, "cap_hit": 2, "prize": 3, "feature_trigger": 5, "spin_ended": 6, "feature_ended": 7}
_AT_REST = frozenset({"multiplier_change", "cap_hit", "prize", "feature_trigger", "spin_ended"})
FOLLOWING = {
    "": frozenset({"spin_started"}),  # the start of the round
    "spin_started": frozenset({"drop"}),
    "drop": _AT_REST | {"win"},
    "win": _AT_REST | {"win", "tumble"},
    "tumble": frozenset({"drop"}),
    "multiplier_change": _AT_REST - {"multiplier_change"},
    "cap_hit": frozenset({"prize", "feature_trigger", "spin_ended"}),
    "prize": frozenset({"cap_hit", "feature_trigger", "spin_ended"}),
    "feature_trigger": frozenset({"spin_ended"}),
    "spin_ended": frozenset({"spin_started", "feature_ended"}),
    "feature_ended": frozenset(),
}


@dataclass(slots=True)
class Step:
    """A drop, what won on it and the tumble that followed."""

    drop: tuple[int, Drop] | None = None
    wins: list[tuple[int, Win]] = field(default_factory=list)
    tumble: tuple[int, Tumble] | None = None
    is_inferred: bool = False  # a step whose drop is missing together with the tumble before it


@dataclass(slots=True)
class SpinRecord:
    """The recorded events of one spin; None where there is none such."""

    index_first: int
    start: tuple[int, SpinStarted] | None = None
    steps: list[Step] = field(default_factory=list)
    change: tuple[int, MultiplierChange] | None = None
    cap_of_win: tuple[int, CapHit] | None = None
    prize: tuple[int, Prize] | None = None
    cap_of_prize: tuple[int, CapHit] | None = None
    trigger: tuple[int, FeatureTrigger] | None = None
    ended: tuple[int, SpinEnded] | None = None
    feature_ended: tuple[int, FeatureEnded] | None = None
    prize_extra_minor: int = 0  # of prizes beside the first
    rank: int = 0
    index_last: int = 0


def split_spins(events: Sequence[Placed], notebook: Notebook) -> list[SpinRecord]:
    """Return the spins of a round; an event out of place is a finding and is kept in the place of its kind if that is free."""
    spins: list[SpinRecord] = []
    before: Placed | None = None
    for placed in _in_order(events, notebook):
        index, event = placed
        spin = spins[-1] if spins else None
        if before is not None and event.kind == before[1].kind and event.kind != "win" and event == before[1]:
            _misplaced(notebook, placed, "the event once")
            continue
        before = placed
        if isinstance(event, SpinStarted):
            spins.append(SpinRecord(index, start=(index, event)))
        elif spin is None or (isinstance(event, Drop) and event.stops and (spin.ended is not None or (spin.rank and not event.drop_index))):
            notebook.spin_index = len(spins)
            notebook.add("spin_started_missing", "integrity", index, "", what="first event", want="spin_started", got=event.kind)
            spins.append(SpinRecord(index))
            _place(spins[-1], placed, notebook)
        else:
            notebook.spin_index = len(spins) - 1
            _place(spin, placed, notebook)
        spins[-1].index_last = index
    return spins


def _faults(kinds: Sequence[str]) -> int:
    return sum([after not in FOLLOWING[before] for before, after in pairwise(kinds)])


def _in_order(events: Sequence[Placed], notebook: Notebook) -> Sequence[Placed]:
    """Return the events with neighbours that changed places put right, which is a finding for each pair."""
    kinds = ["", *(event.kind for _, event in events)]
    if _faults(kinds) < 2:
        return events
    ordered = [events[0], *events]  # numbered as `kinds`
    for place in range(1, len(kinds) - 1):
        first, end = max(place - 2, 0), place + 4
        swapped = [*kinds[first:place], kinds[place + 1], kinds[place], *kinds[place + 2 : end]]
        if kinds[place + 1] not in FOLLOWING[kinds[place]] and _faults(kinds[first:end]) > 1 and not _faults(swapped):
            if kinds[place : place + 3] == ["tumble", "win", "drop"] and _is_won_on(ordered[place + 1], ordered[place + 2]):
                continue
            notebook.spin_index = max(kinds[: place + 1].count("spin_started") - 1, 0)
            _misplaced(notebook, ordered[place], f"{kinds[place + 1]} before {kinds[place]}")
            ordered[place : place + 2] = ordered[place + 1], ordered[place]
            kinds[first:end] = swapped
    return ordered[1:]


def _is_won_on(win: Placed, drop: Placed) -> bool:
    """Return whether a win's cells hold its symbol on the board of a drop."""
    assert isinstance(win[1], Win)
    assert isinstance(drop[1], Drop)
    held = {drop[1].symbols[cell] for cell in win[1].cells if cell < len(drop[1].symbols)}
    return held == {win[1].symbol}


def _is_owed(spin: SpinRecord, win: Win) -> bool:
    """Return whether a win that came too late is one that the spin's last board has and its wins have not."""
    step = spin.steps[-1] if spin.steps else None
    if step is None or step.drop is None or step.tumble is not None:
        return False
    return _is_won_on((-1, win), step.drop) and all(other.symbol != win.symbol for _, other in step.wins)


def _misplaced(notebook: Notebook, placed: Placed, want: str) -> None:
    index, event = placed
    notebook.add("event_order", "integrity", index, f"event {event.kind}", what="order", want=want, got=f"{event.kind} at index {index}")


def _place(spin: SpinRecord, placed: Placed, notebook: Notebook) -> None:
    event = placed[1]
    if isinstance(event, (Drop, Win, Tumble)):
        if spin.ended is not None:
            _misplaced(notebook, placed, "spin_started or feature_ended")
            if isinstance(event, Win) and _is_owed(spin, event):
                _place_in_step(spin, placed)
            return
        if spin.rank:
            _misplaced(notebook, placed, "drops, wins and tumbles before what comes at rest")
        _place_in_step(spin, placed)
        return
    rank = RANKS[event.kind]
    if isinstance(event, CapHit) and (spin.prize is not None or spin.cap_of_win is not None):
        rank = 4
    if rank < spin.rank or _is_taken(spin, placed, rank):
        _misplaced(notebook, placed, "one of its kind, in the order of a spin at rest")
        if isinstance(event, Prize) and spin.prize is not None:
            spin.prize_extra_minor += event.prize_minor
    if not _is_taken(spin, placed, rank):
        _fill(spin, placed, rank)
    spin.rank = max(spin.rank, rank)


def _place_in_step(spin: SpinRecord, placed: Placed) -> None:
    index, event = placed
    if isinstance(event, Drop):
        spin.steps.append(Step(drop=(index, event)))
        return
    if not spin.steps or spin.steps[-1].tumble is not None:
        spin.steps.append(Step())
    if isinstance(event, Win):
        spin.steps[-1].wins.append((index, event))
    elif isinstance(event, Tumble):
        spin.steps[-1].tumble = (index, event)


def _is_taken(spin: SpinRecord, placed: Placed, rank: int) -> bool:
    event = placed[1]
    if isinstance(event, CapHit):
        return (spin.cap_of_prize if rank == RANKS["cap_hit"] + 2 else spin.cap_of_win) is not None
    slots: dict[type[GameEvent], object] = {
        MultiplierChange: spin.change,
        Prize: spin.prize,
        FeatureTrigger: spin.trigger,
        SpinEnded: spin.ended,
        FeatureEnded: spin.feature_ended,
    }
    return slots[type(event)] is not None


def _fill(spin: SpinRecord, placed: Placed, rank: int) -> None:
    index, event = placed
    match event:
        case MultiplierChange():
            spin.change = (index, event)
        case CapHit():
            if rank == RANKS["cap_hit"]:
                spin.cap_of_win = (index, event)
            else:
                spin.cap_of_prize = (index, event)
        case Prize():
            spin.prize = (index, event)
        case FeatureTrigger():
            spin.trigger = (index, event)
        case SpinEnded():
            spin.ended = (index, event)
        case FeatureEnded():
            spin.feature_ended = (index, event)
        case _:
            pass
