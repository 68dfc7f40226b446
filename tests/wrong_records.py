"""Packs with wrong events, appends, leaves, proofs or checkpoints, and all that is sealed over them right."""

import json
from typing import Any

from engines.canonical import canonical_json
from ledger.checkpoint import Checkpoint, sign_checkpoint
from ledger.keys import VerifierKey, log_origin, public_key_bytes
from tests.pack_forging import ANOTHER_HASH, Append, Forgery, document, key_of, lines, values_of, wrong

__all__ = ["present"]


@wrong("outcome.digest")
def outcome_digest_wrong(pack: Forgery) -> None:
    """The settlement has another outcome digest."""
    pack.reach("digests").change("round_settled", outcome_digest=ANOTHER_HASH)


@wrong("round.digest")
def round_digest_wrong(pack: Forgery) -> None:
    """The settlement has another round digest."""
    pack.reach("digests").change("round_settled", round_digest=ANOTHER_HASH)


@wrong("leaf|digest")
def leaf_of_another_append(pack: Forgery) -> None:
    """An append's leaf in the tree is that of other bytes; its path leads to the root."""
    pack.reach("leaves").streams[pack.round][1].leaf_hash = bytes.fromhex(ANOTHER_HASH)


@wrong("path|leaf|root")
def path_of_another_leaf(pack: Forgery) -> None:
    """An append has the audit path of another."""
    leaves = json.loads(pack.reach("record").files["leaves.json"])
    leaves[3]["path"] = leaves[4]["path"]
    pack.files["leaves.json"] = document(leaves)


@wrong("leaf")
def leaf_missing(pack: Forgery) -> None:
    """An append of the round has no leaf in the list."""
    leaves = json.loads(pack.reach("record").files["leaves.json"])
    pack.files["leaves.json"] = document([leaf for leaf in leaves if (leaf["stream"], leaf["version_first"]) != (pack.round, 1)])


@wrong("root")
def root_of_another_tree(pack: Forgery) -> None:
    """The pack names another root than its leaves and checkpoints have, and so does its verdict."""
    root = pack.reach("record").index["root"]
    for name in ("pack.json", "verdict.json"):
        pack.files[name] = pack.files[name].replace(root.encode(), ANOTHER_HASH.encode())


def _sign(pack: Forgery, size: int, root: bytes, key: str = "log") -> None:
    origin = log_origin(str(pack.find("ledger_created", stream="ledger")[2]["ledger_id"]))
    pack.files[f"checkpoints/{size}.checkpoint"] = str(sign_checkpoint(Checkpoint(origin, size, root), key_of(key))).encode()


@wrong("checkpoint|consisten")
def checkpoint_of_another_root(pack: Forgery) -> None:
    """An earlier checkpoint is signed over another root than the tree had."""
    _sign(pack.reach("record"), pack.sizes[0], bytes.fromhex(ANOTHER_HASH))


@wrong("checkpoint|sign")
def checkpoint_unsigned(pack: Forgery) -> None:
    """A checkpoint is signed by none of the log's keys."""
    _sign(pack.reach("record"), pack.sizes[0], pack.root(pack.sizes[0]), "another")


@wrong("checkpoint|sign")
def checkpoint_signed_for_another(pack: Forgery) -> None:
    """A checkpoint carries the log's signature of another one."""
    one, two = (f"checkpoints/{size}.checkpoint" for size in pack.reach("record").sizes[:2])
    text, signature = pack.files[one].partition(b"\n\n")[0], pack.files[two].partition(b"\n\n")[2]
    pack.files[one] = text + b"\n\n" + signature


@wrong("key|log")
def log_key_of_another_ledger(pack: Forgery) -> None:
    """The log's key is not the one that the ledger names."""
    pack.reach("digests").change("ledger_created", stream="ledger", log_public_key=ANOTHER_HASH)


@wrong("checkpoint|origin|log")
def checkpoint_of_another_ledger(pack: Forgery) -> None:
    """A checkpoint is another ledger's by its name, signed by this log's key under that name."""
    root, origin = pack.reach("record").root(pack.sizes[0]), log_origin("0" * 32)
    vkey = VerifierKey(origin, public_key_bytes(pack.log_key))
    pack.files["keys/log.vkey"] = f"{vkey}\n".encode() + pack.files["keys/log.vkey"]
    signed = sign_checkpoint(Checkpoint(origin, pack.sizes[0], root), pack.log_key)
    pack.files[f"checkpoints/{pack.sizes[0]}.checkpoint"] = str(signed).encode()


