"""Rules files: what is refused, with its reason, and what the values hang on."""

import hashlib
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engines.registry import GAMES, GameUnknownError, VersionUnknownError, installed_game, installed_rules, rules_versions
from engines.rules import RulesFileError, load_rules
from tests.conftest import ROOT

FILE = ROOT / "engines" / "games" / "moonlight_princess" / "rules-0.1.0.toml"
RULES = load_rules(FILE)
VALUES = tomllib.loads(FILE.read_text())


def changed(**parts: Any) -> dict[str, Any]:
    values = RULES.model_dump()
    values.update(parts)
    return values


def symbols_with(place: int, **change: Any) -> dict[str, Any]:
    symbols = [symbol.model_dump() for symbol in RULES.symbols]
    symbols[place].update(change)
    return changed(symbols=symbols)


def strips_with(strip: str) -> dict[str, Any]:
    sets = [strip_set.model_dump() for strip_set in RULES.strip_sets]
    sets[0]["strips"] = [strip, *sets[0]["strips"][1:]]
    return changed(strip_sets=sets)


BAD = [
    (symbols_with(0, letter="W"), "want letters that differ"),
    (symbols_with(0, pays_x100=[1, 2]), "golden_sun: want 3 pays, got 2"),
    (symbols_with(0, pays_x100=[1001, 2500, 5000]), "pay 1001/100 of a bet of 20 coins is no whole number"),
    (symbols_with(0, source=""), "want either a source or an assumption, and not both"),
    (symbols_with(0, source="hearsay"), "hangs on 'hearsay', which is neither in sources nor in assumptions"),
    (symbols_with(9, role="paying", pays_x100=[5, 5, 5]), "want one of role scatter, got 0"),
    (
        changed(symbols=[RULES.symbols[9].model_dump(), *[s.model_dump() for i, s in enumerate(RULES.symbols) if i != 9]]),
        "want the paying ones first",
    ),
    (changed(pay_counts={"counts": [8, 8, 12], "source": "paytable"}), "want rising counts"),
    (symbols_with(0, pays_x100=[0, 2500, 5000]), "golden_sun: want pays above 0, got (0, 2500, 5000)"),
    (symbols_with(9, pays_x100=[]), "symbol scatter: want pays for 0, 1, 2 … of them, got none"),
    (changed(readings=[]), "readings: want ALL-1, MLP-1, MLP-2, MLP-4 in this order, got none"),
    (
        changed(readings=[{**RULES.readings[0].model_dump(), "value": 7}, *(each.model_dump() for each in RULES.readings[1:])]),
        "reading ALL-1: want values 0, 1, … and one of them decided, got [0, 1, 2] and 7",
    ),
    (
        changed(modes=[each.model_dump() for each in RULES.modes[:2]]),
        "modes: want buy and those of strip_choices, base, ante, each once, got base, ante",
    ),
    (strips_with("SSSQSSSSS"), "unknown letters ['Q']"),
    (strips_with("SSSS"), "not longer than 5"),
    (strips_with("PSSPSSSSSS"), "two scatters in the window at 0"),
    (
        changed(strip_choices=[{**choice.model_dump(), "weights": [0, 0, 0]} for choice in RULES.strip_choices]),
        "strip choice of base: want 3 weights with a sum above 0",
    ),
    (changed(heart_weights=[w.model_dump() for w in RULES.heart_weights][:2]), "want one table for each strip set"),
    (changed(buy={**RULES.buy.model_dump(), "weights": [1]}), "buy: want 3 weights with a sum above 0"),
    (changed(free_spins_strip_set="moon"), "want one of ['A', 'B', 'free']"),
    (
        changed(modes=[{**mode.model_dump(), "cost_x100": mode.cost_x100 + 1} for mode in RULES.modes]),
        "cost 101/100 of a bet of 20 coins",
    ),
    (changed(bet={**RULES.bet.model_dump(), "coin_minor_max": 2**31 - 1}), "do not fit a recorded integer"),
    (changed(heart_weights=[{**w.model_dump(), "weights": [1]} for w in RULES.heart_weights]), "want 15 weights with a sum above 0"),
    (changed(strip_sets=[{**s.model_dump(), "strips": list(s.strips)[:5]} for s in RULES.strip_sets]), "want 6 strips, got 5"),
]


