"""What a pack holds of the ledger itself: streams, leaves with their paths, checkpoints, keys, the lines of history."""

import base64
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from engines.canonical import CanonicalFormError, canonical_json
from ledger.checkpoints import log_keys
from ledger.codec import parse_event
from ledger.errors import LedgerError, TopicMismatch, TreeBroken
from ledger.history import round_row
from ledger.lifecycle_events import BonusMoved, FundsMoved
from ledger.merkle import audit_path, consistency_path
from ledger.rounds import RoundLedger
from ledger.store import ACCOUNT_STREAM, EPOCH_STREAM, LEDGER_STREAM, ROUND_STREAM, LeafRow, RoundRecord, Tree
from replay.anchors import Anchors

__all__ = ["OTHERS_MAX", "Gathered", "checkpoint_files", "document", "gather", "history_of", "json_lines", "stream_files"]

_ACCOUNT_FILE = "streams/account.jsonl"
OTHERS_MAX, ACCOUNT_APPENDS_MAX = 50, 200


class Gathered(NamedTuple):
    """What is read of a ledger for a pack, of one tree."""

    ledger: RoundLedger
    tree: Tree
    records: dict[str, RoundRecord]  # by the file that its stream gets
    is_cut: bool  # whether more rounds of the account moved its balance meanwhile than a pack holds


def document(value: Any) -> bytes:
    """Return a value as a file of canonical JSON."""
    return canonical_json(value) + b"\n"


def json_lines(values: Sequence[Any]) -> bytes:
    """Return values as a file of canonical JSON, a line each."""
    return b"".join(map(document, values))


def gather(ledger: RoundLedger, round_id: str) -> Gathered:
    """Read the streams of a round's pack, each as far as the tree goes; raises RoundUnknown."""
    try:
        tree = ledger.store.tree()
    except TreeBroken:
        tree = Tree(ledger.store.tree_size(), b"")
    account_ref, epoch = _named(ledger, round_id)
    rounds, is_cut = _rounds_around(ledger, account_ref, round_id)
    wanted = {"streams/round.jsonl": ROUND_STREAM + round_id, "streams/ledger.jsonl": LEDGER_STREAM}
    wanted |= {_ACCOUNT_FILE: ACCOUNT_STREAM + account_ref} if account_ref else {}
    wanted |= {"streams/epoch.jsonl": f"{EPOCH_STREAM}{epoch}"} if epoch is not None else {}
    wanted |= {file: ROUND_STREAM + each for file, each in rounds.items()}
    records = {}
    for file, stream in wanted.items():
        (record,) = ledger.store.records_of([stream])
        records[file] = _cut(record, tree.size)
    return Gathered(ledger, tree, records, is_cut)


def _named(ledger: RoundLedger, round_id: str) -> tuple[str, int | None]:
    """Return account and epoch of a round; where its opening cannot be read the account of its row and none. Raises RoundUnknown."""
    try:
        opened = ledger.opening(round_id)
    except (CanonicalFormError, TopicMismatch):
        row = ledger.store.round(round_id)
        return (row.account_ref if row is not None else ""), None
    return opened.account_ref, opened.epoch


def _cut(record: RoundRecord, size: int) -> RoundRecord:
    """Return a stream as the first leaves have it; what no leaf covers stays."""
    later = [append.version_first for append in record.appends if append.leaf_index >= size]
    if not later:
        return record
    appends = tuple(append for append in record.appends if append.leaf_index < size)
    return record._replace(appends=appends, events=tuple(event for event in record.events if event.version < min(later)))


def _rounds_around(ledger: RoundLedger, account_ref: str, round_id: str) -> tuple[dict[str, str], bool]:
    """Return the rounds of the account opened before and after a round, and others of which something was recorded between, by file.

    Whether there are more of these than a pack holds.
    """
    streams = [ROUND_STREAM + each for each in ledger.store.rounds_of(account_ref)]
    records = [record for record in ledger.store.records_of(streams, topics=("round_opened/1",)) if record.appends]
    records.sort(key=lambda record: record.appends[0].leaf_index)
    place = next((number for number, record in enumerate(records) if record.round_id == round_id), None)
    if place is None:
        return {}, False
    before, after = records[max(place - 1, 0) : place], records[place + 1 : place + 2]
    first = (before or records[place : place + 1])[0].appends[0].leaf_index
    last = max(records[place].appends[-1].leaf_index, *(record.appends[0].leaf_index for record in after), 0)
    near = {record.round_id for record in (*before, *after)} | {round_id}
    others = [
        record.round_id
        for record in records
        if record.round_id not in near and any(first <= append.leaf_index <= last for append in record.appends)
    ]
    files = {f"streams/round-{name}.jsonl": each[0].round_id for name, each in (("before", before), ("after", after)) if each}
    files |= {f"streams/round-other-{number}.jsonl": each for number, each in enumerate(others[:OTHERS_MAX], start=1)}
    return files, len(others) > OTHERS_MAX


def _covering(record: RoundRecord, version: int) -> tuple[int, LeafRow | None]:
    """Return the append that a version of a stream came in, and its place among the stream's; -1 and None where no leaf covers it."""
    place = bisect_right(record.appends, version, key=lambda append: append.version_first) - 1
    if place < 0 or record.appends[place].version_last < version:
        return -1, None
    return place, record.appends[place]


