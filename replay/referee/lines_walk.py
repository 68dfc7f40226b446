"""One round of win lines and Moons from the first event to the last, held against the rules; the random numbers are never seen.

A right round is followed once, event by event. Where one departs from the rules, the least that must be wrong for the
record to be as it is gives the findings (`explanation`).
"""

from collections.abc import Sequence

from engines.game_events import CapHit, Drop, FeatureEnded, FeatureTrigger, GameEvent, Prize, SpinEnded, SpinStarted, Win
from engines.games.moon_spell.rules import Rules
from engines.rules import GameRules
from replay.referee.event_walk import EventWalk
from replay.referee.lines_belief import LinesBelief, wanted_kind
from replay.referee.lines_doubt import lacking, needless, other_ends
from replay.referee.lines_drop import first_drops, respin_drops
from replay.referee.lines_pays import cap_hits, prizes, wins
from replay.referee.lines_spin import feature_ends, spin_ends, spin_starts, triggers
from replay.referee.lines_tables import LinesRound, lines_tables_of
from replay.referee.lines_told import told_steps
from replay.referee.notebook import distinct_values, note
from replay.referee.walk import RoundTerms, RoundTotals, RoundWalk
from replay.verdict import Finding

__all__ = ["walk_events"]

ONCE_A_SPIN = ("spin_started", "drop", "spin_ended", "feature_ended")
Placed = tuple[int, GameEvent]


def walk_events(events: Sequence[Placed], rules: GameRules, terms: RoundTerms) -> RoundWalk:
    """Return what a round of a game of win lines departs from and what its settlement may say; see `walk_round`."""
    assert isinstance(rules, Rules)
    tables = lines_tables_of(rules)
    walk = _Walk(LinesRound(tables, terms.mode, terms.bet_minor), events, terms)
    start = LinesBelief(tables.no_values, tables.base_set)
    ends = walk.explanations(start)
    findings = sorted([*ends[0].findings, *_warnings(walk.play, events)], key=lambda finding: finding.event_index)
    return RoundWalk(findings, _totals(ends, events))


class _Walk(EventWalk[LinesBelief]):
    """The events of one round, and what may be believed after each."""

    def __init__(self, play: LinesRound, events: Sequence[Placed], terms: RoundTerms) -> None:
        super().__init__(events, terms)
        self.play = play

    def is_end(self, belief: LinesBelief) -> bool:
        """Return whether a round may end here; one in play also before a spin, and before the end of its bonus is written."""
        if belief.phase == "done" or (belief.told == "round" and belief.phase == "start"):
            return True
        return not self.is_complete and belief.phase in ("start", "feature")

    def taken(self, belief: LinesBelief, index: int, event: GameEvent, ahead: int, *, is_plain: bool) -> list[LinesBelief]:
        """Return what may be believed after an event of the kind that is owed."""
        play = self.play
        match event:
            case SpinStarted():
                return spin_starts(play, belief, index, event)
            case Drop() if belief.spin:
                following = [] if is_plain else self.ahead(ahead)
                return respin_drops(play, belief, index, event, following, is_plain=is_plain)
            case Drop():
                return first_drops(play, belief, index, event)
            case Win():
                return wins(play, belief, index, event)
            case Prize():
                return prizes(play, belief, index, event)
            case FeatureTrigger():
                return triggers(play, belief, index, event)
            case CapHit():
                return cap_hits(play, belief, index, event)
            case SpinEnded():
                return spin_ends(play, belief, index, event)
            case FeatureEnded():
                return feature_ends(play, belief, index, event)
        return []

    def due(self, belief: LinesBelief, kind: str) -> LinesBelief | None:
        """Return the belief where an event of this kind comes next; what is taken as told wants nothing."""
        return belief if not belief.told and kind == wanted_kind(belief) else None

    def steps(self, belief: LinesBelief, read: int) -> list[tuple[int, LinesBelief]]:
        """Return what may be believed next; what is taken as told is no departure."""
        if belief.told and not belief.swap:
            return told_steps(self.play, belief, read, *self.at(read))
        return super().steps(belief, read)

    def departures(self, belief: LinesBelief, read: int, index: int, event: GameEvent | None) -> list[tuple[int, LinesBelief]]:
        """Return the beliefs that an event is missing or too many, or that the bonus ends elsewhere."""
        found: list[tuple[int, LinesBelief]] = []
        if event is not None:
            before, after = self.at(read - 1)[1], self.at(read + 1)[1]
            for each in needless(self.play, belief, (index, event), before, after):
                found.append((read if each.told == "round" else read + 1, each))
            found += [(read, each) for each in other_ends(self.play, belief, (index, event), self._next_start(read))]
        return found + [(read, each) for each in self._lacking(belief, index, event)]

    def _lacking(self, belief: LinesBelief, index: int, event: GameEvent | None) -> list[LinesBelief]:
        kind = wanted_kind(belief)
        if not kind or (event is not None and event.kind == kind and kind in ONCE_A_SPIN):
            return []  # what stands there is no other event: its fields say what is wrong
        return lacking(self.play, belief, index, event)

    def _next_start(self, read: int) -> int | None:
        return next((index for index, event in self.events[read:] if event.kind == "spin_started"), None)


def _warnings(play: LinesRound, events: Sequence[Placed]) -> list[Finding]:
    """Return a warning where a round that no cap cuts wins more than the published maximum."""
    if play.tables.is_capped:
        return []
    for index, event in events:
        if isinstance(event, SpinEnded) and event.total_minor > play.cap_minor:
            spin = sum(isinstance(each, SpinStarted) for at, each in events if at < index) - 1
            want, got = f"at most {play.cap_minor}, the published maximum", event.total_minor
            what = "total of the round in minor units"
            return [note("above_maximum", "warning", index, spin, "spin_ended", what=what, want=want, got=got, assumption="MSP-2")]
    return []


def _totals(ends: list[LinesBelief], events: Sequence[Placed]) -> RoundTotals:
    words = {"": ("played",), "capped": ("capped",), "maybe": ("capped", "played"), "stopped": ("played",)}
    ended = tuple(dict.fromkeys(word for end in ends for word in words[end.end]))
    if not events or any(end.total is None for end in ends):
        return RoundTotals(ended, (), distinct_values([end.base for end in ends]), ())
    told = [event.total_minor for _, event in events if isinstance(event, FeatureEnded)]
    totals = distinct_values([end.total for end in ends if end.total is not None])
    bases = distinct_values([end.base for end in ends])
    features = [end.feature for end in ends] + told[-1:]
    features += [total - base for total in totals for base in bases if total >= base]
    return RoundTotals(ended, totals, bases, distinct_values(features))
