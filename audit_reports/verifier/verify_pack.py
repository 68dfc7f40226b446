"""Checks an evidence pack (`pack/1`, docs/pack-format.md) with Python's standard library alone, and writes nothing to disk.

Exit status: 0 nothing found and the pack's own verdict is clean, 3 findings or another verdict, 2 wrong usage, 4 a file that cannot be
read or is no zip of the form. Read `main` first, at the end; then `Audit`, then the checks, in the order of the page.
"""

import argparse
import base64
import datetime
import hashlib
import hmac
import json
import re
import struct
import sys
import zlib
from collections.abc import Iterator
from typing import Any

__all__: list[str] = []
BYTES_MAX, MEMBERS_MAX, JSON_MAX, STREAMS_MAX, KEYS_MAX, CHECKPOINTS_MAX = 256 << 20, 2000, 32 << 20, 60, 100, 100
ALIKE_MAX = 5  # findings of one code that are shown, others are counted: one cause may give many
NAME = re.compile(r"[a-z0-9._-]+(/[a-z0-9._-]+){1,3}")
TAGS = ["bag-info.txt", "bagit.txt", "manifest-sha256.txt", "signature.json"]
ALWAYS = {"pack.json", "verdict.json", "leaves.json", "consistency.json", "clauses.json", "software.json", "keys/log.vkey", "keys/pack.pub"}
ALWAYS |= {"report.html", "report.pdf", "readme.txt", "verify_pack.py"}
OF_KEY = ["round-key.json", "draws.jsonl", "what-if.json"]  # never without the key, never while the round is in play
EXPLAINED = ["report.json", "history.json", "rules.toml", "rules.json", "texts.json", "profile.json", *OF_KEY]  # there, or in `absent`
OTHERS = re.compile(r"case\.json|streams/[a-z0-9._-]+\.jsonl|checkpoints/[0-9]{1,16}\.checkpoint|texts/[0-9a-f]{64}\.txt")
GAME_KINDS = {"spin_started", "drop", "win", "tumble", "multiplier_change", "feature_trigger", "power", "prize", "choice_offered"}
GAME_KINDS |= {"cap_hit", "spin_ended", "feature_ended"}
ENDS, BEHIND_END = {"round_settled", "round_voided"}, {"correction_recorded", "presentation_sent", "presentation_acked"}
GAINS = {"round_settled": "total_win_minor", "round_voided": "refund_minor", "funds_moved": "amount_minor"}  # to a balance
CLEAN = {"reproduced", "incomplete_open", "incomplete_resolved"}
WRONG = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, struct.error)
CANNOT = ["whether the outcome follows from rules and draws, and whether the draws are all that it took: here is no engine, no referee"]
CANNOT += ["what clauses, report, history, rules, what-if, software, case and the texts held by hash say, and to whom the log was shown"]


class NotRunError(Exception):
    """A check cannot be made; the text says why."""


