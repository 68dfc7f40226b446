"""The walk of a game that pays by ways, with gold that turns wild and a ladder of multipliers."""

from collections.abc import Sequence
from typing import NamedTuple

from engines.game_events import GameEvent
from engines.games.starlight_wins.rules import Rules
from engines.rules import GameRules
from replay.referee.grammar import SpinRecord
from replay.referee.notebook import Notebook, distinct_values
from replay.referee.rest import check_sums, follow_rest, take_as_told
from replay.referee.sequence import SpinPlace, walk_spins
from replay.referee.standing import Options, Standing
from replay.referee.trigger import check_trigger
from replay.referee.walk import RoundTerms, RoundWalk
from replay.referee.ways_boards import walk_boards
from replay.referee.ways_tables import ways_tables_of
from replay.referee.ways_world import WaysScene, WaysWorld

__all__ = ["walk_events"]


class _Rest(NamedTuple):
    """A board at rest: its scatters and the free spins that they award."""

    scatters: int
    spins: int
    is_right: bool


def walk_events(events: Sequence[tuple[int, GameEvent]], rules: GameRules, terms: RoundTerms) -> RoundWalk:
    """Return what a round of a game that pays by ways departs from and what its settlement may say; see `walk_round`."""
    assert isinstance(rules, Rules)
    tables = ways_tables_of(rules)
    cap_minor = tables.cap_minor(terms.mode, terms.bet_minor)

    def check_spin(notebook: Notebook, standing: Standing, record: SpinRecord, place: SpinPlace) -> None:
        scene = WaysScene(tables, notebook, spin=place.spin, bet_minor=terms.bet_minor, strip_sets=place.strip_sets, cap_minor=cap_minor)
        scene.is_past_end = standing.is_over_reported
        scene.before = (0,) if tables.readings["ALL-1"] == 2 else standing.totals
        if record.start is not None and record.start[1].multiplier != scene.ladder[0]:
            _take_start(scene, record.start[1].multiplier)
        worlds = walk_boards(scene, record)
        _check_rest(scene, record, worlds, standing, is_last=place.is_last)
        standing.multipliers, standing.multiplier_faults = (0,), []

    return walk_spins(events, tables, check_spin, terms)


def _take_start(scene: WaysScene, multiplier: int) -> None:
    """Go on from a multiplier that a spin should not start with as well: from its steps of the ladder, or from the first."""
    steps = [step for step, each in enumerate(scene.ladder) if each == multiplier]
    scene.rungs = [*((multiplier, step) for step in steps or [0]), *scene.rungs]


def _check_rest(scene: WaysScene, record: SpinRecord, worlds: list[WaysWorld], standing: Standing, *, is_last: bool) -> None:
    """Check what stands after a spin's last drop and bring `standing` up to date."""
    if not worlds:
        take_as_told(record, standing)
        if scene.hit != "no":
            standing.over = "maybe"
        scene.notebook.close_spin(is_paid_wrongly=False)
        return
    rests = [_rest_of(scene, world) for world in worlds]
    rights = [rest for rest in rests if rest.is_right]
    if scene.may_be_limited:
        rests += [rest._replace(spins=0, is_right=False) for rest in rests]
    standing.spin_faults += scene.cap_faults
    if scene.after_cap_fault is not None:
        standing.spin_faults.append(scene.after_cap_fault)
        standing.is_over_reported = True
    check_trigger(scene, record, rests, rights, standing, scene.hit)
    totals_before = standing.totals
    check_sums(scene, record, scene.cuts, _awards(scene, record), standing)
    _weigh(scene, worlds, standing, totals_before)
    follow_rest(scene, standing, scene.hit, is_last=is_last)
    if scene.may_be_limited and is_last and not standing.over:
        standing.over = "open"


def _rest_of(scene: WaysScene, world: WaysWorld) -> _Rest:
    scatters = world.board.count(scene.tables.scatter)
    return _Rest(scatters, 0 if scene.is_limited else scene.tables.spins_for(scatters, scene.is_free), world.is_right)


def _awards(scene: WaysScene, record: SpinRecord) -> tuple[int, ...]:
    told_cut = (record.ended[1].cut_minor,) if record.ended else ()
    awards = [total - cut for total in scene.sums for cut in (*scene.cuts, *told_cut)] + list(scene.cap_awards)
    if record.ended is not None and record.ended[1].spin_multiplier != 1:
        index, multiplier = record.ended[0], record.ended[1].spin_multiplier
        scene.notebook.add("spin_multiplier", "open", index, "spin_ended", what="multiplier of the spin's win", want=1, got=multiplier)
        awards += [total * multiplier - cut for total in scene.sums for cut in scene.cuts]
    return distinct_values(awards)


def _weigh(scene: WaysScene, worlds: list[WaysWorld], standing: Standing, totals: Options) -> None:
    """Decide whether the spin's faults made its award a wrong one."""
    award = standing.awards[-1]
    by_spin = scene.tables.readings["ALL-1"] == 2
    awards = []
    for world in worlds:
        for total in totals if world.is_right and totals is not None else ():
            room = max(scene.cap_minor - (0 if by_spin else total), 0)
            awards.append(world.wins_minor if scene.is_past_end else min(world.wins_minor, room))
    is_wrong = scene.is_diverged or (bool(awards) and award not in awards)
    scene.notebook.close_spin(is_paid_wrongly=is_wrong)
    standing.awards_right.append(awards[0] if awards and award not in awards else award)
