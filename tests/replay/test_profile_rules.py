"""What happened to a round against the profile that it was opened under: each rule kept gives no finding, each one broken gives one."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engines.game import EventBytes
from engines.registry import installed_game
from ledger.codec import event_bytes
from ledger.held import CompletionRefused, complete_round
from ledger.incidents import record_incident
from ledger.interruptions import RoundOverdue, interrupt_round, resume_interrupted
from ledger.legs import won_so_far
from ledger.lifecycle_events import RoundResumed
from ledger.money import amount_text
from ledger.profile import Profile, shipped_profiles
from ledger.rounds import RoundLedger
from ledger.voids import VoidRefused, void_round
from replay.verdict import Finding
from replay.verification import Verification, Verifier
from tests.contracts.alterations_contract import TWO, report_of
from tests.contracts.life_contract import profile_with, put_in_force
from tests.ledger_files import altered, new_ledger
from tests.whole import fsck_messages

GAME, MODE, BET = "moonlight-princess", "buy", 20  # which has several legs in every round
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
PEOPLE = {"why": "the reels stood still", "by": TWO[0], "approved_by": TWO[1]}
OTHER_INCIDENT = {"incident_id": "ab" * 16}


class Table(NamedTuple):
    """A ledger with a round in play, its clock in our hands."""

    ledger: RoundLedger
    round_id: str
    patch: pytest.MonkeyPatch

    def after(self, hours: float, us: int = 0) -> None:
        """Move the clock, which stands still otherwise: so many microseconds before or behind full hours."""
        now = self.ledger.store.clock() + int(hours * HOUR_US) + us
        self.ledger.store.clock = lambda: now

    def leg(self) -> None:
        """Play a leg."""
        self.ledger.play_leg(self.round_id, installed_game(GAME))

    def interrupt(self, **terms: Any) -> None:
        """Interrupt the round."""
        interrupt_round(self.ledger.store, self.ledger.recorded(self.round_id), "connection_lost", **terms)

    def resume(self, who: Any = "player") -> None:
        """Go on with the round."""
        resume_interrupted(self.ledger.store, self.ledger.recorded(self.round_id), who)

    def complete(self) -> None:
        """Have the system complete it."""
        complete_round(self.ledger, self.round_id, installed_game(GAME))

    def finish(self) -> None:
        """Play the round to its end."""
        self.ledger.finish_round(self.round_id, installed_game(GAME))

    def settle(self) -> None:
        """Settle the round whatever its profile says: it asks nobody."""
        self.patch.setattr("ledger.rounds.check_not_void", lambda *_: None)
        self.finish()

    def void(self, reason: Any = "cannot_continue", **terms: Any) -> None:
        """Void the round."""
        void_round(self.ledger, self.round_id, reason, **terms)

    def say(self, module: str, kind: str, **values: Any) -> None:
        """Have a module record other values in events of a kind from here on."""

        def said(event: Any) -> Any:
            return event_bytes(event.model_copy(update=values) if event.kind == kind else event)

        self.patch.setattr(f"ledger.{module}.event_bytes", said)

    def incident(self, *, is_recovered: bool = False, rounds: tuple[str, ...] | None = None) -> str:
        """Record an incident and return its id."""
        report = report_of([self.round_id] if rounds is None else list(rounds)).model_copy(update={"is_recovered": is_recovered})
        return record_incident(self.ledger, report, *TWO).incident_id

    def now_us(self) -> int:
        """Return what the clock shows."""
        return self.ledger.store.clock()

    def verdict(self) -> Verification:
        """Return what is said of the round now."""
        path = Path(str(self.ledger.path))
        with RoundLedger.open_for_reading(path) as reader:
            return Verifier(reader, keys_dir=path.with_name("ledger.db.keys"), as_of_us=self.now_us()).verify(self.round_id)


Deal = Callable[..., Table]


@pytest.fixture
def deal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deal]:
    """Give a function that opens a round under a profile and plays its first leg."""
    with new_ledger(tmp_path) as (ledger, ref):

        def make(profile: str | Profile) -> Table:
            if profile != "default":
                put_in_force(ledger, profile)
            opened = ledger.open_round(ref, installed_game(GAME), MODE, BET)
            ledger.store.clock, round_id = lambda: opened.event.opened_at_us, opened.round_id
            table = Table(ledger, round_id, monkeypatch)
            table.leg()
            return table

        yield make


def wrong(verification: Verification) -> list[Finding]:
    """Return the findings that are no warnings."""
    return [finding for finding in verification.findings if finding.severity != "warning"]


RESOLVED, DIVERGED = "incomplete_resolved", "settlement_divergence"
WAIT = profile_with("default", "wait", not_resumed={"action": "wait"})
NO_INCIDENT = profile_with("default", "no-incident", malfunction={"needs_incident": False})
ONE_PERSON = profile_with("default", "one-person", malfunction={"needs_two_people": False})
ALL_GAMES = profile_with("default", "all", interruption={"blocks": "all_games"})
ORDINARY = [each for each in shipped_profiles() if each != "complete-24-hours"]
DAYS = {"void-2-days": 2, "void-15-days": 15}

# Lives that obey the profile: its name and what happens, and how the round then stands.
OBEDIENT: dict[str, tuple[str | Profile, Callable[[Table], Any], str]] = {
    **{f"in one go, {name}": (name, lambda t: t.finish(), "reproduced") for name in shipped_profiles()},
    **{
        f"interrupted and gone on with, {name}": (name, lambda t: (t.interrupt(), t.after(23), t.finish()), RESOLVED)
        for name in shipped_profiles()
    },
    **{
        f"the last moment, {name}": (
            name,
            lambda t, n=name: (t.interrupt(), t.after(24 * DAYS.get(n, 90), -1), t.finish()),
            RESOLVED,
        )
        for name in ORDINARY
    },
    **{
        f"void at its deadline, {name}": (
            name,
            lambda t, n=name: (t.after(24 * DAYS.get(n, 90)), t.void("deadline")),
            RESOLVED,
        )
        for name in ORDINARY
    },
    **{f"cannot go on, {name}": (name, lambda t: t.void(**PEOPLE), RESOLVED) for name in shipped_profiles()},
    "completed after 24 hours": ("complete-24-hours", lambda t: (t.interrupt(), t.after(24), t.complete()), RESOLVED),
    "completed where nobody said that it was cut off": ("complete-24-hours", lambda t: (t.after(24), t.complete()), RESOLVED),
    "waiting": (WAIT, lambda t: (t.after(24 * 89), t.finish()), "reproduced"),
    "late where the profile leaves it to people": (WAIT, lambda t: (t.after(24 * 91), t.finish()), "reproduced"),
    "void by people at its deadline": (WAIT, lambda t: (t.after(24 * 90), t.void("deadline", **PEOPLE)), RESOLVED),
    "a malfunction": ("default", lambda t: t.void("malfunction", incident=t.incident(), **PEOPLE), RESOLVED),
    "a malfunction without an incident": (NO_INCIDENT, lambda t: t.void("malfunction", **PEOPLE), RESOLVED),
    "a malfunction by one person": (
        ONE_PERSON,
        lambda t: t.void("malfunction", incident=t.incident(), why="spoilt", by="Ann"),
        RESOLVED,
    ),
    "all games blocked": (ALL_GAMES, lambda t: (t.interrupt(), t.finish()), RESOLVED),
    "in play": ("void-2-days", lambda t: (t.interrupt(), t.after(48, -1)), "incomplete_open"),
    "in play, to be completed": ("complete-24-hours", lambda t: (t.after(10), t.interrupt(), t.after(24, -1)), "incomplete_open"),
}


@pytest.mark.parametrize("name", OBEDIENT)
def test_a_life_that_obeys_its_profile_is_clean(deal, name):
    """Under each profile what it says is done when it says, and neither the verdict nor fsck finds anything."""
    profile, happen, verdict = OBEDIENT[name]
    table = deal(profile)
    happen(table)
    found = table.verdict()
    assert ([finding.message for finding in wrong(found)], found.verdict) == ([], verdict)
    assert fsck_messages(Path(str(table.ledger.path))) == []


def misvoid(table: Table, **values: Any) -> None:
    """Void by two people, and record other values."""
    table.say("voids", "round_voided", **values)
    table.void(**PEOPLE)


def mute(table: Table) -> None:
    """Go on with an interrupted round and do not say so."""
    table.interrupt()
    slot = f"UPDATE accounts SET round_in_play = '{table.round_id}'"
    altered(Path(str(table.ledger.path)), "UPDATE rounds SET status = 'open'", "DELETE FROM interrupted_rounds", slot)
    table.patch.setattr("ledger.rounds.standing_of", lambda later: "open")
    table.finish()


def won(table: Table) -> int:
    """Return what the round has won so far."""
    return won_so_far(table.ledger.recorded(table.round_id).later)


def add(table: Table, topic: str) -> None:
    """Put a resumption, or a copy of the round's last event of a topic, behind its events, whatever they are."""
    events, store = table.ledger.round_events(table.round_id), table.ledger.store
    resumed = event_bytes(RoundResumed(resumed_by="player", session_ref="", channel="", resumed_at_us=table.now_us()))
    found = [EventBytes(row.topic, row.data) for row in events if row.topic == topic] or [resumed]
    store.append_events(f"round/{table.round_id}", len(events) + 1, [found[-1]])
    altered(Path(str(table.ledger.path)), f"UPDATE rounds SET version = {len(events) + 1}")


