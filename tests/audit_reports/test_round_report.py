"""The model of a round: what stands in it, that it is the record's, and that odd records have one too."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import pytest

from audit_reports.round_reader import Played, build_report
from audit_reports.round_report import (
    CapReport,
    FeatureEndReport,
    MultiplierReport,
    PrizeReport,
    RoundReport,
    SpinEndReport,
    TriggerReport,
    report_json,
)
from engines.game_events import ChoiceOffered, Drop, GameEvent, SpinEnded, SpinStarted, Tumble, Win
from engines.registry import game_of_rules
from engines.rng import round_key
from engines.rules import GameRules, load_rules
from ledger.lifecycle_events import ChoiceMade, RoundOpened, RoundSettled
from replay.verdict import Finding
from tests.conftest import ROOT

SEED = bytes(range(32))
BET_MINOR = 200
BALANCE_MINOR = 100_000
ZEROS = "0" * 64
ROUND_ID = "0190a1b2c3d4e5f60718293a4b5c6d7e"

# Each pictured round: rules file in tests/rules, mode, nonce.
PICTURES = {
    "tumble": ("moonlight-pictures", "base", 10),
    "hearts": ("moonlight-pictures", "base", 1413),
    "capped": ("moonlight-cap", "base", 337),
    "capped-free-spins": ("moonlight-cap", "buy", 19),
    "free-spins": ("moonlight-pictures", "buy", 3),
    "gold": ("starlight-pictures", "base", 166),
    "ladder": ("starlight-pictures", "base", 37),
    "moon-cash": ("moon-spell-pictures", "base", 13),
    "hold-and-respin": ("moon-spell-pictures", "base", 873),
    "resonance": ("stargazing-pictures", "base", 1350),
    "diagonal": ("stargazing-pictures", "base", 1184),
    "power-wilds": ("stargazing-pictures", "base", 1077),
}
# Of a game that carries a state, the state in; and the choices.
TERMS: dict[str, tuple[dict[str, int], tuple[int, ...]]] = {
    "resonance": ({"princess": 2}, (1,)),
    "diagonal": ({"princess": 1}, (1,)),
    "power-wilds": ({"princess": 0}, (0,)),
}


class PicturedRound(NamedTuple):
    """A recorded round as `build_report` takes it."""

    opened: RoundOpened
    settled: RoundSettled
    events: list[tuple[int, Played]]
    rules: GameRules

    def report(self, events: Sequence[tuple[int, Played]] | None = None) -> RoundReport:
        """Return the report of the round, of other events where they are given."""
        return build_report(ROUND_ID, self.opened, self.settled, self.events if events is None else events, self.rules)


@cache
def pictured_round(name: str) -> PicturedRound:
    """Play the pictured round of that name from its key."""
    file, mode, nonce = PICTURES[name]
    rules = load_rules(ROOT / "tests" / "rules" / f"{file}.toml")
    bet_minor = min(BET_MINOR, rules.bet.coins * rules.bet.coin_minor_max)
    game, key, cost_minor = game_of_rules(rules), round_key(SEED, rules.game, "", nonce), rules.cost_minor(mode, bet_minor)
    state_in, choices = TERMS.get(name, ({}, ()))
    events = _with_choices(cast(list[GameEvent], game.events(key, mode, bet_minor, state_in, choices)), choices)
    outcome = game.play(key, mode, bet_minor, state_in, choices)
    opened = RoundOpened(
        external_ref="", idempotency_key="key", account_ref="a" * 32, session_ref="", channel="", profile_id="", profile_hash="",
        game=rules.game, rules_version=rules.version, rules_hash=rules.rules_hash, texts_hash="", rng="rng/1", engine_fingerprint="",
        mode=mode, bet_minor=bet_minor, cost_minor=cost_minor, bonus_minor=0, currency="EUR", balance_before_minor=BALANCE_MINOR, epoch=1,
        seed_commitment=ZEROS, round_key_commitment=ZEROS, client_seed="", nonce=nonce, state_in=state_in,
        opened_at_us=1_764_547_200_000_000,
    )  # fmt: skip
    settled = RoundSettled(
        total_win_minor=outcome.total_win_minor, base_win_minor=outcome.base_win_minor, feature_win_minor=outcome.feature_win_minor,
        ended=cast(Any, outcome.ended), state_out=outcome.state_out,
        balance_after_minor=BALANCE_MINOR - cost_minor + outcome.total_win_minor,
        outcome_digest=ZEROS, round_digest=ZEROS, settled_at_us=1_764_547_200_250_000,
    )  # fmt: skip
    return PicturedRound(opened, settled, list(enumerate(events, start=1)), rules)


def _with_choices(events: Sequence[GameEvent], choices: Sequence[int]) -> list[Played]:
    """Return the events with each choice behind the one that offers it."""
    found: list[Played] = []
    for event in events:
        found.append(event)
        if isinstance(event, ChoiceOffered):
            found.append(ChoiceMade(choice=choices[0], made_by="player", session_ref="", channel="", made_at_us=1_764_547_200_100_000))
    return found


def changed(events: Sequence[tuple[int, Played]], event_index: int, **fields: Any) -> list[tuple[int, Played]]:
    """Return the events with some fields of one of them replaced."""
    return [(index, event.model_copy(update=fields) if index == event_index else event) for index, event in events]


def event_indexes(value: Any) -> list[int]:
    """Return the event indexes in a JSON document, in its order."""
    if isinstance(value, dict):
        own = [value["event_index"]] if isinstance(value.get("event_index"), int) else []
        return own + [index for part in value.values() for index in event_indexes(part)]
    return [index for part in value for index in event_indexes(part)] if isinstance(value, list) else []


@pytest.mark.parametrize("name", PICTURES)
def test_every_event_is_in_the_report_once(name: str) -> None:
    """A whole round's report names each of its game events exactly once."""
    pictured = pictured_round(name)
    assert sorted(event_indexes(report_json(pictured.report()))) == [index for index, _ in pictured.events]


