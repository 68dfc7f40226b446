"""Checks a certification pack (`certification/1`, docs/certification-format.md) with Python's standard library alone; writes nothing.

Exit status: 0 nothing found and the pack's own verdict is that it agrees, 3 findings or a pack that disagrees, 2 wrong usage, 4 a file that
cannot be read or is no zip of the form. Read `main` first, at the end; then `Audit`, then the checks, in the order of the page. What it
shares with verify_pack.py is the same text there.
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
from fractions import Fraction
from math import isqrt
from typing import Any

__all__: list[str] = []
BYTES_MAX, MEMBERS_MAX, JSON_MAX = 256 << 20, 2000, 32 << 20
ALIKE_MAX = 5  # findings of one code that are shown, others are counted: one cause may give many
WORDS_MAX = 100_000  # words of the key stream that are made again for a source: a part of those that were tested
NAME = re.compile(r"[a-z0-9._-]+(/[a-z0-9._-]+){1,3}")
TAGS = ["bag-info.txt", "bagit.txt", "manifest-sha256.txt", "signature.json"]
ALWAYS = {f"{name}.json" for name in ("pack", "par", "simulation", "derivation", "texts", "software", "sbom", "clauses")}
ALWAYS |= {"keys/pack.pub", "report.html", "report.pdf", "readme.txt", "verify_certification.py"}
OF_STRIPS, SUMS = {"strips.json", "strips.html", "rules.toml", "rules.json"}, ("rounds", "win_minor", "win_minor_squared")
PARTS = {"dossier", "randomness", "forced", "interruptions", "determinism"}
RESULTS = {"pass", "fail", "not_applicable", "not_assessed"}
WRONG = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, struct.error, ZeroDivisionError)
CANNOT = ["whether rounds come to these sums, boards to these strips, and test rules to these rounds: here is no engine, no referee"]
CANNOT += ["what charts, report, software and bill of materials say, how the cap is reached, and p-values from their statistics"]


class NotRunError(Exception):
    """A check cannot be made; the text says why."""


class Audit:
    """The members of one pack without their folder, what was read from them, what was checked, could not be, and was found."""

    def __init__(self, folder: str, members: dict[str, bytes], key: str | None) -> None:
        self.folder, self.members, self.key = folder, members, key
        self.names = {name[5:] for name in members if name.startswith("data/")}
        self.files: dict[str, Any] = {}  # in data/: values of those of JSON that are of its form
        self.about: dict[str, Any] = {}  # pack.json
        self.withheld: set[str] = set()
        self.checked = [f"zip: {len(members)} members, byte for byte of the form"]
        self.unchecked: list[str] = []
        self.findings: list[dict[str, str]] = []
        self.counts: dict[str, int] = {}  # findings by code

    def hold(self, code: str, where: str, want: object, got: object) -> None:
        """A finding unless both are of one type and equal; for objects, one for each field in which they differ."""
        if isinstance(want, dict) and isinstance(got, dict):
            for name in sorted({**want, **got}):
                self.hold(code, f"{where}: {name}", want.get(name, ()), got.get(name, ()))
        elif json.dumps(want, sort_keys=True, default=repr) != json.dumps(got, sort_keys=True, default=repr):
            self.counts[code] = self.counts.get(code, 0) + 1
            if self.counts[code] <= ALIKE_MAX:
                self.findings.append({"code": code, "where": plain(where), "want": plain(want), "got": plain(got)})

    def read(self, name: str) -> Any:
        if name in self.withheld:
            raise NotRunError(f"{name} is withheld")
        if name not in self.files:
            raise NotRunError(f"{name} is not in the pack, or is no JSON of the form")
        return self.files[name]

    def check_json_and_bag(self) -> str:
        payload = {name: body for name, body in self.members.items() if name.startswith("data/")}
        for name, body in payload.items():
            *lines, rest = body.split(b"\n") if name.endswith((".json", ".jsonl")) else [b""]
            values: list[Any] = []
            try:
                values.extend(map(json_of, lines))
                if rest or (name.endswith(".json") and len(lines) != 1):
                    raise ValueError("want a newline at its end, and no other in a .json")
                if name.endswith((".json", ".jsonl")):
                    self.files[name[5:]] = values[0] if name.endswith(".json") else values
            except (ValueError, RecursionError) as error:
                self.hold("json", f"{name} line {len(values) + 1}", "canonical JSON", str(error))
        tags = {name: body for name, body in self.members.items() if name not in payload and name != "tagmanifest-sha256.txt"}
        for manifest, over in (("manifest-sha256.txt", payload), ("tagmanifest-sha256.txt", tags)):
            want = [f"{sha(over[name]).hex()}  {name}\n" for name in sorted(over)]
            got = self.members.get(manifest, b"").decode("latin-1").splitlines(keepends=True)
            wrong = sorted({*want} ^ {*got}) or ([] if want == got else ["its order"])
            self.hold("manifest", f"{manifest}: lines that only it has, or only the members' hashes", [], wrong)
        self.hold("tag-files", "the bag", TAGS, sorted(tags))
        self.hold("bagit", "bagit.txt", b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n", self.members.get("bagit.txt"))
        return f"{len(payload)} payload and {len(tags)} tag files against their manifests, JSON in its form"

    def check_about(self) -> str:
        about = self.read("pack.json")
        texts = ("game", "rules_version", "rules_hash", "engine_fingerprint", "seed", "test_list", "verdict")
        if about["schema"] != "certification/1" or any(type(about[name]) is not str for name in texts) or not {*about["parts"]} <= PARTS:
            raise ValueError("want schema certification/1, texts, and parts that docs/certification-format.md names")
        time, _ = integers(about, "as_of_us", "rounds")
        unhex(about["rules_hash"])
        self.about = about
        named = f"{about['game']} {about['rules_version']}"
        digest = sha(f"{named} {about['rules_hash']}".encode()).hex()
        self.hold("folder", "the folder's name", f"certification-{digest[:16]}", self.folder)
        date = datetime.date(1970, 1, 1) + datetime.timedelta(microseconds=time)
        size = sum(len(self.members["data/" + each]) for each in self.names)
        want = f"Bagging-Date: {date}\nExternal-Identifier: {named}\nPayload-Oxum: {size}.{len(self.names)}\n"
        self.hold("bag-form", "bag-info.txt", want.encode(), self.members.get("bag-info.txt"))
        return f"{named}, rules {about['rules_hash']}, its own verdict: {about['verdict']}"

    def check_files(self) -> str:
        withheld = self.files.get("redactions.json")
        if withheld is not None:
            self.withheld = {row["file"] for row in withheld["withheld"]}
            strange = sorted(name for name in self.withheld if name not in OF_STRIPS and not name.startswith("forced/"))
            shown = sorted(name for name in self.names if name in OF_STRIPS or name.startswith("forced/"))
            self.hold("redaction", "files withheld that show no strips, or there that do", [], strange + shown)
        parts = {f"{name}.json" for name in self.about["parts"]}
        wanted = ALWAYS | parts | ({"redactions.json"} if withheld is not None else OF_STRIPS)
        self.hold("missing", "data/: files that are not there", [], sorted((wanted | OF_STRIPS) - self.names - self.withheld))
        allowed = re.compile(r"charts/[a-z0-9._-]+\.svg|forced/[a-z0-9._-]+\.jsonl?")
        others = sorted(name for name in self.names - wanted if not allowed.fullmatch(name))
        self.hold("unknown-member", "data/: files that docs/certification-format.md does not name", [], others)
        return f"{len(self.names)} files in data/, {len(self.withheld)} withheld"

    def check_signature(self) -> str:
        envelope, pack_pub = json_of(self.members["signature.json"][:-1]), self.members["data/keys/pack.pub"].decode()
        key, kind, payload = unhex(pack_pub[:-1]), "application/vnd.in-toto+json", unbase64(envelope["payload"])
        text, message = envelope["signatures"][0]["sig"], b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
        want = {"payload": envelope["payload"], "payloadType": kind, "signatures": [{"keyid": sha(key).hex(), "sig": text}]}
        self.hold("signature", "signature.json", want, envelope)
        self.hold("signature", "signature.json: by pack.pub", True, is_signature(key, unbase64(text), message))
        said = {name: self.about[name] for name in ("as_of_us", "game", "rules_hash", "rules_version", "verdict")}
        said["prepared_for"] = "assessment"
        subject = [{"digest": {"sha256": sha(self.members.get(name, b"")).hex()}, "name": name} for name in TAGS[:3]]
        want = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:slot-audit:certification-pack:1", "predicate": said}
        self.hold("statement", "the signed statement", {**want, "subject": subject}, json_of(payload))
        self.hold("pack-key", "data/keys/pack.pub, against --key", [f"{key.hex()}\n", self.key or key.hex()], [pack_pub, key.hex()])
        self.unchecked += [] if self.key else ["pack key: no --key given; anyone can sign a pack with a key of his own"]
        return f"by key {key.hex()}, over the statement and so over the bag"

    def check_rules_and_strips(self) -> str:
        par = self.read("par.json")
        named = {name: self.about[name] for name in ("game", "rules_hash", "rules_version")}
        named["paytable_id"] = f"{named['game']} {named['rules_version']}"
        self.hold("par", "par.json", named, {name: par[name] for name in named})
        self.hold("texts", "texts.json", par["texts_hash"], sha(self.members["data/texts.json"][:-1]).hex())
        sheet, strips = self.read("rules.json"), self.read("strips.json")
        rules = sheet["rules"]
        self.hold("rules", "rules.json", [self.about["rules_hash"]] * 3, [canonical_hash(rules), sheet["rules_hash"], strips["rules_hash"]])
        names = {symbol["letter"]: symbol["name"] for symbol in rules["symbols"]}
        self.hold("strips", "strips.json: symbols", names, strips["symbols"])
        made = [(part["name"], reel, "".join(strip)) for part in rules["strip_sets"] for reel, strip in enumerate(part["strips"], 1)]
        self.hold("strips", "number of strips", [len(made)] * 2, [len(strips["strips"]), len(par["strips"])])
        for (strip_set, reel, text), told, short in zip(made, strips["strips"], par["strips"], strict=False):
            want = {"strip_set": strip_set, "reel": reel, "length": len(text), "sha256": sha(text.encode()).hex()}
            counts = {names[letter]: text.count(letter) for letter in names if letter in text}
            self.hold("strips", f"strip {strip_set}, reel {reel}, strips.json", want | {"letters": text, "counts": counts}, told)
            self.hold("strips", f"strip {strip_set}, reel {reel}, par.json", want, short)
        facts = [rules["bet"]["coins"], rules["cap"]["multiple"], decimal(Fraction(rules["rtp_target_x10000"], 10000), 4)]
        self.hold("par", "coins, cap, displayed RTP", facts, [par[name] for name in ("coins", "cap_multiple", "displayed_rtp")])
        self.hold("texts", "texts.json, against the rules", rules["sources"], self.read("texts.json"))
        return f"{len(made)} strips, cap, displayed RTP and texts are those of the rules under their hash"

    def check_simulation(self) -> str:
        told, about = self.read("simulation.json"), self.about
        want = {"seed": about["seed"], "rounds": about["rounds"], "chunk_rounds": 65536}
        self.hold("simulation", "simulation.json", want, {name: told[name] for name in want})
        if "rules.json" in self.files:
            rules = self.files["rules.json"]["rules"]
            choices = [each["princess"] for each in rules.get("powers", ())] or [""]
            bet = told["bet_minor"]
            wanted = [[mode["name"], choice, mode["cost_x100"] * bet // 100] for mode in rules["modes"] for choice in choices]
            got = [[row["mode"], row["choice"], row["cost_minor"]] for row in told["configurations"]]
            self.hold("simulation", "bet, configurations and their costs", [rules["bet"]["coins"], wanted], [bet, got])
        for row in told["configurations"]:
            name = f"{row['mode']} {row['choice']}".strip()
            by_strata, by_class, points = (sums_of(rows) for rows in (row["strata"], row["classes"], row["points"][-1:]))
            self.hold("simulation", f"sums of {name} by class, and at the last point", [by_strata] * 2, [by_class, points])
            hits = sum(int(each["hits"]) for each in row["strata"]) + int(row["classes"][0]["rounds"])
            self.hold("simulation", f"rounds of {name}, by their sum and by whether they win", [told["rounds"]] * 2, [by_strata[0], hits])
            steps = [[int(each[sum_name]) for sum_name in SUMS] for each in row["points"]]
            is_rising = all(sorted(column) == list(column) for column in zip(*steps, strict=True))
            self.hold("simulation", f"points of {name}: rising", [True, 0], [is_rising, sum(step[0] % 65536 for step in steps[:-1])])
            wrong = list(out_of_class(row["classes"], told["bet_minor"]))
            self.hold("simulation", f"classes of {name}: wins within their bounds", [], wrong)
        return f"{len(told['configurations'])} configurations of {told['rounds']} rounds add up in every way"

    def check_par_figures(self) -> str:
        par, told = self.read("par.json"), self.read("simulation.json")
        z = {percent: Fraction(text) for percent, text in par["z"].items()}
        self.hold("par", "z", {"90": "1.644853627", "95": "1.959963985", "99": "2.575829304"}, par["z"])
        self.hold("par", "number of configurations", len(told["configurations"]), len(par["configurations"]))
        exact = {(row["figure"], row["of"]): row["value"] for row in self.read("derivation.json")["figures"]}
        for row, seen in zip(told["configurations"], par["configurations"], strict=False):
            where = f"par.json, {row['mode']} {row['choice']}".strip()
            known = exact.get(("return", row["mode"]), "")
            want = figures_of(row, told["bet_minor"], z, known)
            self.hold("par", where, want, {name: seen[name] for name in want})
            off = sum(Fraction(each["of_return"]) for each in seen["shares"]) - Fraction(seen["return_99"]["seen"])
            self.hold("par", f"{where}: shares add up to what was seen", True, abs(off) < Fraction(1, 10**7))
            award, odds = seen["top_award"], exact.get(("cap odds", row["mode"]), "")
            self.hold("par", f"{where}: top award", [par["cap_multiple"], odds], [award["bets"], award["odds_exact"]])
        return "every figure of the par sheet, computed again from the sums with integers and fractions"

    def check_two_ways_and_displayed(self) -> str:
        par = self.read("par.json")
        exact = {(row["figure"], row["of"]): row["value"] for row in self.read("derivation.json")["figures"]}
        want = []
        for row in par["two_ways"]:
            name = f"{row['figure']} of {row['of']}" if row["of"] else row["figure"]
            if row["kind"] == "sum":
                self.hold("two-ways", name, row["first"] == row["second"], row["agrees"])
            if row["kind"] == "exact":
                low, high = (Fraction(end) for end in row["second"].split(" to "))
                value = Fraction(exact.get((row["figure"], row["of"]), row["first"]))
                step = Fraction(1, 10**8)
                self.hold("two-ways", name, row["first"], decimal(value, 8))
                if not (low - step <= value <= high + step if row["agrees"] else not low + step < value < high - step):
                    self.hold("two-ways", f"{name}: agrees", not row["agrees"], row["agrees"])
            want += [] if row["agrees"] else [("par_figure", name)]
        displayed, reach = Fraction(par["displayed_rtp"]), Fraction(1, 20000)
        for mode in dict.fromkeys(row["mode"] for row in par["configurations"]):
            rows = [row for row in par["configurations"] if row["mode"] == mode]
            ends = [max(Fraction(row["return_exact"] or row["return_99"][end]) for row in rows) for end in ("low", "high")]
            want += [] if ends[0] - reach <= displayed <= ends[1] + reach else [("displayed_rtp", f"displayed RTP, mode {mode}")]
            awards = [row["top_award"] for row in rows]
            is_shown = any(each["seen"] != "0" or each["odds_exact"] or each["route"]["is_shown"] for each in awards)
            want += [] if is_shown else [("cap_route", f"cap, mode {mode}")]
        self.hold("par-findings", "findings of par.json", sorted(want), sorted((each["code"], each["where"]) for each in par["findings"]))
        return f"{len(par['two_ways'])} figures by both ways, the displayed RTP against interval or exact return"

    def check_derivation(self) -> str:
        log = self.read("derivation.json")
        self.hold("derivation", "rules_hash", self.about["rules_hash"], log["rules_hash"])
        for row in log["figures"]:
            self.hold("derivation", f"{row['figure']} of {row['of']}", decimal(Fraction(row["value"]), 12), row["decimal"])
        for table in log["tables"]:
            total = sum(Fraction(row["ways"]) for row in table["rows"])
            slack = Fraction(len(table["rows"]), 10**15) if any("." in row["ways"] for row in table["rows"]) else Fraction(0)
            self.hold("derivation", f"{table['table']}: adds up", True, abs(total - Fraction(table["total"])) <= slack)
        return f"{len(log['figures'])} exact figures, {len(log['tables'])} tables that add up"

    def check_verdict(self) -> str:
        about, par = self.about, self.read("par.json")
        self.hold("verdict", "verdict of pack.json", "disagrees" if about["findings"] else "agrees", about["verdict"])
        failed = [f"part_{name}" for name in about["parts"] if not passes(name, self.read(f"{name}.json"))]
        want = sorted([each["code"] for each in par["findings"]] + failed)
        got = sorted(each["code"] for each in about["findings"] if each["code"] != "paytable_two_hashes")
        self.hold("verdict", "findings of pack.json", want, got)
        return f"{about['verdict']}, with {len(about['findings'])} findings"

    def check_dossier(self) -> str:
        found = self.read("dossier.json")
        key = hmac.digest(bytes(range(32)), b"round-key/1\x00\x12moonlight-princess\x00\x08client-1" + bytes(8), "sha256")
        first = " ".join(str(word) for _, word in zip(range(4), words_of(key), strict=False))
        answers = {each["what"]: each["got"] for each in found["known_answers"]}
        want = {"round key": key.hex(), "first words under it": first}
        self.hold("dossier", "known answers", want, {name: answers.get(name) for name in want})
        for row in found["ranges"]:
            self.hold("dossier", f"range {row['n']}", [2**32 // row["n"], 2**32 % row["n"]], [row["words_each"], row["words_rejected"]])
        return f"known answers of this generator, and words for each result in {len(found['ranges'])} ranges"

    def check_random_numbers(self) -> str:
        found, made = self.read("randomness.json"), 0
        for row in found["sources"]:
            if row["count"] <= WORDS_MAX:
                digest, made = hashlib.sha256(numbers_of(bytes.fromhex(self.about["seed"]), row)).hexdigest(), made + 1
                self.hold("random-numbers", f"{row['source']}: SHA-256 of its {row['count']} numbers", digest, row["sha256"])
        rows, highest, alpha = found["rows"], Fraction(0), Fraction(100 - found["list"]["percent"], 100)
        order = sorted(range(len(rows)), key=lambda place: Fraction(rows[place]["p"]))
        for rank, place in enumerate(order):
            row, name = rows[place], f"{rows[place]['source']}, {rows[place]['test']}"
            highest = max(highest, min(Fraction(1), (len(rows) - rank) * Fraction(row["p"])))
            adjusted, slack = Fraction(row["adjusted"]), Fraction(len(rows), 10**6)  # p-values are rounded, and multiplied
            self.hold("holm", name, True, abs(adjusted - highest) <= slack)
            if abs(adjusted - alpha) > slack:
                self.hold("holm", f"{name}: result", "pass" if adjusted > alpha else "fail", row["result"])
        self.unchecked += [f"random numbers: sources of more than {WORDS_MAX} numbers"] * (made < len(found["sources"]))
        return f"{made} sources made again from the seed, {len(rows)} p-values corrected again"

    def check_forced_rounds(self) -> str:
        found, bet = self.read("forced.json"), self.read("simulation.json")["bet_minor"]
        if self.withheld:
            raise NotRunError("the rounds and their rules are withheld")
        sheets = {name: self.read(name) for name in self.files if name.startswith("forced/") and name.endswith(".json")}
        by_hash = {canonical_hash(sheet["rules"]): sheet["rules"] for sheet in sheets.values()}
        self.hold("forced", "hashes of test rules", sorted(by_hash), sorted(sheet["rules_hash"] for sheet in sheets.values()))
        used, there = {row["file"] for row in found["rows"] if row["file"]}, {name for name in self.files if name.startswith("forced/")}
        self.hold("forced", "rounds that no row names, or that are not there", [], sorted(used ^ (there - {*sheets})))
        for row in (row for row in found["rows"] if row["file"]):
            lines, cap = self.read(row["file"]), by_hash[row["rules_hash"]]["cap"]["multiple"] * bet
            events = [json_of(unbase64(line["data"])) for line in lines]
            topics = [f"{event['kind']}/{event['v']}" for event in events]
            self.hold("forced", f"{row['file']}: topics", topics, [line["topic"] for line in lines])
            self.hold("forced", row["file"], [], list(wrong_of_forced(events, row, cap, bet)))
        return f"{len(found['rows'])} rounds by {len(sheets)} test rules: cap, sums, money of every win"

    def check_clauses_and_software(self) -> str:
        rows, page = self.read("clauses.json"), self.members["data/report.html"].decode()
        ids = {*re.findall(r'id="([^"]*)"', page)}
        for row in rows:
            where = f"{row['standard']}, {row['clause']}"
            missing = [name for name in row["files"] if name not in self.names | self.withheld]
            missing += [f"#{name}" for name in row["sections"] if name not in ids and name in PARTS & {*self.about["parts"]}]
            self.hold("clauses", f"{where}: files and sections that are not there", [], missing)
            self.hold("clauses", f"{where}: result", True, row["result"] in RESULTS)
        software, own = self.read("software.json"), self.members["data/verify_certification.py"]
        files = {row["path"]: [row["sha256"], row["bytes"]] for row in software["files"]}
        got = [files.get("audit_reports/verifier/verify_certification.py"), software["engine_fingerprint"]]
        self.hold("software", "verifier and engine", [[sha(own).hex(), len(own)], self.about["engine_fingerprint"]], got)
        return f"{len(rows)} clauses lead to files and sections that are there; {len(files)} files of the program by hash"


def sums_of(rows: list[dict[str, str]]) -> list[int]:
    return [sum(int(row[name]) for row in rows) for name in SUMS]


def out_of_class(classes: list[dict[str, str]], bet: int) -> Iterator[int]:
    """Places of classes whose wins cannot be those of so many rounds within the class's bounds."""
    for place, row in enumerate(classes):
        rounds, wins, squares = (int(row[name]) for name in SUMS)
        low, high = (0, 0) if place == 0 else (1 if place == 1 else bet << (place - 2), (bet << (place - 1)) - 1)
        if not (low * rounds <= wins <= high * rounds or place == 31) or squares * rounds < wins * wins or min(rounds, wins, squares) < 0:
            yield place


