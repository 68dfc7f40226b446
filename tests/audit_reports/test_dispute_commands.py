"""Disputes and retention through the command line, on rounds of a real game; and the page that tells how, command by command."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ledger.rounds import RoundLedger
from tests.command_line import Ended, run
from tests.conftest import ROOT
from tests.contracts.alterations_contract import TWO as NAMES
from tests.contracts.disputes_contract import profile_with
from tests.ledger_files import altered, rows

Capture = pytest.CaptureFixture[str]
TWO = ("--by", NAMES[0], "--approved-by", NAMES[1])
RECEIVED = "2024-03-01T14:00:00+02:00"
UPHELD = ("close", "ID", "--answer", "x", "--decision", "upheld")
PAGE = ROOT / "docs" / "how-to" / "dispute.md"


@pytest.fixture
def path(capfd: Capture, tmp_path: Path) -> Path:
    """A ledger with three rounds of zofia's and one of ben's."""
    path = tmp_path / "ledger.db"
    run(capfd, "init", "--ledger", path)
    for account, count in (("zofia", 3), ("ben", 1)):
        run(capfd, "play", "--game", "moonlight-princess", "--account", account, "--rounds", count, "--ledger", path)
    return path


def round_ids(capfd: Capture, path: Path, account: str) -> list[str]:
    """Return the ids of an account's rounds."""
    return [line["round_id"] for line in run(capfd, "find", "--account", account, "--ledger", path, "--json").lines[:-1]]


def opened(capfd: Capture, path: Path, *wanted: str, received: str = RECEIVED) -> dict[str, Any]:
    """Open a dispute about rounds and return what is said of it."""
    rounds = [word for round_id in wanted for word in ("--round", round_id)]
    terms = ("--claim", "Zofia was paid\nshort", "--received", received, "--by", "Ann Adams", "--account", "zofia", "--ledger", path)
    document: dict[str, Any] = run(capfd, "dispute", "open", *rounds, *terms, "--json").document
    return document


def closed(capfd: Capture, path: Path, dispute_id: str, *more: str) -> Ended:
    """Close a dispute."""
    return run(
        capfd, "dispute", "close", dispute_id, "--answer", "paid as recorded", "--decision", "rejected", *TWO, *more, "--ledger", path
    )


def test_a_dispute_from_its_claim_to_its_answer(capfd: Capture, path: Path) -> None:
    """It is opened, listed, shown, noted in the round's verdict and picture, holds its account, is closed, and the ledger is whole."""
    rounds = round_ids(capfd, path, "zofia")[:2]
    assert run(capfd, "dispute", "list", "--ledger", path).out.startswith("0 disputes, as of 20")
    facts = opened(capfd, path, rounds[0][:20], rounds[1])
    dispute_id = facts["dispute_id"]
    assert (facts["schema"], facts["state"], facts["profile"], facts["round_ids"]) == ("dispute/1", "open", "default 1.0.0", rounds)
    assert facts["due_at_us"] - facts["received_at_us"] == 3 * 86_400_000_000
    as_of = ("--as-of", "2024-03-04", "--tz", "Europe/Malta")
    listed = run(capfd, "dispute", "list", "--ledger", path, *as_of)
    times = "2024-03-01 12:00:00.000000 UTC  2024-03-04 12:00:00.000000 UTC"
    assert listed.out.splitlines()[1] == f"{dispute_id[:12]}  {times}                 2  open"
    assert (listed.status, listed.out.splitlines()[2]) == (0, "1 dispute, as of 2024-03-03 23:00:00.000000 UTC")
    assert run(capfd, "verify", "--round", rounds[0], "--ledger", path, *as_of).status == 0
    verdict = run(capfd, "verify", "--round", rounds[0], "--ledger", path)
    assert (verdict.status, "[completeness] answer_overdue" in verdict.out, "on legal hold" in verdict.out) == (3, True, True)
    assert "on legal hold" in run(capfd, "show", "--round", rounds[0], "--ledger", path).out
    assert "disputed" not in run(capfd, "show", "--round", round_ids(capfd, path, "ben")[0], "--ledger", path).out
    assert any("on legal hold" in each for each in run(capfd, "show", "--round", rounds[1], "--ledger", path, "--json").document["notes"])
    everything = run(capfd, "verify", "--all", "--ledger", path)
    assert (everything.status, everything.out.count("answer_overdue")) == (3, 1)
    assert run(capfd, "verify", "--all", "--ledger", path, *as_of).status == 0
    refused = run(capfd, "account", "forget", "zofia", *TWO, "--ledger", path)
    message = f"want none, got round {rounds[0]} held by dispute {dispute_id} and 1 more; answer it and `audit dispute close {dispute_id}`"
    assert (refused.status, message in refused.err) == (2, True), refused.err
    done = closed(capfd, path, dispute_id[:8], "--answered", "2024-03-04T12:00:00Z")
    assert done.out == f"closed dispute {dispute_id}: rejected, answered 2024-03-04 12:00:00.000000 UTC\n"
    assert run(capfd, "verify", "--round", rounds[0], "--ledger", path).status == 0
    assert run(capfd, "fsck", "--ledger", path).status == 0
    assert run(capfd, "account", "forget", "zofia", *TWO, "--ledger", path, "--json").document["kept_disputes"] == []
    assert "claim:\n  (erased)\n" in run(capfd, "dispute", "show", dispute_id, "--ledger", path).out


