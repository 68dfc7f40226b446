"""`audit check` on whole files: lines, forms, what is not shown, and balances over rounds."""

import copy
import json
import pickle
from typing import Any

import pytest

from engines.rules import GameRules
from replay.check import FileCheck, check_rounds
from replay.export_lines import ExportLineError, parse_export
from tests.round_builder import ACCOUNT, RULES, RoundBuilder, export_lines, redigest, round_facts

Facts = list[dict[str, Any]]


def rules_for(game: str, version: str, rules_hash: str) -> GameRules:
    if (game, version) != (RULES.game, RULES.version):
        raise LookupError(f"{game} is not known, only {RULES.game}")
    return RULES


def a_round(seed: int = 7, mode: str = "buy", **facts: Any) -> Facts:
    return copy.deepcopy(round_facts(RoundBuilder(RULES, seed=seed, mode=mode, hearts=True).play(), **facts))


def codes(checked: FileCheck, number: int = 0) -> list[str]:
    return [finding.code for finding in checked.rounds[number].findings]


def results(checked: FileCheck, number: int = 0) -> dict[str, str]:
    return {check.name: check.result for check in checked.rounds[number].checks}


def test_a_right_file_passes_and_says_what_it_does_not_show() -> None:
    """Referee and totals pass; record, seed, replay and presentation are not shown, each with its reason."""
    checked = check_rounds(export_lines([a_round(), a_round(8, "base")]), rules_for)
    assert [each.round_id for each in checked.rounds] == ["r-0", "r-1"]
    for number in range(2):
        assert codes(checked, number) == []
        names = ("record", "seed", "replay", "referee", "totals", "presentation")
        wanted = ("not_shown", "not_shown", "not_shown", "pass", "pass", "not_shown")
        assert results(checked, number) == dict(zip(names, wanted, strict=True))
        assert all(check.detail for check in checked.rounds[number].checks)


def test_members_beside_the_six_are_passed_over() -> None:
    """Names, a schema, empty lines and a summary change nothing."""
    lines = [json.dumps({**json.loads(line), "names": {"symbols": []}, "schema": "export/1"}) for line in export_lines([a_round()])]
    assert codes(check_rounds([*lines, "", '{"schema":"export/1","rounds":1}'], rules_for)) == []


LINE = '{"round_id":"r","stream":"round/r","index":0,"append":0,"recorded_at":1,"event":{}}'


@pytest.mark.parametrize(
    ("line", "want", "got"),
    [
        (LINE[:40], "one JSON object", "round_id"),
        ("[1]", "one JSON object", "[1]"),
        ("nonsense", "one JSON object", "nonsense"),
        ("[" * 200_000, "one JSON object", "[[["),
        (LINE.replace('"index":0', '"index":NaN'), "one JSON object", "round_id"),
        (LINE.replace('"index":0,', ""), "the member 'index'", "none of that name"),
        (LINE.replace('"index":0', '"index":"0"'), "int as 'index'", "'0'"),
        (LINE.replace('"index":0', '"index":true'), "int as 'index'", "True"),
        (LINE.replace("{}", "[]"), "dict as 'event'", "[]"),
        (LINE.replace("{}", '{"kind":"\\ud800"}'), "an event of integers", "round_id"),
    ],
)
def test_a_damaged_line_is_named(line: str, want: str, got: str) -> None:
    """A damaged or cut line says which line, what was wanted, what stands there and what to do."""
    with pytest.raises(ExportLineError) as caught:
        check_rounds([LINE, line], rules_for)
    text = str(caught.value)
    assert text.startswith("line 2 of the export: want ")
    assert want in text
    assert got in text
    assert text.endswith("; export the round again, or restore the file")
    assert str(pickle.loads(pickle.dumps(caught.value))) == text


