"""One round of runs and princesses from the first event to the last, held against the rules; the random numbers are never seen.

A right round is followed once, event by event. Where one departs from the rules, the least that must be wrong for the
record to be as it is gives the findings (`explanation`).
"""

from collections.abc import Sequence

from engines.game_events import (
    CapHit,
    ChoiceOffered,
    Drop,
    FeatureEnded,
    FeatureTrigger,
    GameEvent,
    MultiplierChange,
    Power,
    Prize,
    SpinEnded,
    SpinStarted,
    Tumble,
    Win,
)
from engines.games.moon_princess_stargazing.rules import Rules
from engines.rules import GameRules
from replay.referee.event_walk import EventWalk
from replay.referee.notebook import distinct_values, note
from replay.referee.runs_belief import RunsBelief, wanted_kind
from replay.referee.runs_drop import drops, first_drops, tumbles
from replay.referee.runs_lacking import lacking, without_power
from replay.referee.runs_needless import needless, with_highlights_hidden
from replay.referee.runs_pays import cap_hits, changes, prizes, wins
from replay.referee.runs_power import powers
from replay.referee.runs_spin import choice_offers, feature_ends, spin_ends, spin_starts, triggers
from replay.referee.runs_step import due
from replay.referee.runs_tables import RunsRound, runs_tables_of
from replay.referee.walk import RoundTerms, RoundTotals, RoundWalk
from replay.verdict import Finding

__all__ = ["walk_events"]

ONCE_A_SPIN = ("spin_started", "drop", "spin_ended", "feature_ended", "choice_offered")
SPIN_EVENTS_MAX = 60
Placed = tuple[int, GameEvent]


def walk_events(events: Sequence[Placed], rules: GameRules, terms: RoundTerms) -> RoundWalk:
    """Return what a round of a game of runs departs from and what its settlement may say; see `walk_round`."""
    assert isinstance(rules, Rules)
    tables = runs_tables_of(rules)
    play = RunsRound(tables, terms.mode, terms.bet_minor)
    walk = _Walk(play, events, terms)
    active = terms.state_in.get("princess", tables.first_princess)
    if tables.readings["MPS-9"] == 1 or active not in tables.choices:
        active = tables.first_princess
    start = RunsBelief(active, chosen=terms.choices[0] if terms.choices else -1)
    ends = walk.explanations(start)
    findings = sorted([*ends[0].findings, *_warnings(ends[0], events)], key=lambda finding: finding.event_index)
    return RoundWalk(findings, _totals(ends, events))


class _Walk(EventWalk[RunsBelief]):
    """The events of one round, and what may be believed after each."""

    def __init__(self, play: RunsRound, events: Sequence[Placed], terms: RoundTerms) -> None:
        super().__init__(events, terms)
        self.play = play

    def is_end(self, belief: RunsBelief) -> bool:
        """Return whether a round may end here; one in play also before a spin, a choice, and before the end of a feature is written."""
        return belief.phase == "done" or (not self.is_complete and belief.phase in ("start", "feature", "choice"))

    def due(self, belief: RunsBelief, kind: str) -> RunsBelief | None:
        """Return the belief in which an event of this kind comes next, None where it does not."""
        return due(self.play, belief, kind)

    def taken(self, belief: RunsBelief, index: int, event: GameEvent, ahead: int, *, is_plain: bool) -> list[RunsBelief]:
        """Return what may be believed after an event of the kind that is due."""
        play = self.play
        match event:
            case SpinStarted():
                return spin_starts(play, belief, index, event)
            case Drop():
                return (first_drops if belief.phase == "drop" else drops)(play, belief, index, event)
            case Win():
                return wins(play, belief, index, event)
            case MultiplierChange():
                return changes(play, belief, index, event)
            case Prize():
                return prizes(play, belief, index, event)
            case Tumble():
                return tumbles(play, belief, index, event)
            case Power():
                following = [] if is_plain else [each for _, each in self.events[ahead : ahead + SPIN_EVENTS_MAX]]
                return powers(play, belief, index, event, following, is_plain=is_plain)
            case FeatureTrigger():
                return triggers(play, belief, index, event)
            case CapHit():
                return cap_hits(play, belief, index, event, is_plain=is_plain)
            case SpinEnded():
                return spin_ends(play, belief, index, event)
            case FeatureEnded():
                return feature_ends(play, belief, index, event)
            case ChoiceOffered():
                return choice_offers(play, belief, index, event)
        return []

    def departures(self, belief: RunsBelief, read: int, index: int, event: GameEvent | None) -> list[tuple[int, RunsBelief]]:
        """Return the beliefs that an event is missing or too many, or that other cells are highlighted than are told."""
        found: list[tuple[int, RunsBelief]] = []
        if event is not None:
            before, after = self.at(read - 1)[1], self.at(read + 1)[1]
            found += [(read + 1, each) for each in needless(self.play, belief, (index, event), before, after)]
        kind = wanted_kind(belief)
        if event is None or event.kind != kind or kind not in ONCE_A_SPIN:
            found += [(read, each) for each in lacking(self.play, belief, index, event)]
        found += [(read, each) for each in with_highlights_hidden(self.play, belief, event)]
        if belief.phase == "spin" and belief.may_act and belief.owed and belief.owed[0].is_optional and event is not None:
            found += [(read, each) for each in without_power(self.play, belief, index, event)]
        return found


def _warnings(belief: RunsBelief, events: Sequence[Placed]) -> list[Finding]:
    """Return a warning where a technical limit ended the round."""
    if belief.end != "limit" or not events:
        return []
    want, got = "an end by the rules", "a technical limit reached"
    spin = max(belief.spin - 1, 0)
    what = "end of the round"
    return [note("limit_reached", "warning", events[-1][0], spin, "", what=what, want=want, got=got, assumption="ALL-5")]


def _totals(ends: list[RunsBelief], events: Sequence[Placed]) -> RoundTotals:
    words = {"": ("played",), "capped": ("capped",), "maybe": ("capped", "played"), "limit": ("limit",), "stopped": ("played",)}
    ended = tuple(dict.fromkeys(word for end in ends for word in words[end.end]))
    states = tuple({"princess": active} for active in dict.fromkeys(end.active for end in ends))
    bases = distinct_values([end.base for end in ends])
    if not events or any(end.total is None for end in ends):
        return RoundTotals(ended, (), bases, (), states)
    totals = distinct_values([end.total for end in ends if end.total is not None])
    features = [end.features for end in ends]
    features += [total - base for total in totals for base in bases if total >= base]
    return RoundTotals(ended, totals, bases, distinct_values(features), states)
