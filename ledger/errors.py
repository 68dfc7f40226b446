"""What the ledger could not do. Each message: what of which, what was wanted, what was found, what to do.

Fields go positionally to `super().__init__`, so that an exception survives the way out of a worker process.
`exit_status` is what a command ends with: 2 wrong usage, 3 an unknown round, 4 something that cannot be read or written.
"""

# ruff: noqa: N818 - an exception is named by what is the case, as a verdict is; `except FundsShort` needs no more.

from typing import ClassVar

__all__ = [
    "AccountExists",
    "AccountUnknown",
    "AmountInvalid",
    "BetNotAllowed",
    "CurrencyUnknown",
    "EpochEnded",
    "EpochUnknown",
    "FlushFailed",
    "FundsShort",
    "GameMismatch",
    "IdempotencyConflict",
    "KeyMismatch",
    "KeyMissing",
    "KeyUnreadable",
    "KeysExist",
    "LedgerDamaged",
    "LedgerEmpty",
    "LedgerError",
    "LedgerExists",
    "LedgerLocked",
    "LedgerMissing",
    "LedgerMoved",
    "LedgerNewer",
    "LedgerReadOnly",
    "LedgerUnwritable",
    "ModeUnknown",
    "NotALedger",
    "ProofMalformed",
    "RoundAmbiguous",
    "RoundInPlay",
    "RoundNotOpen",
    "RoundUnknown",
    "TextInvalid",
    "TopicMismatch",
    "TreeBroken",
    "VersionConflict",
]


class LedgerError(Exception):
    """The ledger could not do the work; the message says why and what to do."""

    exit_status: ClassVar[int] = 4


class _OfPath(LedgerError):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class LedgerMissing(_OfPath):
    """There is no file at the ledger's path."""

    def __str__(self) -> str:
        return f"ledger {self.path}: want a file, got none; name another with --ledger or make one with `audit init`"


class LedgerExists(_OfPath):
    """A new ledger would take the place of something."""

    exit_status = 2

    def __str__(self) -> str:
        there = "ledger" if "://" in self.path else "file"
        return f"ledger {self.path}: want no {there} there yet, got one; name another path, an existing ledger is never touched"


class LedgerEmpty(_OfPath):
    """The file is a database or an empty file, without any event of a ledger."""

    def __str__(self) -> str:
        kind = "database" if "://" in self.path else "file"
        what = f"ledger {self.path}: want a ledger's tables and first event, got an empty {kind}"
        return f"{what}; name another or make one with `audit init`"


class NotALedger(LedgerError):
    """The file is something else than a ledger."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(path, found)
        self.path, self.found = path, found

    def __str__(self) -> str:
        kind = "a database" if "://" in self.path else "an SQLite file"
        return f"ledger {self.path}: want {kind} with a ledger's tables, got {self.found}; name another with --ledger"


class LedgerNewer(LedgerError):
    """The ledger was written by a newer program."""

    def __init__(self, path: str, schema_want: int, schema_got: int) -> None:
        super().__init__(path, schema_want, schema_got)
        self.path, self.schema_want, self.schema_got = path, schema_want, schema_got

    def __str__(self) -> str:
        return (
            f"schema of ledger {self.path}: want version {self.schema_want} at most, got {self.schema_got}; "
            "use the program that wrote it or a newer one"
        )


class LedgerLocked(LedgerError):
    """Another writer holds the ledger for longer than we wait."""

    def __init__(self, path: str, waited_seconds: int) -> None:
        super().__init__(path, waited_seconds)
        self.path, self.waited_seconds = path, waited_seconds

    def __str__(self) -> str:
        return (
            f"write lock of ledger {self.path}: want it within {self.waited_seconds} s, got none, another writer holds it; "
            "try again when it has ended"
        )


class LedgerDamaged(LedgerError):
    """The database cannot read its own file."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"ledger {self.path}: want a sound database, got {self.reason}; work on a copy and compare it with a backup"


