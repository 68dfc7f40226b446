"""One round's game events from the first spin to the last, held against the rules; the random numbers are never seen.

After a finding the walk goes on from what is recorded, so that one cause gives one finding. A value is right where it
follows from the recorded values before it or from those that should stand there.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from engines.game_events import GameEvent
from replay.referee.ending import check_end, check_feature_ended, round_totals, weigh_spins
from replay.referee.grammar import SpinRecord, split_spins
from replay.referee.notebook import Notebook
from replay.referee.reel_tables import ReelTables
from replay.referee.spin_start import check_start
from replay.referee.standing import Standing
from replay.referee.walk import RoundTerms, RoundWalk

__all__ = ["CheckSpin", "SpinPlace", "walk_spins"]


class SpinPlace(NamedTuple):
    """Which spin of its round is walked, and the strip sets it may be on, the recorded one first."""

    spin: int
    strip_sets: tuple[int, ...]
    is_last: bool


CheckSpin = Callable[[Notebook, Standing, SpinRecord, SpinPlace], None]


def walk_spins(events: Sequence[tuple[int, GameEvent]], tables: ReelTables, check_spin: CheckSpin, terms: RoundTerms) -> RoundWalk:
    """Return what a round with free spins departs from; `check_spin` holds a spin's boards and rest against the rules of its kind."""
    notebook = Notebook()
    standing = Standing()
    cap_minor = tables.cap_minor(terms.mode, terms.bet_minor)
    records = split_spins(events, notebook, tables.grammar)
    spin = 0
    for number, record in enumerate(records):
        following = records[number + 1] if number + 1 < len(records) else None
        notebook.spin_index = spin
        spin, strip_sets = check_start(tables, notebook, record, following, standing, mode=terms.mode, spin=spin, cap_minor=cap_minor)
        check_spin(notebook, standing, record, SpinPlace(spin, strip_sets, following is None))
        if record.feature_ended is not None:
            check_feature_ended(tables, notebook, record, following, standing)
        spin += 1
    notebook.spin_index = max(spin - 1, 0)
    if terms.is_complete:
        check_end(tables, notebook, records, standing, events)
    weigh_spins(notebook, standing)
    notebook.findings.sort(key=lambda finding: finding.event_index)
    return RoundWalk(notebook.findings, round_totals(records, standing))