INTERRUPTED = "round_interrupted"

# By code: the profile, and what happens against it or against the events; the verdict.
DISOBEDIENT: dict[str, tuple[str, str | Profile, Callable[[Table], Any], str]] = {
    "blocks all games": (
        "interruption_blocks",
        "default",
        lambda t: (t.say("interruptions", INTERRUPTED, blocks="all_games"), t.interrupt(), t.finish()),
        DIVERGED,
    ),
    "blocks one game": (
        "interruption_blocks",
        ALL_GAMES,
        lambda t: (t.say("interruptions", INTERRUPTED, blocks="own_game"), t.interrupt(), t.finish()),
        DIVERGED,
    ),
    "completed where it is void": (
        "completed_unasked",
        "default",
        lambda t: (t.interrupt(), t.resume("system"), t.finish()),
        DIVERGED,
    ),
    "completed where it waits": ("completed_unasked", WAIT, lambda t: (t.interrupt(), t.resume("system"), t.finish()), DIVERGED),
    "completed a moment early": (
        "completed_early",
        "complete-24-hours",
        lambda t: (t.interrupt(), t.after(24, -1), t.resume("system"), t.finish()),
        DIVERGED,
    ),
    "completed early after a second break": (
        "completed_early",
        "complete-24-hours",
        lambda t: (t.interrupt(), t.after(23), t.leg(), t.interrupt(), t.after(2), t.resume("system"), t.finish()),
        DIVERGED,
    ),
    "pays by another rule": ("void_rule", "default", lambda t: misvoid(t, pays="better_of"), DIVERGED),
    "void where it is completed": (
        "void_unasked",
        "complete-24-hours",
        lambda t: (t.after(24 * 91), misvoid(t, reason="deadline")),
        DIVERGED,
    ),
    "void a moment early": ("void_early", "void-2-days", lambda t: (t.after(48, -1), misvoid(t, reason="deadline")), DIVERGED),
    "void a day early": ("void_early", "void-15-days", lambda t: (t.after(14 * 24), misvoid(t, reason="deadline")), DIVERGED),
    "void by nobody": ("void_people", "default", lambda t: misvoid(t, voided_by_hash="", approved_by_hash=""), DIVERGED),
    "void by one": ("void_people", "default", lambda t: misvoid(t, approved_by_hash=""), DIVERGED),
    "void by one person twice": (
        "void_people",
        "default",
        lambda t: misvoid(t, voided_by_hash="ab" * 32, approved_by_hash="ab" * 32),
        DIVERGED,
    ),
    "void at a deadline by nobody where people decide": (
        "void_people",
        WAIT,
        lambda t: (t.after(24 * 90), misvoid(t, reason="deadline", voided_by_hash="", approved_by_hash="")),
        DIVERGED,
    ),
    "a malfunction by one": (
        "void_people",
        NO_INCIDENT,
        lambda t: misvoid(t, reason="malfunction", approved_by_hash=""),
        DIVERGED,
    ),
    "a malfunction without an incident": ("void_incident", "default", lambda t: misvoid(t, reason="malfunction"), DIVERGED),
    "an incident that is not there": ("void_incident", "default", lambda t: misvoid(t, **OTHER_INCIDENT), DIVERGED),
    "an incident of another round": ("void_incident", "default", lambda t: misvoid(t, incident_id=t.incident(rounds=())), DIVERGED),
    "an incident recovered from": (
        "void_incident",
        "default",
        lambda t: misvoid(t, incident_id=t.incident(is_recovered=True)),
        DIVERGED,
    ),
    "settled on the day": ("settled_late", "void-2-days", lambda t: (t.after(48), t.settle()), DIVERGED),
    "settled late after an interruption": (
        "settled_late",
        "default",
        lambda t: (t.interrupt(), t.after(24 * 91), t.settle()),
        DIVERGED,
    ),
    "in play after its deadline": ("round_overdue", "void-15-days", lambda t: t.after(15 * 24), "incomplete_open"),
    "in play, not completed": ("round_overdue", "complete-24-hours", lambda t: (t.interrupt(), t.after(24)), "incomplete_open"),
    "in play, undecided": ("round_overdue", WAIT, lambda t: (t.interrupt(), t.after(24 * 90)), "incomplete_open"),
    "holds a unit less": (
        "held",
        "default",
        lambda t: (t.say("interruptions", INTERRUPTED, held_minor=t.ledger.opening(t.round_id).cost_minor - 1), t.interrupt(), t.finish()),
        DIVERGED,
    ),
    "has won a unit more": (
        "won_so_far",
        "default",
        lambda t: (t.patch.setattr("ledger.interruptions.won_so_far", lambda later: won(t) + 1), t.interrupt(), t.finish()),
        DIVERGED,
    ),
    "has won a unit less when it is void": ("won_so_far", "default", lambda t: misvoid(t, won_minor=won(t) + 1), DIVERGED),
    "an event acknowledged that was not there": (
        "acked",
        "default",
        lambda t: (t.say("interruptions", INTERRUPTED, acked_index=500, acked_at_us=t.now_us()), t.interrupt(), t.finish()),
        DIVERGED,
    ),
    "broke before it was opened": (
        "time_order",
        "default",
        lambda t: (t.say("interruptions", INTERRUPTED, broke_at_us=1), t.interrupt(), t.finish()),
        DIVERGED,
    ),
    "a refund of a unit more": (
        "void_amount",
        "default",
        lambda t: misvoid(t, refund_minor=t.ledger.opening(t.round_id).cost_minor + 1),
        DIVERGED,
    ),
    "bonus money for a bet that had none": ("void_amount", "default", lambda t: misvoid(t, refund_bonus_minor=1), DIVERGED),
    "cut off within a leg": (
        "leg",
        "default",
        lambda t: (t.patch.setattr("ledger.rounds.first_leg", lambda events: 1), t.leg(), t.finish()),
        DIVERGED,
    ),
    "interrupted twice": ("life_order", "default", lambda t: (t.interrupt(), add(t, "round_interrupted/1"), t.finish()), DIVERGED),
    "went on, unsaid": ("life_order", "default", mute, DIVERGED),
    "void twice": ("life_order", "default", lambda t: (t.void(**PEOPLE), add(t, "round_voided/1")), DIVERGED),
    "void, and then gone on with": ("life_order", "default", lambda t: (t.void(**PEOPLE), add(t, "round_resumed/1")), DIVERGED),
    "over, and then interrupted": (
        "life_order",
        "default",
        lambda t: (t.interrupt(), t.finish(), add(t, "round_interrupted/1")),
        DIVERGED,
    ),
    "resumed, but it went on": (
        "life_order",
        "default",
        lambda t: (add(t, "round_resumed/1"), t.finish()),
        DIVERGED,
    ),
}


