"""`audit monitor` on real ledgers: periods that add up, no activity said openly, alarms by exit status, and the how-to as it stands."""

import csv
import io
import re
from pathlib import Path

import pytest

from engines.game import Game
from engines.registry import game_of_rules, installed_game, installed_rules
from ledger.rounds import RoundLedger
from tests.command_line import Ended, run
from tests.conftest import ROOT
from tests.postgres_server import PASSWORD, PostgresServer
from tests.rules_changes import changed_rules

Capture = pytest.CaptureFixture[str]
PAGE = ROOT / "docs" / "how-to" / "monitor.md"
GAME = "moon-spell"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of honest rounds of two games, two channels and two stakes; one round waits for a choice, one is left in play."""
    path = tmp_path_factory.mktemp("monitor") / "ledger.db"
    opened = RoundLedger.create(path)
    account = opened.open_account("player", "EUR")
    opened.move_funds(account, 10**8)
    spell, asking = installed_game(GAME), installed_game("moon-princess-stargazing")
    for number in range(40):
        opened.play(account, spell, "base", 20 if number % 2 else 200, channel="web" if number % 4 < 2 else "app")
    for _ in range(5):
        opened.play(account, asking, "base", 10)
    opened.open_round(account, spell, "base", 20)
    opened.close()
    return path


def _monitor(capfd: Capture, ledger: Path, *more: object) -> Ended:
    return run(capfd, "monitor", "--ledger", ledger, *more)


def test_periods_add_up_to_the_whole(ledger: Path, capfd: Capture) -> None:
    """Rounds, costs and wins by day, game and currency are those of the history; what is in play is counted apart."""
    rows = list(csv.DictReader(io.StringIO(_monitor(capfd, ledger, "--csv").out)))
    history = run(capfd, "history", "--ledger", ledger, "--json").lines
    settled = [row for row in history if row.get("status") == "settled"]
    assert sum(int(row["rounds"]) for row in rows) == len(settled) == 45
    assert sum(int(row["cost_minor"]) for row in rows) == sum(row["cost_minor"] for row in settled)
    assert sum(int(row["win_minor"]) for row in rows) == sum(row["win_minor"] for row in settled)
    assert sum(int(row["in_play"]) for row in rows) == 1


def test_slices_add_up_and_say_their_power(ledger: Path, capfd: Capture) -> None:
    """Stakes and channels of a mode hold all its rounds; each slice has band, power and smallest p-value; nothing is alarmed."""
    done = _monitor(capfd, ledger, "--json")
    assert done.status == 0
    slices = [line for line in done.lines if "slice" in line]
    spell = [each for each in slices if each["slice"]["game"] == GAME]
    whole = next(each for each in spell if each["slice"]["by"] == "all")
    for by in ("stake", "channel"):
        parts = [each for each in spell if each["slice"]["by"] == by]
        assert len(parts) == 2
        assert sum(each["rounds"] for each in parts) == whole["rounds"] == 40
    assert all(set(each["power"]) == {"1.02", "1.05", "1.1"} for each in slices)
    assert all(0 <= each["smallest"]["p_value"] <= 1 for each in slices)
    summary = done.lines[-1]
    assert (summary["rounds"], summary["rate"], summary["findings"]) == (45, 0.01, [])


def test_the_tables_say_it_in_words(ledger: Path, capfd: Capture) -> None:
    """Both tables, the rate and the profile are printed."""
    text = _monitor(capfd, ledger).out
    assert "moon-spell base" in text
    assert "stake EUR 200" in text
    assert "with a chance of 1% at most, however often it is looked at" in text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--since", "2020-01-01", "--until", "2020-01-03", "--tz", "UTC"], "no activity from 2020-01-01 to 2020-01-02"),
        (["--game", "starlight-wins"], "no activity"),
    ],
)
def test_no_activity_is_said(more: list[str], said: str, ledger: Path, capfd: Capture) -> None:
    """A span or a game without rounds is no silence."""
    done = _monitor(capfd, ledger, *more)
    assert (done.status, done.out.strip()) == (0, said)
    assert _monitor(capfd, ledger, *more, "--json").document["no_activity"] is True


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--csv", "--json"], "--csv, --json: want one of them, got 'both'"),
        (["--game", "moon"], "game 'moon': want one of"),
        (["--window", "3661"], "--window: want 3660 days at most, got '3661'"),
        (["--window", "x"], "--window"),
    ],
)
def test_wrong_usage_is_said(more: list[str], message: str, ledger: Path, capfd: Capture) -> None:
    """What cannot be taken is refused with what was wanted."""
    done = _monitor(capfd, ledger, *more)
    assert done.status == 2
    assert message in done.err


def _wrong_game() -> Game:
    """Return the game by rules that pay two percent too much for most wins, under the fingerprint and hash of the honest ones."""
    rules = installed_rules(GAME)
    symbols = rules.model_dump()["symbols"]
    for symbol in symbols:
        symbol["pays_x100"] = tuple(pay + pay // 50 if pay % 25 == 0 else pay for pay in symbol["pays_x100"])
    faulty = game_of_rules(changed_rules(rules, symbols=symbols, bet={"coins": 1000}))
    faulty.rules.__dict__["rules_hash"], faulty.fingerprint = rules.rules_hash, installed_game(GAME).fingerprint
    return faulty


def test_a_fault_in_one_channel_of_a_real_ledger_is_an_alarm(tmp_path: Path, capfd: Capture) -> None:
    """Rounds of one channel played by a wrong paytable, recorded under the honest rules, end the command with status 3."""
    path = tmp_path / "ledger.db"
    opened = RoundLedger.create(path)
    account = opened.open_account("player", "EUR")
    opened.move_funds(account, 10**9)
    honest, wrong = installed_game(GAME), _wrong_game()
    for _ in range(60):
        opened.play(account, honest, "base", 1000, channel="web")
        opened.play(account, wrong, "base", 1000, channel="app")
    opened.close()
    done = _monitor(capfd, path, "--json")
    assert done.status == 3
    found = {(finding["code"], finding["where"]) for finding in done.lines[-1]["findings"]}
    assert ("amount_off_step", f"{GAME}, base, channel app") in found


def test_one_paytable_id_with_two_hashes_is_found(tmp_path: Path, capfd: Capture) -> None:
    """A ledger with rounds of one version under two hashes is told so, and what nothing is certified of is named."""
    path = tmp_path / "ledger.db"
    opened = RoundLedger.create(path)
    account = opened.open_account("player", "EUR")
    opened.move_funds(account, 10**7)
    other = game_of_rules(changed_rules(installed_rules(GAME), rtp_target_x10000=9000))
    for game in (installed_game(GAME), other):
        opened.play(account, game, "base", 20)
    opened.close()
    done = _monitor(capfd, path, "--json")
    codes = [finding["code"] for finding in done.lines[-1]["findings"]]
    assert (done.status, codes) == (3, ["paytable_two_hashes", "not_judged"])


def test_the_how_to_is_followed(ledger: Path, capfd: Capture) -> None:
    """Each command of docs/how-to/monitor.md is run as it stands there, on this ledger."""
    commands = re.findall(r"^    audit (.+)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        words = command.partition(" >")[0].split()
        done = run(capfd, *words, "--ledger", ledger)
        assert done.status == 0, (command, done.err)


def test_a_ledger_on_postgresql_is_monitored(capfd: Capture, postgres: PostgresServer, tmp_path: Path) -> None:
    """On a server the rounds of a channel are summed as in a file, the password is nowhere printed."""
    url, keys = postgres.url(postgres.new_database()), tmp_path / "keys"
    assert run(capfd, "init", "--ledger", url, "--keys", keys).status == 0
    assert run(capfd, "play", "--ledger", url, "--keys", keys, "--game", GAME, "--rounds", "20").status == 0
    done = run(capfd, "monitor", "--ledger", url)
    assert done.status == 0
    assert "20" in done.out
    assert PASSWORD not in done.out + done.err