@wrong("consisten|checkpoint|proof")
def consistency_missing(pack: Forgery) -> None:
    """A checkpoint has no consistency proof."""
    pack.files["consistency.json"] = document(json.loads(pack.reach("record").files["consistency.json"])[1:])


@wrong("consisten|checkpoint|proof")
def consistency_path_cut(pack: Forgery) -> None:
    """A consistency proof lacks its last hash."""
    proofs = json.loads(pack.reach("record").files["consistency.json"])
    del proofs[0]["path"][-1]
    pack.files["consistency.json"] = document(proofs)


def _idle_spin(pack: Forgery) -> tuple[Append, int]:
    """Return where a spin without a win begins: `spin_started`, `drop`, `spin_ended`."""
    append = pack.streams[pack.round][1]
    kinds = [values_of(data)["kind"] for _, data in append.events]
    return append, next(place for place in range(9, len(kinds)) if kinds[place : place + 3] == ["spin_started", "drop", "spin_ended"])


@wrong("gap|missing|version|index|without")
def event_missing_in_the_middle(pack: Forgery) -> None:
    """An event of the round is left out, its number with it."""
    append, place = _idle_spin(pack)
    del append.events[place + 1]


@wrong("version|index|twice|gap|order|event")
def event_twice(pack: Forgery) -> None:
    """An event stands in its stream twice under one number."""
    append, place = _idle_spin(pack)
    append.events.insert(place, append.events[place])


@wrong("version|gap|absent|cut|leaf|index|event")
def stream_cut_unsaid(pack: Forgery) -> None:
    """The account's stream begins with its second event, and nothing says so."""
    (stream,) = [each for each in pack.streams if each.startswith("account/")]
    leaves = json.loads(pack.reach("record").files["leaves.json"])
    pack.files["leaves.json"] = document([leaf for leaf in leaves if (leaf["stream"], leaf["version_first"]) != (stream, 1)])
    kept = [{**line, "append": line["append"] - 1} for line in lines(pack.files[pack.index["streams"][stream]])[1:]]
    pack.files[pack.index["streams"][stream]] = b"".join(map(document, kept))


def _line(pack: Forgery, index: int, **values: object) -> None:
    file = pack.reach("record").index["streams"][pack.round]
    changed = [{**line, **values} if line["index"] == index else line for line in lines(pack.files[file])]
    pack.files[file] = b"".join(map(document, changed))


@wrong("topic")
def topic_not_of_its_bytes(pack: Forgery) -> None:
    """A line says another topic than its event."""
    _line(pack, 1, topic="drop/1")


@wrong("time|recorded_at|line|append")
def line_of_another_time(pack: Forgery) -> None:
    """A line says another time than the leaf that covers it."""
    _line(pack, 1, recorded_at_us=1)


@wrong("append|line")
def line_of_another_append(pack: Forgery) -> None:
    """A line says another append than the leaf that covers it."""
    _line(pack, 1, append=0)


@wrong("canonical")
def event_not_canonical(pack: Forgery) -> None:
    """An event has a space in it."""
    append, place = _idle_spin(pack)
    index, data = append.events[place]
    append.events[place] = (index, data.replace(b",", b", ", 1))


def _idle(pack: Forgery, **values: Any) -> None:
    append, place = _idle_spin(pack)
    pack.put(append, place, {**values_of(append.events[place][1]), **values})


@wrong("canonical|null|record/1|form|integers")
def event_with_a_null(pack: Forgery) -> None:
    """An event holds a null, which no event of the record does."""
    _idle(pack, meter=None)


@wrong("canonical|float|record/1|form|integers")
def event_with_a_fraction(pack: Forgery) -> None:
    """An event holds a fraction."""
    _idle(pack, meter=0.5)


@wrong("canonical|2\\^53|record/1|form|integers|large")
def event_with_a_large_number(pack: Forgery) -> None:
    """An event holds an integer that two may share in another reader."""
    _idle(pack, meter=2**53)


@wrong("round_opened|opening")
def opening_second(pack: Forgery) -> None:
    """The round begins with a spin, its opening stands behind that."""
    one, two = pack.streams[pack.round][:2]
    (first, opening), (second, started) = one.events[0], two.events[0]
    one.events[0], two.events[0] = (first, started), (second, opening)


