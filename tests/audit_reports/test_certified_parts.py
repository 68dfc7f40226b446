"""The parts of a certification: each passes for every game, says the same each time, and fails where something is wrong."""

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from audit_reports import broken_rounds as interruptions
from audit_reports import determinism as same
from audit_reports import forced_rounds as forcing
from audit_reports.certified_parts import PART_NAMES, certified_parts
from audit_reports.random_dossier import dossier, dossier_blocks
from engines.canonical import canonical_json
from engines.game import Outcome
from engines.registry import GAMES, installed_game, installed_rules
from ledger.interruptions import CAUSES
from ledger.rounds import RoundLedger

ASKING = "moon-princess-stargazing"


@pytest.mark.parametrize("game", GAMES)
def test_every_forced_round_is_reached_and_right(game: str) -> None:
    """Cap and limits are reached in every mode and choice that test rules name; the referee and the sums find nothing."""
    rows = list(forcing.forced_rounds(installed_rules(game)))
    assert [row.name for row in rows if not row.passes] == []
    assert len({row.name for row in rows}) == len(rows)
    assert {"cap in the paid spin", "cap in a feature"} <= {row.reaches for row in rows}
    assert all(row.rules_hash != installed_rules(game).rules_hash for row in rows)


def test_forced_files_hold_the_rounds_and_their_rules() -> None:
    """Each file of a round is its events as recorded; test rules lie beside it with the hash that the matrix names."""
    rules = installed_rules("moon-spell")
    rows = list(forcing.forced_rounds(rules))
    files, document = forcing.forced_files(rules, rows), forcing.forced_json(rows)
    hashes = {json.loads(content)["rules_hash"] for name, content in files.items() if name.endswith(".json")}
    assert hashes == {row["rules_hash"] for row in document["rows"]}
    for row, told in zip(rows, document["rows"], strict=True):
        lines = [json.loads(line) for line in files[told["file"]].splitlines()]
        assert row.outcome is not None
        assert [base64.b64decode(line["data"]) for line in lines] == [event.data for event in row.outcome.events]


def _without_cap(outcome: Outcome) -> Outcome:
    """Return an outcome whose cap was not applied to the last award."""
    events = list(outcome.events)
    place = max(place for place, event in enumerate(events) if event.topic.startswith("spin_ended/"))
    ended = json.loads(events[place].data)
    ended["award_minor"] += 1
    events[place] = events[place]._replace(data=canonical_json(ended))
    return outcome._replace(events=events, total_win_minor=outcome.total_win_minor + 1)


def test_a_cap_that_is_not_applied_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a round that pays one minor unit more than the cap total and awards are named, and the referee finds it as well."""
    rules = installed_rules("moon-spell")
    play = forcing.Game.play
    monkeypatch.setattr(forcing.Game, "play", lambda game, *terms: _without_cap(play(game, *terms)))
    row = next(forcing.forced_rounds(rules))
    assert not row.passes
    assert any(text.startswith("total win: want the cap") for text in row.wrong)
    assert any(text.startswith("referee:") for text in row.wrong)


@pytest.mark.parametrize("game", GAMES)
def test_every_broken_round_ends_as_in_one_go(game: str) -> None:
    """Every cause, the system and a void are tried on every configuration; nothing differs."""
    rows = list(interruptions.broken_rounds(installed_rules(game)))
    assert [row for row in rows if not row.passes] == []
    by_player = Counter(row.cause for row in rows if row.goes_on == "by the player")
    assert set(by_player) == set(CAUSES)
    assert len(set(by_player.values())) == 1


def test_a_round_that_ends_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resumed round that is credited one minor unit more than it won is found by the balance."""
    account = RoundLedger.account
    monkeypatch.setattr(RoundLedger, "account", lambda *terms: account(*terms)._replace(balance_minor=7))
    row = next(interruptions.broken_rounds(installed_rules("moon-spell")))
    assert [text.partition(":")[0] for text in row.wrong] == ["balance"]


def test_the_matrix_says_the_same_each_time() -> None:
    """Seeds are fresh, the document is not."""
    rules = installed_rules("moon-spell")
    first, second = (interruptions.broken_json(list(interruptions.broken_rounds(rules))) for _ in range(2))
    assert canonical_json(first) == canonical_json(second)


def test_determinism_of_the_game_whose_state_is_carried() -> None:
    """Both kernels, both bets and both processes agree, and the pinned digest is the one that is kept."""
    rules = installed_rules(ASKING)
    rows = list(same.determinism(rules))
    assert [row for row in rows if not row.passes] == []
    kept = json.loads((Path(__file__).parents[1] / "golden" / f"{ASKING}-{rules.version}.json").read_text())
    assert kept["digest"]["base"] in {row.first for row in rows}


def test_another_process_that_cannot_play_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other process says in place of a digest stands in the row, which fails."""
    rules = installed_rules("moon-spell")
    monkeypatch.setattr(same, "sys", type("Other", (), {"executable": "/bin/false", "path": []}))
    assert same._elsewhere(rules, "base").startswith("no digest")


@pytest.mark.parametrize("game", GAMES)
def test_the_dossier_passes_and_names_what_is_drawn(game: str) -> None:
    """Known answers are right, scaling is even in every range counted, every purpose that the game has is in the draw map."""
    played = installed_game(game)
    found = dossier(played)
    assert found.passes
    assert not found.as_json()["scaling"]["uneven"]
    purposes = {purpose for each in found.ranges for purpose in each.purposes}
    assert purposes <= set(played.draw_purposes)
    assert "engines/rng.py" in found.sources
    assert list(dossier_blocks(found))


def test_a_wrong_generator_fails_the_dossier(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key stream of other words is found by the known answers."""
    from audit_reports import random_dossier

    monkeypatch.setattr(random_dossier, "words", lambda key: iter(range(10)))
    assert not dossier(installed_game("moon-spell")).passes


def test_parts_come_in_their_order_and_without_floats() -> None:
    """Each part that is promised is made, agrees, and is canonical JSON; the same terms give the same bytes but for what is run on."""
    terms: Any = (installed_game("moon-spell"), b"seed", 20_000, "gli-19")
    made = [[(part.name, part.agrees, canonical_json(part.document), part.files) for part in certified_parts(*terms)] for _ in range(2)]
    assert made[0] == made[1]
    assert tuple(name for name, *_ in made[0]) == PART_NAMES
    assert all(agrees for _, agrees, *_ in made[0])


def test_forced_rules_are_the_games_own_with_few_values_changed() -> None:
    """Each set of test rules changes what it says, and nothing else."""
    for game in GAMES:
        rules = installed_rules(game).model_dump()
        for test_rules in forcing.test_rules_of(game):
            changed = test_rules.of(installed_rules(game)).model_dump()
            assert {name for name in rules if rules[name] != changed[name]} == set(test_rules.changes)
