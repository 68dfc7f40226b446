"""Moon Princess Stargazing: the published cases, one source at two speeds, boards worked by hand, the draws, endless wins."""

import json
import os
import subprocess
import sys
from decimal import Decimal
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.canonical import canonical_bytes
from engines.decode import decode
from engines.digest import pinned_digest
from engines.event_buffer import HEAD_FIGURES, HEAD_METER, HEAD_POSITION, HEAD_STATE, HEAD_TOTAL
from engines.games.moon_princess_stargazing.game import (
    AT_REST,
    CLEAR,
    FIGURE_CLEARS,
    OWN_MULTIPLIER,
    OWN_WON,
    add_spins,
    clear_prize,
    use_power,
)
from engines.registry import game_of_rules
from engines.rng import key_words, simulation_key, simulation_nonce, start_stream, words
from engines.simulate import simulate
from tests.conftest import ROOT
from tests.stargazing_boards import LETTERS, after_runs, board_text, is_clear, runs_of
from tests.stargazing_play import BET, CAP_MINOR, SEED, board_buffer, events_of, game_by, key_of, play, play_board, spins_of
from tests.stargazing_rules import ASTRA, CLEARING, CONSTELLATIONS, HIGH, INSTALLED, RESONANT

CASES = json.loads((ROOT / "tests" / "cases" / "published.json").read_text())["moon-princess-stargazing"]
PINNED = json.loads((ROOT / "tests" / "golden" / "moon-princess-stargazing-0.1.0.json").read_text())
ASTRA_SPINS = int(os.environ.get("SLOT_AUDIT_ASTRA_SPINS", 1 << 18))  # a million in the long lane
WILD, EMPTY = 7, 9
# A board on which nothing wins, reel by reel: no two of a kind are neighbours.
CALM = "bhtrb" "trbht" "bhtrb" "trbht" "bhtrb"  # fmt: skip
LONE = "...b." + "." * 20  # to lay a row under: what is left of it and the one symbol never win
POTENTIAL = {".": 0, "P": 0, "W": 1}  # what a letter is worth to the end of a spin; 2 for a paying symbol


def with_cells(cells: dict[int, str], board: str = CALM) -> str:
    """Return a board with some cells replaced."""
    return "".join(cells.get(cell, letter) for cell, letter in enumerate(board))


def row_of(letters: str, row: int = 4) -> dict[int, str]:
    """Return cells that lay letters along a row from the left."""
    return {5 * reel + row: letter for reel, letter in enumerate(letters)}


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


@pytest.mark.parametrize("length", [3, 4, 5])
def test_published_meter_and_wilds(length: int) -> None:
    """A run of princesses fills the meter by its length, equal or mixed; only one of three leaves a wild, in its middle."""
    for letters in ("AAAAA", "ANSNA", "AWNNS", "SSWWS"):
        result, buffer, events = play_board(INSTALLED, with_cells(row_of(letters[:length]), LONE))
        assert result == AT_REST
        first_wins = of_kind(events[: [event["kind"] for event in events].index("tumble")], "win")
        assert [(win["line"], win["count"]) for win in first_wins] == [(4, length)]
        assert buffer.head[HEAD_METER] == CASES["meter_sections_by_run_length"][str(length)]
        tumble = of_kind(events, "tumble")[0]
        assert tumble["turned_cells"] == ([9] if CASES["wild_left_by_run_length"][str(length)] else [])
        assert tumble["removed_cells"] == [cell for cell in range(4, 5 * length, 5) if cell not in tumble["turned_cells"]]
    _, buffer, _ = play_board(INSTALLED, with_cells(row_of("hhhhh"[:length])))
    assert buffer.head[HEAD_METER] == 0


@pytest.mark.parametrize("case", CASES["prizes"], ids=lambda case: case["prize"])
def test_published_prizes(case: dict[str, Any]) -> None:
    """The prizes at the multiplier in force: that of a cleared grid, and of the last highlighted cell after the step's rise."""
    bet, win = int(Decimal(case["bet"]) * 100), int(Decimal(case["win"]) * 100)
    if case["prize"] == "clear_grid":
        board = "." * 4 + "b" + "." * 4 + "b" + "." * 4 + "b" + "." * 10
        result, buffer, _ = play_board(INSTALLED, board, bet=bet, multiplier=case["multiplier"])
        won_before = buffer.head[OWN_WON]
        assert result == CLEAR
        clear_prize(buffer, game_by(INSTALLED).tables, INSTALLED.reading_values(), result, FIGURE_CLEARS, bet, CAP_MINOR)
        events = [event.model_dump() for event in decode(buffer.events, buffer.head[HEAD_POSITION])]
    else:
        shown = {"multiplier": case["multiplier"] - 2, "highlighted": (4, 9)}
        _, buffer, events = play_board(INSTALLED, with_cells(row_of("bbb")), bet=bet, **shown)
        won_before = buffer.head[OWN_WON] - win
    assert [(prize["which"], prize["multiplier"], prize["prize_minor"]) for prize in events if prize["kind"] == "prize"] == [
        (case["prize"], case["multiplier"], win)
    ]
    assert buffer.head[OWN_WON] == won_before + win