class LedgerUnwritable(LedgerError):
    """The file, its folder or its disk takes no more bytes; nothing of the transaction was written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"write to {self.path}: want room and access, got {self.reason}; see to both and try again, this write was not recorded"


class FlushFailed(LedgerError):
    """The disk did not confirm a commit whose bytes had been given to it: the transaction is recorded whole or not at all."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return (
            f"commit to {self.path}: want it confirmed by the disk, got {self.reason}; see to the disk and read the record again "
            "before repeating, what was not acknowledged is recorded whole or not at all"
        )


class LedgerReadOnly(_OfPath):
    """Something was to be recorded in a ledger that was opened for reading."""

    def __str__(self) -> str:
        return f"ledger {self.path}: want it opened for writing, got it opened for reading; open it for writing with its keys"


class VersionConflict(LedgerError):
    """Events do not follow directly on the last one of their stream."""

    def __init__(self, stream: str, version_want: int, version_got: int) -> None:
        super().__init__(stream, version_want, version_got)
        self.stream, self.version_want, self.version_got = stream, version_want, version_got

    def __str__(self) -> str:
        return (
            f"next version of stream {self.stream}: want {self.version_want}, got {self.version_got}; "
            "read the stream again before adding to it"
        )


class TopicMismatch(LedgerError):
    """The topic beside an event names another kind or version than its bytes, or one that is not known."""

    def __init__(self, stream: str, version: int, topic_want: str, topic_got: str) -> None:
        super().__init__(stream, version, topic_want, topic_got)
        self.stream, self.version, self.topic_want, self.topic_got = stream, version, topic_want, topic_got

    def __str__(self) -> str:
        return (
            f"topic of {self.stream} version {self.version}: want {self.topic_want}, got {self.topic_got}; "
            "the record was altered or is of a newer program"
        )


class TreeBroken(LedgerError):
    """A node that the tree must have is not there, or is no hash."""

    def __init__(self, level: int, node_index: int, tree_size: int) -> None:
        super().__init__(level, node_index, tree_size)
        self.level, self.node_index, self.tree_size = level, node_index, tree_size

    def __str__(self) -> str:
        return (
            f"node {self.node_index} on level {self.level} of the tree of size {self.tree_size}: want a hash of 32 bytes, got none; "
            "the record was altered, compare it with a checkpoint or a backup"
        )


class ProofMalformed(LedgerError):
    """An audit path has not the length that its leaf and tree ask for."""

    def __init__(self, leaf_index: int, tree_size: int, length_want: int, length_got: int) -> None:
        super().__init__(leaf_index, tree_size, length_want, length_got)
        self.leaf_index, self.tree_size, self.length_want, self.length_got = leaf_index, tree_size, length_want, length_got

    def __str__(self) -> str:
        if self.length_want < 0:
            return (
                f"leaf of a tree of size {self.tree_size}: want an index from 0 to below the size, got {self.leaf_index}; "
                "get the proof again"
            )
        return (
            f"audit path of leaf {self.leaf_index} in the tree of size {self.tree_size}: "
            f"want {self.length_want} hashes, got {self.length_got}; get the proof again"
        )


class KeysExist(_OfPath):
    """New keys would take the place of a file."""

    exit_status = 2

    def __str__(self) -> str:
        return f"key file {self.path}: want none yet, got one; name another folder with --keys, an existing key is never replaced"


class KeyMissing(_OfPath):
    """A key file is not where it is looked for."""

    def __str__(self) -> str:
        return f"key file {self.path}: want a file, got none; name the folder with --keys or AUDIT_KEYS"


