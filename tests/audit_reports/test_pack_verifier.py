"""The stand-alone verifier of packs: a right pack passes, and each check can fail."""

import ast
import base64
import json
import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit_reports.verifier import verify_pack
from tests import pack_maker as maker
from tests.pack_maker import bag_of, lean, parts_of, signed, zipped
from tests.verifier_process import VERIFIER, codes, run

Change = Callable[[dict[str, Any]], object]


def test_a_right_pack_passes_with_the_bare_interpreter_in_an_empty_folder(tmp_path: Path) -> None:
    """With both keys given nothing is found, the document has the form of pack-verify/1, and nothing is written."""
    (tmp_path / "log").write_text(maker.vkey(maker.LOG_KEY))
    (tmp_path / "key").write_text(maker.public(maker.PACK_KEY).hex() + "\n")
    shown = run(tmp_path, signed(parts_of()), "--vkey", "log", "--key", "key", "--json")
    found = json.loads(shown.stdout)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert sorted(found) == ["checked", "findings", "round_id", "schema", "unchecked", "verdict"]
    assert (found["schema"], found["round_id"], found["verdict"], found["findings"]) == ("pack-verify/1", "r-1", "reproduced", [])
    assert len(found["checked"]) == 12
    assert found["unchecked"] == verify_pack.CANNOT
    assert {path.name for path in tmp_path.iterdir()} == {"log", "key", "pack.zip", "verify_pack.py"}


def test_the_first_line_and_the_exit_status_say_it(tmp_path: Path) -> None:
    """0 for a clean pack, 3 for findings, 3 too where the pack says something else of its round, which is no finding."""
    shown = run(tmp_path, signed(parts_of()))
    assert (shown.returncode, shown.stdout.splitlines()[0]) == (0, "NOTHING FOUND  pack of round r-1, reproduced")
    assert "no --key given" in shown.stdout
    assert "no --vkey given" in shown.stdout
    parts = parts_of()
    parts["pack.json"]["verdict"] = parts["verdict.json"]["verdict"] = "diverged"
    shown = run(tmp_path, signed(parts))
    assert (shown.returncode, shown.stdout.splitlines()[0]) == (3, "NOTHING FOUND  pack of round r-1, diverged")
    assert "the pack says of its round: diverged\n" in shown.stdout
    del parts["rules.toml"], parts["readme.txt"]
    shown = run(tmp_path, signed(parts))
    assert (shown.returncode, shown.stdout.splitlines()[0]) == (3, "2 FINDINGS  pack of round r-1, diverged")


def test_a_round_in_play_and_a_round_without_keys_or_texts_pass() -> None:
    """What a pack may lack is no finding where `absent` says why, and is said to be unchecked."""
    assert codes(signed(parts_of(end=None))) == set()
    assert codes(signed(parts_of() | {f"texts/{maker.TEXTS['help']}.txt": maker.TEXT})) == set()
    parts = parts_of()
    for name in ("texts.json", "report.json", "history.json", "rules.toml", "rules.json", "round-key.json", "draws.jsonl", "what-if.json"):
        del parts[name]
    assert codes(signed(parts)) == {"missing"}
    parts["pack.json"]["absent"] = {"texts of the game, report, rules": "why", "history": "why", "round key, draws, what-if": "sealed"}
    audit = verify_pack.audit_of(signed(parts))
    assert audit.findings == []
    assert {text.split(":")[0] for text in audit.unchecked} >= {"key and draws", "texts", "pack key", "log key"}


@pytest.mark.parametrize(
    "options,status,text",
    [(["--no-such"], 2, "usage"), (["--vkey", "no-such"], 4, "no-such"), (["--key", "pack.zip"], 4, "cannot be read")]
    + [(["--vkey", "verify_pack.py"], 4, "cannot be read"), (["--help"], 0, "example: python -I -S verify_pack.py")],
)  # fmt: skip
def test_wrong_usage_is_2_and_what_cannot_be_read_is_4(tmp_path: Path, options: list[str], status: int, text: str) -> None:
    """A message each time, no traceback; the help has an example."""
    shown = run(tmp_path, b"no zip", *options)
    assert shown.returncode == status
    assert text in shown.stdout + shown.stderr
    assert "Traceback" not in shown.stderr


