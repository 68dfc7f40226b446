"""Choices and carried states as an audit sees them: in a round's stream, from round to round, in a ledger and in a file."""

import json
from pathlib import Path
from typing import Any

import pytest

from engines.canonical import canonical_json
from engines.game import Game
from engines.game_events import GAME_EVENTS, ChoiceOffered, SpinEnded
from engines.registry import game_of_rules
from engines.rng import round_key
from engines.rules import GameRules, load_rules
from ledger.bets import Waiting
from ledger.export import export_all
from ledger.lifecycle_events import ChoiceMade, RoundSettled
from ledger.rounds import RoundLedger
from replay.bulk import BulkSummary, plan_bulk, verify_bulk
from replay.check import FileCheck, check_rounds
from replay.choices import check_choices
from replay.reconcile import appended_digest
from replay.verification import Verification, Verifier
from tests.conftest import ROOT
from tests.ledger_files import altered, whole_ledger_faults

RULES_FILE = ROOT / "tests" / "rules" / "stargazing-pictures.toml"
SEED = bytes(range(32))
ROUNDS = 14

Lines = list[dict[str, Any]]


def offered(*choices: int) -> ChoiceOffered:
    return ChoiceOffered(choices=choices)


def made(choice: int) -> ChoiceMade:
    return ChoiceMade(choice=choice, made_by="player", session_ref="", channel="", made_at_us=1)


def ended() -> SpinEnded:
    return SpinEnded(spin_multiplier=1, cut_minor=0, award_minor=0, total_minor=0, meter=0)


def settled() -> RoundSettled:
    amounts = {"total_win_minor": 0, "base_win_minor": 0, "feature_win_minor": 0, "balance_after_minor": 0, "settled_at_us": 1}
    return RoundSettled(ended="played", state_out={}, outcome_digest="0" * 64, round_digest="0" * 64, **amounts)


@pytest.mark.parametrize(
    ("events", "found", "options"),
    [
        ([offered(0, 1, 2), made(1), ended(), settled()], [], ((1,),)),
        ([ended(), offered(0, 1, 2)], [], ()),  # it waits
        ([offered(0, 1), made(1), offered(1, 2), made(2), settled()], [], ((1,), (2,))),
        ([offered(0, 1), ended(), settled()], [("choice_missing", 2)], ((0, 1),)),
        ([offered(0, 1), settled()], [("choice_missing", 2)], ((0, 1),)),
        ([offered(0, 1), offered(0, 1), made(0), settled()], [("choice_missing", 2)], ((0, 1), (0,))),
        ([ended(), made(0), ended(), settled()], [("choice_invented", 2)], ()),
        ([made(0), offered(0, 1), made(0), settled()], [("choice_invented", 1)], ((0,),)),
        ([offered(0, 1), made(0), made(1), ended(), settled()], [("choice_doubled", 3)], ((0,),)),
        ([offered(0, 1), made(2), ended(), settled()], [("choice_not_offered", 2)], ((0, 1),)),
        ([offered(0, 1), ended(), made(0), settled()], [("choice_missing", 2), ("choice_invented", 3)], ((0, 1),)),
    ],
)
def test_each_offer_has_one_choice_behind_it(events: list[Any], found: list[tuple[str, int]], options: tuple[tuple[int, ...], ...]) -> None:
    """A choice that is missing, invented, doubled or not offered is one finding; what may have been chosen is told."""
    order = check_choices(list(enumerate(events, start=1)))
    assert [(finding.code, finding.event_index) for finding, _ in order.findings] == found
    assert order.options == options
    assert all(finding.want in finding.message and finding.got in finding.message for finding, _ in order.findings)


