"""Forced rounds: what comes seldom or never, the cap and the technical limits, reached by test rules and held against the referee.

Test rules are the game's own with a few values changed, named openly with a hash of their own (`forced/<game>.toml`). A round under
them shows what kernel and referee do at the cap; that the game can come there is shown by the par sheet.
"""

import base64
import tomllib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict

from audit_reports.blocks import Block, Heading, Table, plain
from audit_reports.long_simulation import Configuration, configurations
from engines.canonical import canonical_json
from engines.game import Game, Outcome
from engines.game_events import parse_game_event
from engines.registry import game_of_rules
from engines.rules import GameRules
from replay.referee.walk import walk_round

__all__ = ["ForcedRound", "TestRules", "forced_blocks", "forced_files", "forced_json", "forced_rounds", "test_rules_of"]

_FOLDER = Path(__file__).parent / "forced"
TRIES_MAX = 6_000
CAP_SPIN, CAP_FEATURE = "cap in the paid spin", "cap in a feature"


class TestRules(BaseModel):
    """One set of test rules: what is changed, in words and values, and what is reached by it in which modes (all unless named)."""

    __test__ = False
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    name: str
    says: str
    reaches: list[str]
    changes: dict[str, dict[str, Any]]
    modes: list[str] = []

    def of(self, rules: GameRules) -> GameRules:
        """Return a game's rules with the values changed."""
        values = rules.model_dump()
        for part, change in self.changes.items():
            values[part] = {**values[part], **{name: tuple(value) if isinstance(value, list) else value for name, value in change.items()}}
        return type(rules).model_validate(values)


class ForcedRound(NamedTuple):
    """One row of the matrix: what was to be reached by which rules, in which round it was, and what is wrong with that round."""

    reaches: str
    configuration: Configuration
    rules: TestRules
    rules_hash: str
    round_number: int  # of the sequence of keys; -1 where none of TRIES_MAX reached it
    outcome: Outcome | None
    wrong: tuple[str, ...]

    @property
    def name(self) -> str:
        """What its file is called."""
        return f"{self.configuration.name}-{self.rules.name}-{self.reaches.replace(' ', '-').lower()}"

    @property
    def passes(self) -> bool:
        """Whether such a round was found, and nothing is wrong with it."""
        return self.outcome is not None and not self.wrong


def test_rules_of(game: str) -> list[TestRules]:
    """Return the test rules that come with the program for a game."""
    values = tomllib.loads((_FOLDER / f"{game}.toml").read_text(encoding="utf-8"))
    return [TestRules.model_validate(each) for each in values["rules"]]


def forced_rounds(rules: GameRules) -> Iterator[ForcedRound]:
    """Yield every row, one after the other; the same each time."""
    for test_rules in test_rules_of(rules.game):
        changed = test_rules.of(rules)
        plain_game, game = game_of_rules(changed), game_of_rules(changed)
        game.compile()
        for configuration in configurations(changed):
            if not test_rules.modes or configuration.mode in test_rules.modes:
                for reaches in test_rules.reaches:
                    if not (configuration.mode == "buy" and reaches == CAP_SPIN and not test_rules.modes):
                        yield _forced(plain_game, game, configuration, test_rules, reaches)


def _forced(plain_game: Game, game: Game, configuration: Configuration, test_rules: TestRules, reaches: str) -> ForcedRound:
    rules = game.rules
    choices = (rules.choice_names.index(configuration.choice),) if configuration.choice else ()
    state = rules.first_state
    for number in range(TRIES_MAX):
        key = sha256(f"forced-round/1 {rules.rules_hash} {configuration.name} {number}".encode()).digest()
        outcome = game.play(key, configuration.mode, rules.bet.coins, state, choices)
        if _is_reached(outcome, reaches):
            wrong = list(_wrong(rules, configuration, outcome, state, choices, reaches))
            if plain_game.play(key, configuration.mode, rules.bet.coins, state, choices) != outcome:
                wrong.append("plain and compiled kernels: want the same bytes, got others")
            return ForcedRound(reaches, configuration, test_rules, rules.rules_hash, number, outcome, tuple(wrong))
        state = outcome.state_out
    return ForcedRound(reaches, configuration, test_rules, rules.rules_hash, -1, None, ())


def _kinds(outcome: Outcome) -> list[str]:
    return [event.topic.partition("/")[0] for event in outcome.events]


def _is_reached(outcome: Outcome, reaches: str) -> bool:
    kinds = _kinds(outcome)
    if reaches in (CAP_SPIN, CAP_FEATURE):
        if "cap_hit" not in kinds:
            return False
        return (kinds[: kinds.index("cap_hit")].count("spin_ended") > 0) == (reaches == CAP_FEATURE)
    return outcome.ended == "limit"