def test_it_is_one_short_file_of_the_standard_library() -> None:
    """At most 599 lines of at most 140 characters, the standard library alone, and syntax of Python 3.8."""
    text = VERIFIER.read_text()
    tree = ast.parse(text, feature_version=(3, 8))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)
    assert len(text.splitlines()) <= 599
    assert max(map(len, text.splitlines())) <= 140


def put(name: str, *path: Any, to: Any) -> Change:
    def change(parts: dict[str, Any]) -> None:
        value = parts[name]
        for step in path[:-1]:
            value = value[step]
        value[path[-1]] = to

    return change


def add(name: str, value: Any) -> Change:
    return lambda parts: parts.update({name: value})


def event(place: int, **fields: Any) -> dict[str, Any]:
    return parts_of(lambda events: events[place].update(fields))


def told(place: int, **fields: Any) -> dict[str, Any]:
    behind = maker.told()
    behind[place].update(fields)
    return parts_of(behind=behind)


PARTS: list[tuple[str, Change]] = [
    ("pack", put("pack.json", "schema", to="pack/2")),
    ("pack", put("pack.json", "as_of_from", to="guess")),
    ("malformed", put("pack.json", "round_id", to="r 2")),
    ("malformed", put("pack.json", "tree_size", to=True)),
    ("folder", put("pack.json", "round_id", to="r-2")),
    ("missing", lambda parts: parts.pop("rules.toml")),
    ("missing", lambda parts: parts.pop("clauses.json")),
    ("unknown-member", add("other.txt", b"x")),
    ("pack-key", add("keys/pack.pub", b"00" * 32 + b" ")),
    ("signature", add("keys/pack.pub", maker.public(maker.OTHER_KEY).hex().encode() + b"\n")),
    ("json", add("clauses.json", b'{"a":1.5}\n')),
    ("json", add("report.json", b"{}")),
    ("json", add("report.json", b"{}\n\n")),
    ("json", add("draws.jsonl", maker.written({"draws.jsonl": maker.draws()})["data/draws.jsonl"][:-1])),
    ("streams", put("pack.json", "streams", "x", to="streams/x.jsonl")),
    ("topic", put("streams/round.jsonl", 1, "topic", to="drop/1")),
    ("event", put("streams/round.jsonl", 1, "more", to=1)),
    ("topic", put("streams/round.jsonl", 1, "stream", to="round/r-2")),
    ("gap", lambda parts: parts["streams/round.jsonl"].pop(4)),
    ("append", put("streams/round.jsonl", 1, "recorded_at_us", to=5)),
    ("append", put("streams/round.jsonl", 1, "append", to=-1)),
    ("leaf", lambda parts: parts["leaves.json"].pop()),
    ("leaf-hash", put("leaves.json", 0, "leaf_hash", to="00" * 32)),
    ("audit-path", put("leaves.json", 0, "path", 0, to="00" * 32)),
    ("audit-path", lambda parts: parts["leaves.json"][0]["path"].pop()),
    ("audit-path", lambda parts: parts["leaves.json"][0]["path"].append("00" * 32)),
    ("audit-path", put("pack.json", "root", to="00" * 32)),
    ("leaf", lambda parts: parts["leaves.json"].append(parts["leaves.json"][0])),
    ("leaf", put("leaves.json", 0, "version_last", to=2**52)),
    ("leaf", put("leaves.json", 1, "leaf_index", to=0)),
    ("leaf", put("leaves.json", 1, "path", to=[])),
    ("leaf", lambda parts: (parts["leaves.json"].pop(), [row.update(append=-1) for row in parts["streams/round.jsonl"][1:]])),
    ("streams", lambda parts: parts["pack.json"]["streams"].pop("ledger")),
    ("streams", lambda parts: parts["streams/round.jsonl"].clear()),
    ("streams", lambda parts: (parts.pop("streams/round.jsonl"), parts["pack.json"]["streams"].pop("round/r-1"))),
    ("streams", lambda parts: (parts.pop("streams/epoch.jsonl"), parts["pack.json"]["streams"].pop("epoch/0"))),
    ("leaf", put("leaves.json", 1, "leaf_index", to=8)),
    ("leaf", put("leaves.json", 1, "stream", to="round/r-9")),
    ("consistency", put("consistency.json", 0, "path", 0, to="00" * 32)),
    ("consistency", put("consistency.json", 1, "path", 0, to="00" * 32)),
    ("consistency", lambda parts: parts["consistency.json"][0]["path"].pop()),
    ("consistency", lambda parts: parts["consistency.json"][2]["path"].append("00" * 32)),
    ("consistency", lambda parts: parts["consistency.json"].pop()),
    ("consistency", lambda parts: parts.update({"checkpoints/9.checkpoint": maker.checkpoint(9, bytes(32))})),
    ("log-key", add("keys/log.vkey", f"{maker.vkey(maker.OTHER_KEY)}\n".encode())),
    ("malformed", add("keys/log.vkey", b"a+b+c\n")),
    ("checkpoint-signature", add("checkpoints/3.checkpoint", maker.checkpoint(3, bytes(32), maker.OTHER_KEY))),
    ("checkpoint-form", lambda parts: parts.update({"checkpoints/3.checkpoint": parts["checkpoints/8.checkpoint"]})),
    ("is-over", put("pack.json", "is_over", to=False)),
    ("open-key", lambda parts: parts.pop("round-key.json")),
    ("round-key-commitment", put("round-key.json", "round_key", to="00" * 32)),
    ("round-key", put("round-key.json", "round_key", to="00" * 32)),
    ("draw", put("draws.jsonl", 3, "number", to=9)),
    ("draw", put("draws.jsonl", 3, "first_word", to=9)),
    ("draw", put("draws.jsonl", 3, "words", 0, to=9)),
    ("draw", put("draws.jsonl", 3, "result", to=9)),
    ("draw", lambda parts: next(draw for draw in parts["draws.jsonl"] if len(draw["words"]) > 1).update(n=3)),
    ("draw", lambda parts: parts["draws.jsonl"].pop(3)),
    ("malformed", put("draws.jsonl", 3, "n", to=0)),
    ("malformed", put("draws.jsonl", 3, "n", to=2**31)),
    ("profile", add("profile.json", {"name": "e"})),
    ("texts", add("texts.json", {"help": "1" * 64})),
    ("texts", add(f"texts/{maker.sha(b'a text').hex()}.txt", b"a text")),
    ("texts", add(f"texts/{'0' * 64}.txt", b"a text")),
    ("verdict", put("verdict.json", "verdict", to="diverged")),
    ("verdict", put("verdict.json", "round_id", to="r-2")),
    ("contradicted", put("verdict.json", "findings", to=[{"code": "x", "severity": "money"}])),
    ("contradicted", put("verdict.json", "checks", 0, "result", to="fail")),
    ("contradicted", lambda parts: [parts[name].update(verdict="incomplete_open") for name in ("pack.json", "verdict.json")]),
]
CHECKPOINT = parts_of()["checkpoints/8.checkpoint"]
EVENTS: list[tuple[str, Callable[[], dict[str, Any]]]] = [
    ("order", lambda: parts_of(lambda events: events.append(events[0]))),
    ("order", lambda: parts_of(behind=[{"kind": "drop", "v": 1}])),
    ("open-key", lambda: parts_of(end=None) | {"round-key.json": {"round_key": maker.round_key().hex()}}),
    ("event", lambda: event(2, more=None)),
    ("event", lambda: event(2, é=1)),
    ("checkpoint-form", lambda: parts_of() | {"checkpoints/8.checkpoint": CHECKPOINT.replace(b"b" * 32, b"c" * 32)}),
    ("round-digest", lambda: parts_of(end={"round_digest": "00" * 32})),
    ("outcome-digest", lambda: parts_of(end={"outcome_digest": "00" * 32})),
    ("win-law", lambda: event(3, win_minor=101)),
    ("malformed", lambda: event(3, pay_x100="a" * 9, multiplier=2**52)),
    ("malformed", lambda: event(9, awarded_minor=True)),
    ("prize-law", lambda: event(8, prize_minor=301)),
    ("adding-up", lambda: event(5, award_minor=281)),
    ("adding-up", lambda: event(5, total_minor=281)),
    ("adding-up", lambda: event(9, awarded_minor=221)),
    ("spin-order", lambda: event(7, spin_index=2)),
    ("spin-order", lambda: parts_of(lambda events: events.pop())),
    ("spin-order", lambda: parts_of(lambda events: events.insert(1, events[3]))),
    ("total", lambda: parts_of(end={"base_win_minor": 281})),
    ("total", lambda: parts_of(lambda events: events.append({"kind": "round_interrupted", "v": 1, "won_minor": 501}))),
    ("balance", lambda: parts_of(end={"balance_after_minor": 1421})),
    ("seed-commitment", lambda: event(0, seed_commitment="00" * 32)),
    ("round-key", lambda: event(0, client_seed="client-2")),
    ("presentation", lambda: event(6, spin_win_minor=281)),
    ("presentation", lambda: event(6, through_index=4)),
    ("presentation", lambda: told(0, total_win_minor=501)),
    ("presentation", lambda: told(0, balance_minor=1421)),
    ("presentation", lambda: told(1, total_win_minor=280)),
    ("presentation", lambda: told(1, sent_index=10)),
    ("presentation", lambda: told(2, sent_index=14)),
]  # fmt: skip