class Played:
    """A ledger of rounds that ask and carry a state, each settled; the last one waits."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ledger.db"
        self.rules: GameRules = load_rules(RULES_FILE)
        self.game: Game = game_of_rules(self.rules)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ledger.epochs.new_seed", lambda: SEED)
            with RoundLedger.create(self.path) as ledger:
                self.refs = [ledger.open_account(name, "EUR") for name in ("ann", "bob")]
                for ref in self.refs:
                    ledger.move_funds(ref, 10**6)
                played = [self._play(ledger, number) for number in range(ROUNDS)]
                self.ids = [each.round_id for each in played]
                self.waiting = self._wait(ledger)
                self.lines: Lines = [json.loads(line) for line in export_all(ledger)]

    def _play(self, ledger: RoundLedger, number: int) -> Any:
        played = ledger.play_to_choice(self.refs[number % 3 % 2], self.game, "base", 200)
        if isinstance(played, Waiting):
            return ledger.finish_round(played.round_id, self.game, [number % 3])
        return played

    def _wait(self, ledger: RoundLedger) -> str:
        while not isinstance(played := ledger.play_to_choice(self.refs[0], self.game, "base", 200), Waiting):
            self.ids.append(played.round_id)
        return played.round_id

    def verify(self, round_id: str) -> Verification:
        with RoundLedger.open_for_reading(self.path) as ledger:
            return Verifier(ledger, rules=self.rules).verify(round_id)

    def rules_for(self, *_: object) -> GameRules:
        return self.rules

    def check(self, lines: Lines) -> FileCheck:
        return check_rounds([json.dumps(line) for line in lines], self.rules_for)

    def with_choice(self) -> Lines:
        """Return the lines of the first settled round that asked."""
        made_in = next(line["round_id"] for line in self.lines if line["event"]["kind"] == "choice_made")
        return self.of_round(made_in)

    def of_round(self, round_id: str) -> Lines:
        return [json.loads(json.dumps(line)) for line in self.lines if line["round_id"] == round_id]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Give the ledger, made once."""
    return Played(tmp_path_factory.mktemp("choices"))


def again(lines: Lines) -> Lines:
    """Return a round's lines numbered anew, with the digests that follow from them, as a forger writes them."""
    for index, line in enumerate(lines):
        line["index"] = index
    data = [(line["event"]["kind"], canonical_json(line["event"])) for line in lines[:-1]]
    if lines[-1]["event"]["kind"] == "round_settled":
        lines[-1]["event"]["round_digest"] = appended_digest(each for _, each in data)
        lines[-1]["event"]["outcome_digest"] = appended_digest(each for kind, each in data if kind in GAME_EVENTS)
    return lines


def findings(checked: FileCheck) -> list[tuple[str, str]]:
    """Return code and severity of all findings in a file."""
    return [(finding.code, finding.severity) for each in checked.rounds for finding in each.findings if finding.severity != "warning"]


def place_of(lines: Lines, kind: str) -> int:
    return next(place for place, line in enumerate(lines) if line["event"]["kind"] == kind)


def test_rounds_with_choices_and_states_reproduce(played: Played) -> None:
    """Every settled round reproduces, one by one and all at once; the one that waits is open and nothing is wrong with it."""
    assert any(line["event"]["kind"] == "choice_made" for line in played.lines)
    assert {line["event"]["state_in"]["princess"] for line in played.lines if line["event"]["kind"] == "round_opened"} == {0, 1, 2}
    for round_id in played.ids:
        verification = played.verify(round_id)
        assert (verification.verdict, [f for f in verification.findings if f.severity != "warning"]) == ("reproduced", []), verification
    waiting = played.verify(played.waiting)
    assert (waiting.verdict, waiting.findings) == ("incomplete_open", [])
    summary = BulkSummary()
    list(verify_bulk(plan_bulk(played.path, played.path.with_name("ledger.db.keys"), rules=played.rules), summary))
    assert (summary.ledger_findings, summary.is_wrong) == ([], False)
    assert summary.verdicts == {"reproduced": len(played.ids), "incomplete_open": 1}


