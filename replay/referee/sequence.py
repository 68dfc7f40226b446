"""One round's game events from the first spin to the last, held against the rules; the random numbers are never seen.

After a finding the walk goes on from what is recorded, so that one cause gives one finding. A value is right where it
follows from the recorded values before it or from those that should stand there.
"""

from collections.abc import Sequence

from engines.game_events import GameEvent
from engines.games.moonlight_princess.rules import Rules
from engines.rules import GameRules
from replay.referee.board import walk_boards
from replay.referee.grammar import SpinRecord, split_spins
from replay.referee.notebook import Notebook, distinct_values
from replay.referee.rest import check_rest
from replay.referee.spin_start import check_start
from replay.referee.standing import Standing
from replay.referee.tables import RefereeTables, tables_of
from replay.referee.walk import RoundTotals, RoundWalk
from replay.referee.world import SpinScene

__all__ = ["walk_events"]


def walk_events(events: Sequence[tuple[int, GameEvent]], rules: GameRules, mode: str, bet_minor: int, is_complete: bool) -> RoundWalk:
    """Return what a round of a game that pays anywhere departs from and what its settlement may say; see `walk_round`."""
    assert isinstance(rules, Rules)
    tables = tables_of(rules)
    notebook = Notebook()
    standing = Standing()
    cap_minor = tables.cap_minor(mode, bet_minor)
    records = split_spins(events, notebook)
    spin = 0
    for number, record in enumerate(records):
        following = records[number + 1] if number + 1 < len(records) else None
        notebook.spin_index = spin
        spin, strip_sets = check_start(tables, notebook, record, following, standing, mode=mode, spin=spin, cap_minor=cap_minor)
        scene = SpinScene(tables, notebook, spin=spin, bet_minor=bet_minor, strip_sets=strip_sets)
        scene.is_past_end = standing.is_over_reported
        boards = walk_boards(scene, record)
        if spin == 0 and tables.is_bought(mode):
            _check_bought_board(scene, record)
        check_rest(scene, record, boards, standing, cap_minor, is_last=following is None)
        if record.feature_ended is not None:
            _check_feature_ended(tables, notebook, record, following, standing)
        spin += 1
    notebook.spin_index = max(spin - 1, 0)
    if is_complete:
        _check_end(tables, notebook, records, standing, events)
    _weigh_spins(notebook, standing)
    notebook.findings.sort(key=lambda finding: finding.event_index)
    return RoundWalk(notebook.findings, _totals(records, standing))


def _check_bought_board(scene: SpinScene, record: SpinRecord) -> None:
    if not record.steps or record.steps[0].drop is None:
        return
    index, drop = record.steps[0].drop
    tables = scene.tables
    count = drop.symbols.count(tables.scatter)
    is_noted = any(finding.event_index == index for finding in scene.notebook.findings)
    if count not in tables.buy_scatters and not is_noted:
        want = " or ".join(map(str, tables.buy_scatters))
        scene.notebook.add("bought_scatters", "open", index, "drop 0", what="scatters bought", want=want, got=count, assumption="MLP-7")


def _check_feature_ended(
    tables: RefereeTables, notebook: Notebook, record: SpinRecord, following: SpinRecord | None, standing: Standing
) -> None:
    assert record.feature_ended is not None
    index, event = record.feature_ended
    if standing.free_played == 0:
        is_lost = standing.spins_left is None or any(standing.spins_left)
        if not is_lost:
            got = f"an end of {event.spins_played} free spins"
            notebook.add(
                "feature_ended_invented", "integrity", index, "feature_ended", what="event", want="none without free spins", got=got
            )
        return
    if following is not None and not standing.is_over_reported and not standing.over:
        if standing.spins_left is not None and all(standing.spins_left):
            want = f"{standing.spins_left[0]} spins more before the end"
            notebook.add(
                "feature_ended_early", "integrity", index, "feature_ended", what="event", want=want, got="the end of the free spins"
            )
        return
    counts = {standing.free_played, standing.free_played - standing.free_unowed}
    if not standing.over and standing.free_played < tables.rules.limits.free_spins:
        counts.add(standing.spins_right)  # where the last spins are missing
    if event.spins_played not in counts:
        want_count = standing.free_played
        notebook.add("spins_played", "integrity", index, "feature_ended", what="free spins played", want=want_count, got=event.spins_played)
    totals = _feature_totals(standing)
    if totals and event.total_minor not in totals:
        notebook.add("feature_total", "money", index, "feature_ended", what="total in minor units", want=totals[0], got=event.total_minor)