def test_a_dispute_is_shown_with_its_texts(capfd: Capture, path: Path) -> None:
    """Claim, answer, names, times and rounds; as JSON the same; a text that was altered is a finding."""
    (round_id, *_) = round_ids(capfd, path, "zofia")
    dispute_id = opened(capfd, path, round_id)["dispute_id"]
    late = closed(capfd, path, dispute_id, "--answered", "2024-03-05", "--tz", "UTC")
    assert (late.status, "[completeness] answer_late" in late.out) == (0, True)
    ((ref,),) = rows(path, "SELECT account_ref FROM account_names WHERE name = 'zofia'")
    shown = run(capfd, "dispute", "show", dispute_id[:8], "--ledger", path)
    assert shown.status == 3
    for words in (
        f"dispute {dispute_id}: rejected\n",
        "received 2024-03-01 12:00:00.000000 UTC, recorded ",
        " by Ann Adams\n",
        "to be answered by 2024-03-04 12:00:00.000000 UTC, as profile default 1.0.0 has it\n",
        f"claimed by account {ref}\n",
        "claim:\n  Zofia was paid\n  short\n",
        "answered 2024-03-05 00:00:00.000000 UTC, closed ",
        "by Ann Adams, approved by Bob Brown\n",
        "answer:\n  paid as recorded\n",
        f"concerns 1 round\n  {round_id}\n",
        "[completeness] answer_late",
    ):
        assert words in shown.out, words
    document = run(capfd, "dispute", "show", dispute_id, "--ledger", path, "--json").document
    assert (document["claim"], document["answer"]) == ("Zofia was paid\nshort", "paid as recorded")
    assert (document["recorded_by"], document["closed_by"], document["approved_by"]) == ("Ann Adams", *NAMES)
    assert [finding["code"] for finding in document["findings"]] == ["answer_late"]
    altered(path, "UPDATE texts SET content = 'paid more' WHERE content = 'paid as recorded'")
    wrong = run(capfd, "dispute", "show", dispute_id, "--ledger", path)
    assert "answer:\n  (altered)\n" in wrong.out
    assert "[integrity] text_hash" in wrong.out


