"""What the commands say of a round whose player was shown something, right or wrong."""

import json
from pathlib import Path

import pytest

from engines.registry import installed_game
from ledger.presentations import record_presentation
from tests.command_line import run
from tests.contracts.presentations_contract import show
from tests.ledger_files import new_ledger
from tests.screens import screens_of

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def rounds(tmp_path: Path) -> tuple[str, str]:
    """Give the ids of two rounds of a ledger, the first shown right, the second wrong."""
    with new_ledger(tmp_path) as (ledger, ref):
        game = installed_game("moonlight-princess")
        right, wrong = (ledger.play(ref, game, mode, 200).round_id for mode in ("buy", "base"))
        show(ledger, right)
        last = screens_of(ledger, wrong)[-1]
        record_presentation(ledger, wrong, [last._replace(total_win_minor=last.total_win_minor + 200)])
    return right, wrong


def test_the_divergence_is_said_by_every_command_that_judges(capfd: Capture, tmp_path: Path, rounds: tuple[str, str]) -> None:
    """`verify` of one and of all and `check` of a file name it, with both amounts; the round shown right passes."""
    ledger, (right, wrong) = ("--ledger", tmp_path / "ledger.db"), rounds
    done = run(capfd, "verify", "--round", right, *ledger)
    assert done.status == 0
    assert "16 records of what the client was told, 16 acknowledged: amounts are those of the outcome" in done.out
    assert run(capfd, "verify", "--round", wrong, *ledger, "--json").document["verdict"] == "presentation_divergence"
    told = json.loads(run(capfd, "export", "--round", wrong, *ledger).out.splitlines()[-1])["event"]["total_win_minor"]
    message = f"win so far after spin 0 in presentation_sent: evaluated {told - 200}, shown {told}"
    for arguments in (("verify", "--round", wrong), ("verify", "--all")):
        done = run(capfd, *arguments, *ledger)
        assert (done.status, message in done.out) == (3, True)
    assert run(capfd, "verify", "--all", *ledger, "--json").lines[-1]["verdicts"] == {"presentation_divergence": 1, "reproduced": 1}
    for round_id, status in ((right, 0), (wrong, 3)):
        (tmp_path / "round.jsonl").write_text(run(capfd, "export", "--round", round_id, *ledger).out)
        done = run(capfd, "check", tmp_path / "round.jsonl")
        assert (done.status, message in done.out, "record, seed and replay are not shown" in done.out) == (status, status == 3, True)


COMMANDS = [("show",), ("export",), ("prove", "-o", "round.proof"), ("verify", "--what-if")]


@pytest.mark.parametrize("command", COMMANDS)
def test_other_commands_go_on_as_before(
    capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: tuple[str, str], command: tuple[str, ...]
) -> None:
    """A round that was shown is drawn, exported, proved and asked about as any other, and fsck finds nothing."""
    monkeypatch.chdir(tmp_path)
    assert run(capfd, "checkpoint", "--ledger", "ledger.db").status == 0
    assert run(capfd, *command, "--round", rounds[0], "--ledger", "ledger.db").status == 0
    assert run(capfd, "fsck", "--ledger", "ledger.db").status == 0
