"""The end of free spins and of a round: whether it is due, what was played, and what the settlement may say."""

from collections.abc import Sequence

from engines.game_events import GameEvent
from replay.referee.grammar import SpinRecord
from replay.referee.notebook import Notebook, distinct_values
from replay.referee.reel_tables import ReelTables
from replay.referee.standing import Standing
from replay.referee.walk import RoundTotals

__all__ = ["check_end", "check_feature_ended", "round_totals", "weigh_spins"]


def check_feature_ended(
    tables: ReelTables, notebook: Notebook, record: SpinRecord, following: SpinRecord | None, standing: Standing
) -> None:
    """Check the end of the free spins: that it is due, the spins played and what they added."""
    assert record.feature_ended is not None
    index, event = record.feature_ended
    if event.feature != "free_spins":
        notebook.add("feature", "integrity", index, "feature_ended", what="feature", want="free_spins", got=event.feature)
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
    if not standing.over and standing.free_played < tables.limits.free_spins:
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


def check_end(
    tables: ReelTables, notebook: Notebook, records: list[SpinRecord], standing: Standing, events: Sequence[tuple[int, GameEvent]]
) -> None:
    """Check that the round ends where it should, and say so where a technical limit ended it."""
    if not records:
        notebook.add("spins_unplayed", "open", -1, "", what="round", want="a spin", got="no game event")
        return
    index = events[-1][0]
    left = standing.spins_left
    is_owed = left is not None and all(left) and not standing.over and not standing.is_over_reported
    if is_owed and left is not None and standing.free_played >= tables.limits.free_spins:
        standing.over = "limit"
    elif left is not None and any(left) and not is_owed and not standing.over and standing.free_played >= tables.limits.free_spins:
        standing.over = "open"
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


def weigh_spins(notebook: Notebook, standing: Standing) -> None:
    """Make faults of spins awarded or played ones about money where a spin is withheld, or one too many paid."""
    is_ended = standing.over in ("capped", "limit", "open") or standing.is_over_reported
    is_withheld = standing.free_played < standing.spins_right and not is_ended
    first_unowed = min(1 + standing.spins_right, len(standing.awards) - standing.free_unowed)
    if is_withheld or any(standing.awards[first_unowed:]):
        for number in standing.spin_faults:
            notebook.raise_to_money(number)


def round_totals(records: list[SpinRecord], standing: Standing) -> RoundTotals:
    """Return what the settlement of a round may say; money in minor units."""
    ended = {
        "": ("played",),
        "capped": ("capped",),
        "limit": ("limit",),
        "maybe": ("capped", "played"),
        "open": ("played", "limit"),
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
