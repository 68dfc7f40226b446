"""The streams of a pack against their leaves, the log's keys against the ledger's own stream, balances against what moved them."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from audit_reports.pack_parts import Index
from engines.canonical import CanonicalFormError, RecordedEvent
from ledger.codec import parse_event
from ledger.errors import LedgerError
from ledger.keys import VerifierKey, log_origin
from ledger.lifecycle_events import FundsMoved, KeyRotated, LedgerCreated, RoundOpened, RoundSettled, RoundVoided
from ledger.store import ACCOUNT_STREAM, LEDGER_STREAM, LeafRow, RoundRecord
from replay.reconcile import AccountFact, credited_minor, reconcile_account
from replay.record_check import check_append, check_record
from replay.verdict import Finding

__all__ = ["check_balance", "check_log_keys", "check_stream", "events_of"]

_BEFORE, _AFTER = "streams/round-before.jsonl", "streams/round-after.jsonl"
_CUT = "rounds in between"


def check_stream(record: RoundRecord, *, is_cut: bool) -> list[Finding]:
    """Return where a stream departs from its leaves and these from the root; of a cut stream each append is judged by itself."""
    found = _check_cut(record) if is_cut else check_record(record)
    of_path = [each for each in found if each.code == "leaf_path"]
    if len(of_path) == len(record.appends) > 1:  # one wrong root, not as many wrong leaves
        found = [each for each in found if each.code != "leaf_path"] + of_path[:1]
    return [each._replace(message=f"{record.stream}, {each.message}") for each in found]


def _check_cut(record: RoundRecord) -> list[Finding]:
    counts = [each.version_last - each.version_first + 1 for each in record.appends]
    if sum(counts) != len(record.events) or not all(_leaf_of(record, row.version) for row in record.events):
        got = f"{len(record.events)} events under {len(counts)} leaves"
        return [Finding("events_missing", "integrity", -1, -1, "events of a cut stream", f"{sum(counts)}", got, f"cut stream: {got}")]
    return [finding for place in range(len(record.appends)) for finding in check_append(record, place)]


def _leaf_of(record: RoundRecord, version: int) -> LeafRow | None:
    place = bisect_right(record.appends, version, key=lambda append: append.version_first) - 1
    return record.appends[place] if place >= 0 and version <= record.appends[place].version_last else None


def events_of(record: RoundRecord | None) -> list[tuple[int, RecordedEvent]]:
    """Return the events of a stream that can be read, with their versions; the others are for the record's check."""
    found: list[tuple[int, RecordedEvent]] = []
    for row in record.events if record is not None else ():
        try:
            found.append((row.version, parse_event(row)))
        except (CanonicalFormError, LedgerError):
            continue
    return found


def check_log_keys(keys: Sequence[VerifierKey], records: Mapping[str, RoundRecord]) -> Iterator[tuple[str, str, str]]:
    """Yield where the keys of the log, or the name that they carry, are not those of the ledger's stream: where, want, got."""
    events = [event for _, event in events_of(records.get(LEDGER_STREAM))]
    created = next((event for event in events if isinstance(event, LedgerCreated)), None)
    if created is None:
        yield "stream of the ledger", "ledger_created", "none"
        return
    wanted = [created.log_public_key, *(event.new_public_key for event in events if isinstance(event, KeyRotated))]
    if [key.public_key.hex() for key in keys] != wanted:
        yield "keys/log.vkey", ", ".join(wanted), ", ".join(key.public_key.hex() for key in keys) or "none"
    origin = log_origin(created.ledger_id)
    if others := sorted({key.name for key in keys} - {origin}):
        yield "name of the log's keys", origin, ", ".join(others)


def check_balance(index: Index, records: Mapping[str, RoundRecord], account_ref: str) -> list[Finding] | None:
    """Return where the account's balance does not follow from what moved it in the pack; None where that is not all of it."""
    by_file = {file: records[stream] for stream, file in index.streams.items()}
    own, account = records[f"round/{index.round_id}"], records.get(ACCOUNT_STREAM + account_ref)
    before, after = by_file.get(_BEFORE, own), by_file.get(_AFTER)
    if _CUT in index.absent or account is None or not own.appends or not before.appends:
        return None
    first, last = (
        before.appends[0].leaf_index,
        max(own.appends[-1].leaf_index, after.appends[0].leaf_index if after and after.appends else 0),
    )
    facts = []
    for record in (account, *(each for stream, each in records.items() if stream.startswith("round/"))):
        for version, event in events_of(record):
            leaf = _leaf_of(record, version)
            if isinstance(event, RoundOpened | RoundSettled | RoundVoided | FundsMoved) and leaf and first <= leaf.leaf_index <= last:
                facts.append(((leaf.leaf_index, version), AccountFact(record.stream, version - 1, event)))
    ordered = [fact for _, fact in sorted(facts, key=lambda fact: fact[0])]
    if not ordered:
        return None
    event = ordered[0].event
    start = event.balance_before_minor if isinstance(event, RoundOpened) else event.balance_after_minor - credited_minor(event)
    return [each.finding for each in reconcile_account(ordered, balance_minor=start)]
