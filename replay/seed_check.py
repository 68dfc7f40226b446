"""Does a round stand under the seed that was committed to? From the sealed seed to the key that replay may use."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from engines.canonical import INTEGER_MAX, CanonicalFormError
from engines.rng import round_key, round_key_commitment, seed_commitment
from ledger.codec import parse_event
from ledger.errors import LedgerError
from ledger.keys import load_seed_key
from ledger.lifecycle_events import EpochCommitted, RoundOpened, SeedRevealed
from ledger.rounds import RoundLedger
from ledger.seeds import unseal_seed
from ledger.store import EPOCH_STREAM
from replay.record_check import check_record
from replay.verdict import Check, Finding

__all__ = ["SealedSeeds", "SeedCheck"]


class SeedCheck(NamedTuple):
    """The check, its findings, and the round's key where it could be had."""

    check: Check
    findings: list[Finding]
    key: bytes | None


class SealedSeeds:
    """The seeds of one ledger, opened as they are asked for with the seed key in `keys_dir`.

    Without that key no seed opens: checks are then `not_run`, and say why.
    """

    def __init__(self, ledger: RoundLedger, keys_dir: Path, round_keys: Mapping[str, bytes] | None = None) -> None:
        self._ledger = ledger
        self._round_keys = round_keys or {}
        self._seed_key: bytes | None = None
        self._reason = ""
        self._seeds: dict[int, tuple[bytes | None, str]] = {}
        self._commitments: dict[int, tuple[EpochCommitted | None, int, str]] = {}
        try:
            self._seed_key = load_seed_key(keys_dir)
        except LedgerError as error:
            self._reason = f"key sealed: {error}"

    def check(self, round_id: str, opened: RoundOpened, opened_leaf: int) -> SeedCheck:
        """Return whether the round's key is the one committed to, under a seed committed to before the round's own leaf.

        The key comes from the seed where that opens or has been revealed, else from the round keys given.
        """
        for name, number in (("epoch", opened.epoch), ("nonce", opened.nonce)):
            if not 0 <= number <= INTEGER_MAX:
                fault = _finding(f"{name}_range", f"{name} of the round", f"one from 0 to {INTEGER_MAX}", str(number))
                return SeedCheck(Check("seed", "fail", fault.message), [fault], None)
        findings = self._check_commitment(opened, opened_leaf)
        seed, reason = self._seed(opened.epoch)
        if seed is not None:
            key: bytes | None = round_key(seed, opened.game, opened.client_seed, opened.nonce)
            shown = "the seed has the commitment recorded before the bet, the round key its own"
        else:
            key = self._round_keys.get(round_id)
            shown = "the round key that was released has its commitment; the seed itself is not shown"
        if key is None:
            check = Check("seed", "fail", findings[0].message) if findings else Check("seed", "not_run", reason)
            return SeedCheck(check, findings, None)
        commitment = round_key_commitment(key)
        if commitment != opened.round_key_commitment:
            where = f"round key of nonce {opened.nonce} in epoch {opened.epoch}"
            findings.append(_finding("round_key", where, opened.round_key_commitment, commitment))
        if findings:
            return SeedCheck(Check("seed", "fail", findings[0].message), findings, key)
        return SeedCheck(Check("seed", "pass", f"epoch {opened.epoch}, nonce {opened.nonce}: {shown}"), findings, key)

    def _check_commitment(self, opened: RoundOpened, opened_leaf: int) -> list[Finding]:
        """Hold the round against its epoch's `epoch_committed`: same commitment, recorded earlier, and the seed it sealed."""
        committed, leaf_index, fault = self._committed(opened.epoch)
        where = f"commitment of epoch {opened.epoch}"
        if committed is None:
            return [_finding("epoch_missing", where, "an epoch_committed in the record", fault)]
        if fault:
            return [_finding("epoch_altered", where, "the bytes that its leaf is over", fault)]
        if committed.seed_commitment != opened.seed_commitment:
            return [_finding("seed_commitment", where, committed.seed_commitment, opened.seed_commitment)]
        if leaf_index >= opened_leaf >= 0:
            return [_finding("commitment_late", where, f"a leaf before {opened_leaf}", f"leaf {leaf_index}")]
        row = self._ledger.store.epoch(opened.epoch)
        found = hashlib.sha256(row.sealed_seed).hexdigest() if row is not None else "none"
        if found != committed.sealed_seed_hash:
            return [_finding("sealed_seed", f"sealed seed of epoch {opened.epoch}", committed.sealed_seed_hash, found)]
        return []

    def _committed(self, epoch: int) -> tuple[EpochCommitted | None, int, str]:
        """Return the epoch's first event, its leaf, and what is wrong with it."""
        if epoch not in self._commitments:
            self._commitments[epoch] = self._read_committed(f"{EPOCH_STREAM}{epoch}")
        return self._commitments[epoch]

    def _read_committed(self, stream: str) -> tuple[EpochCommitted | None, int, str]:
        """Return the event, its leaf, and why it cannot be relied on: empty where its bytes are those of its leaf."""
        record = next(iter(self._ledger.store.records_of([stream])))
        if not record.events or not record.appends:
            return None, -1, "none"
        faults = check_record(record)
        try:
            event = parse_event(record.events[0])
        except (CanonicalFormError, LedgerError) as error:
            return None, -1, f"one that cannot be read ({error})"
        if not isinstance(event, EpochCommitted):
            return None, -1, record.events[0].topic
        return event, record.appends[0].leaf_index, faults[0].message if faults else ""

    def _seed(self, epoch: int) -> tuple[bytes | None, str]:
        if epoch not in self._seeds:
            revealed = self._revealed(epoch)
            if revealed is not None:
                self._seeds[epoch] = revealed, ""
            elif self._seed_key is None:
                self._seeds[epoch] = None, self._reason
            else:
                self._seeds[epoch] = self._unseal(epoch, self._seed_key)
        return self._seeds[epoch]

    def _revealed(self, epoch: int) -> bytes | None:
        """Return the seed that the record itself shows for an epoch; one that has not the commitment is none."""
        for row in self._ledger.store.stream_events(f"{EPOCH_STREAM}{epoch}"):
            try:
                event = parse_event(row)
            except (CanonicalFormError, LedgerError):
                continue
            if isinstance(event, SeedRevealed):
                seed = bytes.fromhex(event.server_seed)
                committed, _, _ = self._committed(epoch)
                return seed if committed is not None and seed_commitment(seed) == committed.seed_commitment else None
        return None

    def _unseal(self, epoch: int, seed_key: bytes) -> tuple[bytes | None, str]:
        row = self._ledger.store.epoch(epoch)
        if row is None:
            return None, f"epoch {epoch} has no sealed seed in this ledger"
        try:
            return unseal_seed(row.sealed_seed, bytes.fromhex(row.seed_commitment), seed_key, epoch=epoch), ""
        except (LedgerError, ValueError) as error:
            return None, str(error)


def _finding(code: str, where: str, want: str, got: str) -> Finding:
    return Finding(code, "integrity", 0, -1, where, want, got, f"{where}: want {want}, got {got}")