def canonical_hash(value: Any) -> str:
    return sha(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hex()


def decimal(value: Fraction, digits: int) -> str:
    """A fraction as decimal text, rounded once, half to even."""
    whole, rest = divmod(abs(value.numerator) * 10**digits, value.denominator)
    whole += 2 * rest > value.denominator or (2 * rest == value.denominator and whole % 2 == 1)
    text = f"{whole:0{digits + 1}d}"
    return ("-" if value < 0 and whole else "") + (f"{text[:-digits]}.{text[-digits:]}" if digits else text)


def root(value: Fraction) -> Fraction:
    return Fraction(isqrt(value.numerator * 10**60 // value.denominator), 10**30)


def wilson(count: int, seen: int, z: Fraction) -> list[Fraction]:
    share = Fraction(seen, count)
    spread = z * root(share * (1 - share) / count + z * z / (4 * count * count))
    centre, scale = share + z * z / (2 * count), 1 + z * z / count
    return [share, (centre - spread) / scale if seen else Fraction(0), (centre + spread) / scale if seen < count else Fraction(1)]


def ends(values: list[Fraction], digits: int = 8) -> dict[str, str]:
    return {name: decimal(value, digits) for name, value in zip(("seen", "low", "high"), values, strict=True)}


def figures_of(row: dict[str, Any], bet: int, z: dict[str, Fraction], exact: str) -> dict[str, Any]:
    """The figures of one configuration that follow from its sums, as par.json must have them."""
    count, wins, squares = sums_of(row["strata"])
    cost = row["cost_minor"]
    named = ("hits", "triggers", "limited", "feature_spins")
    hits, triggers, limited, spins = (sum(int(each[name]) for each in row["strata"]) for name in named)
    mean = Fraction(wins, count)
    variance = max(Fraction(squares, count) - mean * mean, Fraction(0))
    reaches = {percent: z[percent] * root(variance / count) for percent in ("95", "99")}
    returns = {percent: ends([mean / cost, (mean - reach) / cost, (mean + reach) / cost]) for percent, reach in reaches.items()}
    classes = []
    for place, each in enumerate(row["classes"]):
        if int(each["rounds"]):
            low, high = "0" if place < 2 else str(1 << (place - 2)), "0" if place == 0 else str(1 << (place - 1))
            rounds, wins_of = (Fraction(int(each[name])) for name in SUMS[:2])
            shares = {"of_rounds": decimal(rounds / count, 8), "of_return": decimal(wins_of / (count * cost), 8)}
            classes.append({"from_bets": low, "below_bets": high, "rounds": each["rounds"], **shares})
    facts = {"mode": row["mode"], "choice": row["choice"], "cost_bets": decimal(Fraction(cost, bet), 2), "rounds": str(count)}
    facts |= {"return_exact": exact, "return_decimal": decimal(Fraction(exact) if exact else mean / cost, 8)}
    facts |= {"return_95": returns["95"], "return_99": returns["99"], "hit_frequency": ends(wilson(count, hits, z["99"]))}
    index = {"z": decimal(z["90"], 3), "confidence_percent": 90, "value": decimal(root(variance) / cost * z["90"], 3)}
    mean_spins = decimal(Fraction(spins, triggers), 4) if triggers else ""
    feature = {"seen": str(triggers), "odds": ends(wilson(count, min(triggers, count), z["99"])), "spins_mean": mean_spins}
    facts |= {"deviation_costs": decimal(root(variance) / cost, 4), "volatility_index": index, "feature": feature}
    return facts | {"limited": str(limited), "classes": classes}


def passes(name: str, part: dict[str, Any]) -> bool:
    """Whether a part passes by what stands in it, not by what it says."""
    if name == "dossier":
        return not part["scaling"]["uneven"] and all(each["want"] == each["got"] for each in part["known_answers"])
    if name == "determinism":
        return all(row["first"] == row["second"] for row in part["rows"])
    return all(row["result"] == "pass" and not row.get("wrong") and row.get("file", "-") for row in part["rows"])


def numbers_of(seed: bytes, row: dict[str, Any]) -> bytes:
    """The numbers of a source as it was tested, 32-bit little-endian words: raw, or below(n) and below(second) in turn."""
    first, second = row["n"], row["second"] or row["n"]
    what = b"raw words" if not first else b"range %d %d" % (first, second)
    named = b"".join(struct.pack(">H", len(text)) + text for text in (b"random-tests", what))
    key = hmac.digest(seed, b"sim-key/1" + named + bytes(8), "sha256")
    words, made = words_of(key), list[int]()
    while len(made) < row["count"]:
        word = next(words)
        if first:
            n = (first, second)[len(made) % 2]
            while word * n % 2**32 < 2**32 % n:
                word = next(words)
            word = word * n >> 32
        made.append(word)
    return struct.pack(f"<{len(made)}I", *made)


def wrong_of_forced(events: list[dict[str, Any]], row: dict[str, Any], cap: int, bet: int) -> Iterator[str]:
    """What is wrong with a forced round: its cap, what stands behind it, the sums of its awards, and the money of each win."""
    awarded = sum(event["award_minor"] for event in events if event["kind"] == "spin_ended")
    if awarded != row["total_win_minor"]:
        yield f"awards {awarded}, total {row['total_win_minor']}"
    for event in events:
        if event["kind"] == "win" and event["win_minor"] * 100 != event["pay_x100"] * max(event["ways"], 1) * event["multiplier"] * bet:
            yield f"win of {event['win_minor']}"
    hits = [place for place, event in enumerate(events) if event["kind"] == "cap_hit"]
    if row["reaches"].startswith("cap"):
        hit = events[hits[0]]
        if len(hits) != 1 or row["total_win_minor"] != cap or row["ended"] != "capped":
            yield f"{len(hits)} cap_hit, total {row['total_win_minor']}, cap {cap}"
        if hit["total_before_minor"] + hit["awarded_minor"] != cap or hit["uncapped_minor"] < hit["awarded_minor"]:
            yield f"cap_hit of {hit['awarded_minor']} after {hit['total_before_minor']}"
        if any(event["kind"] not in ("spin_ended", "feature_ended") for event in events[hits[0] + 1 :]):
            yield "play behind the cap"
    elif hits or row["ended"] != "limit":
        yield f"ended {row['ended']}"


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


def audit_of(data: bytes, key: str | None = None) -> Audit:
    """Make all checks, of a pack whose pack.json cannot be read the first two; ValueError for what is no zip of the form."""
    audit = Audit(*members_of(data), key)
    for name in [name for name in vars(Audit) if name.startswith("check_")]:
        title = name[6:].replace("_", " ")
        try:
            if audit.about or name in ("check_json_and_bag", "check_about"):
                audit.checked.append(plain(f"{title}: {getattr(audit, name)()}"))
        except (NotRunError, *WRONG) as error:
            audit.unchecked.append(plain(f"{title}: {error}"))
            if not isinstance(error, NotRunError):
                audit.hold("malformed", title, "what docs/certification-format.md says", f"{type(error).__name__}: {error}")
    for code, more in ((code, count - ALIKE_MAX) for code, count in audit.counts.items() if count > ALIKE_MAX):
        audit.findings.append({"code": code, "where": f"and {more} more of this kind", "want": "none", "got": str(more)})
    audit.unchecked += CANNOT
    return audit


def main() -> int:
    def read(name: str, most: int) -> bytes:
        with open(name, "rb") as file:
            return file.read(most)

    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python -I -S verify_certification.py game.zip --key pack.pub")
    parser.add_argument("pack", help="the zip file")
    parser.add_argument("--key", metavar="FILE", help="the builder's public key, 64 hex digits, as it came by another way than the pack")
    parser.add_argument("--json", action="store_true", help="one JSON document, certification-verify/1")
    asked = parser.parse_args()
    try:
        key = None if asked.key is None else unhex(read(asked.key, 1000).decode("ascii").strip()).hex()
        audit = audit_of(read(asked.pack, BYTES_MAX + (1 << 20)), key)
    except (OSError, ValueError) as error:
        print(f"a file cannot be read, or is not of its form: {plain(str(error))}", file=sys.stderr)
        return 4
    of, verdict = f"{audit.about.get('game', '')} {audit.about.get('rules_version', '')}".strip(), audit.about.get("verdict", "")
    count, facts = sum(audit.counts.values()), {"checked": audit.checked, "unchecked": audit.unchecked, "findings": audit.findings}
    document, is_clean = {"schema": "certification-verify/1", "of": of, "verdict": verdict, **facts}, verdict == "agrees" and not count
    head = f"{count} FINDING{'S' if count > 1 else ''}" if count else "NOTHING FOUND"
    lines = [f"{head}  certification pack of {plain(of) or 'unknown'}, whose own verdict is {plain(verdict) or 'none'}"]
    lines += [f"  {each['code']}  {each['where']}: want {each['want']}, got {each['got']}" for each in audit.findings]
    lines += ["checked", *(f"  {each}" for each in audit.checked), "not checked", *(f"  {each}" for each in audit.unchecked)]
    sys.stdout.buffer.write((json.dumps(document) if asked.json else "\n".join(lines)).encode() + b"\n")
    return 0 if is_clean else 3


if __name__ == "__main__":
    sys.exit(main())