class Audit:
    """The members of one pack without their folder, what was read from them, what was checked, could not be, and was found."""

    def __init__(self, folder: str, members: dict[str, bytes], vkey: str | None, key: str | None) -> None:
        self.folder, self.members, self.vkey, self.key = folder, members, vkey, key
        self.files: dict[str, Any] = {}  # in data/: values of those of JSON that are of its form, bytes of the others
        self.about: dict[str, Any] = {}  # pack.json
        self.rows: dict[str, dict[int, dict[str, Any]]] = {}  # stream, version: its event, and what its line and leaf say
        self.broken: set[str] = set()  # streams with an event that is missing or could not be read, which is a finding
        self.checked = [f"zip: {len(members)} members, byte for byte of the form"]
        self.unchecked: list[str] = []
        self.findings: list[dict[str, str]] = []
        self.counts: dict[str, int] = {}  # findings by code

    def hold(self, code: str, where: str, want: object, got: object) -> None:
        """A finding unless both are of one type and equal; for objects, one for each field in which they differ."""
        if isinstance(want, dict) and isinstance(got, dict):
            for name in sorted({**want, **got}):
                self.hold(code, f"{where}: {name}", want.get(name, ()), got.get(name, ()))
        elif type(want) is not type(got) or repr(want) != repr(got):
            self.counts[code] = self.counts.get(code, 0) + 1
            if self.counts[code] <= ALIKE_MAX:
                self.findings.append({"code": code, "where": plain(where), "want": plain(want), "got": plain(got)})

    def read(self, name: str) -> Any:
        if name not in self.files:
            raise NotRunError(f"{name} is not in the pack, or is no JSON of the form")
        return self.files[name]

    def stream(self, stream: str) -> list[dict[str, Any]]:
        """Its rows in order; NotRunError where one is missing or could not be read, which is a finding already."""
        if stream in self.broken or not self.rows.get(stream):
            raise NotRunError(f"{stream} is not in the pack, or an event of it is missing or could not be read")
        return list(self.rows[stream].values())

    def round(self) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any] | None]:
        """The round's rows in order, that of its opening, and that of its end if there is one."""
        rows = self.stream(self.own)
        opened, end = (next((row for row in rows if row["kind"] in kinds), None) for kinds in ({"round_opened"}, ENDS))
        if opened is None:
            raise NotRunError("the round has no opening")
        return rows, opened, end

    def check_json_and_bag(self) -> str:
        payload = {name: body for name, body in self.members.items() if name.startswith("data/")}
        for name, body in payload.items():
            *lines, rest = body.split(b"\n") if name.endswith((".json", ".jsonl")) else [b""]
            values: list[Any] = []
            try:
                values.extend(map(json_of, lines))
                if rest or (name.endswith(".json") and len(lines) != 1):
                    raise ValueError("want a newline at its end, and no other in a .json")
                self.files[name[5:]] = values[0] if name.endswith(".json") else values if name.endswith(".jsonl") else body
            except (ValueError, RecursionError) as error:
                self.hold("json", f"{name} line {len(values) + 1}", "canonical JSON", str(error))
        tags = {name: body for name, body in self.members.items() if name not in payload and name != "tagmanifest-sha256.txt"}
        for manifest, over in (("manifest-sha256.txt", payload), ("tagmanifest-sha256.txt", tags)):
            want = [f"{sha(over[name]).hex()}  {name}\n" for name in sorted(over)]
            got = self.members.get(manifest, b"").decode("latin-1").splitlines(keepends=True)
            wrong = sorted({*want} ^ {*got}) or ([] if want == got else ["its order"])
            self.hold("manifest", f"{manifest}: lines that only it has, or only the members' hashes", [], wrong)
        self.hold("tag-files", "the bag", TAGS, sorted(tags))
        self.hold("missing", "data/: files of every pack that are not there", [], sorted(ALWAYS - {name[5:] for name in payload}))
        self.hold("bagit", "bagit.txt", b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n", self.members.get("bagit.txt"))
        return f"{len(payload)} payload and {len(tags)} tag files against their manifests, JSON in its form"

    def check_about(self) -> str:
        about, names = self.read("pack.json"), {name[5:] for name in self.members if name.startswith("data/")}
        got = [about["schema"], about["as_of_from"] in ("given", "checkpoint", "leaf")]
        self.hold("pack", "pack.json: schema, as_of_from is one of three", ["pack/1", True], got)
        types = {type(text) for text in [about["verdict"], *about["absent"].values(), *about["streams"].values()]}
        if types != {str} or type(about["is_over"]) is not bool or not re.fullmatch("[A-Za-z0-9._-]{1,64}", about["round_id"]):
            raise ValueError("want texts in absent, streams and verdict, true or false in is_over, a round's id in round_id")
        time, size = integers(about, "as_of_us", "tree_size")
        self.own, self.root, self.about = f"round/{about['round_id']}", unhex(about["root"]), about
        self.cut = {*about["absent"]} - {self.own, "ledger"}  # streams that may lack events
        self.hold("folder", "the folder's name", "round-" + sha(about["round_id"].encode()).hex()[:16], self.folder)
        date = datetime.date(1970, 1, 1) + datetime.timedelta(microseconds=time)
        size_of = sum(len(self.members["data/" + each]) for each in names)
        want = f"Bagging-Date: {date}\nExternal-Identifier: {about['round_id']}\nPayload-Oxum: {size_of}.{len(names)}\n"
        self.hold("bag-form", "bag-info.txt", want.encode(), self.members.get("bag-info.txt"))
        said = " ".join(about["absent"]).replace("-", " ")
        others = sorted(name for name in names - ALWAYS - {*EXPLAINED} if not OTHERS.fullmatch(name))
        missing = [name for name in EXPLAINED if name not in names and name.split(".")[0].replace("-", " ") not in said]
        self.hold("missing", "data/: files that are not there, and absent does not say why", [], missing)
        self.hold("unknown-member", "data/: files that docs/pack-format.md does not name", [], others)
        listed, texts = self.members.get("data/texts.json", b"").decode("latin-1"), [name for name in names if name.startswith("texts/")]
        strange = [name for name in sorted(texts) if name[6:-4] not in listed or sha(self.members["data/" + name]).hex() != name[6:-4]]
        self.hold("texts", "data/texts/: not of the SHA-256 that names them, or not in texts.json", [], strange)
        return f"{len(names)} files in data/, those that must be there and no others; {size} leaves, verdict {about['verdict']}"

    def check_signature(self) -> str:
        envelope, pack_pub = json_of(self.members["signature.json"][:-1]), self.read("keys/pack.pub").decode()
        key, kind, payload = unhex(pack_pub[:-1]), "application/vnd.in-toto+json", unbase64(envelope["payload"])
        text, message = envelope["signatures"][0]["sig"], b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
        want = {"payload": envelope["payload"], "payloadType": kind, "signatures": [{"keyid": sha(key).hex(), "sig": text}]}
        self.hold("signature", "signature.json", want, envelope)
        self.hold("signature", "signature.json: by pack.pub", True, is_signature(key, unbase64(text), message))
        said = {"prepared_for": "assessment", **{name: self.about[name] for name in ("as_of_us", "round_id", "verdict")}}
        subject = [{"digest": {"sha256": sha(self.members.get(name, b"")).hex()}, "name": name} for name in TAGS[:3]]
        want = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:slot-audit:round-pack:1", "predicate": said}
        self.hold("statement", "the signed statement", {**want, "subject": subject}, json_of(payload))
        self.hold("pack-key", "data/keys/pack.pub, against --key", [f"{key.hex()}\n", self.key or key.hex()], [pack_pub, key.hex()])
        self.unchecked += [] if self.key else ["pack key: no --key given; anyone can sign a pack with a key of his own"]
        return f"by key {key.hex()}, over the statement and so over the bag"

    def check_events(self) -> str:
        streams, files = self.about["streams"], {name[5:] for name in self.members if name.startswith("data/streams/")}
        self.hold("streams", "pack.json streams: files only there, or only in data/", [], sorted(files ^ {*streams.values()}))
        if len(streams) > STREAMS_MAX or len({*streams.values()}) < len(streams):
            raise ValueError(f"pack.json: want {STREAMS_MAX} streams at most, each file once")
        for stream, file in streams.items():
            self.read_stream(stream, self.files.get(file, []))
        self.broken |= {stream for stream, file in streams.items() if file not in self.files}
        lacking = {stream for stream, rows in self.rows.items() if not rows} - self.broken | ({self.own, "ledger"} - {*streams})
        for row in self.rows.get(self.own, {}).values():
            if row.get("kind") == "round_opened":
                lacking |= {f"account/{row['event']['account_ref']}", f"epoch/{row['event']['epoch']}"} - {*streams}
        self.hold("streams", "pack.json: streams missing or empty, and absent does not say why", [], sorted(lacking - self.cut))
        self.unchecked += [plain(f"events: what is not in the pack of {stream}, cut as absent says") for stream in {*streams} & self.cut]
        return f"{sum(map(len, self.rows.values()))} of {len(self.rows)} streams"

    def read_stream(self, stream: str, lines: list[dict[str, Any]]) -> None:
        rows, following = self.rows.setdefault(stream, {}), 0
        for number, line in enumerate(lines):
            where, due, following = f"{stream} line {number}", following, following + 1
            try:
                index, append, at = integers(line, "index", "append", "recorded_at_us", least=-1)
                where, following = f"{stream} index {index}, {line['topic']}", index + 1
                if index < due or (index > due and stream not in self.cut):
                    self.hold("gap", where, due, index)
                    self.broken.add(stream)
                data = unbase64(line["data"])
                row = rows[following] = {"index": index, "append": append, "at": at, "leaf": -1, "data": data, "where": where}
                row["event"], row["kind"] = (event := event_of(data)), event["kind"]
                self.hold("topic", where, [f"{event['kind']}/{event['v']}", stream], [line["topic"], line["stream"]])
                self.hold("event", where, ["append", "data", "index", "recorded_at_us", "stream", "topic"], sorted(line))
            except WRONG as error:
                self.hold("event", where, "a line and an event of their form", f"{type(error).__name__}: {error}")
                self.broken.add(stream)

    def check_leaves(self) -> str:
        leaves, size, newest = self.read("leaves.json"), self.about["tree_size"], -1
        reached: dict[bytes, list[str]] = {}  # root: leaves whose paths lead to it
        next_of: dict[str, tuple[int, int]] = {}  # stream: version and number of the append that follows
        for leaf in sorted(leaves, key=lambda leaf: leaf["leaf_index"]):
            first, last, place, at = integers(leaf, "version_first", "version_last", "leaf_index", "recorded_at_us")
            stream, where = leaf["stream"], f"leaf {place}, {leaf['stream']} versions {first} to {last}"
            rows, (version, append) = self.rows.get(stream, {}), next_of.get(stream, (1, 0))
            here = [rows[each] for each in range(max(first, version), min(last, first + len(rows) + MEMBERS_MAX) + 1) if each in rows]
            is_right = 0 < len(here) == last - first + 1 and newest < place < size
            if not is_right and (stream not in self.broken or place <= newest):
                self.hold("leaf", f"{where}: over events of the pack, whole, in order and in the tree, once", True, False)
            for row in here:
                row["leaf"], newest = place, max(newest, place)
            if here:
                append = append if first == version else here[0]["append"]
                next_of[stream] = here[-1]["index"] + 2, append + 1
                lines = [row["where"] for row in here if [row["append"], row["at"]] != [append, at]]
                self.hold("append", f"{where}: lines of another append or recorded_at_us than {append}, {at}", [], lines)
            if is_right:
                data = framed(">H", stream.encode()) + struct.pack(">3Q", first, last, at) + digest_of(here)
                self.hold("leaf-hash", where, sha(b"\x00leaf/1" + data).hex(), leaf["leaf_hash"])
                if leaf["path"] or size == 1:
                    root = root_from(unhex(leaf["leaf_hash"]), place, size, [unhex(each) for each in leaf["path"]])
                    reached.setdefault(root, []).append(where)
        self.root = max(reached, key=lambda root: len(reached[root]), default=self.root)
        self.hold("audit-path", "pack.json: root, that most paths lead to", self.root.hex(), self.about["root"])
        for root, places in reached.items():
            self.hold("audit-path", f"root from {places[0]}; leaves that lead there: {len(places)}", self.root.hex(), root.hex())
        bare = sum(row["leaf"] < 0 for each in self.rows.values() for row in each.values())
        pathless = sum(size > 1 and not leaf["path"] for leaf in leaves)
        self.hold("leaf", "leaves.json: events without a leaf, leaves without a path to the root", [0, 0], [bare, pathless])
        return f"{len(leaves)} over the events, {len(leaves) - pathless} with a path to the root"

    def check_checkpoints(self) -> str:
        own, ledger = keys_of(self.read("keys/log.vkey").decode()), [row["event"] for row in self.stream("ledger")]
        named = {event[field] for event in ledger for field in ("log_public_key", "new_public_key") if field in event}
        self.hold("log-key", "data/keys/log.vkey: the keys that the ledger names", sorted(named), sorted(key.hex() for _, _, key in own))
        keys = own if self.vkey is None else keys_of(self.vkey)
        self.hold("log-key", "data/keys/log.vkey: has the key given with --vkey", True, bool(own & keys))
        self.unchecked += [] if self.vkey else ["log key: no --vkey given; whoever holds the record could sign it anew with another"]
        names = sorted(name for name in self.members if name.startswith("data/checkpoints/"))
        paths = {each["size"]: [unhex(hash_) for hash_ in each["path"]] for each in self.read("consistency.json")}
        self.hold("consistency", "consistency.json", sorted(int(name[17:-11]) for name in names), sorted(paths))
        if not 0 < len(names) <= CHECKPOINTS_MAX:
            raise NotRunError(f"{len(names)} in the pack, want 1 to {CHECKPOINTS_MAX}: only the builder says that the root is the log's")
        origin, size = f"slot-ledger/{ledger[0]['ledger_id']}", self.about["tree_size"]
        for name in names:
            body, _, lines = self.members[name].decode().rpartition("\n\n")
            self.hold("checkpoint-form", f"{name}: origin, size", [origin, name[17:-11]], body.split("\n")[:2])
            place, known, text = int(name[17:-11]), unbase64(body.split("\n")[2]), f"{body}\n".encode()
            sigs = [unbase64(line.split(" ")[2]) for line in lines.split("\n") if line.startswith(f"— {origin} ")][:4]
            is_signed = any(is_signature(key, sig[4:], text) for of, mark, key in keys for sig in sigs if (of, mark) == (origin, sig[:4]))
            self.hold("checkpoint-signature", f"{name}: signed by the log's key", True, is_signed)
            reached = roots_from(place, size, known, paths.get(place, [])) if 0 < place <= size else None
            self.hold("consistency", f"{name}: the root grew from it", True, reached == (known, self.root))
        return f"{len(names)}, signed by {'the key given' if self.vkey else 'keys that the pack itself brings'}; the root grew from each"

    def check_round(self) -> str:
        rows = self.stream(self.own)
        kinds, end = [row["kind"] for row in rows], next((row for row in rows if row["kind"] in ENDS), None)
        counts = [kinds.count("round_opened"), sum(kind in ENDS for kind in kinds)]
        self.hold("order", "the round: first event, openings, ends", ["round_opened", 1, int(end is not None)], [kinds[0], *counts])
        self.hold("is-over", "pack.json: is_over", end is not None, self.about["is_over"])
        if end is None:
            return f"{len(rows)} events; it is in play, so it has no digests yet"
        earlier = rows[: rows.index(end)]
        self.hold("order", "the round: what may not stand behind its end", [], sorted({*kinds[len(earlier) + 1 :]} - BEHIND_END - ENDS))
        self.hold("round-digest", end["where"], digest_of(earlier).hex(), end["event"]["round_digest"])
        if end["kind"] == "round_settled":
            game = [row for row in earlier if row["kind"] in GAME_KINDS]
            self.hold("outcome-digest", end["where"], digest_of(game).hex(), end["event"]["outcome_digest"])
        return f"{len(rows)} events in order, digests"

    def check_money_and_presentation(self) -> str:
        rows, opened, _ = self.round()
        (bet,) = integers(opened["event"], "bet_minor")
        total = base = wins = prizes = cut = 0
        spin, is_spinning, balance = -1, False, -1
        spins: dict[int, list[int]] = {}  # index of a spin_ended: its award, the total up to there
        sent: dict[int, int] = {}  # index of a presentation_sent: the total that it told
        for event, kind, index, where in ((row["event"], row["kind"], row["index"], row["where"]) for row in rows):
            if kind in ("win", "prize", "cap_hit", "spin_ended", *ENDS):
                self.hold("spin-order", f"{where}: in a spin", kind not in ENDS, is_spinning)
                is_spinning = kind not in ENDS
            if kind == "spin_started":
                self.hold("spin-order", f"{where}: spin, in one that has not ended", [spin + 1, False], [event["spin_index"], is_spinning])
                spin, is_spinning, wins, prizes, cut = event["spin_index"], True, 0, 0, 0
            elif kind in ("win", "prize"):
                pay, multiplier, minor = integers(event, "pay_x100", "multiplier", f"{kind}_minor")
                ways = max(1, *integers(event, "ways", least=-1)) if kind == "win" else 1
                self.hold(f"{kind}-law", f"{where}: {kind}_minor x 100", pay * ways * multiplier * bet, minor * 100)
                wins, prizes = (wins + minor, prizes) if kind == "win" else (wins, prizes + minor)
            elif kind == "cap_hit":
                uncapped, awarded = integers(event, "uncapped_minor", "awarded_minor")
                cut += uncapped - awarded
            elif kind == "spin_ended":
                factor, *got = integers(event, "spin_multiplier", "cut_minor", "award_minor", "total_minor")
                total, base, is_spinning = total + got[1], base + (got[1] if spin == 0 else 0), False
                self.hold("adding-up", f"{where}: cut, award, total", [cut, wins * factor + prizes - cut, total], got)
                spins[index] = [got[1], total]
            elif kind in ("round_interrupted", "round_voided"):
                self.hold("total", f"{where}: won_minor", total, event["won_minor"])
            elif kind == "round_settled":
                got = integers(event, "total_win_minor", "base_win_minor", "feature_win_minor")
                self.hold("total", f"{where}: total, base, features", [total, base, total - base], got)
            elif kind == "presentation_sent":
                through, shown, *got = integers(event, "through_index", "balance_minor", "spin_win_minor", "total_win_minor", least=-1)
                sent[index] = got[1]
                self.hold("presentation", f"{where}: win, total to index {through}", spins.get(through, "no spin_ended there"), got)
                self.hold("presentation", f"{where}: balance", balance if shown != -1 != balance else shown, shown)
            elif kind == "presentation_acked":
                of, shown = integers(event, "sent_index", "total_win_minor", least=-1)
                want = sent.get(of, "no presentation_sent there")
                self.hold("presentation", f"{where}: total of index {of}", want, want if shown == -1 and of in sent else shown)
            if kind in ENDS or kind == "correction_recorded":  # behind a correction the balance may be another
                balance = event["balance_after_minor"] if kind in ENDS else -1
        self.unchecked += [] if sent else ["presentation: the record holds nothing of what the player was shown"]
        return f"{spin + 1} spins, each win, prize and award by its law, {total} minor units in all; {len(sent)} records of what was shown"

    def check_balance(self) -> str:
        rows, opened, _ = self.round()
        account, rounds = opened["event"]["account_ref"], [stream for stream in self.rows if stream.startswith("round/")]
        moves = [row for each in [f"account/{account}", *rounds] for row in self.stream(each) if row["kind"] in {"round_opened", *GAINS}]
        self.hold("balance", "accounts of its rounds", {account}, {row["event"].get("account_ref", account) for row in moves})
        if "rounds in between" in self.about["absent"] or min(row["leaf"] for row in moves) < 0:
            raise NotRunError("not all that moved it is in the pack, or no leaves tell the order")
        openings = sorted(row["leaf"] for row in moves if row["kind"] == "round_opened")
        here = openings.index(opened["leaf"])
        first, last = openings[max(here - 1, 0)], max(rows[-1]["leaf"], *openings[here : here + 2])
        moves = sorted((row for row in moves if first <= row["leaf"] <= last), key=lambda row: (row["leaf"], row["index"]))
        left = None  # by the movement before
        for event, kind, where in ((row["event"], row["kind"], row["where"]) for row in moves):
            if kind == "round_opened":
                got, cost, bonus = integers(event, "balance_before_minor", "cost_minor", "bonus_minor")
                self.hold("balance", f"{where}: balance_before_minor", got if left is None else left, got)
                left = got - cost + bonus
            else:
                got, gain = integers(event, "balance_after_minor", GAINS[kind], least=-(2**53))
                self.hold("balance", f"{where}: balance_after_minor", got if left is None else left + gain, got)
                left = got
        return f"{len(moves)} movements from leaf {first} to {last}, each from what the one before it left"

    def check_key_and_draws(self) -> str:
        (_, row, end), names = self.round(), [name for name in OF_KEY if f"data/{name}" in self.members]
        opened, epoch = row["event"], f"epoch/{row['event']['epoch']}"
        if end is None or OF_KEY[0] not in names:
            self.hold("open-key", "data/: files without the key, or of a round in play", [], names)
            raise NotRunError("the round's key is not in the pack")
        events = [row["event"] for row in (self.stream(epoch) if self.rows.get(epoch) else [])]
        seeds = [unhex(event["server_seed"]) for event in events if event["kind"] == "seed_revealed"]
        got = [event["seed_commitment"] for event in events if event["kind"] == "epoch_committed"] + [sha(seed).hex() for seed in seeds]
        self.hold("seed-commitment", "epoch_committed, seed of seed_revealed", [opened["seed_commitment"]] * len(got), got)
        key = unhex(self.read("round-key.json")["round_key"])
        message = framed(">H", opened["game"].encode(), opened["client_seed"].encode()) + struct.pack(">Q", opened["nonce"])
        made = [hmac.new(seed, b"round-key/1" + message, "sha256").hexdigest() for seed in seeds]
        self.hold("round-key", "round-key.json, by the revealed seed", made, [key.hex()] * len(made))
        self.unchecked += [] if seeds else ["key: whether it is the seed's, for the epoch's seed is not revealed in the pack"]
        commitment = sha(b"round-key-commitment/1" + key).hex()
        self.hold("round-key-commitment", "round_opened", commitment, opened["round_key_commitment"])
        if commitment != opened["round_key_commitment"]:
            raise NotRunError("draws are not held against a key that is not the round's by its commitment")
        draws, stream, due = self.read("draws.jsonl"), words_of(key), [0, 0]  # number and first word of the draw that follows
        words = [next(stream) for _ in range(2 * len(draws) + 1000)]
        for place, draw in enumerate(draws):
            n, number, first = integers(draw, "n", "number", "first_word")
            if not 0 < n < 2**31 or first + 1000 > len(words):
                raise ValueError(f"draw {place}: want n from 1 to below 2^31, got {n}; or first word {first} is far behind the others")
            behind = next(each for each in range(first + 1, len(words)) if words[each - 1] * n % 2**32 >= 2**32 % n)
            want = [*due, words[first:behind], words[behind - 1] * n >> 32]
            self.hold("draw", f"draw {place}: number, first word, words, result", want, [number, first, draw["words"], draw["result"]])
            due = [number + 1, behind]  # from where this one says that it stands, so that one left out is found once
        return f"the round's by its commitment{', by the revealed seed' if seeds else ''}; {len(draws)} draws from {due[1]} words of it"

    def check_verdict(self) -> str:
        found, verdict, (_, opened, end) = self.read("verdict.json"), self.about["verdict"], self.round()
        got = [found["schema"], found["round_id"], found["verdict"]]
        self.hold("verdict", "verdict.json: schema, round_id, verdict", ["verify/1", self.about["round_id"], verdict], got)
        reasons = [check["name"] for check in found["checks"] if check["result"] == "fail"]
        reasons += [each["code"] for each in found["findings"] if each["severity"] not in ("warning", "completeness")]
        reasons += ["in play" if end is None else "over"] if (end is None) != (verdict == "incomplete_open") else []
        self.hold("contradicted", f"verdict.json: what speaks against {verdict}", [], reasons if verdict in CLEAN else [])
        for name in ("profile", "texts"):
            want, body = opened["event"][f"{name}_hash"], self.members.get(f"data/{name}.json", b"")[:-1]
            self.hold(name, f"{name}.json", want, sha(body).hex() if want and body else want)
            self.unchecked += [] if want and body else [f"{name}: the round names none by hash, or {name}.json is not in the pack"]
        return f"{verdict}, with {len(found['findings'])} findings of its own; profile and texts by their hashes"


def plain(value: object) -> str:
    """A value as one short line of printable text: what an attacker wrote moves no cursor and turns no line."""
    text = value if isinstance(value, str) else repr(value)
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text[:400]) + (" …" if len(text) > 400 else "")