@pytest.mark.parametrize(("values", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_rules_that_cannot_be_played_are_refused(values: dict[str, Any], reason: str) -> None:
    """Each wrong value is refused with what was wanted and found."""
    with pytest.raises(ValidationError) as caught:
        type(RULES).model_validate(values)
    assert reason in str(caught.value)


def test_a_rules_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    """A missing file, no TOML and wrong values each have their message."""
    with pytest.raises(RulesFileError, match=r"rules file .*none.toml: the file: cannot be read .*correct the file or name another"):
        load_rules(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("game = ")
    with pytest.raises(RulesFileError, match="the file: is no TOML"):
        load_rules(broken)
    broken.write_text(FILE.read_text().replace('game = "moonlight-princess"', "game = 7", 1))
    with pytest.raises(RulesFileError, match="game: 7 is no installed game"):
        load_rules(broken)
    broken.write_text(FILE.read_text().replace("counts = [8, 10, 12]", "counts = [12, 10, 8]", 1))
    with pytest.raises(RulesFileError, match="the rules: Value error, pay_counts: want rising counts"):
        load_rules(broken)


def test_the_hash_is_over_values_and_not_over_the_file(tmp_path: Path) -> None:
    """A comment leaves the hash as it is, a value changes it."""
    same, other = tmp_path / "same.toml", tmp_path / "other.toml"
    same.write_text("# a comment\n" + FILE.read_text())
    other.write_text(FILE.read_text().replace("multiple = 5000", "multiple = 5001", 1))
    assert load_rules(same).rules_hash == RULES.rules_hash
    assert load_rules(other).rules_hash != RULES.rules_hash


def test_every_reading_has_its_decision_and_another() -> None:
    """The value of a reading is one of its values, and there is another to try."""
    for reading in RULES.readings:
        assert reading.value in [value.value for value in reading.values]
        assert len(reading.values) >= 2
        assert RULES.with_reading(reading.name, 1).reading(reading.name) == 1
        assert RULES.with_reading(reading.name, 1).rules_hash != RULES.rules_hash


def test_unknown_games_and_versions_list_the_known_ones() -> None:
    """A game or version that is not installed is an error that lists what is."""
    with pytest.raises(GameUnknownError) as caught:
        installed_rules("moon-shine")
    assert str(caught.value) == f"game 'moon-shine': want one of {', '.join(GAMES)}; run `audit games` for what is installed"
    with pytest.raises(VersionUnknownError) as other:
        installed_game("moonlight-princess", "9.9.9")
    versions = ", ".join(rules_versions("moonlight-princess"))
    assert str(other.value) == f"rules version '9.9.9' of moonlight-princess: want one of {versions}; install the release that has it"


@pytest.mark.seeds
def test_the_sources_are_the_documents_named() -> None:
    """The hashes in the rules file are those of the rule texts (which are not part of the project)."""
    folder = os.environ.get("SLOT_AUDIT_SEEDS")
    if not folder:
        pytest.skip("the rule texts are not part of the project; SLOT_AUDIT_SEEDS names their folder")
    found = {hashlib.sha256(path.read_bytes()).hexdigest() for path in Path(folder).glob("*.txt")}
    assert {source.sha256 for source in RULES.sources} <= found


def test_the_paytable_is_the_document_s() -> None:
    """The pays of the rules file are those of the paytable, typed in apart from it."""
    pays = {
        "golden_sun": (1000, 2500, 5000),
        "winged_heart_charm": (250, 1000, 2500),
        "crescent_moon": (200, 500, 1500),
        "blue_star": (150, 200, 1200),
        "red_heart_gem": (100, 150, 1000),
        "blue_gem": (80, 120, 800),
        "green_gem": (50, 100, 500),
        "cyan_gem": (40, 90, 400),
        "yellow_gem": (25, 75, 200),
        "scatter": (0, 0, 0, 0, 300, 500, 10000),
        "heart": (),
    }
    assert {symbol.name: symbol.pays_x100 for symbol in RULES.symbols} == pays
    assert RULES.heart_values.values == (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 50, 100, 250, 500)
    assert (RULES.trigger.count, RULES.trigger.spins, RULES.retrigger.count, RULES.retrigger.spins) == (4, 15, 3, 5)
    assert RULES.cap.multiple == 5000


def test_the_ante_doubles_the_weight_of_set_b() -> None:
    """The ante's natural chance is exactly double: B has twice the weight of the base game, out of the same sum."""
    weights = {choice.mode: choice.weights for choice in RULES.strip_choices}
    assert sum(weights["base"]) == sum(weights["ante"])
    assert weights["ante"][1] == 2 * weights["base"][1]
    assert weights["base"][2] == weights["ante"][2] == 0


def test_set_a_cannot_trigger() -> None:
    """Set A has a scatter on three reels only, one on each: three at most, however much falls in within one lap."""
    scatters = [strip.count("P") for strip in RULES.strip_sets[0].strips]
    assert sorted(scatters) == [0, 0, 0, 1, 1, 1]
