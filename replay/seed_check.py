"""Does a round stand under the seed that was committed to? From the sealed seed to the key that replay may use."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from engines.canonical import INTEGER_MAX, CanonicalFormError
from engines.rng import round_key, round_key_commitment, seed_commitment
from ledger.codec import parse_event
from ledger.errors import LedgerError
from ledger.lifecycle_events import EpochClosed, EpochCommitted, RoundOpened, SeedRevealed
from ledger.rounds import RoundLedger
from ledger.seed_keys import SeedKeys
from ledger.store import EPOCH_STREAM
from replay.nonces import check_nonce
from replay.record_check import check_record
from replay.verdict import Check, Finding

__all__ = ["SealedSeeds", "SeedCheck"]


class SeedCheck(NamedTuple):
    """The check, its findings, and the round's key where it could be had."""

    check: Check
    findings: list[Finding]
    key: bytes | None


class _Epoch(NamedTuple):
    """What the record says of an epoch: its first event, that event's leaf, and why it cannot be relied on, where it cannot."""

    committed: EpochCommitted | None
    leaf_index: int
    fault: str
    closed_leaf: int = -1  # -1 while it is open
    revealed: bytes | None = None


class SealedSeeds:
    """The seeds of one ledger, opened as they are asked for with the seed keys in `keys_dir`.

    Without those no seed opens: checks are then `not_run`, and say why.
    """

    def __init__(self, ledger: RoundLedger, keys_dir: Path, round_keys: Mapping[str, bytes] | None = None) -> None:
        self._ledger = ledger
        self._round_keys = round_keys or {}
        self._seed_keys: SeedKeys | None = None
        self._reason = ""
        self._seeds: dict[int, tuple[bytes | None, str]] = {}
        self._epochs: dict[int, _Epoch] = {}
        try:
            self._seed_keys = SeedKeys(keys_dir)
        except LedgerError as error:
            # Without the folder: what is said here goes into packs, which name no place of a machine.
            self._reason = f"key sealed: {str(error).replace(f'{keys_dir}/', '')}"

    def check(self, round_id: str, opened: RoundOpened, opened_leaf: int, *, is_epoch_followed: bool = True) -> SeedCheck:
        """Return whether the round's key is the one committed to, under a seed committed to before the round's own leaf.

        The key comes from the seed where that opens or has been revealed, else from the round keys given. The nonce is
        held against the rounds before it unless `is_epoch_followed` says that somebody follows the nonces of all rounds.
        """
        for name, number in (("epoch", opened.epoch), ("nonce", opened.nonce)):
            if not 0 <= number <= INTEGER_MAX:
                fault = _finding(f"{name}_range", f"{name} of the round", f"one from 0 to {INTEGER_MAX}", str(number))
                return SeedCheck(Check("seed", "fail", fault.message), [fault], None)
        findings = self._check_epoch(opened, opened_leaf)
        seed, reason = self._seed(opened.epoch)
        key = given = self._round_keys.get(round_id)
        if seed is not None:
            key = round_key(seed, opened.game, opened.client_seed, opened.nonce)
            shown = "the seed has the commitment recorded before the bet, the round key its own"
        else:
            shown = "the round key that was released has its commitment; the seed itself is not shown"
        if key is not None:
            findings += _check_keys(opened, key, given)
        if not findings and opened_leaf >= 0 and not is_epoch_followed:
            findings += check_nonce(self._ledger, opened, opened_leaf, self._epoch(opened.epoch).leaf_index)
        if findings:
            return SeedCheck(Check("seed", "fail", findings[0].message), findings, key)
        if key is None:
            return SeedCheck(Check("seed", "not_run", reason), findings, None)
        return SeedCheck(Check("seed", "pass", f"epoch {opened.epoch}, nonce {opened.nonce}: {shown}"), findings, key)

    def _check_epoch(self, opened: RoundOpened, opened_leaf: int) -> list[Finding]:
        """Hold the round against its epoch: same commitment, made before the bet, for this account, and the seed it sealed."""
        epoch = self._epoch(opened.epoch)
        committed = epoch.committed
        where = f"commitment of epoch {opened.epoch}"
        if committed is None:
            return [_finding("epoch_missing", where, "an epoch_committed in the record", epoch.fault)]
        if epoch.fault:
            return [_finding("epoch_altered", where, "the bytes that its leaf is over", epoch.fault)]
        if committed.seed_commitment != opened.seed_commitment:
            return [_finding("seed_commitment", where, committed.seed_commitment, opened.seed_commitment)]
        if epoch.leaf_index >= opened_leaf >= 0:
            return [_finding("commitment_late", where, f"a leaf before {opened_leaf}", f"leaf {epoch.leaf_index}")]
        if opened_leaf > epoch.closed_leaf >= 0:
            where = f"end of epoch {opened.epoch}"
            return [_finding("epoch_closed", where, f"a leaf behind {opened_leaf}", f"leaf {epoch.closed_leaf}")]
        if committed.account_ref not in ("", opened.account_ref):
            return [_finding("epoch_account", f"account of epoch {opened.epoch}", committed.account_ref, opened.account_ref)]
        if epoch.revealed is not None and seed_commitment(epoch.revealed) != committed.seed_commitment:
            where = f"commitment of the seed revealed for epoch {opened.epoch}"
            return [_finding("revealed_seed", where, committed.seed_commitment, seed_commitment(epoch.revealed))]
        row = self._ledger.store.epoch(opened.epoch)
        found = hashlib.sha256(row.sealed_seed).hexdigest() if row is not None else "none"
        if found != committed.sealed_seed_hash:
            return [_finding("sealed_seed", f"sealed seed of epoch {opened.epoch}", committed.sealed_seed_hash, found)]
        return []

    def _epoch(self, epoch: int) -> _Epoch:
        if epoch not in self._epochs:
            self._epochs[epoch] = self._read_epoch(f"{EPOCH_STREAM}{epoch}")
        return self._epochs[epoch]

    def _read_epoch(self, stream: str) -> _Epoch:
        record = next(iter(self._ledger.store.records_of([stream])))
        if not record.events or not record.appends:
            return _Epoch(None, -1, "none")
        faults = check_record(record)
        try:
            first, *others = [parse_event(row) for row in record.events]
        except (CanonicalFormError, LedgerError) as error:
            return _Epoch(None, -1, f"one that cannot be read ({error})")
        if not isinstance(first, EpochCommitted):
            return _Epoch(None, -1, record.events[0].topic)
        closed_leaf, revealed = -1, None
        for place, event in enumerate(others, start=2):
            if isinstance(event, EpochClosed):
                closed_leaf = next((leaf.leaf_index for leaf in record.appends if leaf.version_first <= place <= leaf.version_last), -1)
            elif isinstance(event, SeedRevealed):
                revealed = bytes.fromhex(event.server_seed)
        return _Epoch(first, record.appends[0].leaf_index, faults[0].message if faults else "", closed_leaf, revealed)

    def _seed(self, epoch: int) -> tuple[bytes | None, str]:
        if epoch not in self._seeds:
            committed, revealed = self._epoch(epoch).committed, self._epoch(epoch).revealed
            if committed is not None and revealed is not None and seed_commitment(revealed) == committed.seed_commitment:
                self._seeds[epoch] = revealed, ""
            elif self._seed_keys is None:
                self._seeds[epoch] = None, self._reason
            else:
                self._seeds[epoch] = self._unseal(epoch, self._seed_keys)
        return self._seeds[epoch]

    def _unseal(self, epoch: int, seed_keys: SeedKeys) -> tuple[bytes | None, str]:
        row = self._ledger.store.epoch(epoch)
        if row is None:
            return None, f"epoch {epoch} has no sealed seed in this ledger"
        try:
            return seed_keys.unseal(row.sealed_seed, bytes.fromhex(row.seed_commitment), epoch=epoch), ""
        except (LedgerError, ValueError) as error:
            return None, str(error)


def _check_keys(opened: RoundOpened, key: bytes, given: bytes | None) -> list[Finding]:
    """Hold the round's key, and one that was released for it, against the commitment in the record."""
    where = f"round key of nonce {opened.nonce} in epoch {opened.epoch}"
    if round_key_commitment(key) != opened.round_key_commitment:
        return [_finding("round_key", where, opened.round_key_commitment, round_key_commitment(key))]
    if given not in (None, key):
        return [_finding("round_key", f"released {where}", opened.round_key_commitment, round_key_commitment(given or b""))]
    return []


def _finding(code: str, where: str, want: str, got: str) -> Finding:
    return Finding(code, "integrity", 0, -1, where, want, got, f"{where}: want {want}, got {got}")
