"""The order of a round's events: which of them make up a spin, and which stand where none of their kind may."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

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

__all__ = ["Grammar", "SpinRecord", "Step", "split_spins"]

Placed = tuple[int, GameEvent]
RANKS = {"multiplier_change": 1, "cap_hit": 2, "prize": 3, "feature_trigger": 5, "spin_ended": 6, "feature_ended": 7}


class Grammar(NamedTuple):
    """Which kinds of event may stand after each, the start of the round being ""; `in_step` are the kinds that belong to a drop."""

    following: dict[str, frozenset[str]]
    in_step: frozenset[str] = frozenset({"drop", "win", "tumble"})
    wild: int = -1  # the symbol that stands for others in wins, -1 where none does


@dataclass(slots=True)
class Step:
    """A drop, what won on it and the tumble that followed."""

    drop: tuple[int, Drop] | None = None
    wins: list[tuple[int, Win]] = field(default_factory=list)
    cap: tuple[int, CapHit] | None = None  # where each win is held against the cap
    cap_after: int = -1  # the win it stands after
    change: tuple[int, MultiplierChange] | None = None  # where each win step has its multiplier
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
    is_disorder_noted: bool = False  # that its drops go on after what comes at rest: one event too early puts all out of order
    index_last: int = 0


def split_spins(events: Sequence[Placed], notebook: Notebook, grammar: Grammar) -> list[SpinRecord]:
    """Return the spins of a round; an event out of place is a finding and is kept in the place of its kind if that is free."""
    spins: list[SpinRecord] = []
    before: Placed | None = None
    for placed in _in_order(events, notebook, grammar):
        index, event = placed
        spin = spins[-1] if spins else None
        if before is not None and event.kind == before[1].kind and event.kind != "win" and event == before[1]:
            _misplaced(notebook, placed, "the event once")
            continue
        before = placed
        if isinstance(event, SpinStarted):
            spins.append(SpinRecord(index, start=(index, event)))
        elif spin is None or (isinstance(event, Drop) and event.stops and _is_of_next_spin(spin, event)):
            notebook.spin_index = len(spins)
            notebook.add("spin_started_missing", "integrity", index, "", what="first event", want="spin_started", got=event.kind)
            spins.append(SpinRecord(index))
            _place(spins[-1], placed, notebook, grammar)
        else:
            notebook.spin_index = len(spins) - 1
            _place(spin, placed, notebook, grammar)
        spins[-1].index_last = index
    return spins


def _in_order(events: Sequence[Placed], notebook: Notebook, grammar: Grammar) -> Sequence[Placed]:
    """Return the events with neighbours that changed places put right, which is a finding for each pair."""
    following = grammar.following

    def faults(some: Sequence[str]) -> int:
        return sum([after not in following[before] for before, after in pairwise(some)])

    kinds = ["", *(event.kind for _, event in events)]
    if faults(kinds) < 2:
        return events
    ordered = [events[0], *events]  # numbered as `kinds`
    for place in range(1, len(kinds) - 1):
        first, end = max(place - 2, 0), place + 4
        swapped = [*kinds[first:place], kinds[place + 1], kinds[place], *kinds[place + 2 : end]]
        if kinds[place + 1] not in following[kinds[place]] and faults(kinds[first:end]) > 1 and not faults(swapped):
            if kinds[place : place + 3] == ["tumble", "win", "drop"] and _is_won_on(ordered[place + 1], ordered[place + 2], grammar):
                continue
            notebook.spin_index = max(kinds[: place + 1].count("spin_started") - 1, 0)
            _misplaced(notebook, ordered[place], f"{kinds[place + 1]} before {kinds[place]}")
            ordered[place : place + 2] = ordered[place + 1], ordered[place]
            kinds[first:end] = swapped
    return ordered[1:]


def _is_won_on(win: Placed, drop: Placed, grammar: Grammar) -> bool:
    """Return whether a win's cells hold its symbol on the board of a drop."""
    assert isinstance(win[1], Win)
    assert isinstance(drop[1], Drop)
    held = {drop[1].symbols[cell] for cell in win[1].cells if cell < len(drop[1].symbols)}
    return held - {grammar.wild} == {win[1].symbol}


def _is_of_next_spin(spin: SpinRecord, drop: Drop) -> bool:
    """Return whether a drop of strips without a start before it begins a spin: the one before has ended, or had its drop and no tumble."""
    if spin.ended is not None:
        return True
    has_dropped = bool(spin.steps) and spin.steps[-1].drop is not None and spin.steps[-1].tumble is None
    return not drop.drop_index and (bool(spin.rank) or has_dropped)


def _is_owed(spin: SpinRecord, win: Win, grammar: Grammar) -> bool:
    """Return whether a win that came too late is one that the spin's last board has and its wins have not."""
    step = spin.steps[-1] if spin.steps else None
    if step is None or step.drop is None or step.tumble is not None:
        return False
    return _is_won_on((-1, win), step.drop, grammar) and all(other.symbol != win.symbol for _, other in step.wins)


def _misplaced(notebook: Notebook, placed: Placed, want: str) -> None:
    index, event = placed
    notebook.add("event_order", "integrity", index, f"event {event.kind}", what="order", want=want, got=f"{event.kind} at index {index}")


def _place(spin: SpinRecord, placed: Placed, notebook: Notebook, grammar: Grammar) -> None:
    event = placed[1]
    if event.kind in grammar.in_step:
        if spin.ended is not None:
            _misplaced(notebook, placed, "spin_started or feature_ended")
            if isinstance(event, Win) and _is_owed(spin, event, grammar):
                _place_in_step(spin, placed)
            return
        if spin.rank:
            if not spin.is_disorder_noted:
                _misplaced(notebook, placed, "drops, wins and tumbles before what comes at rest")
            spin.is_disorder_noted = True
        elif _is_late(spin, event):
            _misplaced(notebook, placed, "one of its kind for a drop, and wins before what follows from them")
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
    step = spin.steps[-1]
    if isinstance(event, Win) and _is_of_next_drop(step, event):
        step = Step(is_inferred=True)
        spin.steps.append(step)
    match event:
        case Win():
            step.wins.append((index, event))
        case Tumble():
            step.tumble = (index, event)
        case MultiplierChange():
            step.change = step.change or (index, event)
        case CapHit():
            if step.cap is None:
                step.cap, step.cap_after = (index, event), step.wins[-1][0] if step.wins else -1
        case _:
            pass


def _is_late(spin: SpinRecord, event: GameEvent) -> bool:
    """Return whether an event of a drop stands after what follows from it, or is the second of its kind."""
    step = spin.steps[-1] if spin.steps else None
    if step is None or step.tumble is not None:
        return False
    is_second = (isinstance(event, CapHit) and step.cap is not None) or (isinstance(event, MultiplierChange) and step.change is not None)
    return is_second or (isinstance(event, Win) and step.change is not None and not _is_of_next_drop(step, event))


def _is_of_next_drop(step: Step, win: Win) -> bool:
    """Return whether a win after a change of the multiplier is one of the next drop: it has the new multiplier, those before the old."""
    if step.change is None or not step.wins:
        return False
    change = step.change[1]
    return step.wins[-1][1].multiplier == change.from_multiplier != change.to_multiplier == win.multiplier


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