def _add(pack: Forgery, events: list[bytes]) -> None:
    """Add an append to the round, behind all that there is."""
    last, index = pack.appends[-1][1], pack.streams[pack.round][-1].version_last
    numbered = [(index + place, data) for place, data in enumerate(events)]
    pack.streams[pack.round].append(Append(last.leaf_index + 1, last.recorded_at_us + 1, index + 1, index + len(events), numbered))


@wrong("settled|end|twice|over")
def settled_twice(pack: Forgery) -> None:
    """The round is settled a second time."""
    append, place, _ = pack.find("round_settled")
    _add(pack, [append.events[place][1]])


@wrong("behind|no spin more|last event")
def spin_behind_the_end(pack: Forgery) -> None:
    """The round goes on behind its settlement, for nothing."""
    append, place = _idle_spin(pack)
    _add(pack, [data for _, data in append.events[place : place + 3]])


# What the player was shown.


def present(pack: Forgery) -> None:
    """Add right records of what the player was shown of the round's last spin, behind its settlement."""
    number, _, settled = next((index, place, fields) for index, place, fields in _indexed(pack) if fields["kind"] == "round_settled")
    ends = [(index, fields) for index, _, fields in _indexed(pack) if fields["kind"] == "spin_ended"]
    shown = {"through_index": ends[-1][0], "spin_index": len(ends) - 1, "spin_win_minor": ends[-1][1]["award_minor"]}
    shown |= {"total_win_minor": settled["total_win_minor"], "balance_minor": settled["balance_after_minor"]}
    place = {"manifest_hash": "", "session_ref": "", "channel": "audit play", "sent_at_us": settled["settled_at_us"]}
    acked = {"sent_index": number + 1, "total_win_minor": settled["total_win_minor"], "acked_at_us": settled["settled_at_us"]}
    events = [{"kind": "presentation_sent", "v": 1, **shown, **place}, {"kind": "presentation_acked", "v": 1, **acked}]
    _add(pack, [canonical_json(each) for each in events])
    pack.index["absent"] = {what: why for what, why in pack.index["absent"].items() if "presentation" not in what}
    verdict = pack.json("verdict.json")
    words = "1 record of what the client was told, 1 acknowledged: amounts are those of the outcome"
    shown_check = {"name": "presentation", "result": "pass", "detail": words}
    pack.amend("verdict.json", checks=[shown_check if each["name"] == "presentation" else each for each in verdict["checks"]])


def _indexed(pack: Forgery) -> list[tuple[int, int, dict[str, Any]]]:
    return [(append.events[place][0], place, fields) for append, place, fields in pack.events(pack.round)]


@wrong("present|shown", base="presented")
def presentation_other_amount(pack: Forgery) -> None:
    """The client was told to show more than the round won, and showed it."""
    total = pack.find("presentation_sent")[2]["total_win_minor"] + 100
    pack.change("presentation_sent", total_win_minor=total)
    pack.change("presentation_acked", total_win_minor=total)


@wrong("present|shown", base="presented")
def presentation_other_spin_win(pack: Forgery) -> None:
    """The client was told another win of the spin than its award."""
    pack.change("presentation_sent", spin_win_minor=pack.find("presentation_sent")[2]["spin_win_minor"] + 100)


@wrong("present|shown|balance", base="presented")
def presentation_other_balance(pack: Forgery) -> None:
    """The client was told another balance than the settlement's."""
    pack.change("presentation_sent", balance_minor=pack.find("presentation_sent")[2]["balance_minor"] + 100)


@wrong("present|shown|through", base="presented")
def presentation_of_no_spin(pack: Forgery) -> None:
    """The client was told to show up to an event that ends no spin."""
    pack.change("presentation_sent", through_index=pack.find("presentation_sent")[2]["through_index"] - 1)


@wrong("present|ack|shown", base="presented")
def acknowledgement_of_another_amount(pack: Forgery) -> None:
    """The client says that it showed less than it was told."""
    pack.change("presentation_acked", total_win_minor=0)


@wrong("present|ack|shown", base="presented")
def acknowledgement_of_nothing_sent(pack: Forgery) -> None:
    """The client acknowledges an event that sent it nothing."""
    pack.change("presentation_acked", sent_index=1)
