"""Incidents, corrections and accounts through the command line, on rounds of a real game that verify as before."""

from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run
from tests.ledger_files import altered, rows

Capture = pytest.CaptureFixture[str]
TWO = ("--by", "Ann Adams", "--approved-by", "Bob Brown")
WIN = "round_settled.total_win_minor"
INCIDENT = """
cause = "a cable"
review = '''the logs
of the reel controller'''
repair = "a new cable"
integrity = "audit builds list, no differences"
began_at = 2026-11-30T14:00:00Z
restored_at = 2026-11-30T14:30:00Z
reason = "the link was lost"
is_recovered = false
recovery = "Zofia's round could not go on"
rounds = {rounds}
"""


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


def recorded(capfd: Capture, path: Path, rounds: list[str]) -> str:
    """Record an incident and return its id."""
    file = path.with_name("incident.toml")
    file.write_text(INCIDENT.replace("{rounds}", str(rounds)))
    return str(run(capfd, "incident", "record", "--file", file, "--ledger", path, *TWO, "--json").document["incident_id"])


def check_whole(capfd: Capture, path: Path) -> None:
    """Check that every round is reproduced, and that fsck finds nothing."""
    done = run(capfd, "verify", "--all", "--ledger", path, "--json")
    assert (done.status, done.lines[-1]["verdicts"]) == (0, {"reproduced": 4})
    assert run(capfd, "fsck", "--ledger", path).status == 0


def test_an_incident_is_recorded_listed_and_shown(capfd: Capture, path: Path) -> None:
    """All six parts, times, rounds and names are shown; the list has a line for each; a name that was altered is a finding."""
    assert run(capfd, "incident", "list", "--ledger", path).out == "0 incidents recorded\n"
    rounds = round_ids(capfd, path, "zofia")[:2]
    incident_id = recorded(capfd, path, [rounds[0][:20], rounds[1]])
    listed = run(capfd, "incident", "list", "--ledger", path)
    times = "2026-11-30 14:00:00.000000 UTC  2026-11-30 14:30:00.000000 UTC"
    assert listed.out.splitlines()[1] == f"{incident_id[:12]}  {times}       2  no"
    assert run(capfd, "incident", "list", "--ledger", path, "--json").lines[-1] == {"schema": "incident/1", "incidents": 1}
    shown = run(capfd, "incident", "show", incident_id[:8], "--ledger", path)
    assert shown.status == 0
    for words in (
        f"incident {incident_id}\n",
        " by Ann Adams, approved by Bob Brown\n",
        "i. cause:\n  a cable\n",
        "ii. records reviewed:\n  the logs\n  of the reel controller\n",
        "iii. repair:\n",
        "iv. integrity before restart:\n",
        "v. reason:\n",
        "vi. recovery, not full:\n  Zofia's round could not go on\n",
        f"concerns 2 rounds\n  {rounds[0]}\n  {rounds[1]}\n",
    ):
        assert words in shown.out
    document: dict[str, Any] = run(capfd, "incident", "show", incident_id, "--ledger", path, "--json").document
    assert (document["round_ids"], document["cause"], document["findings"]) == (rounds, "a cable", [])
    check_whole(capfd, path)
    altered(path, "UPDATE texts SET content = 'a mouse' WHERE content = 'a cable'")
    wrong = run(capfd, "incident", "show", incident_id, "--ledger", path)
    assert wrong.status == 3
    assert "i. cause:\n  (altered)\n" in wrong.out
    assert "[integrity] text_hash" in wrong.out


