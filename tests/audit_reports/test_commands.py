"""The commands as scripts and auditors see them: results, exit status, JSON."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from engines.registry import GAMES, installed_game
from ledger.rounds import RoundLedger
from tests.command_line import run
from tests.conftest import ROOT

GAME = "moonlight-princess"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with twelve base rounds and a bought one of the account `ann`, and an account `bob` without rounds."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    opened = RoundLedger.create(path)
    try:
        ann = opened.open_account("ann", "EUR")
        opened.open_account("bob", "EUR")
        opened.move_funds(ann, 100_000, "deposit")
        game = installed_game(GAME)
        for number in range(12):
            opened.play(ann, game, "base", 200, external_ref=f"tx-{number}")
        opened.play(ann, game, "buy", 200)
    finally:
        opened.close()
    return path


def first_round(capfd: Capture, ledger: Path) -> str:
    return str(run(capfd, "find", "--ledger", ledger, "--json").lines[0]["round_id"])


def test_verify_says_reproduced_and_ends_with_0(capfd: Capture, ledger: Path) -> None:
    """A sound round passes every check that can run, in text and as JSON of the promised shape."""
    round_id = first_round(capfd, ledger)
    text = run(capfd, "verify", "--ledger", ledger, "--round", round_id)
    assert text.status == 0
    assert text.out.startswith(f"REPRODUCED  round {round_id}\n")
    assert "no findings" in text.out
    assert "draft rules" not in text.out
    document = run(capfd, "verify", "--ledger", ledger, "--round", round_id, "--json").document
    assert document["schema"] == "verify/1"
    assert document["verdict"] == "reproduced"
    names = ["record", "seed", "replay", "referee", "totals", "presentation"]
    assert [check["name"] for check in document["checks"]] == names
    assert [check["result"] for check in document["checks"]] == ["pass"] * 5 + ["not_shown"]
    assert document["findings"] == []
    assert document["round"]["cost_minor"] == 200
    assert document["ledger"]["tree_size"] > 26
    assert document["ledger"]["checkpoint"] is None


def test_a_round_is_found_by_prefix_and_by_the_operator_s_reference(capfd: Capture, ledger: Path) -> None:
    """ROUND is an id, or ext:REF; an ambiguous prefix lists what it could mean."""
    round_id = first_round(capfd, ledger)
    assert run(capfd, "verify", "--ledger", ledger, "--round", "ext:tx-0", "--json").document["round_id"] == round_id
    found = run(capfd, "verify", "--ledger", ledger, "--round", round_id[:30], "--json")
    assert found.status in (0, 3)
    ambiguous = run(capfd, "verify", "--ledger", ledger, "--round", round_id[:8])
    assert ambiguous.status in (2, 3)
    assert round_id in ambiguous.err


def test_verify_all_sums_up(capfd: Capture, ledger: Path) -> None:
    """All rounds are clean, and the last line sums them up the same with one worker and with two."""
    one = run(capfd, "verify", "--ledger", ledger, "--all", "--json", "--jobs", 1)
    two = run(capfd, "verify", "--ledger", ledger, "--all", "--json", "--jobs", 2, "--referee")
    assert one.status == two.status == 0
    assert one.out == two.out
    summary = one.lines[-1]
    assert summary["rounds"] == 13
    assert summary["verdicts"] == {"reproduced": 13}
    assert summary["cost_minor"] == {"EUR": 12 * 200 + 20_000}
    assert run(capfd, "verify", "--ledger", ledger, "--all", "--account", "ann", "--sample", 5, "--json").lines[-1]["rounds"] == 5


def test_draws_are_listed(capfd: Capture, ledger: Path) -> None:
    """--draws lists each draw with purpose, range, words and result."""
    done = run(capfd, "verify", "--ledger", ledger, "--round", first_round(capfd, ledger), "--draws", "--json")
    draws = done.document["draws"]
    assert draws[0]["purpose"] == "strip set"
    assert [draw["number"] for draw in draws] == list(range(len(draws)))
    text = run(capfd, "verify", "--ledger", ledger, "--round", first_round(capfd, ledger), "--draws")
    assert "strip set" in text.out


def test_find_filters(capfd: Capture, ledger: Path) -> None:
    """Each filter leaves the rounds that it names."""

    def count(*options: object) -> int:
        return int(run(capfd, "find", "--ledger", ledger, "--json", *options).lines[-1]["rounds"])

    assert count() == 13
    assert count("--account", "ann") == 13
    assert count("--account", "bob") == 0
    assert count("--external", "tx-3") == 1
    assert count("--game", GAME) == 13
    assert count("--status", "open") == 0
    assert count("--since", "2020-01-01", "--tz", "UTC") == 13
    assert count("--until", "2020-01-01T00:00:00+00:00") == 0
    assert count("--win-min", "0.01") < 13
    assert "13 rounds found" in run(capfd, "find", "--ledger", ledger).out


def test_history_adds_up_and_is_compared_with_the_read_model(capfd: Capture, ledger: Path, tmp_path: Path) -> None:
    """Totals are those of the rounds; an altered read model is found, field by field."""
    model = tmp_path / "history.db"
    done = run(capfd, "history", "--ledger", ledger, "--json")
    *rows, total = done.lines
    assert total["totals"]["EUR"]["win_minor"] == sum(row["win_minor"] for row in rows)
    assert total["read_model_differences"] is None
    assert run(capfd, "history", "build", "--ledger", ledger, "--history", model, "--json").document["rounds_written"] == 13
    assert run(capfd, "history", "--ledger", ledger, "--history", model).status == 0
    with sqlite3.connect(model) as connection:
        connection.execute("UPDATE rounds SET win_minor = win_minor + 5 WHERE round_id = ?", (rows[0]["round_id"],))
    connection.close()
    wrong = run(capfd, "history", "--ledger", ledger, "--history", model)
    assert wrong.status == 3
    win = rows[0]["win_minor"]
    assert f"round {rows[0]['round_id']}, win_minor: want {win}, got {win + 5}" in wrong.out
    csv = run(capfd, "history", "--ledger", ledger, "--csv").out.splitlines()
    assert csv[0].startswith("round_id,account_ref,game,")
    assert len(csv) == 14
    nobody = run(capfd, "history", "--ledger", ledger, "--account", "bob")
    assert nobody.status == 0
    assert nobody.out.startswith("no activity\n")


def test_export_and_check(capfd: Capture, ledger: Path, tmp_path: Path) -> None:
    """An exported ledger passes the check outside it; an altered win is one finding that names event, want and got."""
    file = tmp_path / "all.jsonl"
    exported = run(capfd, "export", "--ledger", ledger, "--all")
    file.write_text(exported.out)
    assert run(capfd, "check", file, "--json").document["findings"] == []
    lines = exported.lines
    assert set(lines[0]) == {"round_id", "stream", "index", "append", "recorded_at", "event"}
    assert (lines[0]["index"], lines[0]["append"], lines[1]["append"]) == (0, 0, 1)
    place = next(i for i, line in enumerate(lines) if line["event"]["kind"] == "win")
    assert "symbol" in lines[place]["names"]
    lines[place]["event"]["win_minor"] += 20
    file.write_text("\n".join(map(json.dumps, lines)))
    done = run(capfd, "check", file, "--json")
    assert done.status == 3
    (finding,) = done.document["findings"]
    assert finding["event_index"] == lines[place]["index"]
    assert finding["round_id"] == lines[place]["round_id"]
    assert finding["severity"] == "money"
    assert int(finding["got"]) == int(finding["want"]) + 20
    assert "1 finding," in run(capfd, "check", file).out


def test_canonical_export_is_the_recorded_bytes(capfd: Capture, ledger: Path) -> None:
    """--canonical writes the event bytes and nothing else, as they are stored."""
    round_id = first_round(capfd, ledger)
    done = run(capfd, "export", "--ledger", ledger, "--round", round_id, "--canonical")
    opened = RoundLedger.open_for_reading(ledger)
    stored = b"".join(row.data + b"\n" for row in opened.round_events(round_id))
    opened.close()
    assert done.out.encode() == stored


def test_show_draws_the_round(capfd: Capture, ledger: Path) -> None:
    """The picture names the game and ends with the total; piped it is 80 columns wide and without colour."""
    done = run(capfd, "show", "--ledger", ledger, "--round", first_round(capfd, ledger))
    assert done.status == 0
    assert "\x1b" not in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert run(capfd, "show", "--ledger", ledger, "--round", first_round(capfd, ledger), "--json").document["schema"] == "show/1"


def test_play_opens_funds_and_says_so(capfd: Capture, tmp_path: Path) -> None:
    """play opens an account, funds it with play money, says both, and prints rounds and sums."""
    path = tmp_path / "new.db"
    assert run(capfd, "init", "--ledger", path, "--json").document["schema"] == "init/1"
    done = run(capfd, "play", "--ledger", path, "--game", GAME, "--mode", "ante", "--bet", "1.00", "--rounds", 3, "--json")
    assert done.status == 0
    assert "account 'player' was not there: opened, in EUR" in done.err
    assert "funded with play money" in done.err
    *rounds, total = done.lines
    assert len(rounds) == 3
    assert total["cost_minor"] == 3 * 125
    assert total["win_minor"] == sum(row["win_minor"] for row in rounds)
    again = run(capfd, "init", "--ledger", path)
    assert again.status == 2
    assert "new.db" in again.err


def test_play_finishes_a_round_in_play_first(capfd: Capture, tmp_path: Path) -> None:
    """A round cut off after its opening is `incomplete_open`, then finished by the next play, with the same seed and nonce."""
    path = tmp_path / "cut.db"
    opened = RoundLedger.create(path)
    account_ref = opened.open_account("player", "EUR")
    opened.move_funds(account_ref, 10_000)
    in_play = opened.open_round(account_ref, installed_game(GAME), "base", 200)
    opened.close()
    done = run(capfd, "verify", "--ledger", path, "--round", in_play.round_id, "--json")
    assert (done.status, done.document["verdict"]) == (0, "incomplete_open")
    played = run(capfd, "play", "--ledger", path, "--game", GAME)
    assert f"round {in_play.round_id} was still in play: finished first" in played.err
    assert run(capfd, "verify", "--ledger", path, "--all", "--json").lines[-1]["verdicts"] == {"reproduced": 2}


def test_verify_without_the_seed_key(capfd: Capture, ledger: Path, tmp_path: Path) -> None:
    """Without the key replay is not run, all else passes, and the verdict is not_replayable with status 3."""
    done = run(capfd, "verify", "--ledger", ledger, "--round", first_round(capfd, ledger), "--keys", tmp_path, "--json")
    assert done.status == 3
    assert done.document["verdict"] == "not_replayable"
    results = {check["name"]: check["result"] for check in done.document["checks"]}
    assert results == {
        "record": "pass",
        "seed": "not_run",
        "replay": "not_run",
        "referee": "pass",
        "totals": "pass",
        "presentation": "not_shown",
    }
    assert "key sealed" in done.out


def test_rules_from_a_file_are_said_with_their_hash(capfd: Capture, tmp_path: Path) -> None:
    """A round by a rules file outside the registry verifies with that file alone, and every output says so."""
    rules = tmp_path / "low.toml"
    source = ROOT / "engines" / "games" / "moonlight_princess" / "rules-0.1.0.toml"
    rules.write_text(source.read_text().replace("multiple = 5000", "multiple = 1"))
    path = tmp_path / "low.db"
    run(capfd, "init", "--ledger", path)
    played = run(capfd, "play", "--ledger", path, "--game", GAME, "--mode", "buy", "--rules", rules, "--json")
    assert "rules from a file outside the registry, hash" in played.err
    round_id = played.lines[0]["round_id"]
    assert played.lines[0]["ended"] == "capped"
    with_file = run(capfd, "verify", "--ledger", path, "--round", round_id, "--rules", rules)
    assert with_file.status == 0
    assert "draft rules: moonlight-princess 0.1.0 may still be replaced" in with_file.out
    assert "rules from a file outside the registry, hash" in with_file.out
    without = run(capfd, "verify", "--ledger", path, "--round", round_id, "--json")
    assert without.document["verdict"] == "not_replayable"
    assert "draft rules replaced" in without.out


def test_games_rules_doctor(capfd: Capture, ledger: Path) -> None:
    """What is installed is listed with hashes, rules with the origin of each value, and a healthy place is fine."""
    games = run(capfd, "games", "--json").document["games"]
    assert list(dict.fromkeys(game["game"] for game in games)) == list(GAMES)
    games = [next(game for game in reversed(games) if game["game"] == name) for name in GAMES]  # the newest of each
    for game in games:
        text = run(capfd, "rules", "--game", game["game"]).out
        document = run(capfd, "rules", "--game", game["game"], "--json").document
        assert document["rules_hash"] == game["rules_hash"]
        for symbol in document["rules"]["symbols"]:
            assert re.search(rf"^{symbol['name']} +{symbol['letter']} ", text, re.MULTILINE)
        origins = [*document["rules"]["assumptions"], *(source["name"] for source in document["rules"]["sources"])]
        assert all(re.search(rf"\b{origin}\b", text) for origin in origins)
    text = run(capfd, "rules", "--game", GAME).out
    assert re.search(r"^golden_sun +S +10\.00x +25\.00x +50\.00x +paytable$", text, re.MULTILINE)
    assert re.search(r"^scatter pays +paytable +4: 3\.00x, 5: 5\.00x, 6: 100\.00x$", text, re.MULTILINE)
    assert re.search(r"^buy of B +MLP-7 +scatter counts 4, 5, 6; weights 940, 57, 3$", text, re.MULTILINE)
    text = run(capfd, "rules", "--game", "starlight-wins").out
    assert re.search(r"^red_star +R +0\.50x +1\.25x +2\.50x +rules$", text, re.MULTILINE)
    assert re.search(r"^money pays of red_star +rules +20, 50, 100$", text, re.MULTILINE)
    assert re.search(r"^ladders of free +rules +2, 4, 6, 10$", text, re.MULTILINE)
    health = run(capfd, "doctor", "--ledger", ledger, "--json")
    assert health.status == 0
    assert all(point["is_fine"] for point in health.document["points"])


def test_doctor_names_what_mends(capfd: Capture, tmp_path: Path) -> None:
    """A missing ledger and missing keys are each named with the command that mends them."""
    done = run(capfd, "doctor", "--ledger", tmp_path / "none.db")
    assert done.status == 4
    assert "mend: audit init --ledger" in done.out


def test_simulate(capfd: Capture) -> None:
    """The return comes with its interval and depends on the seed alone."""
    options = ("simulate", "--game", GAME, "--mode", "ante", "--rounds", "7e4", "--seed", "00ff", "--json")
    one, two = run(capfd, *options, "--jobs", 1).document, run(capfd, *options, "--jobs", 2).document
    one.pop("rounds_per_second")
    two.pop("rounds_per_second")
    assert one == two
    assert one["rtp_low"] < one["rtp_observed"] < one["rtp_high"]
    assert one["rtp_exact"] is None
    assert [row["strip_set"] for row in one["strata"]] == ["A", "B"]
    assert "RTP observed" in run(capfd, *options[:-1]).out


def test_play_without_a_bet_takes_one_that_the_game_allows(capfd: Capture, tmp_path: Path) -> None:
    """A round costs ten minor units a coin, or the most that the game takes."""
    path = tmp_path / "ledger.db"
    run(capfd, "init", "--ledger", path)
    for game, cost_minor in ((GAME, 200), ("starlight-wins", 40)):
        played = run(capfd, "play", "--ledger", path, "--game", game, "--json")
        assert (played.status, played.lines[-1]["cost_minor"]) == (0, cost_minor)


def test_demo(capfd: Capture, tmp_path: Path) -> None:
    """The tour ends well: honest rounds are clean, the altered win is found; a folder with something in it is refused."""
    done = run(capfd, "demo", "--dir", tmp_path / "tour")
    assert done.status == 0
    assert "RECORD_TAMPERED" in done.out
    assert run(capfd, "demo", "--dir", tmp_path / "other", "--json").document["altered_verdict"] == "record_tampered"
    refused = run(capfd, "demo", "--dir", tmp_path / "tour")
    assert refused.status == 2
    assert "--dir: want a new or empty folder" in refused.err


def test_ctrl_c_ends_cleanly_and_says_what_was_done(tmp_path: Path) -> None:
    """An interrupted play ends with 130, says how far it came, and leaves a ledger that verifies."""
    path = tmp_path / "ledger.db"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = "from audit_reports.cli import main\nimport sys\nif __name__ == '__main__': main(sys.argv[1:])"
    subprocess.run([sys.executable, "-c", program, "init", "--ledger", str(path)], env=environment, check=True, capture_output=True)
    command = [sys.executable, "-c", program, "play", "--ledger", str(path), "--game", GAME, "--rounds", "1e6", "--json"]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for _ in range(5):
        child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "of 1000000 rounds done" in err
    assert "Traceback" not in err
    done = subprocess.run(
        [sys.executable, "-c", program, "verify", "--ledger", str(path), "--all", "--jobs", "1"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
