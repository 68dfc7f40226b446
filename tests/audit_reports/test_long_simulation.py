"""The simulation behind a par sheet: the same sums for any number of workers, however often it is broken off."""

import json
from pathlib import Path

import pytest

from audit_reports.long_simulation import (
    ProgressStrangeError,
    Simulated,
    SimulationTerms,
    configurations,
    run_simulations,
    simulation_json,
    simulations_of_json,
)
from engines.canonical import canonical_json
from engines.registry import installed_game, installed_rules
from engines.simulate import CHUNK_ROUNDS

CHUNKS = 5
ROUNDS = (CHUNKS - 1) * CHUNK_ROUNDS + 1_000  # the last chunk is not whole
TERMS = SimulationTerms(installed_rules("moon-spell"), ROUNDS, b"long simulation")


def _whole(progress: Path, terms: SimulationTerms = TERMS, *, jobs: int = 1, is_resumed: bool = False) -> list[Simulated]:
    steps = run_simulations(terms, progress, job_count=jobs, is_resumed=is_resumed)
    return [step for step in steps if isinstance(step, Simulated)]


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> list[Simulated]:
    """What comes of the work done in one go by one process."""
    return _whole(tmp_path_factory.mktemp("whole") / "progress")


def test_figures_are_the_same_for_any_number_of_workers(wanted: list[Simulated], tmp_path: Path) -> None:
    """Two worker processes come to the same sums and points as one."""
    assert _whole(tmp_path / "progress", jobs=2) == wanted


def test_work_that_is_broken_off_after_every_chunk_comes_to_the_same(wanted: list[Simulated], tmp_path: Path) -> None:
    """Stopped after each chunk and resumed, nothing is played twice and nothing left out."""
    progress = tmp_path / "progress"
    for number in range(1, CHUNKS + 1):
        steps = run_simulations(TERMS, progress, job_count=1, is_resumed=progress.exists())
        assert next(step for step in steps) == number
        steps.close()  # type: ignore[attr-defined]
    assert _whole(progress, is_resumed=True) == wanted


def test_points_on_the_way_are_kept_and_few(wanted: list[Simulated]) -> None:
    """Points rise, the last is all rounds, and their number grows with the logarithm of the rounds alone."""
    rounds = [point.rounds for point in wanted[0].points]
    assert rounds == sorted(set(rounds))
    assert rounds[-1] == ROUNDS
    from audit_reports.long_simulation import _is_point

    assert sum(map(_is_point, range(1, 15_260))) < 60


def test_sums_go_into_a_pack_and_come_back(wanted: list[Simulated]) -> None:
    """The document is canonical JSON, holds every sum, and is read back as it was."""
    document = simulation_json(TERMS, installed_game("moon-spell"), wanted)
    assert simulations_of_json(json.loads(canonical_json(document))) == wanted


def test_every_mode_and_choice_is_a_configuration() -> None:
    """Each mode of a game is simulated, and each with each choice where the game asks for one."""
    assert [each.name for each in configurations(installed_rules("moonlight-princess"))] == ["base", "ante", "buy"]
    assert [each.name for each in configurations(installed_rules("moon-princess-stargazing"))] == ["base-astra", "base-nova", "base-star"]


def test_new_work_does_not_write_over_old(tmp_path: Path) -> None:
    """Where a progress file is, new work is refused; the message says what to do."""
    progress = tmp_path / "progress"
    progress.write_text("{}")
    with pytest.raises(ProgressStrangeError, match="--resume, or remove it, got one"):
        _whole(progress)


def test_there_must_be_something_to_go_on_from(tmp_path: Path) -> None:
    """Without a progress file --resume is refused."""
    with pytest.raises(ProgressStrangeError, match="want one to go on from; leave out --resume, got none"):
        _whole(tmp_path / "progress", is_resumed=True)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"subject": {}, "done": {"base": [1]}}', b"\xff"])
def test_a_progress_file_of_another_form_is_refused(content: bytes, tmp_path: Path) -> None:
    """What no `audit certify` has written is no progress."""
    progress = tmp_path / "progress"
    progress.write_bytes(content)
    with pytest.raises(ProgressStrangeError, match="want what `audit certify` wrote"):
        _whole(progress, is_resumed=True)


@pytest.mark.parametrize("other", [TERMS._replace(seed=b"other"), TERMS._replace(rounds=ROUNDS + 1)])
def test_progress_of_other_work_is_refused(other: SimulationTerms, tmp_path: Path) -> None:
    """Sums of another seed or number of rounds are not gone on from."""
    progress = tmp_path / "progress"
    steps = run_simulations(TERMS, progress, job_count=1, is_resumed=False)
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    with pytest.raises(ProgressStrangeError, match="as asked for now"):
        _whole(progress, other, is_resumed=True)