def test_nothing_of_a_round_that_waits_is_shown(played: Played) -> None:
    """No draw and no other reading of it is shown, though its key is at hand; of a settled one both are, by its own choices."""
    with RoundLedger.open_for_reading(played.path) as ledger:
        verifier = Verifier(ledger, rules=played.rules)
        waiting = verifier.verify(played.waiting)
        assert [check.result for check in waiting.checks if check.name == "seed"] == ["pass"]
        assert (verifier.draws(waiting), verifier.alternatives(waiting)) == (None, None)
        settled_ = verifier.verify(played.with_choice()[0]["round_id"])
        words = {draw.first_word + draw.word_count for draw in verifier.draws(settled_)}
        replay = next(check.detail for check in settled_.checks if check.name == "replay")
        assert f", {max(words)} random words" in replay
        others = verifier.alternatives(settled_)
        assert others
        assert {other.reading for other in others} == set(played.rules.reading_names)


def test_a_file_with_choices_passes_and_one_that_ends_at_a_choice_is_not_settled(played: Played) -> None:
    """The whole export passes but for the round that waits, whose file ends before its settlement."""
    assert findings(played.check(played.lines)) == [("not_settled", "completeness")]


ALTERATIONS = {
    "missing": ("choice_missing", "integrity"),
    "doubled": ("choice_doubled", "integrity"),
    "not offered": ("choice_not_offered", "integrity"),
    "another": ("spins_left", "money"),
}


@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_an_altered_choice_is_one_finding(played: Played, alteration: str) -> None:
    """A choice that is taken out, doubled, of nothing offered or another than it went on with is one finding, digests recomputed."""
    lines = played.with_choice()
    place = place_of(lines, "choice_made")
    if alteration == "missing":
        del lines[place]
    elif alteration == "doubled":
        lines.insert(place, json.loads(json.dumps(lines[place])))
    else:
        event = lines[place]["event"]
        event["choice"] = 9 if alteration == "not offered" else (event["choice"] + 1) % 3
    assert findings(played.check(again(lines))) == [ALTERATIONS[alteration]]


def test_a_choice_in_a_round_that_asks_nothing_is_one_finding(played: Played) -> None:
    """A choice that nothing offers is invented."""
    asked = {line["round_id"] for line in played.lines if line["event"]["kind"] == "choice_offered"}
    lines = played.of_round(next(round_id for round_id in played.ids if round_id not in asked))
    choice = played.with_choice()[place_of(played.with_choice(), "choice_made")]
    lines.insert(len(lines) - 1, {**lines[-1], "event": choice["event"]})
    assert findings(played.check(again(lines))) == [("choice_invented", "integrity")]


@pytest.mark.parametrize("wrong", [{}, {"princess": 7}, {"princess": -1}, {"x": 1}, {"princess": 0, "x": 1}])
def test_a_state_that_no_account_can_be_in_is_one_finding(played: Played, wrong: dict[str, int]) -> None:
    """A state in or out with other fields or beyond its range is one finding, and what came of the round is judged all the same."""
    for kind, field in (("round_opened", "state_in"), ("round_settled", "state_out")):
        lines = played.of_round(played.ids[0])
        lines[place_of(lines, kind)]["event"][field] = wrong
        assert findings(played.check(again(lines))) == [(field, "integrity")]


