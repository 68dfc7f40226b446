"""Faults planted in the kernels: the referee sees a few of each game here, all of them in `tools/planted_faults.py`."""

import sys
from typing import Any

import pytest

from engines.registry import GAMES, installed_game
from engines.rng import round_key
from tests.planted.faults import Fault, FaultListError, Judged, faults_of, judge, right_rounds_findings
from tools.planted_faults import as_json, exit_status, score

OF_EACH_GAME = 6
MOONLIGHT = "moonlight-princess"
SOME = [
    fault
    for game in GAMES
    for counted in [[fault for fault in faults_of(game) if not fault.equivalent and not fault.needs_seed]]
    for fault in counted[len(counted) // (2 * OF_EACH_GAME) :: len(counted) // OF_EACH_GAME][:OF_EACH_GAME]
]
WIN = Fault(
    MOONLIGHT,
    "a win too high",
    "kernels/scatter_pays.py",
    old="win_minor = pay_x100 * bet_minor // 100",
    new="win_minor = pay_x100 * bet_minor // 50",
)


@pytest.mark.parametrize("fault", SOME, ids=lambda fault: f"{fault.game}: {fault.name}")
def test_the_referee_sees_a_planted_fault(fault: Fault) -> None:
    """A faulty game is seen in its rounds, without the seed."""
    judged = judge(fault)
    assert judged.outcome == "seen", judged
    assert judged.finding


@pytest.mark.parametrize("game", GAMES)
def test_the_rounds_without_a_fault_have_no_findings(game: str) -> None:
    """What is seen is the fault: the right game's rounds are clean by the same rules."""
    for rules_name in {fault.rules for fault in SOME if fault.game == game}:
        assert list(right_rounds_findings(game, rules_name, 20)) == []


@pytest.mark.parametrize("game", GAMES)
def test_the_lists_are_long_and_fit_the_code(game: str) -> None:
    """Each game has 25 faults or more; few of them change nothing, and each of those says why."""
    faults = faults_of(game)
    assert len([fault for fault in faults if not fault.equivalent]) >= 25
    assert 20 * sum(bool(fault.equivalent) for fault in faults) <= len(faults)
    assert {fault.file for fault in faults} >= {"kernels/win_cap.py", "kernels/reels.py", f"games/{GAMES[game]}/game.py"}


def test_a_planted_fault_stays_in_its_own_modules() -> None:
    """After a faulty game was played the installed one is as before, in every module."""
    before = dict(sys.modules)
    right = installed_game(MOONLIGHT).play(round_key(bytes(32), MOONLIGHT, "", 0), "buy", 200, {}, ())
    assert judge(WIN).outcome == "seen"
    assert all(sys.modules[name] is module for name, module in before.items() if name.startswith("engines"))
    assert installed_game(MOONLIGHT).play(round_key(bytes(32), MOONLIGHT, "", 0), "buy", 200, {}, ()) == right


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"old": "win_minor = 0"}, "want the text once in kernels/scatter_pays.py, and another in its place, found it 0 times"),
        ({"old": "for cell in range(len(buffer.symbols)):"}, "found it 3 times"),
        ({"new": WIN.old}, "and another in its place, found it 1 times"),
        ({"new": "win_minor = buffer.head[1000]"}, "want a game that plays, found IndexError"),
        ({"equivalent": "it is not"}, "want no round changed, as it is listed as equivalent, found round 2 changed"),
    ],
)
def test_a_list_that_does_not_fit_the_code_is_an_error(changes: dict[str, str], words: str) -> None:
    """A text that is not there once, a game that breaks down and an equivalent fault that is none say so."""
    with pytest.raises(FaultListError) as raised:
        judge(WIN._replace(**changes))
    assert words in str(raised.value)
    assert str(raised.value).startswith("moonlight-princess, 'a win too high': ")
    assert str(raised.value).endswith("correct tests/planted/moonlight-princess.toml")


def test_a_fault_that_no_round_reaches_is_no_fault_that_is_seen() -> None:
    """A fault in what nobody plays is `unchanged`, one that only the seed tells `missed`."""
    idle = WIN._replace(old="pay = 0\n", new="pay = 0 * 1\n")
    assert judge(idle, 3)[1:] == ("unchanged", 3, 0, "")
    hearts = next(fault for fault in faults_of(MOONLIGHT) if fault.needs_seed)
    judged = judge(hearts, 9)
    assert (judged.outcome, judged.rounds, judged.finding) == ("missed", 9, hearts.needs_seed)
    assert judged.changed > 0


def judged_some(**counts: int) -> list[Judged]:
    return [Judged(WIN, outcome, 200, 0, "") for outcome, count in counts.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("counts", "percent", "status"),
    [
        ({"seen": 19, "missed": 1}, 95.0, 0),
        ({"seen": 18, "missed": 1}, 94.7, 3),
        ({"seen": 18, "unchanged": 1}, 94.7, 3),
        ({"seen": 19, "equivalent": 1}, 100.0, 0),
        ({"seen": 18, "equivalent": 1}, 100.0, 3),
    ],
)
def test_the_score_decides_the_exit_status(counts: dict[str, Any], percent: float, status: int) -> None:
    """Faults that change nothing do not count and may be 5%; of the others 95% must be seen, those not reached count as missed."""
    judged = judged_some(**counts)
    assert score(judged)["seen_percent"] == percent
    assert as_json(judged)["games"][MOONLIGHT] == score(judged)
    assert exit_status(judged) == status
