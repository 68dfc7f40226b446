"""What is published stays: every installed version of every game's rules, to the byte of 20,000 rounds of each mode."""

import json
from typing import Any

import pytest

from engines.digest import pinned_digest
from engines.registry import GAMES, game_of_rules, installed_rules, rules_versions
from tests.conftest import ROOT

VERSIONS = [(game, version) for game in GAMES for version in rules_versions(game)]


def pinned(game: str, version: str) -> Any:
    return json.loads((ROOT / "tests" / "golden" / f"{game}-{version}.json").read_text())


@pytest.mark.parametrize(("game", "version"), VERSIONS)
def test_pinned_digests(game: str, version: str) -> None:
    """The hash of the rules and the digests of each mode are the pinned ones; those of 1.0.0 and later are never edited."""
    rules = installed_rules(game, version)
    machine = game_of_rules(rules)
    machine.compile()
    assert rules.rules_hash == pinned(game, version)["rules_hash"]
    assert {mode.name: pinned_digest(machine, mode.name) for mode in rules.modes} == pinned(game, version)["digest"]


@pytest.mark.parametrize("game", GAMES)
def test_the_frozen_rules_are_the_last_draft(game: str) -> None:
    """1.0.0 has the values of the last draft, so what was measured of it holds; no draft comes after it."""
    *drafts, frozen = rules_versions(game)
    assert frozen == "1.0.0"
    last = installed_rules(game, drafts[-1]).model_dump()
    assert {**last, "version": frozen} == installed_rules(game, frozen).model_dump()