@pytest.mark.parametrize("code,change", PARTS)
def test_each_wrong_part_is_found(code: str, change: Change) -> None:
    """A pack signed by its builder over one wrong part is found out by the check that looks there."""
    parts = parts_of() if code in ("consistency", "log-key", "checkpoint-form", "checkpoint-signature") else lean(parts_of())
    change(parts)
    assert code in codes(signed(parts))


@pytest.mark.parametrize("code,make", EVENTS)
def test_each_wrong_event_is_found(code: str, make: Callable[[], dict[str, Any]]) -> None:
    """An event that breaks a law is found though leaf, tree and signatures are right, and the verdict is no second finding."""
    parts = make()
    found = codes(signed(parts if code == "checkpoint-form" else lean(parts)))
    assert code in found
    assert not found & {"leaf-hash", "audit-path", "signature", "consistency", "manifest"}
    assert "contradicted" not in found


@pytest.mark.parametrize(
    "code,change",
    [
        ("draw", lambda parts: parts["draws.jsonl"].pop(3)),
        ("draw", put("draws.jsonl", 3, "result", to=9)),
        ("malformed", put("draws.jsonl", 3, "first_word", to=2**52)),
        ("audit-path", put("pack.json", "root", to="00" * 32)),
        ("leaf", lambda parts: parts["leaves.json"].pop()),
        ("gap", lambda parts: parts["streams/round.jsonl"].pop(4)),
        ("event", put("streams/round.jsonl", 4, "data", to="====")),
        ("contradicted", put("verdict.json", "checks", 0, "result", to="fail")),
    ],
)
def test_what_is_wrong_once_is_found_once(code: str, change: Change) -> None:
    """What follows from one wrong thing is no finding of its own, and many that are alike are counted behind the first ones."""
    parts = lean(parts_of())
    change(parts)
    assert [each["code"] for each in verify_pack.audit_of(signed(parts)).findings] == [code]