def unbase64(text: str) -> bytes:
    if base64.b64encode(data := base64.b64decode(text, validate=True)).decode() != text:
        raise ValueError(f"{plain(text)} is not the one base64 of its bytes")
    return data


def number_of(text: str) -> int:
    if not re.fullmatch("-?[0-9]{1,16}", text) or abs(int(text)) >= 2**53:
        raise ValueError(f"{text[:40]} is a float, no number, or one of 2^53 or more in magnitude")
    return int(text)


def json_of(data: bytes) -> Any:
    """Canonical JSON (RFC 8785) without floats; ValueError or RecursionError for anything else."""
    value = json.loads(data.decode(), parse_int=number_of, parse_float=number_of, parse_constant=number_of)
    if json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() != data:
        raise ValueError("JSON that is not canonical")
    return value


def event_of(data: bytes) -> dict[str, Any]:
    """An event by record/1, item 1: an object, keys of ASCII, no null."""
    todo = [event := json_of(data)]
    for value in todo:
        if value is None or (isinstance(value, dict) and not "".join(value).isascii()) or not isinstance(event["kind"], str):
            raise ValueError("null, a key that is not ASCII, or a kind that is no text, in an event")
        todo.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else [])
    return dict(event)


def integers(fields: dict[str, Any], *names: str, least: int = 0) -> list[Any]:
    for name in names:
        if type(fields[name]) is not int or fields[name] < least:
            raise ValueError(f"{name} is {plain(fields[name])}, no integer from {least}")
    return [fields[name] for name in names]