@pytest.mark.parametrize("name", PICTURES)
def test_recorded_amounts_are_those_computed(name: str) -> None:
    """In a sound round every win, prize and award is what it is made of, and the awards add up to the total win."""
    report = pictured_round(name).report()
    assert report.settlement is not None
    assert report.award_total == report.settlement.total_win
    for spin in report.spins:
        assert all(win.computed == win.win for step in spin.steps for win in step.wins)
        assert all(fact.computed == fact.prize for fact in spin.rest if isinstance(fact, PrizeReport))
        assert all(fact.computed == fact.award for fact in spin.rest if isinstance(fact, SpinEndReport))
        assert all(len(step.rows) == report.rows and all(len(row) == report.reels for row in step.rows) for step in spin.steps)


def test_the_header_says_what_was_played_and_for_how_much() -> None:
    """The header holds the opening's facts, money as minor units and text, times as RFC 3339."""
    header = pictured_round("free-spins").report().header
    assert (header.game, header.version, header.mode, header.currency) == ("moonlight-princess", "0.1.0", "buy", "EUR")
    assert header.bet == (200, "2.00")
    assert header.cost == (20_000, "200.00")
    assert (header.opened_at, header.settled_at) == ("2025-12-01T00:00:00.000000Z", "2025-12-01T00:00:00.250000Z")
    assert header.rules_hash == header.drawn_by_hash


def test_a_board_marks_winners_and_what_fell_in() -> None:
    """Winning cells are those of the drop's wins, new ones those at the top of each reel that the tumble before refilled."""
    pictured = pictured_round("tumble")
    events = dict(pictured.events)
    first, second, last = pictured.report().spins[0].steps
    win, tumble = events[first.wins[0].event_index], events[first.tumble.event_index if first.tumble else -1]
    assert isinstance(win, Win)
    assert isinstance(tumble, Tumble)
    won = {reel * 5 + row for row, cells in enumerate(first.rows) for reel, cell in enumerate(cells) if cell and cell.is_won}
    new = [[row for row in range(5) if (cell := second.rows[row][reel]) and cell.is_new] for reel in range(6)]
    assert won == set(win.cells)
    assert new == [list(range(len(symbols))) for symbols in tumble.new_symbols]
    assert not any(cell and cell.is_new for row in first.rows for cell in row)
    assert not any(cell and cell.is_won for row in last.rows for cell in row)
    assert first.tumble is not None
    assert [len(names) for names in first.tumble.new_names] == [len(symbols) for symbols in tumble.new_symbols]


def test_hearts_that_multiply_are_those_on_the_board() -> None:
    """The multiplier's change and the award name the hearts whose sum multiplies the wins."""
    change, award = pictured_round("hearts").report().spins[0].rest
    assert isinstance(change, MultiplierReport)
    assert isinstance(award, SpinEndReport)
    assert change.hearts == award.hearts == (2, 2)
    assert award.spin_multiplier == change.to_multiplier == 4
    assert award.award.minor == award.wins.minor * 4


def test_a_cap_says_what_was_cut() -> None:
    """A capped spin's report holds the total before, the uncapped win, what was awarded, what was cut and the cap."""
    cap = next(fact for fact in pictured_round("capped").report().spins[0].rest if isinstance(fact, CapReport))
    amounts = (cap.total_before, cap.uncapped, cap.awarded, cap.cut, cap.cap)
    assert [amount.text for amount in amounts] == ["0.00", "46.80", "40.00", "6.80", "40.00"]