def test_which_disputes_are_listed(capfd: Capture, path: Path) -> None:
    """All, those that are open, those that are overdue at a moment; findings are those of what is listed."""
    (round_id, *_) = round_ids(capfd, path, "zofia")
    late, early, fresh = (opened(capfd, path, round_id, received=f"2024-03-0{day}T00:00:00Z")["dispute_id"] for day in (1, 2, 7))
    closed(capfd, path, late)
    as_of = ("--as-of", "2024-03-08T00:00:00Z", "--ledger", path, "--json")
    for options, ids, codes in (
        ((), [late, early, fresh], ["answer_late", "answer_overdue"]),
        (("--open",), [early, fresh], ["answer_overdue"]),
        (("--overdue",), [early], ["answer_overdue"]),
        (("--open", "--overdue"), [early], ["answer_overdue"]),
    ):
        done = run(capfd, "dispute", "list", *options, *as_of)
        *listed, summary = done.lines
        assert [each["dispute_id"] for each in listed] == ids
        assert [finding["code"] for each in listed for finding in each["findings"]] == codes
        open_count = len(set(ids) - {late})
        counts = {"disputes": len(ids), "open": open_count, "finding_count": len(codes), "as_of_us": 1709856000000000}
        assert summary == {"schema": "dispute/1", **counts}
        assert done.status == 3
    early_on = run(capfd, "dispute", "list", "--overdue", "--as-of", "2024-03-04T00:00:00Z", "--ledger", path)
    assert (early_on.status, early_on.out) == (0, "0 disputes, as of 2024-03-04 00:00:00.000000 UTC\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("open", "--round", "ROUND", "--claim", "x", "--received", "yesterday"), "--received: want a time such as"),
        (("open", "--round", "ROUND", "--claim", "x", "--received", ""), "--received: want a time such as"),
        (("open", "--round", "ROUND", "--claim", "x", "--received", "2024-03-01"), "--received: want a time such as"),
        (("open", "--round", "ROUND", "--claim", "x", "--received", "2999-01-01T00:00:00Z"), "receipt of a dispute: want a time up to"),
        (("open", "--round", "ROUND", "--claim", " ", "--received", RECEIVED), "--claim: want a text"),
        (("open", "--round", "ROUND", "--claim", "x", "--received", RECEIVED, "--account", "eve"), "account eve"),
        (("close", "12345678", "--answer", "x", "--decision", "upheld", "--approved-by", "Bob"), "dispute 12345678: want one by its id"),
        (("close", "ID", "--answer", "x", "--decision", "paid", "--approved-by", "Bob"), "decision of a dispute: want one of upheld"),
        ((*UPHELD, "--approved-by", "Ann"), "--approved-by: want another person"),
        ((*UPHELD, "--approved-by", "Bob", "--answered", "2024-02-28T00:00:00Z"), "want a time from"),
        ((*UPHELD, "--approved-by", "Bob", "--answered", "soon"), "--answered: want a time"),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_usage_of_dispute(capfd: Capture, path: Path, arguments: tuple[str, ...], message: str) -> None:
    """Wrong usage has status 2 and its own message, and nothing is recorded."""
    (round_id, *_) = round_ids(capfd, path, "zofia")
    dispute_id = opened(capfd, path, round_id)["dispute_id"]
    before = rows(path, "SELECT count(*) FROM stored_events WHERE topic LIKE 'dispute%'")
    words = [{"ROUND": round_id, "ID": dispute_id}.get(word, word) for word in arguments]
    done = run(capfd, "dispute", *words, "--by", "Ann", "--ledger", path)
    assert (done.status, message in done.err) == (2, True), done.err
    assert rows(path, "SELECT count(*) FROM stored_events WHERE topic LIKE 'dispute%'") == before


def test_an_unknown_round_and_an_altered_dispute(capfd: Capture, path: Path) -> None:
    """A round that is not there is status 3, as everywhere; a dispute that cannot be read is 4, with what to do."""
    done = run(capfd, "dispute", "open", "--round", "nothing-there", "--claim", "x", "--received", RECEIVED, "--by", "A", "--ledger", path)
    assert (done.status, "round nothing-there: want one in the record" in done.err) == (3, True)
    opened(capfd, path, round_ids(capfd, path, "zofia")[0])
    altered(path, "UPDATE stored_events SET state = replace(state, 'claimant', 'plaintiff') WHERE topic = 'dispute_opened/1'")
    for words in (("dispute", "list"), ("dispute", "show", "12345678"), ("retention",), ("account", "forget", "zofia", *TWO)):
        done = run(capfd, *words, "--ledger", path)
        assert (done.status, "want DisputeOpened in canonical form" in done.err) == (4, True), done.err


def test_how_long_records_are_kept(capfd: Capture, path: Path) -> None:
    """The table has a line for each kind and profile, JSON the same; what is past and held may not go."""
    rounds = round_ids(capfd, path, "zofia")
    with RoundLedger.open_for_writing(path) as ledger:
        from ledger.profile_setting import set_profile

        set_profile(ledger.store, profile_with("2.0.0", days=10), *NAMES)
    run(capfd, "play", "--game", "moonlight-princess", "--account", "zofia", "--ledger", path)
    opened(capfd, path, *rounds[:2])
    before = rows(path, "SELECT count(*) FROM leaves")
    document = run(capfd, "retention", "--as-of", "2100-01-01", "--tz", "UTC", "--ledger", path, "--json").document
    assert (document["schema"], document["not_counted"]) == ("retention/1", ["accounts", "statements", "verification_logs"])
    names = ("kind", "profile", "days", "kept_count", "unended_count", "past_count", "held_count", "free_count")
    assert [tuple(row[name] for name in names) for row in document["kept"]] == [
        ("rounds", "default 1.0.0", 1827, 4, 0, 4, 2, 2),
        ("rounds", "default 2.0.0", 10, 1, 0, 1, 0, 1),
        ("complaints", "default 1.0.0", 1827, 1, 1, 0, 0, 0),
    ]
    done = run(capfd, "retention", "--as-of", "2100-01-01", "--tz", "UTC", "--ledger", path)
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0] == "as of 2100-01-01 00:00:00.000000 UTC"
    assert re.fullmatch(r"rounds +default 1\.0\.0 [0-9a-f]{8} +1827 +4 +0 +20\d\d-.* UTC +4 +2 +2", lines[2])
    assert lines[-1] == "not counted: accounts, statements, verification logs; no end of them stands in the record"
    assert all(row["past_count"] == 0 for row in run(capfd, "retention", "--ledger", path, "--json").document["kept"])
    assert rows(path, "SELECT count(*) FROM leaves") == before
    fresh = path.with_name("fresh.db")
    run(capfd, "init", "--ledger", fresh)
    assert "nothing is recorded that a profile names" in run(capfd, "retention", "--ledger", fresh).out