def test_a_round_and_a_balance_are_corrected(capfd: Capture, path: Path) -> None:
    """Both are said with before and after, money moves for the account alone, and verdicts, proofs, export and history go on."""
    (round_id, *_) = round_ids(capfd, path, "zofia")
    incident_id = recorded(capfd, path, [round_id])
    terms = ("--why", "the reel stood still", *TWO, "--ledger", path)
    before = run(capfd, "verify", "--round", round_id, "--ledger", path, "--json").document
    win = before["round"]["total_win_minor"]
    done = run(capfd, "correct", "--round", round_id[:12], "--element", WIN, "--after", win + 400, "--incident", incident_id, *terms)
    assert done.status == 0
    assert done.out.endswith(f": {WIN} {win} -> {win + 400}\n")
    balance = rows(path, "SELECT a.balance_minor FROM accounts a JOIN account_names n USING (account_ref) WHERE name = 'zofia'")[0][0]
    document = run(capfd, "correct", "--account", "zofia", "--amount", "4.00", *terms, "--json").document
    assert document["schema"] == "correct/1"
    assert (document["element"], document["before"], document["after"]) == ("balance_minor", str(balance), str(balance + 400))
    after = run(capfd, "verify", "--round", round_id, "--ledger", path, "--json").document
    assert (after["verdict"], after["findings"], after["round"]) == (before["verdict"], [], before["round"])
    said = run(capfd, "verify", "--round", round_id, "--ledger", path).out
    assert f"corrected since: {WIN} {win} -> {win + 400} (alteration " in said
    check_whole(capfd, path)
    exported = path.with_name("round.jsonl")
    exported.write_text(run(capfd, "export", "--round", round_id, "--ledger", path).out)
    assert '"kind":"correction_recorded"' in exported.read_text()
    assert run(capfd, "check", exported).status == 0
    proof = path.with_name("proof.json")
    run(capfd, "checkpoint", "--ledger", path, "-o", path.with_name("c.checkpoint"))
    assert run(capfd, "prove", "--round", round_id, "--ledger", path, "-o", proof).status == 0
    assert run(capfd, "prove", "--check", proof).status == 0
    run(capfd, "history", "build", "--ledger", path)
    assert run(capfd, "history", "--ledger", path).status == 0
    run(capfd, "play", "--game", "moonlight-princess", "--account", "zofia", "--ledger", path)
    assert run(capfd, "verify", "--all", "--ledger", path).status == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--round, --account: want one of them, got 'neither'"),
        (("--round", "ROUND", "--account", "zofia"), "--round, --account: want one of them, got 'both'"),
        (("--round", "ROUND", "--amount", "1.00"), "want --element and --after with --round, --amount with --account"),
        (("--account", "zofia", "--amount", "1.00", "--after", "5"), "want --element and --after with --round"),
        (("--account", "zofia", "--amount", "1.001"), "amount in EUR: want digits with at most 2 decimals"),
        (("--account", "zofia", "--amount", "-9999"), "want 9999.00 EUR at least"),
        (("--round", "ROUND", "--element", "round_opened.v", "--after", "2"), "element 'round_opened.v': want one of the round's"),
        (("--account", "zofia", "--amount", "1.00", "--incident", "12345678"), "incident 12345678: want one by its id"),
    ],
    ids=str,
)
def test_wrong_usage_of_correct(capfd: Capture, path: Path, arguments: tuple[str, ...], message: str) -> None:
    """Wrong usage has status 2 and its own message, and nothing is recorded."""
    (round_id, *_) = round_ids(capfd, path, "zofia")
    before = rows(path, "SELECT count(*) FROM leaves")
    words = [round_id if word == "ROUND" else word for word in arguments]
    done = run(capfd, "correct", *words, "--why", "why", *TWO, "--ledger", path)
    assert (done.status, message in done.err) == (2, True), done.err
    assert rows(path, "SELECT count(*) FROM leaves") == before


def test_accounts_are_opened_and_funded(capfd: Capture, path: Path) -> None:
    """Amounts are in the account's own decimals; money goes in and out, and never below nothing."""
    opened = run(capfd, "account", "open", "yuki", "--currency", "JPY", "--ledger", path, "--json").document
    assert (opened["currency"], opened["balance_minor"]) == ("JPY", 0)
    funded = run(capfd, "account", "fund", "yuki", "--amount", "500", "--ledger", path)
    assert funded.out == f"account {opened['account_ref']}: balance 500 JPY\n"
    out = run(capfd, "account", "fund", "yuki", "--amount", "-200", "--ledger", path, "--json").document
    assert (out["amount_minor"], out["balance_minor"]) == (-200, 300)
    for arguments, message in (
        (("fund", "yuki", "--amount", "-301"), "want 301 JPY at least, got 300"),
        (("fund", "yuki", "--amount", "1.5"), "want digits with at most 0 decimals"),
        (("open", "yuki"), "account yuki: want a new name"),
        (("open", "olga", "--currency", "XXX"), "currency XXX: want a code of ISO 4217"),
    ):
        done = run(capfd, "account", *arguments, "--ledger", path)
        assert (done.status, message in done.err) == (2, True), done.err
    check_whole(capfd, path)


def test_a_forgotten_account(capfd: Capture, path: Path) -> None:
    """Name and own texts are erased, what concerns others is named; find and history say forgotten, and all is whole before and after."""
    mine, others = round_ids(capfd, path, "zofia"), round_ids(capfd, path, "ben")
    own, shared = recorded(capfd, path, mine), recorded(capfd, path, [mine[0], *others])
    run(capfd, "history", "build", "--ledger", path)
    check_whole(capfd, path)
    done = run(capfd, "account", "forget", "zofia", *TWO, "--ledger", path)
    assert done.status == 0
    ((ref,),) = rows(path, "SELECT account_ref FROM accounts WHERE account_ref NOT IN (SELECT account_ref FROM account_names)")
    assert done.out == f"account {ref} forgotten: its name and 6 texts erased\n"
    assert f"incident {shared} concerns other accounts too: its texts are kept" in done.err
    assert "copies, backups and notes outside the ledger are not reached by this" in done.err
    check_whole(capfd, path)
    for command in ("find", "history"):
        shown = run(capfd, command, "--ledger", path)
        assert shown.status == 0
        assert "zofia" not in shown.out
        assert shown.out.count(f"forgotten {ref}") == 3
        assert "  ben " in shown.out
    assert len(run(capfd, "find", "--account", ref, "--ledger", path, "--json").lines) == 4
    assert "i. cause:\n  (erased)\n" in run(capfd, "incident", "show", own, "--ledger", path).out
    assert "i. cause:\n  a cable\n" in run(capfd, "incident", "show", shared, "--ledger", path).out
    again = run(capfd, "account", "forget", ref, *TWO, "--ledger", path)
    assert (again.status, "got one that is; nothing is left to erase" in again.err) == (2, True)
    assert run(capfd, "account", "forget", "zofia", *TWO, "--ledger", path).status == 2
    document = run(capfd, "account", "forget", "ben", *TWO, "--ledger", path, "--json").document
    assert (document["erased_texts"], document["kept_incidents"]) == (0, [shared])