def forge(played: Played, number: int, state: dict[str, int]) -> tuple[Lines, str, str]:
    """Return the export with a round of ann's played from a state of the server's choosing, and that round and the one before."""
    own = [
        line["round_id"] for line in played.lines if line["event"].get("account_ref") == played.refs[0] and line["round_id"] in played.ids
    ]
    round_id, before = own[number], own[number - 1]
    lines = played.of_round(round_id)
    opened = lines[0]["event"]
    key = round_key(SEED, opened["game"], opened["client_seed"], opened["nonce"])
    choices = [line["event"]["choice"] for line in lines if line["event"]["kind"] == "choice_made"]
    outcome = played.game.play(key, "base", 200, state, choices or [0])
    opened["state_in"] = state
    made_line = next((line for line in lines if line["event"]["kind"] == "choice_made"), None)
    events: list[Any] = [lines[0]]
    for event in outcome.events:
        events.append({**lines[1], "event": json.loads(event.data)})
        if event.topic == "choice_offered/1":
            events.append(made_line or {**lines[1], "event": made(0).model_dump(mode="json")})
    last = lines[-1]["event"]
    last["balance_after_minor"] += outcome.total_win_minor - last["total_win_minor"]
    last.update(total_win_minor=outcome.total_win_minor, base_win_minor=outcome.base_win_minor, feature_win_minor=outcome.feature_win_minor)
    last.update(state_out=outcome.state_out, ended=outcome.ended)
    forged = again([*events, lines[-1]])
    first = next(place for place, line in enumerate(played.lines) if line["round_id"] == round_id)
    return [*played.lines[:first], *forged, *(line for line in played.lines[first:] if line["round_id"] != round_id)], round_id, before


def test_a_round_that_does_not_start_where_the_one_before_ended_names_both(played: Played) -> None:
    """A round played by the rules from another state than the one before left is one finding, about both; more may be missing between."""
    own = [line["event"]["state_in"] for line in played.lines if line["event"].get("account_ref") == played.refs[0]]
    state = next(state for state in played.rules.states if state != own[2])
    lines, round_id, before = forge(played, 2, state)
    checked = played.check(lines)
    found = [finding for each in checked.rounds for finding in each.findings if each.round_id == round_id]
    assert [finding.code for finding in found] == ["state_carried"]
    assert round_id in found[0].message
    assert before in found[0].message
    assert found[0].assumption == "MPS-9"
    assert found[0].severity == "completeness"
    assert "not in the file" in found[0].message


def test_a_ledger_in_which_the_state_does_not_match_names_both_rounds(played: Played, tmp_path: Path) -> None:
    """Where somebody has a round start from an older state, it and the one before are named: by all, by part, and by itself."""
    path = tmp_path / "ledger.db"
    with RoundLedger.create(path) as ledger:
        ref = ledger.open_account("ann", "EUR")
        ledger.move_funds(ref, 10**7)
        rounds = [ledger.play(ref, played.game, "base", 200)]
        while rounds[-1].settled.state_out == rounds[0].settled.state_out:
            rounds.append(ledger.play(ref, played.game, "base", 200))
        altered(path, f"UPDATE states SET round_id = '{rounds[0].round_id}'")
        wrong = ledger.play(ref, played.game, "base", 200)
        rounds.append(ledger.play(ref, played.game, "base", 200))
        before = rounds[-2].round_id
    assert wrong.opened.state_in == rounds[0].settled.state_out
    assert whole_ledger_faults(path) == []
    keys_dir = path.with_name("ledger.db.keys")
    for selection, count in (({}, 1), ({"sample_count": len(rounds)}, 1), ({"sample_count": 1}, 0)):
        summary = BulkSummary()
        list(verify_bulk(plan_bulk(path, keys_dir, rules=played.rules, **selection), summary))
        assert [finding.code for finding in summary.ledger_findings] == ["state_carried"] * count
        assert all(wrong.round_id in finding.message and before in finding.message for finding in summary.ledger_findings)
        assert summary.is_wrong == bool(count)
    with RoundLedger.open_for_reading(path) as ledger:
        verifier = Verifier(ledger, rules=played.rules)
        found = verifier.verify(wrong.round_id)
        assert [(finding.code, finding.severity) for finding in found.findings if finding.severity != "warning"] == [
            ("state_carried", "integrity")
        ]
        assert wrong.round_id in found.findings[0].message
        assert before in found.findings[0].message
        assert found.verdict == "settlement_divergence"
        for each in rounds:
            assert verifier.verify(each.round_id).verdict == "reproduced"
        carried_not = Verifier(ledger, rules=played.rules.with_reading("MPS-9", 1))
        assert "state_carried" not in [finding.code for finding in carried_not.verify(wrong.round_id).findings]