@pytest.mark.parametrize("name", DISOBEDIENT)
def test_what_a_profile_or_the_round_s_events_do_not_allow_is_one_finding(deal, name):
    """Each departure is one finding of its own code, with what was wanted and what is there."""
    code, profile, happen, verdict = DISOBEDIENT[name]
    table = deal(profile)
    happen(table)
    found = table.verdict()
    assert [finding.code for finding in wrong(found)] == [code], [finding.message for finding in wrong(found)]
    (finding,) = wrong(found)
    assert found.verdict == verdict
    assert finding.want != finding.got
    assert finding.want in finding.message
    assert finding.spin_index == -1


def test_what_the_program_itself_refuses(deal):
    """What would be a finding is refused by the calls that record it: too early, too late, unasked, without people or incident."""
    table = deal("void-2-days")
    for call in (
        table.complete,
        lambda: table.void("deadline"),
        lambda: table.void("deadline", **PEOPLE),
        lambda: table.void(why="x"),
        lambda: table.void(why="x", by="Ann"),
        lambda: table.void("malfunction", **PEOPLE),
        lambda: table.void("malfunction", incident=table.incident(is_recovered=True), **PEOPLE),
        lambda: table.void("malfunction", incident=table.incident(rounds=()), **PEOPLE),
    ):
        with pytest.raises((CompletionRefused, VoidRefused)):
            call()
    table.after(48, -1)
    for call in (table.complete, lambda: table.void("deadline")):
        with pytest.raises((CompletionRefused, VoidRefused)):
            call()
    table.leg()
    table.after(0, 1)
    for call in (table.finish, table.leg):
        with pytest.raises(RoundOverdue, match="want one opened less than 2 days ago"):
            call()
    table.void("deadline")
    assert wrong(table.verdict()) == []