class KeyUnreadable(LedgerError):
    """A key file cannot be read, or holds no key."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        super().__init__(path, expected, found)
        self.path, self.expected, self.found = path, expected, found

    def __str__(self) -> str:
        return f"key file {self.path}: want {self.expected}, got {self.found}; restore it from its backup"


class KeyMismatch(LedgerError):
    """A key does not belong to this ledger: it opens no sealed seed, or is not the one that the record names."""

    def __init__(self, what: str, expected: str, found: str) -> None:
        super().__init__(what, expected, found)
        self.what, self.expected, self.found = what, expected, found

    def __str__(self) -> str:
        return f"{self.what}: want {self.expected}, got {self.found}; name this ledger's own keys with --keys or AUDIT_KEYS"


class EpochUnknown(LedgerError):
    """There is no seed under this epoch's number."""

    def __init__(self, epoch: int) -> None:
        super().__init__(epoch)
        self.epoch = epoch

    def __str__(self) -> str:
        return f"sealed seed of epoch {self.epoch}: want one, got none; the table was altered, restore it from a backup"


class EpochEnded(LedgerError):
    """The writer's epoch takes no more rounds; a new one has to be started."""

    def __init__(self, epoch: int) -> None:
        super().__init__(epoch)
        self.epoch = epoch

    def __str__(self) -> str:
        return f"epoch {self.epoch}: want it open, got it closed; start another"


class AccountUnknown(LedgerError):
    """There is no account with this name or reference."""

    exit_status = 2

    def __init__(self, account: str) -> None:
        super().__init__(account)
        self.account = account

    def __str__(self) -> str:
        mend = "`audit history` lists the rounds of all accounts, `audit play --account NAME` opens one"
        return f"account {self.account}: want a known name or reference, got none; {mend}"


class AccountExists(LedgerError):
    """The account's name is taken."""

    exit_status = 2

    def __init__(self, account: str) -> None:
        super().__init__(account)
        self.account = account

    def __str__(self) -> str:
        return f"account {self.account}: want a new name, got one that is taken; choose another"


class CurrencyUnknown(LedgerError):
    """The currency's number of decimals is not known."""

    exit_status = 2

    def __init__(self, currency: str) -> None:
        super().__init__(currency)
        self.currency = currency

    def __str__(self) -> str:
        return f"currency {self.currency}: want a code of ISO 4217 with 0, 2 or 3 decimals, got an unknown one; choose one such as EUR"


class AmountInvalid(LedgerError):
    """A text is no amount of its currency."""

    exit_status = 2

    def __init__(self, text: str, currency: str, decimals: int) -> None:
        super().__init__(text, currency, decimals)
        self.text, self.currency, self.decimals = text, currency, decimals

    def __str__(self) -> str:
        example = f"2.{'0' * self.decimals}" if self.decimals else "200"
        return (
            f"amount in {self.currency}: want digits with at most {self.decimals} decimals, got {self.text[:40]!r}; "
            f"write it as in {example}"
        )


class ModeUnknown(LedgerError):
    """The game has no such mode."""

    exit_status = 2

    def __init__(self, game: str, mode: str, known: tuple[str, ...]) -> None:
        super().__init__(game, mode, known)
        self.game, self.mode, self.known = game, mode, known

    def __str__(self) -> str:
        return f"mode of {self.game}: want one of {', '.join(self.known)}, got {self.mode!r}; choose one of these"


class BetNotAllowed(LedgerError):
    """The game takes no such bet. All amounts are texts in the currency."""

    exit_status = 2

    def __init__(self, game: str, bet: str, allowed: str, nearest: tuple[str, ...]) -> None:
        super().__init__(game, bet, allowed, nearest)
        self.game, self.bet, self.allowed, self.nearest = game, bet, allowed, nearest

    def __str__(self) -> str:
        mend = f"nearest: {' and '.join(self.nearest)}" if self.nearest else "bet in another currency"
        return f"bet of {self.game}: want {self.allowed}, got {self.bet}; {mend}"