def _kept(records: Mapping[str, RoundRecord], absent: dict[str, str]) -> dict[str, Collection[int]]:
    """Return the leaves of each stream that go into the pack: all, but of a long account its opening and what moved money meanwhile."""
    kept: dict[str, Collection[int]] = {file: [append.leaf_index for append in record.appends] for file, record in records.items()}
    account = records.get(_ACCOUNT_FILE)
    leaves = [leaf for file in kept if file.startswith("streams/round") for leaf in kept[file]]
    if account is not None and len(account.appends) > ACCOUNT_APPENDS_MAX and leaves:
        near = {append.leaf_index for append in account.appends if min(leaves) <= append.leaf_index <= max(leaves)}
        kept[_ACCOUNT_FILE] = near | {account.appends[0].leaf_index}
        said = f"cut: of its {len(account.appends)} appends the first and those from leaf {min(leaves)} to {max(leaves)}"
        absent[account.stream] = said
    return kept


def stream_files(gathered: Gathered, absent: dict[str, str]) -> dict[str, bytes]:
    """Return the streams, and `leaves.json`; say in `absent` what of a stream is left out."""
    kept, files, leaves = _kept(gathered.records, absent), {}, []
    for file, record in gathered.records.items():
        lines = []
        for row in record.events:
            append, leaf = _covering(record, row.version)
            if leaf is None or leaf.leaf_index in kept[file]:
                place = {"stream": record.stream, "index": row.version - 1, "append": append, "topic": row.topic}
                at = leaf.recorded_at_us if leaf else 0
                lines.append({**place, "recorded_at_us": at, "data": base64.b64encode(row.data).decode()})
        files[file] = json_lines(lines)
        leaves += [_leaf(gathered, append) for append in record.appends if append.leaf_index in kept[file]]
    return {**files, "leaves.json": document(sorted(leaves, key=lambda leaf: int(leaf["leaf_index"])))}


def _leaf(gathered: Gathered, append: LeafRow) -> dict[str, Any]:
    try:
        path = audit_path(append.leaf_index, gathered.tree.size, gathered.ledger.store.subtree) if gathered.tree.root else []
    except TreeBroken:
        path = []
    return {**append._asdict(), "leaf_hash": append.leaf_hash.hex(), "path": [node.hex() for node in path]}


def checkpoint_files(gathered: Gathered, anchors: Anchors, absent: dict[str, str]) -> dict[str, bytes]:
    """Return the checkpoints that are not of a later tree, their proofs, and the log's keys."""
    size, files, proofs = gathered.tree.size, {}, []
    later = sorted({each.signed.checkpoint.tree_size for each in anchors.checkpoints if each.signed.checkpoint.tree_size > size})
    if later:
        absent["checkpoints of more leaves"] = f"the builder was given such of {', '.join(map(str, later))}, and the ledger has {size}"
    for given in anchors.checkpoints:
        signed = given.signed
        if not 0 < signed.checkpoint.tree_size <= size:
            continue
        try:
            path = consistency_path(signed.checkpoint.tree_size, size, gathered.ledger.store.subtree)
        except TreeBroken:
            path = []
        files[f"checkpoints/{signed.checkpoint.tree_size}.checkpoint"] = str(signed).encode()
        proofs.append({"size": signed.checkpoint.tree_size, "path": [node.hex() for node in path]})
    if not files and not later:
        absent["checkpoint"] = "the pack was built without one: nothing says that the record was not written anew since"
    files["consistency.json"] = document(sorted(proofs, key=lambda proof: int(proof["size"])))
    try:
        keys = log_keys(gathered.ledger)
    except LedgerError as error:
        keys, absent["the log's keys"] = [], str(error)
    files["keys/log.vkey"] = "".join(f"{each}\n" for each in keys).encode()
    return files


def history_of(gathered: Gathered) -> dict[str, Any]:
    """Return the game history of the account's rounds in the pack, and what moved its balance from the first to the last of them."""
    rounds = [record for record in gathered.records.values() if record.stream.startswith(ROUND_STREAM)]
    rounds.sort(key=lambda record: min((append.leaf_index for append in record.appends), default=-1))
    rows = [round_row(gathered.ledger, record)._asdict() for record in rounds]
    leaves = [append.leaf_index for record in rounds for append in record.appends]
    return {"rounds": rows, "movements": list(_movements(gathered.records, leaves)) if leaves else []}


def _movements(records: Mapping[str, RoundRecord], leaves: Sequence[int]) -> Iterator[dict[str, Any]]:
    account = records.get(_ACCOUNT_FILE, RoundRecord("", (), ()))
    for row in account.events:
        _, leaf = _covering(account, row.version)
        if leaf is None or not min(leaves) <= leaf.leaf_index <= max(leaves):
            continue
        try:
            event = parse_event(row)
        except (CanonicalFormError, LedgerError):  # which the record's check says
            continue
        if isinstance(event, FundsMoved | BonusMoved):
            yield {"index": row.version - 1, "leaf_index": leaf.leaf_index, **event.model_dump()}