def test_published_spins() -> None:
    """A full meter adds three free spins, cut to what is left of fifty in all; none are added beyond."""
    most, added = CASES["free_spins_max"], CASES["extra_spins_per_fill"]
    for started, want in ((7, added), (most - added, added), (most - 2, 2), (most, 0)):
        buffer = game_by(INSTALLED).new_buffer()
        assert add_spins(buffer, game_by(INSTALLED).tables, started, 4) == want
        events = [event.model_dump() for event in decode(buffer.events, buffer.head[HEAD_POSITION])]
        assert [(event["count"], event["spins_awarded"], event["spins_left"]) for event in events] == (
            [(3, want, 4 + want)] if want else []
        )


def test_published_ceiling() -> None:
    """The multiplier stops at 100, and nothing is written once it stands there."""
    most = CASES["multiplier_max"]
    for before, want in ((most - 1, [(most - 1, most)]), (most, [])):
        _, buffer, events = play_board(INSTALLED, with_cells(row_of("bbb")), multiplier=before, highlighted=(4, 9, 20))
        assert buffer.head[OWN_MULTIPLIER] == most
        assert [(each["from_multiplier"], each["to_multiplier"]) for each in of_kind(events, "multiplier_change")] == want


@pytest.mark.parametrize("princess", range(3))
def test_compiled_rounds_equal_plain_ones(princess: int) -> None:
    """Compiled and plain kernels give the same bytes, totals, state and random words, with each choice and by rich rules."""
    for rules, count in ((INSTALLED, 300), (CONSTELLATIONS, 20), (CLEARING, 20), (HIGH, 2)):
        plain, state = game_of_rules(rules), dict(rules.first_state)
        for nonce in range(count):
            outcome = game_by(rules).play(key_of(nonce), "base", BET, state, (princess,))
            assert plain.play(key_of(nonce), "base", BET, state, (princess,)) == outcome
            state = outcome.state_out


def test_events_as_models_have_the_recorded_bytes() -> None:
    """The models of a round and its recorded events are the same bytes."""
    for nonce in range(20):
        events = game_of_rules(RESONANT).events(key_of(nonce), "base", BET, {"princess": 1}, (1,))
        assert [canonical_bytes(event) for event in events] == [each.data for each in play(RESONANT, nonce, 1, (1,)).events]