class FundsShort(LedgerError):
    """The account cannot pay. Amounts are texts in the currency."""

    exit_status = 2

    def __init__(self, account_ref: str, cost: str, balance: str, currency: str) -> None:
        super().__init__(account_ref, cost, balance, currency)
        self.account_ref, self.cost, self.balance, self.currency = account_ref, cost, balance, currency

    def __str__(self) -> str:
        return (
            f"balance of account {self.account_ref}: want {self.cost} {self.currency} at least, got {self.balance}; "
            "fund it with `audit account fund`"
        )


class RoundUnknown(LedgerError):
    """No round of the record is meant by this."""

    exit_status = 3

    def __init__(self, wanted: str, reason: str) -> None:
        super().__init__(wanted, reason)
        self.wanted, self.reason = wanted, reason

    def __str__(self) -> str:
        return f"round {self.wanted}: want one in the record, got none ({self.reason}); look for it with `audit find`"


class RoundAmbiguous(LedgerError):
    """More than one round is meant by this; `candidates` holds the first few."""

    exit_status = 2

    def __init__(self, wanted: str, candidates: tuple[str, ...]) -> None:
        super().__init__(wanted, candidates)
        self.wanted, self.candidates = wanted, candidates

    def __str__(self) -> str:
        return f"round {self.wanted}: want one, got several, the first {', '.join(self.candidates)}; give more of the id"


class RoundInPlay(LedgerError):
    """The account has a round in play, and may have one at a time over all games."""

    exit_status = 2

    def __init__(self, account_ref: str, round_id: str) -> None:
        super().__init__(account_ref, round_id)
        self.account_ref, self.round_id = account_ref, round_id

    def __str__(self) -> str:
        return f"rounds in play of account {self.account_ref}: want none, got {self.round_id}; finish that round first"


class LedgerMoved(LedgerError):
    """The ledger's own stream went on since the profile in force was read from it; inside `RoundLedger` it is read again."""

    def __str__(self) -> str:
        return "stream ledger: want the version that the profile was read at, got a later one; read the profile again"


class RoundNotOpen(LedgerError):
    """A round stands otherwise than what is to happen to it needs."""

    exit_status = 2

    def __init__(self, round_id: str, status: str) -> None:
        super().__init__(round_id, status)
        self.round_id, self.status = round_id, status

    def __str__(self) -> str:
        want = "interrupted" if self.status in ("open", "waiting") else "open"
        mends = {"open": "it goes on as it is", "waiting": "it goes on as it is", "interrupted": "go on with it first: `audit resume`"}
        mend = mends.get(self.status, "read its outcome from the record")
        return f"round {self.round_id}: want it {want}, got it {self.status}; {mend}"


class GameMismatch(LedgerError):
    """A round is to be finished by another game, version or build than the one that it was opened under."""

    def __init__(self, round_id: str, what: str, expected: str, found: str) -> None:
        super().__init__(round_id, what, expected, found)
        self.round_id, self.what, self.expected, self.found = round_id, what, expected, found

    def __str__(self) -> str:
        return f"{self.what} of round {self.round_id}: want {self.expected}, got {self.found}; finish it with the build that opened it"


class IdempotencyConflict(LedgerError):
    """An idempotency key comes again with another bet."""

    exit_status = 2

    def __init__(self, idempotency_key: str, round_id: str, field: str, recorded: str, given: str) -> None:
        super().__init__(idempotency_key, round_id, field, recorded, given)
        self.idempotency_key, self.round_id, self.field, self.recorded, self.given = idempotency_key, round_id, field, recorded, given

    def __str__(self) -> str:
        return (
            f"{self.field} under idempotency key {self.idempotency_key!r} of round {self.round_id}: "
            f"want {self.recorded}, got {self.given}; use a new key for a new bet"
        )


class TextInvalid(LedgerError):
    """A text is longer than the record takes, or no Unicode text."""

    exit_status = 2

    def __init__(self, field: str, limit: str, found: str) -> None:
        super().__init__(field, limit, found)
        self.field, self.limit, self.found = field, limit, found

    def __str__(self) -> str:
        return f"{self.field}: want {self.limit}, got {self.found}; shorten or correct it"