def _wrong(
    rules: GameRules, configuration: Configuration, outcome: Outcome, state: dict[str, int], choices: Sequence[int], reaches: str
) -> Iterator[str]:
    """Yield what is wrong with a round: cap, what stands behind it, sums, and all that the referee finds."""
    bet_minor, cap_minor = rules.bet.coins, rules.cap.multiple * rules.bet.coins
    events = [orjson.loads(event.data) for event in outcome.events]
    if reaches in (CAP_SPIN, CAP_FEATURE):
        place = next(place for place, event in enumerate(events) if event["kind"] == "cap_hit")
        hit = events[place]
        if hit["total_before_minor"] + hit["awarded_minor"] != cap_minor or hit["uncapped_minor"] < hit["awarded_minor"]:
            yield f"cap_hit: want {cap_minor} in all, got {hit['total_before_minor']} and {hit['awarded_minor']}"
        if outcome.total_win_minor != cap_minor:
            yield f"total win: want the cap {cap_minor}, got {outcome.total_win_minor}"
        if behind := [event["kind"] for event in events[place + 1 :] if event["kind"] not in ("spin_ended", "feature_ended")]:
            yield f"behind the cap: want the end alone, got {', '.join(behind)}"
    awarded = sum(event["award_minor"] for event in events if event["kind"] == "spin_ended")
    if awarded != outcome.total_win_minor:
        yield f"awards of spins: want {outcome.total_win_minor} in all, got {awarded}"
    parsed = [(place, parse_game_event(each.topic.split("/")[0], each.data)) for place, each in enumerate(outcome.events, 1)]
    walk = walk_round(parsed, rules, mode=configuration.mode, bet_minor=bet_minor, state_in=state, choices=tuple(choices))
    yield from (f"referee: {finding.message}" for finding in walk.findings if finding.severity != "warning")


def forced_json(rows: Sequence[ForcedRound]) -> dict[str, Any]:
    """Return the matrix as `forced.json` has it."""
    return {
        "schema": "forced/1",
        "note": "by test rules, not by the game's own",
        "rows": [
            {
                "reaches": row.reaches,
                "mode": row.configuration.mode,
                "choice": row.configuration.choice,
                "rules": row.rules.name,
                "rules_say": row.rules.says,
                "rules_hash": row.rules_hash,
                "round": row.round_number,
                "tries_max": TRIES_MAX,
                "total_win_minor": row.outcome.total_win_minor if row.outcome else 0,
                "ended": row.outcome.ended if row.outcome else "",
                "file": f"forced/{row.name}.jsonl" if row.outcome else "",
                "result": "pass" if row.passes else "fail",
                "wrong": list(row.wrong),
            }
            for row in rows
        ],
    }


def forced_files(rules: GameRules, rows: Sequence[ForcedRound]) -> dict[str, bytes]:
    """Return the test rules with their hash, and the events of each round, a line an event: `data` (base64), `topic`."""
    files = {}
    for test_rules in test_rules_of(rules.game):
        changed = test_rules.of(rules)
        sheet = {"schema": "rules/1", "rules_hash": changed.rules_hash, "file": None, "rules": changed.model_dump()}
        files[f"forced/{test_rules.name}.json"] = canonical_json(sheet) + b"\n"
    for row in rows:
        if row.outcome is not None:
            lines = [{"data": base64.b64encode(event.data).decode(), "topic": event.topic} for event in row.outcome.events]
            files[f"forced/{row.name}.jsonl"] = b"".join(canonical_json(line) + b"\n" for line in lines)
    return files


def forced_blocks(rows: Sequence[ForcedRound]) -> Iterator[Block]:
    """Yield the section of the report."""
    yield Heading(2, "Forced rounds", "forced")
    yield plain("By test rules, not by the game's own: a few values are changed so that cap and technical limits come often.", "strong")
    yield plain("Each round ends as its rules say, its sums add up, the referee finds nothing, and both kernels give the same bytes.")
    heads = ("wager", "reaches", "test rules", "total, minor", "result")
    table = tuple(
        (
            row.configuration.name,
            row.reaches,
            row.rules.says,
            str(row.outcome.total_win_minor) if row.outcome else "none",
            "pass" if row.passes else f"FAIL: {'; '.join(row.wrong) or f'not reached in {TRIES_MAX} rounds'}",
        )
        for row in rows
    )
    yield Table("forced rounds", heads, table, frozenset((3,)))
    hashes = tuple(dict.fromkeys((row.rules.name, row.rules_hash) for row in rows))
    yield Table("test rules, by SHA-256", ("rules", "SHA-256"), hashes, is_folded=True)