def changed(kind: str, change: Any) -> list[str]:
    facts = a_round()
    change(next(fact for fact in facts if fact["kind"] == kind))
    return export_lines([redigest(facts)])


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("win", lambda fact: fact.update(kind="wim")),
        ("win", lambda fact: fact.pop("pay_x100")),
        ("win", lambda fact: fact.update(pay_x100="150")),
        ("win", lambda fact: fact.update(pay_x100=1.5)),
        ("win", lambda fact: fact.update(win_minor=-5)),
        ("win", lambda fact: fact.update(extra=1)),
        ("drop", lambda fact: fact.update(v=2)),
        ("spin_ended", lambda fact: fact.update(total_minor=-20)),
        ("spin_started", lambda fact: fact.update(part="middle")),
        ("multiplier_change", lambda fact: fact.update(cause="luck")),
        ("round_settled", lambda fact: fact.update(balance_after_minor=-1)),
        ("round_settled", lambda fact: fact.update(ended="lost")),
        ("round_opened", lambda fact: fact.update(currency="euro")),
        ("round_opened", lambda fact: fact.pop("mode")),
    ],
)
def test_an_event_that_breaks_its_model_is_one_finding(kind: str, change: Any) -> None:
    """An event outside its model is one finding that names the field, whatever follows from it."""
    checked = check_rounds(changed(kind, change), rules_for)
    assert codes(checked) == ["event_model"], checked.rounds[0].findings
    found = checked.rounds[0].findings[0]
    assert found.severity == "integrity"
    assert found.want
    assert found.got
    assert "fail" in results(checked).values()


def test_a_round_without_rules_is_not_run() -> None:
    """A round of an unknown game is not judged, and its checks say why."""
    checked = check_rounds(export_lines([a_round(game="other")]), rules_for)
    assert codes(checked) == []
    assert results(checked)["referee"] == results(checked)["totals"] == "not_run"
    details = {check.name: check.detail for check in checked.rounds[0].checks}
    assert details["referee"] == "no rules of other 0.1.0: other is not known, only moonlight-princess"


def test_a_round_in_play_has_no_totals() -> None:
    """A round that is not settled passes the referee; its totals are not run."""
    facts = a_round()
    cut = [index for index, fact in enumerate(facts) if fact["kind"] == "spin_started"][4]
    checked = check_rounds(export_lines([facts[:cut]]), rules_for)
    assert codes(checked) == ["not_settled"]
    assert (results(checked)["referee"], results(checked)["totals"]) == ("pass", "not_run")


def test_a_round_without_its_opening_is_one_finding() -> None:
    """Without the opening neither game nor bet is known; the missing event is the finding."""
    lines = export_lines([a_round()])[1:]
    checked = check_rounds(lines, rules_for)
    assert codes(checked) == ["index"]
    assert results(checked)["referee"] == "not_run"


def test_digests_and_places_are_looked_at_last() -> None:
    """A change that no rule sees is found by the digests; a left-out or renumbered line by its index."""
    facts = a_round()
    facts[0]["client_seed"] = "other"
    assert codes(check_rounds(export_lines([facts]), rules_for)) == ["round_digest"]
    facts = a_round()
    facts[0]["client_seed"] = "other"
    facts[0]["cost_minor"] += 20
    assert codes(check_rounds(export_lines([facts]), rules_for)) == ["cost"]
    lines = [json.loads(line) for line in export_lines([a_round()])]
    lines[-1]["index"] += 1
    assert codes(check_rounds(map(json.dumps, lines), rules_for)) == ["index"]
    lines = [json.loads(line) for line in export_lines([a_round()])]
    lines[5]["append"] += 7
    assert codes(check_rounds(map(json.dumps, lines), rules_for)) == ["append"]


def test_a_missing_line_is_found_once() -> None:
    """A line left out is found by what it held, and its index is not reported beside it."""
    lines = export_lines([a_round()])
    win = next(number for number, line in enumerate(lines) if '"kind":"win"' in line)
    assert codes(check_rounds(lines[:win] + lines[win + 1 :], rules_for)) == ["win_missing"]


