"""Each exception says what of which, what was wanted, what was found and what to do, and survives the way between processes."""

import pickle
import sqlite3
from typing import Any

import pytest

from ledger import (
    approval,
    builds,
    choices,
    corrections,
    disclosure,
    disputes,
    errors,
    forgetting,
    held,
    history_errors,
    incidents,
    interruptions,
    legal_hold,
    money,
    profile,
    profile_setting,
    voids,
)
from ledger.lifecycle_events import RoundOpened
from ledger.sqlite_schema import ledger_error

HOUR_US = 3_600_000_000


def held_round(action: Any, hours: int) -> held.HeldRound:
    """Return a round in play that comes to something so many hours after it stopped."""
    due = interruptions.Due(action, (hours + 1) * HOUR_US)
    opened = RoundOpened.model_construct(account_ref="ab")
    return held.HeldRound("r1", opened, "interrupted", "other", 200, 0, HOUR_US, "house 1.0.0", due)


CASES = [
    (
        interruptions.RoundOverdue("r1", "default 1.0.0", 90),
        2,
        "round r1 to go on with: want one opened less than 90 days ago, as profile default 1.0.0 says, got an older one; "
        "end it with `audit void --round r1`",
    ),
    (
        voids.VoidRefused("r1", "two people who say so", "one", "give --by and --approved-by"),
        2,
        "void of round r1: want two people who say so, got one; give --by and --approved-by",
    ),
    (
        held.CompletionRefused(held_round("complete", 24)),
        2,
        "round r1 to be completed by the system: want one that stands still for 24 hours, as profile house 1.0.0 says, "
        "got one that has not for so long; wait for it",
    ),
    (
        held.CompletionRefused(held_round("void", 48)),
        2,
        "round r1 to be completed by the system: want a profile that says so, got house 1.0.0; "
        "the player goes on with it, or it is void at its deadline",
    ),
    (errors.LedgerMissing("l.db"), 4, "ledger l.db: want a file, got none; name another with --ledger or make one with `audit init`"),
    (
        errors.LedgerExists("l.db"),
        2,
        "ledger l.db: want no file there yet, got one; name another path, an existing ledger is never touched",
    ),
    (
        errors.LedgerEmpty("l.db"),
        4,
        "ledger l.db: want a ledger's tables and first event, got an empty file; name another or make one with `audit init`",
    ),
    (
        errors.NotALedger("l.db", "a folder"),
        4,
        "ledger l.db: want an SQLite file with a ledger's tables, got a folder; name another with --ledger",
    ),
    (
        errors.LedgerNewer("l.db", 1, 2),
        4,
        "schema of ledger l.db: want version 1 at most, got 2; use the program that wrote it or a newer one",
    ),
    (
        errors.LedgerLocked("l.db", 5),
        4,
        "write lock of ledger l.db: want it within 5 s, got none, another writer holds it; try again when it has ended",
    ),
    (
        errors.LedgerDamaged("l.db", "malformed"),
        4,
        "ledger l.db: want a sound database, got malformed; work on a copy and compare it with a backup",
    ),
    (
        errors.LedgerUnwritable("l.db", "disk full"),
        4,
        "write to l.db: want room and access, got disk full; see to both and try again, this write was not recorded",
    ),
    (
        errors.FlushFailed("l.db", "disk I/O error"),
        4,
        "commit to l.db: want it confirmed by the disk, got disk I/O error; see to the disk and read the record again "
        "before repeating, what was not acknowledged is recorded whole or not at all",
    ),
    (
        errors.LedgerReadOnly("l.db"),
        4,
        "ledger l.db: want it opened for writing, got it opened for reading; open it for writing with its keys",
    ),
    (
        errors.VersionConflict("round/r", 3, 5),
        4,
        "next version of stream round/r: want 3, got 5; read the stream again before adding to it",
    ),
    (
        errors.TopicMismatch("round/r", 2, "drop/1", "win/1"),
        4,
        "topic of round/r version 2: want drop/1, got win/1; the record was altered or is of a newer program",
    ),
    (
        errors.TreeBroken(3, 4, 50),
        4,
        "node 4 on level 3 of the tree of size 50: want a hash of 32 bytes, got none; "
        "the record was altered, compare it with a checkpoint or a backup",
    ),
    (errors.ProofMalformed(3, 9, 4, 2), 4, "audit path of leaf 3 in the tree of size 9: want 4 hashes, got 2; get the proof again"),
    (errors.ProofMalformed(9, 9, -1, 2), 4, "leaf of a tree of size 9: want an index from 0 to below the size, got 9; get the proof again"),
    (
        errors.KeysExist("k/log.key"),
        2,
        "key file k/log.key: want none yet, got one; name another folder with --keys, an existing key is never replaced",
    ),
    (errors.KeyMissing("k/seeds.key"), 4, "key file k/seeds.key: want a file, got none; name the folder with --keys or AUDIT_KEYS"),
    (
        errors.KeyUnreadable("k/seeds.key", "32 bytes", "3 bytes"),
        4,
        "key file k/seeds.key: want 32 bytes, got 3 bytes; restore it from its backup",
    ),
    (
        errors.KeyMismatch("seed key for epoch 1", "one that opens it", "another"),
        4,
        "seed key for epoch 1: want one that opens it, got another; name this ledger's own keys with --keys or AUDIT_KEYS",
    ),
    (
        disclosure.EpochNotRevealable(3, "a closed epoch", "an open one", "close it with `audit seeds rotate`"),
        2,
        "seed of epoch 3: want a closed epoch, got an open one; close it with `audit seeds rotate`",
    ),
    (
        disclosure.RoundNotSettled("r"),
        2,
        "key of round r: want a settled round, got one in play; its key would disclose what is to come",
    ),
    (errors.EpochUnknown(4), 4, "sealed seed of epoch 4: want one, got none; the table was altered, restore it from a backup"),
    (errors.EpochEnded(4), 4, "epoch 4: want it open, got it closed; start another"),
    (
        errors.AccountUnknown("bob"),
        2,
        "account bob: want a known name or reference, got none; "
        "`audit history` lists the rounds of all accounts, `audit play --account NAME` opens one",
    ),
    (errors.AccountExists("bob"), 2, "account bob: want a new name, got one that is taken; choose another"),
    (
        errors.CurrencyUnknown("XXX"),
        2,
        "currency XXX: want a code of ISO 4217 with 0, 2 or 3 decimals, got an unknown one; choose one such as EUR",
    ),
    (errors.AmountInvalid("2,0", "KWD", 3), 2, "amount in KWD: want digits with at most 3 decimals, got '2,0'; write it as in 2.000"),
    (errors.ModeUnknown("moon", "x", ("base", "buy")), 2, "mode of moon: want one of base, buy, got 'x'; choose one of these"),
    (
        errors.BetNotAllowed("moon", "0.25", "0.20 to 100.00 EUR in steps of 0.20", ("0.20", "0.40")),
        2,
        "bet of moon: want 0.20 to 100.00 EUR in steps of 0.20, got 0.25; nearest: 0.20 and 0.40",
    ),
    (
        errors.LedgerMoved(),
        4,
        "stream ledger: want the version that the profile was read at, got a later one; read the profile again",
    ),
    (
        profile.ProfileFileUnreadable("p.toml", "answer.within_days", "Input should be a valid integer"),
        4,
        "profile p.toml, answer.within_days: want a profile's value, got Input should be a valid integer; correct the file or name another",
    ),
    (
        profile_setting.ProfileSame("default 1.0.0", "ab"),
        2,
        "profile default 1.0.0: want another than the one in force, got that one (ab); nothing is to be set",
    ),
    (
        profile_setting.ProfileVersionTaken("default 1.0.0", "ab", "cd"),
        2,
        "values of profile default 1.0.0: want those that were set, ab, got cd; give them a new version",
    ),
    (
        profile_setting.ProfileAltered("default", 1, "ab", "cd"),
        4,
        "profile default, event 1 of stream ledger: want values of hash ab, got cd; "
        "the record was altered or is of a newer program, run `audit fsck`",
    ),
    (
        profile_setting.ProfileUnknown("x", ("better-of", "default")),
        2,
        "profile x: want one that was set or comes with the program, got none; "
        "choose one of better-of, default, or give 8 characters of a hash or more",
    ),
    (
        incidents.IncidentFileUnreadable("i.toml", "cause", "Field required"),
        4,
        "incident i.toml, cause: want one of its six parts, got Field required; complete the file (GLI-19, B.2.1(e))",
    ),
    (
        incidents.IncidentUnknown("ab", 0),
        2,
        "incident ab: want one by its id or 8 characters of it, got 0; see `audit incident list`",
    ),
    (
        disputes.DisputeUnknown("ab", 2),
        2,
        "dispute ab: want one by its id or 8 characters of it, got 2; see `audit dispute list`",
    ),
    (
        disputes.DisputeRefused("dispute ab", "it open", "it closed, upheld", "open another one for what came after"),
        2,
        "dispute ab: want it open, got it closed, upheld; open another one for what came after",
    ),
    (
        legal_hold.AccountOnHold("ab", "r1", "d1", 1),
        2,
        "rounds on legal hold of account ab: want none, got round r1 held by dispute d1; answer it and `audit dispute close d1` first",
    ),
    (
        legal_hold.AccountOnHold("ab", "r1", "d1", 3),
        2,
        "rounds on legal hold of account ab: want none, got round r1 held by dispute d1 and 2 more; "
        "answer it and `audit dispute close d1` first",
    ),
    (
        corrections.CorrectionRefused("round r1", "it settled", "it in play", "correct it when it has ended"),
        2,
        "round r1: want it settled, got it in play; correct it when it has ended",
    ),
    (
        forgetting.AccountErased("ab"),
        2,
        "account ab: want one that is not forgotten, got one that is; nothing is left to erase",
    ),
    (
        money.BalanceTooLarge("ab", "10.00", "9.00", "EUR"),
        2,
        "balance of account ab: want 9.00 EUR at most, got 10.00; "
        "take money out of the account, then repeat; a round that is in play waits for it and pays the same",
    ),
    (
        errors.FundsShort("ab", "2.00", "1.00", "EUR"),
        2,
        "balance of account ab: want 2.00 EUR at least, got 1.00; fund it with `audit account fund`",
    ),
    (
        errors.RoundUnknown("r", "no id starts so"),
        3,
        "round r: want one in the record, got none (no id starts so); look for it with `audit find`",
    ),
    (errors.RoundAmbiguous("r", ("r1", "r2")), 2, "round r: want one, got several, the first r1, r2; give more of the id"),
    (errors.RoundInPlay("ab", "r1"), 2, "rounds in play of account ab: want none, got r1; finish that round first"),
    (choices.ChoiceNotOffered("r1", 7, (0, 2)), 2, "choice of round r1: want one of 0, 2, got 7; choose one of these"),
    (choices.ChoiceNotOffered("r1", 0, ()), 2, "choice of round r1: want none, got 0; leave the choice out"),
    (choices.ChoiceConflict("r1", (1,), (2,)), 2, "choices of round r1: want 1, which the record holds, got 2; what is made stays made"),
    (
        choices.LegMismatch("r1", 4, "no further event", "another drop/1"),
        4,
        "event 4 of round r1: want no further event, got another drop/1; the round is left as it is, see `audit verify --round r1`",
    ),
    (errors.RoundNotOpen("r1", "settled"), 2, "round r1: want it open, got it settled; read its outcome from the record"),
    (errors.RoundNotOpen("r1", "interrupted"), 2, "round r1: want it open, got it interrupted; go on with it first: `audit resume`"),
    (errors.RoundNotOpen("r1", "waiting"), 2, "round r1: want it interrupted, got it waiting; it goes on as it is"),
    (errors.GameMismatch("r1", "game", "a", "b"), 4, "game of round r1: want a, got b; finish it with the build that opened it"),
    (
        errors.IdempotencyConflict("k", "r1", "mode", "base", "buy"),
        2,
        "mode under idempotency key 'k' of round r1: want base, got buy; use a new key for a new bet",
    ),
    (
        errors.TextInvalid("channel", "256 characters at most", "300"),
        2,
        "channel: want 256 characters at most, got 300; shorten or correct it",
    ),
    (
        builds.BuildKnown("moonlight-princess 0.1.0 abcd"),
        2,
        "build moonlight-princess 0.1.0 abcd: want one that is not registered yet, got one that is; see `audit builds list`",
    ),
    (
        approval.ApproverSame("Ann"),
        2,
        "--approved-by: want another person than --by, got 'Ann' for both; have a second person approve it",
    ),
    (history_errors.HistoryMissing("h.db"), 4, "read model h.db: want a file, got none; build it with `audit history build`"),
    (
        history_errors.HistoryMismatch("h.db", "that of ledger a", "that of b"),
        4,
        "read model h.db: want that of ledger a, got that of b; name another with --history or remove the file and build it again",
    ),
]