def test_another_hash_seed_gives_the_same_bytes(tmp_path: Any) -> None:
    """The digest of 300 rounds is the pinned one under another hash seed."""
    program = (
        "from engines.registry import installed_game; from engines.digest import pinned_digest\n"
        "print(pinned_digest(installed_game('moon-princess-stargazing', '0.1.0'), 'base', round_count=300))"
    )
    environment = {"PYTHONHASHSEED": "4242", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [PINNED["digest_of_300"]["base"]]


def test_pinned_digest() -> None:
    """The digest over 20,000 rounds, each from the state that the one before left, is the pinned one."""
    assert PINNED["rules_hash"] == INSTALLED.rules_hash
    assert pinned_digest(game_by(INSTALLED), "base") == PINNED["digest"]["base"]


def below(stream: list[int], n: int) -> int:
    """Draw by `rng/1`, item 4, from a list of words that is used up."""
    while True:
        product = stream.pop(0) * n
        if product % 2**32 >= 2**32 % n:
            return product >> 32


def weighted(stream: list[int], weights: Any) -> int:
    drawn = below(stream, sum(weights))
    return next(place for place in range(len(weights)) if sum(weights[: place + 1]) > drawn)


def chosen(stream: list[int], count: int, items: list[int]) -> list[int]:
    left = list(items)
    return [left.pop(below(stream, len(left))) for _ in range(count)]


def diagonals(board: str, length: int) -> list[list[int]]:
    """Return the diagonal stretches of paying symbols, by their leftmost cell, down before up."""
    found = []
    for reel in range(6 - length):
        for row in range(5):
            for step in (1, -1):
                rows = [row + step * place for place in range(length)]
                cells = [5 * (reel + place) + each for place, each in enumerate(rows)]
                if all(0 <= each < 5 for each in rows) and all(board[cell] in "bhtrANS" for cell in cells):
                    found.append(cells)
    return found


def power_cells(stream: list[int], princess: int, part: str, board: str) -> tuple[int, list[int]]:
    """Draw a power by MPS-7: its size and the cells that turn."""
    size = INSTALLED.powers[princess].sizes[weighted(stream, INSTALLED.weights_of(part, princess))]
    paying = [cell for cell in range(25) if board[cell] in "bhtrANS"]
    if princess != 1:
        return size, sorted(paying if len(paying) <= size else chosen(stream, size, paying))
    for length in range(size, 1, -1):
        stretches = diagonals(board, length)
        if stretches:
            return size, sorted(stretches[below(stream, len(stretches))])
    return size, [paying[below(stream, len(paying))]]


def check_spin(spin: list[dict[str, Any]], stream: list[int], rules: Any) -> None:
    """Draw a spin's stops, highlights and powers once more, and work its boards by hand."""
    start, drop = spin[0], spin[1]
    stops = [below(stream, len(strip)) for strip in rules.strip_sets[0].strips]
    count = rules.highlights.counts[weighted(stream, rules.highlight_weights.weights)]
    assert start["highlighted_cells"] == sorted(chosen(stream, count, list(range(25))))
    assert drop["stops"] == stops
    shown = [(rules.strip(0, reel) * 2)[stop + row] for reel, stop in enumerate(stops) for row in range(5)]
    assert drop["symbols"] == shown
    board = board_text(drop["symbols"], drop["marks"])
    part = "free" if start["part"] == "free" else "base"
    has_rested = False
    for at, event in enumerate(spin):
        if event["kind"] == "power":
            if start["part"] == "base":
                assert weighted(stream, (rules.base_power.act, rules.base_power.rest)) == 0
                has_rested = True
            assert not runs_of(board)
            size, cells = power_cells(stream, event["princess"], part, board)
            assert (event["size"], event["turned_cells"]) == (size, cells)
            board = with_cells(dict.fromkeys(cells, "P" if event["princess"] == 0 else "W"), board)
        elif event["kind"] == "tumble":
            wins = []
            for before in reversed(spin[:at]):
                if before["kind"] in ("drop", "power"):
                    break
                if before["kind"] == "win":
                    wins.insert(0, (before["line"], tuple(before["cells"]), "M" if before["symbol"] == 8 else LETTERS[before["symbol"]]))
            assert wins == ([] if is_clear(board) else runs_of(board))
            board = "".join("." if letter in "WP" else letter for letter in board) if is_clear(board) else after_runs(board, wins)
        elif event["kind"] == "drop":
            assert board == board_text(event["symbols"], event["marks"])
    if start["part"] == "base" and not has_rested and not is_clear(board):
        assert weighted(stream, (rules.base_power.act, rules.base_power.rest)) == 1
    assert is_clear(board) or not runs_of(board)


@pytest.mark.parametrize("rules", [INSTALLED, RESONANT, CLEARING], ids=["installed", "resonant", "clearing"])
def test_the_draws_are_those_of_the_draw_map(rules: Any) -> None:
    """Boards, highlights, powers and runs of whole rounds follow from the key stream, drawn and worked here once more."""
    for nonce in range(60 if rules is INSTALLED else 15):
        outcome = play(rules, nonce, nonce % 3, (nonce % 3,))
        stream = list(islice(words(key_of(nonce)), outcome.words_used))
        for spin in spins_of(outcome):
            check_spin(spin, stream, rules)
        assert stream == []
    assert {draw.purpose for draw in game_by(rules).draws(key_of(0), "base", BET, {"princess": 2}, (0,))} >= {"reel stop", "base power"}


def fallen(letters: list[str], heights: list[int]) -> str:
    """Return a board as the fall leaves it: letters at the bottom of each reel."""
    return "".join("".join(letters[5 * reel : 5 * reel + height]).rjust(5, ".") for reel, height in enumerate(heights))


BOARDS = st.builds(
    fallen,
    st.lists(st.sampled_from("bhtrANSWWP"), min_size=25, max_size=25),
    st.lists(st.sampled_from([5, 5, 5, 3, 1, 0]), min_size=5, max_size=5),
)


@settings(max_examples=int(os.environ.get("SLOT_AUDIT_EXAMPLES", 150)), deadline=None)
@given(BOARDS, st.sets(st.integers(0, 24), min_size=1, max_size=9))
def test_every_board_comes_to_rest_step_by_step(board: str, highlighted: set[int]) -> None:
    """On any board the kernel wins and falls as worked by hand, and every step brings the spin nearer to its end."""
    _, _, events = play_board(INSTALLED, board, highlighted=tuple(highlighted))
    potential = [sum(POTENTIAL.get(letter, 2) for letter in board)]
    for drop in of_kind(events, "drop"):
        runs = runs_of(board)
        board = "." * 25 if is_clear(board) else after_runs(board, runs)
        assert board == board_text(drop["symbols"], drop["marks"])
        potential.append(sum(POTENTIAL.get(letter, 2) for letter in board))
    cleared = is_clear(board)
    assert cleared or not runs_of(board)
    steps = potential[:-1] if cleared and len(potential) > 1 else potential
    assert steps == sorted(set(steps), reverse=True)


def test_a_million_astra_spins_end() -> None:
    """With many Power Wilds in every spin no spin wins for ever."""
    spins = 0
    for sums in simulate(ASTRA, "base", ASTRA_SPINS, seed=SEED):
        spins += sums.figures[0]
    assert spins > 0.999 * ASTRA_SPINS


@pytest.mark.parametrize("board", ["PPP", "PWP", "PPPP", "PPW"])
def test_power_wilds_alone_win_only_with_another_wild(board: str) -> None:
    """A run of Power Wilds alone is none; with an ordinary wild it wins as wilds once, and leaves no wild in its middle."""
    result, _, events = play_board(INSTALLED, with_cells(row_of(board), LONE))
    assert result == AT_REST
    wins = of_kind(events, "win")
    if "W" not in board:
        assert events == []
        return
    assert [(win["symbol"], win["count"], win["pay_x100"]) for win in wins] == [(WILD, 3, 30)]
    assert of_kind(events, "tumble")[0]["turned_cells"] == []


def test_powers_take_all_where_no_more_are_left() -> None:
    """A power on no more paying symbols than its size takes them all without a draw; a diagonal goes down to one symbol."""
    for princess, draws in ((0, 1), (2, 1), (1, 2)):
        buffer = board_buffer(INSTALLED, "." * 24 + "b")
        start_stream(buffer.stream, key_words(key_of(3)), [0, 0, 0])
        tables = game_by(INSTALLED).tables
        use_power(buffer, tables, princess, tables.base_size_weights)
        assert buffer.stream[13] == draws
        assert (buffer.symbols[24], buffer.marks[24]) == (WILD, 2 if princess == 0 else 0)


def test_the_sums_are_those_of_rounds_played_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation carries the active princess within a chunk, begins each chunk anew, takes one choice, and adds up the figures."""
    monkeypatch.setattr("engines.simulate.CHUNK_ROUNDS", 60)
    rules, game = RESONANT, game_of_rules(RESONANT)
    nonce, buffer = [0, 0, 0], game.new_buffer()
    figures, total = [0] * len(game.figures), 0
    for chunk in range(3):
        key, state = key_words(simulation_key(SEED, rules.game, "base", chunk)), [rules.first_state["princess"]]
        for index in range(60):
            simulation_nonce(index, nonce)
            game.kernel(key, nonce, game.tables, 0, 10, rules.reading_values(), state, [1], buffer)
            state = [buffer.head[HEAD_STATE]]
            figures = [sum(pair) for pair in zip(figures, buffer.head[HEAD_FIGURES:], strict=False)]
            total += buffer.head[HEAD_TOTAL]
    chunks = list(simulate(rules, "base", 180, seed=SEED, choices=(1,)))
    sums = chunks[0].plus(chunks[1]).plus(chunks[2])
    assert (sums.total("win_minor"), sums.figures) == (total, figures)
    found = dict(zip([name for name, _ in game.figures], figures, strict=True))
    assert total == sums.total("base_win_minor") + found["resonance_win_minor"] + found["free_win_minor"]
    assert found["resonances"] + found["free_spins"] == sums.total("feature_spins")
    assert found["free_features"] > 5


def test_the_split_of_a_round_adds_up() -> None:
    """Base part, features, awards and running totals of every round add up, and the state out is that of its powers."""
    for nonce in range(200):
        outcome = play(RESONANT, nonce, nonce % 3, (nonce % 3,))
        events = events_of(outcome)
        ends = of_kind(events, "spin_ended")
        assert ends[-1]["total_minor"] == sum(end["award_minor"] for end in ends) == outcome.total_win_minor
        assert outcome.base_win_minor == ends[0]["award_minor"]
        assert sum(each["total_minor"] for each in of_kind(events, "feature_ended")) == outcome.feature_win_minor
        acted = bool(of_kind(spins_of(outcome)[0], "power"))
        assert outcome.state_out == {"princess": {2: 0, 0: 1, 1: 2}[nonce % 3] if acted else nonce % 3}