def unhex(text: object, size: int = 32) -> bytes:
    if not isinstance(text, str) or not re.fullmatch(f"[0-9a-f]{{{2 * size}}}", text):
        raise ValueError(f"{plain(text)} is not {size} bytes in lower-case hex")
    return bytes.fromhex(text)


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def framed(size: str, *parts: bytes) -> bytes:
    return b"".join(struct.pack(size, len(part)) + part for part in parts)


def digest_of(rows: list[dict[str, Any]]) -> bytes:
    return sha(framed(">I", *(row["data"] for row in rows)))


# Ed25519 (RFC 8032): the curve -x^2 + y^2 = 1 + D x^2 y^2 modulo P; ORDER is that of BASE
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, BASE = -121665 * pow(121666, -1, P) % P, (4 * pow(5, -1, P) % P).to_bytes(32, "little")


def add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    k = D * a[0] * b[0] * a[1] * b[1]
    return (a[0] * b[1] + b[0] * a[1]) * pow(1 + k, -1, P) % P, (a[1] * b[1] + a[0] * b[0]) * pow(1 - k, -1, P) % P


def times(number: int, point: tuple[int, int]) -> tuple[int, int]:
    rest = times(number >> 1, add(point, point)) if number else (0, 1)
    return add(rest, point) if number & 1 else rest