def test_the_order_of_lines_in_the_file_does_not_matter() -> None:
    """Streams may be mixed and lines in any order: the index tells the place."""
    lines = export_lines([a_round(), a_round(8, "base")])
    assert [codes(check_rounds(reversed(lines), rules_for), number) for number in range(2)] == [[], []]


def accounted() -> tuple[list[Facts], list[dict[str, Any]]]:
    """Return two rounds of an account and its stream."""
    rounds, balance = [], 1_000_000
    for number in range(2):
        facts = a_round(7 + number, balance_before=balance, number=number)
        balance = facts[-1]["balance_after_minor"]
        rounds.append(facts)
    opened = {"kind": "account_opened", "v": 1, "account_ref": ACCOUNT, "currency": "EUR", "opened_at_us": 1}
    moved = {
        "kind": "funds_moved",
        "v": 1,
        "amount_minor": 1_000_000,
        "reason": "deposit",
        "balance_after_minor": 1_000_000,
        "moved_at_us": 2,
    }
    return rounds, [opened, moved]


def test_balances_are_followed_over_an_account() -> None:
    """With the account's stream in the file, deposit and rounds add up; a wrong balance is one finding in its round."""
    rounds, account = accounted()
    checked = check_rounds(export_lines(rounds, account), rules_for)
    assert checked.stream_findings == []
    assert [codes(checked, number) for number in range(2)] == [[], []]
    rounds[1][0]["balance_before_minor"] += 40
    checked = check_rounds(export_lines([rounds[0], redigest(rounds[1])], account), rules_for)
    assert [codes(checked, number) for number in range(2)] == [[], ["balance"]]
    rounds, account = accounted()
    rounds[0][-1]["balance_after_minor"] += 40
    checked = check_rounds(export_lines(rounds, account), rules_for)
    assert [codes(checked, number) for number in range(2)] == [["balance"], []]
    rounds, account = accounted()
    rounds[0][0]["cost_minor"] += 40
    checked = check_rounds(export_lines([redigest(rounds[0]), rounds[1]], account), rules_for)
    assert [codes(checked, number) for number in range(2)] == [["cost"], []]


def test_a_wrong_deposit_belongs_to_its_stream() -> None:
    """A balance that is wrong after a deposit is a finding about the account's stream."""
    rounds, account = accounted()
    account[1]["balance_after_minor"] += 40
    checked = check_rounds(export_lines(rounds, account), rules_for)
    assert [(each.stream, each.finding.code) for each in checked.stream_findings] == [(f"account/{ACCOUNT}", "balance")]
    account[1]["reason"] = "gift"
    checked = check_rounds(export_lines(rounds, account), rules_for)
    assert [each.finding.code for each in checked.stream_findings] == ["event_model"]


def test_an_export_is_parsed_by_stream() -> None:
    """Lines are grouped by stream and keep their place."""
    rounds, account = accounted()
    streams = parse_export(export_lines(rounds, account))
    assert list(streams) == [f"account/{ACCOUNT}", "round/r-0", "round/r-1"]
    assert [line.event_index for line in streams["round/r-1"]] == list(range(len(rounds[1])))


def test_a_file_cut_off_anywhere_is_one_finding_of_completeness() -> None:
    """Wherever a file ends before the settlement, one finding says so and the game is not accused of what is not there."""
    facts = a_round()
    for end in range(1, len(facts)):
        checked = check_rounds(export_lines([facts[:end]]), rules_for)
        found = [(finding.code, finding.severity, finding.event_index) for finding in checked.rounds[0].findings]
        assert found == [("not_settled", "completeness", end - 1)]
        assert results(checked)["totals"] == "not_run"


@pytest.mark.parametrize("kind", [["win"], {"win": 1}, 7, None, True])
def test_a_kind_that_is_no_word_is_one_finding(kind: Any) -> None:
    """An event whose kind is a list, an object or a number is named and walked past, not stumbled over."""
    facts = a_round()
    facts[3]["kind"] = kind
    checked = check_rounds(export_lines([facts]), rules_for)
    assert codes(checked) == ["event_model"]
    assert checked.rounds[0].findings[0].event_index == 3