@pytest.mark.parametrize(("error", "status", "message"), CASES, ids=lambda value: type(value).__name__)
def test_messages_and_exit_status(error, status, message):
    """The message is in the one form, and survives pickling with all fields."""
    assert str(error) == message
    assert error.exit_status == status
    assert message[-1] != "."
    assert "want" in message
    assert "got" in message
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied), vars(copied)) == (type(error), message, vars(error))


def test_every_exception_is_tested():
    """No exception of the package is left out above."""
    tested = {type(error) for error, _, _ in CASES}
    early = (approval, builds, choices, corrections, disclosure, disputes, forgetting, held, history_errors)
    own = (*early, incidents, interruptions, legal_hold, money, profile, profile_setting, voids)
    modules = (errors, *own)
    named = [getattr(module, name) for module in modules for name in module.__all__]
    known = {each for each in named if isinstance(each, type) and issubclass(each, errors.LedgerError)}
    assert tested == known - {errors.LedgerError}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_BUSY, errors.LedgerLocked),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, errors.LedgerLocked),
        (sqlite3.SQLITE_LOCKED, errors.LedgerLocked),
        (sqlite3.SQLITE_NOTADB, errors.NotALedger),
        (sqlite3.SQLITE_FULL, errors.LedgerUnwritable),
        (sqlite3.SQLITE_IOERR_WRITE, errors.LedgerUnwritable),
        (sqlite3.SQLITE_READONLY, errors.LedgerUnwritable),
        (sqlite3.SQLITE_CANTOPEN, errors.LedgerUnwritable),
        (sqlite3.SQLITE_CORRUPT, errors.LedgerDamaged),
        (sqlite3.SQLITE_ERROR, errors.LedgerDamaged),
        (None, errors.LedgerDamaged),
    ],
)
def test_database_errors_are_translated(code, expected):
    """Each of SQLite's ways to fail becomes an error of ours."""
    error = sqlite3.OperationalError("message")
    if code is not None:
        error.sqlite_errorcode = code
    assert type(ledger_error("l.db", error)) is expected