def test_a_round_is_governed_by_the_profile_of_its_own_day(deal):
    """Another profile set meanwhile changes neither when a round is void, nor what it pays, nor what is found."""
    table = deal("void-2-days")
    put_in_force(table.ledger, "complete-24-hours")
    table.interrupt()
    table.after(25)
    with pytest.raises(CompletionRefused):
        table.complete()
    table.after(24)
    table.void("deadline")
    assert wrong(table.verdict()) == []


def test_a_verdict_notes_what_happened(deal):
    """Each interruption, resumption and void is a line: when, why, what the player had seen, what was held and won."""
    table = deal("default")
    opened = table.ledger.opening(table.round_id)
    table.after(1)
    table.interrupt(broke_at_us=table.now_us() - 1_500_000, acked_index=2, acked_at_us=opened.opened_at_us)
    table.after(1)
    table.resume()
    table.void("malfunction", incident=table.incident(), **PEOPLE)
    money, last = amount_text(opened.cost_minor, "EUR"), len(table.ledger.round_events(table.round_id))
    start = datetime.fromtimestamp(opened.opened_at_us // 1000 / 1000, UTC)
    texts = [(start + timedelta(seconds=each)).isoformat(timespec="milliseconds") for each in (0, 3598.5, 3600, 7200)]
    moment, broke, recorded, after = (text.replace("+00:00", "Z") for text in texts)
    (interrupted, resumed, voided) = table.verdict().notes
    assert interrupted == (
        f"interrupted: connection lost, cut off at {broke}, recorded at {recorded} behind event {last - 4}; "
        f"last event acknowledged: event 2 at {moment}; {money} EUR held, {amount_text(won(table), 'EUR')} EUR won so far"
    )
    assert resumed == f"resumed at {after} by the player, behind event {last - 3}"
    assert voided.startswith(f"void at {after}: malfunction, incident ")
    assert voided.endswith(f"; pays {money} EUR by the rule return of bet")