def test_many_alike_are_counted_behind_the_first_ones(tmp_path: Path) -> None:
    """Twenty-one wrong draws are a few findings and a line with the number of the others; the head has the number of all."""
    parts = parts_of()
    for draw in parts["draws.jsonl"]:
        draw["result"] += 1
    shown = run(tmp_path, signed(parts)).stdout
    assert shown.splitlines()[0] == "21 FINDINGS  pack of round r-1, reproduced"
    assert f"  draw  and {21 - verify_pack.ALIKE_MAX} more of this kind" in shown
    assert "the pack says of its round: reproduced\n" in shown


def test_every_code_of_the_verifier_has_a_pack_that_it_finds() -> None:
    """No code stands in the program that no test of this file brings about."""
    known = set(re.findall(r'hold\(\s*"([a-z-]+)"', VERIFIER.read_text())) | {"win-law", "prize-law", "profile", "texts"}
    tried = {code for code, _ in PARTS + EVENTS} | {"manifest", "bag-form", "bagit", "tag-files", "statement"}  # the last five below
    assert known == tried


def test_no_file_can_be_left_out_unseen() -> None:
    """Whatever payload file is left out, manifests and signature made for what is there, it is found."""
    parts = lean(parts_of())
    for name in sorted(parts):
        assert codes(zipped(bag_of(parts, without=name))) & {"missing", "streams"}, name