def _base_awards(standing: Standing) -> tuple[int, ...]:
    return distinct_values([*standing.awards_taken[:1], *standing.awards[:1], *standing.awards_right[:1]])


def _feature_totals(standing: Standing) -> tuple[int, ...]:
    """Return what the free spins may have added; empty where a spin is missing."""
    if standing.is_award_unknown:
        return ()
    sums = [sum(awards[1:]) for awards in (standing.awards_taken, standing.awards, standing.awards_right)]
    by_totals = [total - base for total in standing.totals or () for base in _base_awards(standing)]
    return distinct_values(sums + [total for total in by_totals if total >= 0])


def _check_end(
    tables: RefereeTables, notebook: Notebook, records: list[SpinRecord], standing: Standing, events: Sequence[tuple[int, GameEvent]]
) -> None:
    """Check that the round ends where it should, and say so where a technical limit ended it."""
    if not records:
        notebook.add("spins_unplayed", "open", -1, "", what="round", want="a spin", got="no game event")
        return
    index = events[-1][0]
    left = standing.spins_left
    is_owed = left is not None and all(left) and not standing.over and not standing.is_over_reported
    if is_owed and left is not None and standing.free_played >= tables.rules.limits.free_spins:
        standing.over = "limit"
    elif is_owed and left is not None:
        number = notebook.add(
            "spins_unplayed", "integrity", index, "", what="free spins left", want=f"{left[0]} spins more", got="the end of the round"
        )
        standing.spin_faults.append(number)
        standing.over = "stopped"
        return
    if standing.free_played and not any(record.feature_ended for record in records):
        got = "the end of the round"
        notebook.add("feature_ended_missing", "integrity", index, "feature_ended", what="event", want="the end of the free spins", got=got)
    if standing.over == "limit":
        got = "a technical limit reached"
        notebook.add(
            "limit_reached", "warning", index, "", what="end of the round", want="an end by the rules", got=got, assumption="ALL-5"
        )


def _weigh_spins(notebook: Notebook, standing: Standing) -> None:
    """Make faults of spins awarded or played ones about money where a spin is withheld, or one too many paid."""
    is_ended = standing.over in ("capped", "limit") or standing.is_over_reported
    is_withheld = standing.free_played < standing.spins_right and not is_ended
    first_unowed = min(1 + standing.spins_right, len(standing.awards) - standing.free_unowed)
    if is_withheld or any(standing.awards[first_unowed:]):
        for number in standing.spin_faults:
            notebook.raise_to_money(number)


def _totals(records: list[SpinRecord], standing: Standing) -> RoundTotals:
    ended = {
        "": ("played",),
        "capped": ("capped",),
        "limit": ("limit",),
        "maybe": ("capped", "played"),
        "stopped": ("played", "capped", "limit"),
    }[standing.over]
    if standing.is_over_reported:
        ended = tuple(dict.fromkeys((*ended, "capped", "played", "limit")))
    if standing.is_award_unknown or not records:
        return RoundTotals(ended, standing.totals or (), _base_awards(standing), ())
    return RoundTotals(ended, standing.totals or (), _base_awards(standing), _settled_features(records, standing))


def _settled_features(records: list[SpinRecord], standing: Standing) -> tuple[int, ...]:
    told = records[-1].feature_ended
    return distinct_values([*_feature_totals(standing), *((told[1].total_minor,) if told else ())])