def page_commands() -> list[list[str]]:
    """Return the words of each command of the page, in its order."""
    text = re.sub(r"\\\n +", "", PAGE.read_text())
    return [shlex.split(line.partition("  #")[0])[1:] for line in re.findall(r"^    (audit .*)$", text, re.MULTILINE)]


def test_the_commands_of_the_page_do_what_it_says(capfd: Capture, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of docs/how-to/dispute.md is run, with ids of this ledger for those of the page, and ends as the page says."""
    monkeypatch.chdir(path.parent)
    monkeypatch.delenv("AUDIT_LEDGER", raising=False)
    assert os.path.exists("ledger.db")
    ids = {"ROUND": round_ids(capfd, path, "zofia")[0], "ROUND2": round_ids(capfd, path, "zofia")[1], "player": "zofia"}
    statuses = []
    for words in page_commands():
        done = run(capfd, *[ids.get(word.removeprefix("$"), word) for word in words])
        statuses.append((" ".join(words[:2]), done.status))
        if words[:2] == ["dispute", "open"]:
            ids["DISPUTE"] = re.match(r"opened dispute ([0-9a-f]{32})", done.out)[1]  # type: ignore[index]
    assert statuses == [
        ("dispute open", 0),
        ("dispute list", 3),
        ("dispute list", 3),
        ("dispute list", 3),
        ("dispute show", 3),
        ("verify --round", 3),
        ("verify --round", 0),
        ("account forget", 2),
        ("dispute close", 0),
        ("account forget", 0),
        ("retention", 0),
        ("retention --as-of", 0),
        ("fsck", 0),
    ]
    for options in re.findall(r"^    audit (dispute \w+|retention)", PAGE.read_text(), re.MULTILINE):
        assert f"## audit {options}\n" in (ROOT / "docs" / "reference" / "cli.md").read_text()