def test_wrong_statements_and_keys_are_found() -> None:
    """A statement of another type or over other files, another signer, and keys other than those given."""
    parts = parts_of()
    assert codes(zipped(bag_of(parts, subject=[]))) == {"statement"}
    assert codes(zipped(bag_of(parts, predicateType="x"))) == {"statement"}
    assert "signature" in codes(zipped(bag_of(parts, maker.OTHER_KEY)))
    right = signed(parts)
    assert codes(right, key=maker.public(maker.OTHER_KEY).hex()) == {"pack-key"}
    assert codes(right, vkey=maker.vkey(maker.OTHER_KEY)) == {"log-key", "checkpoint-signature"}
    assert codes(right, maker.vkey(maker.LOG_KEY), maker.public(maker.PACK_KEY).hex()) == set()


def test_each_part_of_the_envelope_is_held() -> None:
    """Another type, key id or signature in the envelope, tag manifest made for it, is found."""
    bag = bag_of(lean(parts_of()))
    other = {"keyid": "0" * 64, "sig": base64.b64encode(bytes(64)).decode()}
    for change in ({"payloadType": "x"}, {"signatures": [{**other}]}, *({"signatures": [{name: other[name]}]} for name in other)):
        envelope = json.loads(bag["signature.json"])
        signature = {**envelope["signatures"][0], **change.get("signatures", [{}])[0]}
        envelope |= {**change, "signatures": [signature]}
        tags = {name: bag[name] for name in verify_pack.TAGS} | {"signature.json": maker.canonical(envelope) + b"\n"}
        assert codes(zipped(bag | tags | {"tagmanifest-sha256.txt": maker.manifest(tags)})) == {"signature"}


def test_trees_of_all_sizes() -> None:
    """Every audit path and every consistency proof of trees up to 20 leaves holds, and with one hash changed does not."""
    leaves = [maker.sha(bytes([number])) for number in range(20)]
    for size in range(1, 21):
        root = maker.tree_root(leaves[:size])
        for place in range(size):
            path = maker.audit_path(place, leaves[:size])
            assert verify_pack.root_from(leaves[place], place, size, path) == root
            assert verify_pack.root_from(leaves[place], place, size, path[:-1]) != root or size == 1
            old, proof = maker.tree_root(leaves[: place + 1]), maker.consistency(place + 1, leaves[:size])
            assert verify_pack.roots_from(place + 1, size, old, proof) == (old, root)
            for number in range(len(proof)):
                wrong = [*proof[:number], bytes(32), *proof[number + 1 :]]
                assert verify_pack.roots_from(place + 1, size, old, wrong) != (old, root)


