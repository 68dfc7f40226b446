"""`audit pack verify`: a pack checked without its ledger, rules and engine included (`docs/pack-format.md`, What a checker does).

A pack is held against itself: bag and signature, the record's own checks, the referee and the totals, and a rerun from the round's key
where the pack has it. Findings are of severity `integrity` unless the referee or the rerun says otherwise.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pydantic import ValidationError

from audit_reports.bag import folder_of, read_zip
from audit_reports.draw_log import draw_log
from audit_reports.pack_parts import CONSISTENCIES, DRAW, INDEX, ROUND_KEY, VERDICT, Index, MalformedError, Parts, Said
from audit_reports.pack_record import check_balance, check_log_keys, check_stream, events_of
from audit_reports.pack_seal import Cover, check_bag, check_statement
from audit_reports.statement import ROUND_PACK
from engines.game import EventBytes
from engines.registry import game_of_rules, installed_rules_path
from engines.rng import RandomStreamError, round_key, round_key_commitment, seed_commitment
from engines.rules import GameRules, RulesFileError, load_rules
from ledger.checkpoint import parse_checkpoint, verify_note
from ledger.codec import is_game_topic
from ledger.errors import LedgerError
from ledger.keys import VerifierKey, parse_verifier_key
from ledger.lifecycle_events import EpochCommitted, RoundOpened, SeedRevealed
from ledger.merkle import is_consistent
from ledger.store import EPOCH_STREAM, RoundRecord
from replay.check import RoundCheck
from replay.recorded_round import check_record_events
from replay.replayer import compare_outcome
from replay.rulebook import Rulebook
from replay.verdict import EXIT_FINDINGS, Finding, VerdictName, exit_status

__all__ = ["PackCheck", "check_pack"]

OF_A_KIND_MAX, TEXT_MAX = 20, 300


class PackCheck(NamedTuple):
    """What a pack comes to: what was checked, in words, what could not be, and the findings.

    `said_count` of the findings stand in the pack's own verdict: an honest pack of a wrong round.
    """

    round_id: str
    verdict: VerdictName | None  # that the pack gives of its round; None where it gives none
    checked: list[str]
    unchecked: list[str]
    findings: list[Finding]
    said_count: int

    @property
    def exit_status(self) -> int:
        """3 for findings and for a verdict that is not clean, else 0."""
        return EXIT_FINDINGS if self.verdict is None else exit_status(self.verdict, self.findings)


def _finding(code: str, where: str, want: object, got: object) -> Finding:
    return Finding(code, "integrity", -1, -1, where, str(want), str(got), f"{where}: want {want}, got {got}")


def _bounded(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the first findings of each kind, their texts cut where somebody made them long; the last says how many more there are."""
    counts = Counter(finding.code for finding in findings)
    seen: Counter[str] = Counter()
    for finding in findings:
        seen[finding.code] += 1
        if seen[finding.code] <= OF_A_KIND_MAX:
            more = counts[finding.code] - OF_A_KIND_MAX if seen[finding.code] == OF_A_KIND_MAX else 0
            where, want, got, message = (_short(text) for text in (finding.where, finding.want, finding.got, finding.message))
            said = f"{message}; and {more} more of this kind" if more > 0 else message
            yield finding._replace(where=where, want=want, got=got, message=said)


def _short(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]} … ({len(text)} characters)"


def check_pack(
    data: bytes, where: str, *, vkeys: Sequence[VerifierKey] = (), pack_key: bytes = b"", rules: GameRules | None = None
) -> PackCheck:
    """Return what is wrong with a pack.

    vkeys: log keys that came by another way. pack_key: the builder's, 32 bytes. Raises PackUnreadableError for what is no pack.
    """
    checking = _Checking(Parts(read_zip(data, where)), vkeys, pack_key, rules)
    try:
        checking.run()
    except (MalformedError, ValueError, RecursionError, LedgerError) as error:
        got = f"{type(error).__name__} {error}"[:200]
        checking.findings.append(_finding("pack_form", "form of the pack", "that of docs/pack-format.md", got))
    index, said = checking.index, checking.said
    named = {(each.code, each.event_index) for each in said.findings} if said is not None else set()
    findings = list(_bounded(checking.findings))
    said_count = sum((each.code, each.event_index) in named for each in findings)
    round_id, verdict = (index.round_id, index.verdict) if index is not None else ("", None)
    return PackCheck(round_id, verdict, checking.checked, checking.unchecked, findings, said_count)