def test_free_spins_have_their_trigger_and_end() -> None:
    """The trigger stands at rest in spin 0, the feature's end in its last spin, and each spin says how many are left."""
    spins = pictured_round("free-spins").report().spins
    trigger = next(fact for fact in spins[0].rest if isinstance(fact, TriggerReport))
    assert (trigger.counted, trigger.spins_awarded, trigger.spins_left) == (5, 15, 15)
    assert [spin.spins_left for spin in spins[1:]] == list(range(14, -1, -1))
    ended = spins[-1].rest[-1]
    assert isinstance(ended, FeatureEndReport)
    assert ended.spins_played == 15


def test_a_wrong_amount_differs_from_the_computed_one() -> None:
    """A win, an award and a settlement that are not what they are made of stand beside what they should be."""
    pictured = pictured_round("tumble")
    report = pictured.report(changed(changed(pictured.events, 3, win_minor=90), 9, award_minor=500))
    win, award = report.spins[0].steps[0].wins[0], report.spins[0].rest[-1]
    assert isinstance(award, SpinEndReport)
    assert win.computed is not None
    assert (win.win.text, win.computed.text) == ("0.90", "0.80")
    assert (award.award.text, award.computed.text) == ("5.00", "3.90")
    assert report.award_total.text == "5.00"


def test_a_round_without_opening_and_settlement_has_a_report() -> None:
    """Without an opening amounts are minor units, nothing is computed from the bet, and the notes say what is missing."""
    pictured = pictured_round("tumble")
    report = build_report(ROUND_ID, None, None, pictured.events, pictured.rules)
    win = report.spins[0].steps[0].wins[0]
    assert (win.win.text, win.computed) == ("80", None)
    assert (report.header.bet, report.settlement) == (None, None)
    assert len(report.notes) == 2


def test_other_rules_and_unknown_currencies_are_said() -> None:
    """Rules that are not the recorded ones and a currency that is not known are notes, not failures."""
    pictured = pictured_round("tumble")
    opened = pictured.opened.model_copy(update={"rules_hash": "f" * 64, "currency": "XXX"})
    report = build_report(ROUND_ID, opened, pictured.settled, pictured.events, pictured.rules)
    assert len(report.notes) == 2
    assert report.award_total.text == "380"


def test_symbols_and_sets_the_rules_do_not_know_are_numbered() -> None:
    """Indexes beyond the rules' lists show as numbers, and a board of another size keeps what fits the grid."""
    start = SpinStarted(
        spin_index=0, part="base", strip_set=77, spins_left=0, multiplier=1, total_multiplier=0, meter=0, highlighted_cells=()
    )
    drop = Drop(drop_index=0, symbols=(2**31, *[0] * 40), values=tuple(range(50)), marks=(), stops=())
    small = Drop(drop_index=1, symbols=(1,), values=(), marks=(), stops=())
    report = pictured_round("tumble").report([(1, start), (2, drop), (3, small)])
    first, second = report.spins[0].steps
    assert report.spins[0].strip_set == "number 77"
    assert (first.cell_count, second.cell_count) == (41, 1)
    assert first.rows[0][0] is not None
    assert (first.rows[0][0].symbol.name, first.rows[0][0].symbol.role) == (f"symbol {2**31}", "unknown")
    assert [len(row) for row in first.rows] == [6] * 5
    assert sum(cell is not None for row in second.rows for cell in row) == 1


def test_what_comes_out_of_place_opens_a_spin_of_its_own() -> None:
    """Events after a spin's end and before any start stand in spins without a recorded start; none is lost."""
    pictured = pictured_round("tumble")
    events = [event for event in pictured.events if not isinstance(event[1], SpinStarted)]
    ended = next(event for event in events if isinstance(event[1], SpinEnded))
    report = pictured.report([*events, (20, events[0][1]), (21, ended[1])])
    assert [spin.spin_index for spin in report.spins] == [None, None]
    assert sorted(event_indexes(report_json(report))) == [index for index, _ in events] + [20, 21]


def test_json_is_plain_and_chooses_a_spin() -> None:
    """The document of `show/1` goes through JSON unchanged, names its schema, and holds one spin where one is asked for."""
    report = pictured_round("free-spins").report()
    finding = Finding("award", "money", 5, 0, "spin_ended", "1", "2", "message")
    document = report_json(report, findings=[finding])
    assert document["schema"] == "show/1"
    assert json.loads(json.dumps(document)) == document
    assert document["findings"][0]["code"] == "award"
    assert [spin["spin_index"] for spin in report_json(report, spin_index=3)["spins"]] == [3]