def test_tag_files_have_one_form() -> None:
    """Another BagIt version, another date, a manifest in another order, and one with a line twice are found."""
    bag = bag_of(parts_of())
    assert "bagit" in codes(zipped(bag | {"bagit.txt": b"BagIt-Version: 0.97\n"}))
    assert "bag-form" in codes(zipped(bag | {"bag-info.txt": bag["bag-info.txt"].replace(b"2025", b"2026")}))
    lines = bag["manifest-sha256.txt"].splitlines(keepends=True)
    assert "manifest" in codes(zipped(bag | {"manifest-sha256.txt": b"".join(lines[::-1])}))
    assert "manifest" in codes(zipped(bag | {"manifest-sha256.txt": b"".join([*lines, lines[-1]])}))
    assert "manifest" in codes(zipped(bag | {"manifest-sha256.txt": b"\xff"})) or "malformed" in codes(
        zipped(bag | {"manifest-sha256.txt": b"\xff"})
    )


def test_a_cut_stream_passes_only_where_the_pack_says_so() -> None:
    """Appends left out of a stream are a gap, unless `absent` names the stream; it is then said, and what is there is held to the root."""
    parts = parts_of()
    del parts["streams/round.jsonl"][0]
    del parts["leaves.json"][3]
    assert "gap" in codes(signed(parts))
    parts = parts_of()
    parts["streams/epoch.jsonl"].clear()
    parts["leaves.json"] = [leaf for leaf in parts["leaves.json"] if leaf["stream"] != "epoch/0"]
    parts["pack.json"]["absent"] = {"epoch/0": "cut"}
    audit = verify_pack.audit_of(signed(parts))
    assert audit.findings == []
    assert any("epoch/0" in text for text in audit.unchecked)


def test_a_voided_round_and_an_interrupted_one_are_held_by_their_balance() -> None:
    """A voided round is held by its refund; that a round was interrupted excuses no other sum."""
    void = {"kind": "round_voided", "won_minor": 500, "refund_minor": 100, "balance_after_minor": 1020}
    assert codes(signed(lean(parts_of(end=void, behind=[])))) == set()
    assert codes(signed(lean(parts_of(end=void | {"balance_after_minor": 1021}, behind=[])))) == {"balance"}
    interrupted = {"kind": "round_interrupted", "v": 1, "won_minor": 500}
    parts = lean(parts_of(lambda events: events.append(interrupted), {"balance_after_minor": 7}, []))
    assert codes(signed(parts)) == {"balance"}
    parts["pack.json"]["absent"] = {"rounds in between": "too many"}
    assert codes(signed(parts)) == set()


def test_the_vectors_of_the_specifications() -> None:
    """The vectors of record/1 and rng/1: append digest, leaf, root, key stream and its words."""
    rows = [{"data": text} for text in (b'{"kind":"spin_started","spin_index":0,"v":1}', b'{"cells":[1,2,3],"kind":"drop","v":1}')]
    digest = verify_pack.digest_of(rows)
    assert digest.hex() == "e92afd9a2e0b70df8dd2a8aa313288c8ddfd3807a7eca432dd5daea0d129bc13"
    leaf = verify_pack.sha(b"\x00leaf/1" + verify_pack.framed(">H", b"round/r-1") + struct.pack(">3Q", 2, 3, maker.START) + digest)
    assert leaf.hex() == "fcd97785bd8181a1b402f4417eb1fca1814bfb75674d2adee3a950d93da8cd04"
    other = bytes.fromhex("8a3c0a9aa5adfd43b2c668d6b57c717a8a60a688eb986743d0f79c82f537fc9d")
    assert verify_pack.root_from(leaf, 0, 2, [other]).hex() == "a0876ff94def28c7721d44f56ee8867996a80d97f8d947b804f862ae84f57bd6"
    words = verify_pack.words_of(bytes.fromhex("a37a1a6f358df93fe55e8b9d23ab4cd5d40989da46e2bfb56c195e1fd39584a1"))
    assert [next(words) for _ in range(4)] == [25016286, 2963050300, 1738081702, 848946448]
    assert base64.b64encode(verify_pack.BASE).decode() == "WGZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY="