class _Checking:
    """One pack on its way through the checks."""

    def __init__(self, parts: Parts, vkeys: Sequence[VerifierKey], pack_key: bytes, rules: GameRules | None) -> None:
        self.findings: list[Finding] = []
        self.checked: list[str] = []
        self.unchecked: list[str] = []
        self.index: Index | None = None
        self.said: Said | None = None
        self._parts, self._vkeys, self._pack_key, self._given_rules = parts, vkeys, pack_key, rules

    def _find(self, code: str, where: str, want: object, got: object) -> None:
        self.findings.append(_finding(code, where, want, got))

    def run(self) -> None:
        """Do all checks in turn."""
        self._check_bag()
        self.index = index = self._parts.json("pack.json", INDEX)
        self._check_statement(index)
        self._check_files(index)
        self._check_verdict(index)
        records = {record.stream: record for record in self._parts.records(index)}
        self._check_records(index, records)
        self._check_checkpoints(index, records)
        own = records.get(f"round/{index.round_id}")
        if own is None:
            raise MalformedError(f"no stream of round {index.round_id}")
        if [row.version for row in own.events if row.topic.startswith("round_opened/")] != [1]:
            self._find("opening", "opening of the round", "the first event, once", "another order")
        opened = next((event for _, event in events_of(own) if isinstance(event, RoundOpened)), None)
        rulebook = Rulebook(self._given_rules or self._check_rules(opened))
        rounds = check_record_events(own, rulebook.find, is_balance_shown=False)
        self.findings += rounds.findings
        judged = [check for check in rounds.checks if check.name in ("referee", "totals")]
        not_run = [f"{check.name}: {check.detail}" for check in judged if check.result == "not_run"]
        self.unchecked += not_run
        if len(not_run) < 2:
            self.checked.append("rules: the referee and the totals went over the round's events")
        if index.is_over != (rounds.settled is not None or rounds.voided is not None):
            self._find("is_over", "is_over of pack.json", not index.is_over, index.is_over)
        if opened is not None:
            self._check_seed(opened, records)
            self._check_balance(index, opened, records)
        self._rerun(own, rounds, rulebook)

    def _check_bag(self) -> None:
        """Hold the manifests against the members."""
        for each in check_bag(self._parts):
            self._find(*each)
        self.checked.append(f"bag: {len(self._parts.payload)} files under their hashes")

    def _check_statement(self, index: Index) -> None:
        """Hold signature and statement against the bag, and the folder against the round."""
        said = {"round_id": index.round_id, "verdict": index.verdict}
        cover = Cover(ROUND_PACK, folder_of(index.round_id), index.round_id, index.as_of_us, said)
        found = list(check_statement(self._parts, cover, self._pack_key))
        for each in found:
            self._find(*each)
        if not self._pack_key:
            self.unchecked.append("builder: signed by the key in the pack, not compared with one that you hold; give it with --key")
        elif not found:
            self.checked.append("builder: signed by the key that you hold")

    def _check_files(self, index: Index) -> None:
        for name, got in self._parts.wrong_files(index):
            self._find("files", f"data/{name}", "the files of the format", got)
        for name in self._parts.uncanonical():
            self._find("pack_form", f"data/{name}", "canonical JSON", "another form")
        self.unchecked.append("pages, clauses, history and software: there under their hashes, not made anew")

    def _check_verdict(self, index: Index) -> None:
        self.said = said = self._parts.json("verdict.json", VERDICT)
        if (said.round_id, said.verdict) != (index.round_id, index.verdict):
            self._find("verdict", "verdict.json", f"{index.verdict} of {index.round_id}", f"{said.verdict} of {said.round_id}")
        if said.is_contradicted:
            self._find("verdict", "verdict.json", f"checks and findings that lead to {said.verdict}", "others")

    def _check_records(self, index: Index, records: Mapping[str, RoundRecord]) -> None:
        """Hold events against their leaves, and these against the root."""
        found = {stream: check_stream(record, is_cut=stream in index.absent) for stream, record in records.items()}
        of_path = [each for findings in found.values() for each in findings if each.code == "leaf_path"]
        is_root_wrong = len(of_path) > 1 and all(found.values())
        for findings in found.values():
            self.findings += [each for each in findings if not is_root_wrong or each.code != "leaf_path" or each is of_path[0]]
        for file, place, count in self._parts.misplaced(index, records):
            if not found[next(stream for stream in index.streams if index.streams[stream] == file)]:
                where = f"line {place + 1} of {file}{f', and {count - 1} more' if count > 1 else ''}"
                self._find("place", where, "stream, append and time of its leaf", "others")
        for stream in sorted(set(index.streams) & set(index.absent)):
            self.unchecked.append(f"record: what was cut out of {stream}")
        self.checked.append(f"record: {sum(len(record.appends) for record in records.values())} appends lead to the root")

    def _check_balance(self, index: Index, opened: RoundOpened, records: Mapping[str, RoundRecord]) -> None:
        for stream, record in records.items():
            others = {event.account_ref for _, event in events_of(record) if isinstance(event, RoundOpened)} - {opened.account_ref}
            if others:
                self._find("account", f"account of {stream}", opened.account_ref, ", ".join(sorted(others)))
        found = check_balance(index, records, opened.account_ref)
        if found is None:
            self.unchecked.append("balance: not all that moved it is in the pack")
            return
        if not any(finding.severity == "integrity" for finding in self.findings):  # else it follows from what is said already
            self.findings += found
        self.checked.append("balance: follows from one movement of the account to the next")

    def _check_checkpoints(self, index: Index, records: Mapping[str, RoundRecord]) -> None:
        """Hold each checkpoint's signature and root against the log's keys and the pack's tree."""
        named = [parse_verifier_key(line, where="keys/log.vkey") for line in self._parts.file("keys/log.vkey").decode().splitlines()]
        keys = list(self._vkeys) or named
        for where, want, got in check_log_keys(named, records):
            self._find("log_key", where, want, got)
        paths = {proof.size: [bytes.fromhex(node) for node in proof.path] for proof in self._parts.json("consistency.json", CONSISTENCIES)}
        names = [name for name in self._parts.payload if name.startswith("checkpoints/")]
        sizes = set()
        for name in names:
            signed = parse_checkpoint(self._parts.payload[name], where=name)
            if not verify_note(signed.note, keys):
                self._find("checkpoint_signature", name, "a signature by the log's key", "none")
            of = signed.checkpoint
            sizes.add(of.tree_size)
            if named and of.origin != named[0].name:
                self._find("checkpoint_origin", name, named[0].name, of.origin)
            if name != f"checkpoints/{of.tree_size}.checkpoint":
                self._find("checkpoint_name", name, f"checkpoints/{of.tree_size}.checkpoint", name)
            if not is_consistent(of.tree_size, of.root, index.tree_size, index.tree.root, paths.get(of.tree_size, [])):
                self._find("checkpoint_root", name, "a tree that this one has grown from", "another")
        if sizes != set(paths):
            self._find("consistency", "consistency.json", f"proofs of {sorted(sizes)}", f"of {sorted(paths)}")
        if names:
            self.checked.append(f"checkpoints: {len(names)}, signed by {'the key that you hold' if self._vkeys else 'a key in the pack'}")
        if not names or not self._vkeys:
            self.unchecked.append(
                "log: not held against a key that came by another way; give it with --vkey" if names else "log: no checkpoint"
            )

    def _check_rules(self, opened: RoundOpened | None) -> GameRules | None:
        """Hold rules, texts and profile against the hashes that the round names; return the rules in the pack, where they are those."""
        if opened is None:
            return None
        for name, wanted in (("texts.json", opened.texts_hash), ("profile.json", opened.profile_hash)):
            content = self._parts.payload.get(name)
            if content is not None and hashlib.sha256(content[:-1]).hexdigest() != wanted:
                self._find(name.removesuffix(".json"), name, wanted, hashlib.sha256(content[:-1]).hexdigest())
        if "rules.toml" not in self._parts.payload:
            return None
        with TemporaryDirectory() as folder:
            path = Path(folder) / "rules.toml"
            path.write_bytes(self._parts.payload["rules.toml"])
            try:
                rules = load_rules(path)
            except (RulesFileError, RecursionError):
                self._find("rules", "rules.toml", "a rules file", "another text")
                return None
        if rules.rules_hash != opened.rules_hash:
            self._find("rules", "rules.toml", opened.rules_hash, rules.rules_hash)
            return None
        if installed_rules_path(opened.game, opened.rules_version, opened.rules_hash) is not None:
            return None
        if rules.is_draft and game_of_rules(rules).fingerprint != opened.engine_fingerprint:
            self.unchecked.append("rules: a draft that was replaced since, whose engine is not here")
            return None
        self.unchecked.append("rules: those of the pack, which are none of the installed ones")
        return rules

    def _check_seed(self, opened: RoundOpened, records: Mapping[str, RoundRecord]) -> None:
        """Hold a seed that is revealed against its commitment, and the round's key against the seed."""
        epoch = records.get(f"{EPOCH_STREAM}{opened.epoch}")
        events = [event for _, event in events_of(epoch)]
        committed = next((event.seed_commitment for event in events if isinstance(event, EpochCommitted)), "")
        if committed != opened.seed_commitment:
            self._find("seed", "commitment of the epoch", opened.seed_commitment, committed or "none")
        seed = next((bytes.fromhex(event.server_seed) for event in events if isinstance(event, SeedRevealed)), None)
        if seed is None:
            self.unchecked.append("seed: sealed, so that the round's key is held against its own commitment alone")
            return
        if seed_commitment(seed) != committed:
            self._find("seed", "revealed seed", committed, seed_commitment(seed))
        made = round_key_commitment(round_key(seed, opened.game, opened.client_seed, opened.nonce))
        if made != opened.round_key_commitment:
            self._find("seed", "round key of the revealed seed", opened.round_key_commitment, made)
        self.checked.append("seed: revealed, the one committed to, and the round's key is made from it")

    def _rerun(self, own: RoundRecord, rounds: RoundCheck, rulebook: Rulebook) -> None:
        """Rerun the engine from the round's key, and hold the recorded game events and the draws against it."""
        opened = rounds.opened
        if opened is None or "round-key.json" not in self._parts.payload or rounds.terms is None:
            self.unchecked.append("rerun: the pack has no key of the round, or the round cannot be walked")
            return
        key = bytes.fromhex(self._parts.json("round-key.json", ROUND_KEY).round_key)
        if round_key_commitment(key) != opened.round_key_commitment:
            self._find("round_key", "round key", opened.round_key_commitment, round_key_commitment(key))
            return
        try:
            rules = rulebook.find(opened.game, opened.rules_version, opened.rules_hash)
        except LookupError as error:
            self.unchecked.append(f"rerun: {error}")
            return
        game, terms = game_of_rules(rules), (opened.mode, opened.bet_minor, rounds.terms.state_in, rounds.terms.choices)
        try:
            outcome = game.play(key, *terms)
        except (RandomStreamError, ValidationError) as error:  # an altered bet or choice
            self._find("rerun", "rerun by the terms of the opening", "an outcome", type(error).__name__)
            return
        recorded = [(row.version - 1, EventBytes(row.topic, row.data)) for row in own.events if is_game_topic(row.topic)]
        if rounds.settled is None:
            outcome = outcome._replace(events=outcome.events[: len(recorded)])
        won = rounds.settled.total_win_minor if rounds.settled is not None else outcome.total_win_minor
        self.findings += compare_outcome(recorded, outcome, recorded_win_minor=won)
        self.checked.append("rerun: the engine was run again from the round's key")
        if "draws.jsonl" in self._parts.payload:
            wanted = draw_log(game.draws(key, *terms), key)
            got = [each.model_dump() for each in self._parts.lines("draws.jsonl", DRAW)]
            if wanted != got:
                place = next(
                    (at for at, (one, other) in enumerate(zip(wanted, got, strict=False)) if one != other), min(len(wanted), len(got))
                )
                self._find("draws", f"draw {place}", *(each[place] if place < len(each) else "none" for each in (wanted, got)))