def point_of(encoded: bytes) -> tuple[int, int]:
    sign, y = divmod(int.from_bytes(encoded, "little"), 2**255)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        raise ValueError("no point of the curve")
    return (x if x & 1 == sign else P - x), y


def is_signature(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether s B = R + h A; never by a key A of small order, which has signatures over everything."""
    s = int.from_bytes(signature[32:], "little")
    try:
        a, r = point_of(key), point_of(signature[:32])
    except ValueError:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    return len(signature) == 64 and s < ORDER and times(8, a) != (0, 1) and times(s, point_of(BASE)) == add(r, times(h, a))


def root_from(leaf: bytes, place: int, size: int, path: list[bytes]) -> bytes:
    """The root that an audit path leads to (RFC 6962, 2.1.1); none, of no bytes, for a path of the wrong length."""
    if size == 1 or not path:
        return leaf if size == 1 and not path else b""
    half = 1 << (size - 1).bit_length() - 1
    if place < half:
        return sha(b"\x01" + root_from(leaf, place, half, path[:-1]) + path[-1])
    return sha(b"\x01" + path[-1] + root_from(leaf, place - half, size - half, path[:-1]))


def roots_from(first: int, size: int, known: bytes, path: list[bytes]) -> tuple[bytes, bytes]:
    """The roots over the first leaves and over all, from a consistency proof (2.1.2); `known` is the first, while it needs no node."""
    if first == size or not path:
        root = b"".join([known, *path]) if first == size else b""
        return root, root
    half = 1 << (size - 1).bit_length() - 1
    if first <= half:
        old, new = roots_from(first, half, known, path[:-1])
        return old, sha(b"\x01" + new + path[-1])
    old, new = roots_from(first - half, size - half, b"", path[:-1])
    return sha(b"\x01" + path[-1] + old), sha(b"\x01" + path[-1] + new)


def words_of(key: bytes) -> Iterator[int]:
    """The words of the ChaCha20 key stream (RFC 8439) under a nonce of zeros, in order."""
    quarters = [(i, 4 + (i + turn) % 4, 8 + (i + 2 * turn) % 4, 12 + (i + 3 * turn) % 4) for turn in range(2) for i in range(4)]
    for counter in range(2**32):
        start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), counter, 0, 0, 0]
        x = list(start)
        for a, b, c, d in quarters * 10:
            for to, by, turned, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[to] = (x[to] + x[by]) & 0xFFFFFFFF
                word = x[turned] ^ x[to]
                x[turned] = (word << bits | word >> (32 - bits)) & 0xFFFFFFFF
        yield from ((x[i] + start[i]) & 0xFFFFFFFF for i in range(16))


def members_of(data: bytes) -> tuple[str, dict[str, bytes]]:
    """The folder, and its members by name, read from local headers; the one zip that they may stand in is written anew and compared."""
    found: dict[str, bytes] = {}
    at = 0
    while data[at : at + 4] == b"PK\x03\x04" and at + 30 <= len(data):
        size, length = struct.unpack("<22xIH2x", data[at : at + 30])
        name = data[at + 30 : at + 30 + length].decode("latin-1")
        is_name = len(name) <= 120 and NAME.fullmatch(name) and not {".", ".."} & {*name.split("/")}
        if not is_name or name in found or len(found) == MEMBERS_MAX:
            raise ValueError(f"member {name} has a name that is not allowed, stands twice, or is one more than {MEMBERS_MAX}")
        found[name] = data[at + 30 + length : at + 30 + length + size]
        at += 30 + length + size
    texts, folders = [body for name, body in found.items() if name.endswith((".json", ".jsonl"))], {name.split("/")[0] for name in found}
    if len(folders) != 1 or sum(map(len, found.values())) > BYTES_MAX or sum(map(len, texts)) > JSON_MAX:
        raise ValueError(f"want stored members from the first byte on, in one folder, of {BYTES_MAX} bytes at most, {JSON_MAX} of JSON")
    local, directory, at = [], [], 0
    for name, body in sorted(found.items()):
        head = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, zlib.crc32(body), len(body), len(body), len(name), 0)
        directory.append(b"PK\x01\x02\x14\x03" + head + struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, at) + name.encode())
        local += [b"PK\x03\x04" + head + name.encode(), body]
        at += 30 + len(name) + len(body)
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, len(found), len(found), sum(map(len, directory)), at, 0)
    if b"".join([*local, *directory, end]) != data:
        raise ValueError("want the zip of its members, stored, in order, as docs/pack-format.md has it byte for byte; got another")
    return folders.pop(), {name.split("/", 1)[1]: body for name, body in found.items()}


def keys_of(text: str) -> set[tuple[str, bytes, bytes]]:
    """Name, key id and public key of each C2SP verifier key; ValueError for a damaged one."""
    found: set[tuple[str, bytes, bytes]] = set()
    for line in text.split():
        name, key_id, encoded = line.split("+", 2)
        key = unbase64(encoded)
        own = sha(name.encode() + b"\n" + key)[:4]
        if len(key) != 33 or key[0] != 1 or own.hex() != key_id or len(found) == KEYS_MAX:
            raise ValueError(f"verifier key {plain(line)} is damaged, of another kind than Ed25519, or one too many")
        found.add((name, own, key[1:]))
    return found


def audit_of(data: bytes, vkey: str | None = None, key: str | None = None) -> Audit:
    """Make all checks, of a pack whose pack.json cannot be read the first two; ValueError for what is no zip of the form."""
    audit = Audit(*members_of(data), vkey, key)
    for name in [name for name in vars(Audit) if name.startswith("check_")]:
        title = name[6:].replace("_", " ")
        try:
            if audit.about or name in ("check_json_and_bag", "check_about"):
                audit.checked.append(plain(f"{title}: {getattr(audit, name)()}"))
        except (NotRunError, *WRONG) as error:
            audit.unchecked.append(plain(f"{title}: {error}"))
            if not isinstance(error, NotRunError):
                audit.hold("malformed", title, "what docs/pack-format.md says", f"{type(error).__name__}: {error}")
    for code, more in ((code, count - ALIKE_MAX) for code, count in audit.counts.items() if count > ALIKE_MAX):
        audit.findings.append({"code": code, "where": f"and {more} more of this kind", "want": "none", "got": str(more)})
    audit.unchecked += CANNOT
    return audit


def main() -> int:
    def read(name: str, most: int) -> bytes:
        with open(name, "rb") as file:
            return file.read(most)

    example = "example: python -I -S verify_pack.py dispute.zip --vkey log.vkey --key pack.pub"
    parser = argparse.ArgumentParser(description=__doc__, epilog=example)
    parser.add_argument("pack", help="the zip file")
    parser.add_argument("--vkey", metavar="FILE", help="the log's verifier key, as it came by another way than the pack")
    parser.add_argument("--key", metavar="FILE", help="the builder's public key, 64 hex digits, as it came by another way than the pack")
    parser.add_argument("--json", action="store_true", help="one JSON document, pack-verify/1")
    asked = parser.parse_args()
    try:
        vkey = None if asked.vkey is None else read(asked.vkey, 100_000).decode("ascii")
        key = None if asked.key is None else unhex(read(asked.key, 1000).decode("ascii").strip()).hex()
        keys_of(vkey or "")
        audit = audit_of(read(asked.pack, BYTES_MAX + (1 << 20)), vkey, key)
    except (OSError, ValueError) as error:
        print(f"a file cannot be read, or is not of its form: {plain(str(error))}", file=sys.stderr)
        return 4
    round_id, verdict, count = audit.about.get("round_id", ""), audit.about.get("verdict", ""), sum(audit.counts.values())
    facts = {"checked": audit.checked, "unchecked": audit.unchecked, "findings": audit.findings}
    document, is_clean = {"schema": "pack-verify/1", "round_id": round_id, "verdict": verdict, **facts}, verdict in CLEAN and not count
    head = f"{count} FINDING{'S' if count > 1 else ''}" if count else "NOTHING FOUND"
    lines = [f"{head}  pack of round {round_id or 'unknown'}, {plain(verdict) or 'no verdict'}"]
    lines += [] if is_clean else [f"the pack says of its round: {plain(verdict) or 'nothing'}"]
    lines += [f"  {each['code']}  {each['where']}: want {each['want']}, got {each['got']}" for each in audit.findings]
    lines += ["checked", *(f"  {each}" for each in audit.checked), "not checked", *(f"  {each}" for each in audit.unchecked)]
    sys.stdout.buffer.write((json.dumps(document) if asked.json else "\n".join(lines)).encode() + b"\n")
    return 0 if is_clean else 3


if __name__ == "__main__":
    sys.exit(main())
