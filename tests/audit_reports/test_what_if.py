"""`audit verify --what-if`: what a settled round would have paid under other readings of its rules."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engines.game import Outcome
from engines.registry import GAMES, game_of_rules, installed_rules
from engines.rng import round_key
from engines.rules import GameRules, first_choices, load_rules
from ledger.rounds import RoundLedger
from tests.command_line import run
from tests.conftest import ROOT

Capture = pytest.CaptureFixture[str]
SEED = bytes(range(32))
MOONLIGHT = "moonlight-princess"
ROUNDS = 40
BET_MINOR = 20
PAYS_OF_SCATTERS = ("pays_x100 = [0, 0, 0, 0, 300", "pays_x100 = [0, 100, 100, 100, 300")  # so that free spins pay by scatters
MOONS_OFTEN = ("cash = 3\ntrigger = 5", "cash = 1\ntrigger = 2")
NEW_MOONS_OFTEN = ("moon = 1\nblank = 19", "moon = 1\nblank = 4")
STARGAZING = "moon-princess-stargazing"
POWERS_OFTEN = ("act = 500\nrest = 9500", "act = 1\nrest = 1")
RESONANCES_OFTEN = ("sections = 3\nsections_of_run = [1, 2, 3]", "sections = 1\nsections_of_run = [1, 1, 1]")

# Game, mode, reading, and what is replaced in the rules file so that the reading bites in some of forty rounds.
CASES: list[tuple[str, str, str, tuple[tuple[str, str], ...]]] = [
    (MOONLIGHT, "buy", "ALL-1=1", (("multiple = 5000", "multiple = 20"),)),
    (MOONLIGHT, "buy", "ALL-1=2", (("multiple = 5000", "multiple = 20"),)),
    (MOONLIGHT, "buy", "MLP-1=1", ()),
    (MOONLIGHT, "buy", "MLP-2=1", (PAYS_OF_SCATTERS,)),
    (MOONLIGHT, "buy", "MLP-4=1", (PAYS_OF_SCATTERS,)),
    ("moon-spell", "base", "ALL-1=2", (MOONS_OFTEN, NEW_MOONS_OFTEN, ("multiple = 5224", "multiple = 1"))),
    ("moon-spell", "base", "MSP-2=1", (MOONS_OFTEN, ("multiple = 5224", "multiple = 1"))),
    ("moon-spell", "base", "MSP-3=1", (MOONS_OFTEN, NEW_MOONS_OFTEN)),
    ("moon-spell", "base", "MSP-3=2", (MOONS_OFTEN, NEW_MOONS_OFTEN)),
    ("starlight-wins", "base", "ALL-1=2", (("count = 3\nspins = 10", "count = 1\nspins = 10"), ("multiple = 100000", "multiple = 1"))),
    ("starlight-wins", "base", "SLW-1=1", ()),
    (STARGAZING, "base", "ALL-1=2", (RESONANCES_OFTEN, ("multiple = 10000", "multiple = 1"))),
    (STARGAZING, "base", "MPS-3=1", (RESONANCES_OFTEN,)),
    (STARGAZING, "base", "MPS-4=1", (RESONANCES_OFTEN,)),
    (STARGAZING, "base", "MPS-5=1", (RESONANCES_OFTEN,)),
    (STARGAZING, "base", "MPS-9=1", (RESONANCES_OFTEN, POWERS_OFTEN)),
    (STARGAZING, "base", "MPS-11=1", (RESONANCES_OFTEN,)),
]
# Readings that make no difference to any round, with the reason.
IDLE = {
    ("moon-princess-stargazing", "ALL-1=1"): "the one mode costs the bet",
    ("moon-spell", "ALL-1=1"): "the one mode costs the bet",
    ("starlight-wins", "ALL-1=1"): "the one mode costs the bet",
    ("starlight-wins", "SLW-2=1"): "every wild on the board is part of every win: none is ever loose",
}


def rules_path(game: str) -> Path:
    return ROOT / "engines" / "games" / GAMES[game] / f"rules-{installed_rules(game).version}.toml"


class Played(NamedTuple):
    """A ledger of rounds by one rules file, each round with its nonce."""

    path: Path
    rules_file: Path
    rules: GameRules
    mode: str
    round_ids: list[str]
    states: list[dict[str, int]]  # what each round starts from

    def outcome(self, nonce: int, reading: str = "") -> Outcome:
        """Play a round again, by another reading where one is named."""
        name, _, value = reading.partition("=")
        rules = self.rules.with_reading(name, int(value)) if name else self.rules
        key, choices = round_key(SEED, rules.game, "", nonce), first_choices(rules)
        return game_of_rules(rules).play(key, self.mode, BET_MINOR, self.states[nonce], choices)

    def first(self, reading: str, is_wanted: Callable[[Outcome, Outcome], bool]) -> int:
        """Return the nonce of the first round whose outcome, and that by the reading, are as wanted."""
        return next(nonce for nonce in range(ROUNDS) if is_wanted(self.outcome(nonce), self.outcome(nonce, reading)))

    def ask(self, capfd: Capture, nonce: int, *options: object) -> Any:
        """Run the command on a round."""
        return run(
            capfd, "verify", "--ledger", self.path, "--rules", self.rules_file, "--round", self.round_ids[nonce], "--what-if", *options
        )


def asks(outcome: Outcome) -> bool:
    return any(event.topic == "choice_offered/1" for event in outcome.events)


@contextmanager
def known_seed() -> Iterator[None]:
    """Let ledgers deal the seed of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ledger.epochs.new_seed", lambda: SEED)
        yield


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, tuple[tuple[str, str], ...]], Played]:
    """Give a ledger of forty rounds by a rules file with replaced values, made once for each."""
    kept: dict[Any, Played] = {}

    def make(game: str, mode: str, changes: tuple[tuple[str, str], ...]) -> Played:
        if (game, mode, changes) in kept:
            return kept[game, mode, changes]
        folder = tmp_path_factory.mktemp("what_if")
        text = rules_path(game).read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        rules_file = folder / "rules.toml"
        rules_file.write_text(text)
        rules = load_rules(rules_file)
        with known_seed(), RoundLedger.create(folder / "ledger.db") as ledger:
            account = ledger.open_account("ann", "EUR")
            ledger.move_funds(account, 10**6)
            round_ids = [ledger.play(account, game_of_rules(rules), mode, BET_MINOR).round_id for _ in range(ROUNDS)]
        made = kept[game, mode, changes] = Played(folder / "ledger.db", rules_file, rules, mode, round_ids, [rules.first_state])
        for nonce in range(ROUNDS - 1):
            made.states.append(made.outcome(nonce).state_out)
        return made

    return make


def test_every_reading_of_every_game_is_in_a_case() -> None:
    """No reading is left without a round that it changes, but those that can change none."""
    listed = {(game, reading) for game, _, reading, _ in CASES} | set(IDLE)
    for game in GAMES:
        rules = installed_rules(game)
        assert {(game, f"{name}={value}") for name, value, _ in rules.other_readings()} == {each for each in listed if each[0] == game}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[2]}")
def test_each_reading_changes_an_amount(case: Any, capfd: Capture, played: Any) -> None:
    """The round under a reading is the one that the game plays by it: amount, difference, end, first event, words beyond."""
    game, mode, reading, changes = case
    rounds = played(game, mode, changes)
    nonce = rounds.first(reading, lambda own, other: own.total_win_minor != other.total_win_minor)
    own, other = rounds.outcome(nonce), rounds.outcome(nonce, reading)
    done = rounds.ask(capfd, nonce, "--reading", reading, "--json")
    assert done.status == 0
    assert done.document["verdict"] == "reproduced"
    (shown,) = done.document["what_if"]
    texts = {f"{each.name}={value.value}": value.text for each in rounds.rules.readings for value in each.values}
    differs = [own_event != its for own_event, its in zip(own.events, other.events, strict=False)]
    assert shown == {
        "reading": reading.split("=")[0],
        "value": int(reading.split("=")[1]),
        "text": texts[reading],
        "is_touched": True,
        "total_win_minor": other.total_win_minor,
        "difference_minor": other.total_win_minor - own.total_win_minor,
        "ended": other.ended,
        "first_event": (differs.index(True) if True in differs else len(differs)) + 1,
        "words_beyond": max(other.words_used - own.words_used, 0),
        "is_choice_assumed": asks(other) and not asks(own),
    }
    text = rounds.ask(capfd, nonce, "--reading", reading).out
    sign = "more" if other.total_win_minor > own.total_win_minor else "less"
    assert f"{abs(other.total_win_minor - own.total_win_minor) / 100:.2f} {sign}; {other.ended}; differs from event" in text
    assert ("random words that the round never took" in text) == (other.words_used > own.words_used)


@pytest.mark.parametrize("case", IDLE, ids=" ".join)
def test_a_reading_that_can_change_nothing_changes_nothing(case: tuple[str, str], played: Any) -> None:
    """Forty rounds stay the same to the byte."""
    rounds = played(case[0], "base", ())
    assert all(rounds.outcome(nonce)[:-1] == rounds.outcome(nonce, case[1])[:-1] for nonce in range(ROUNDS))


def test_all_readings_come_in_their_order_and_a_few_are_idle(capfd: Capture, played: Any) -> None:
    """Without --reading every other reading is listed once; one that leaves the round as it is says so."""
    rounds = played(MOONLIGHT, "buy", ())
    others = rounds.rules.other_readings()
    nonce = rounds.first("MLP-1=1", lambda own, other: own.events == other.events)
    shown = rounds.ask(capfd, nonce, "--json").document["what_if"]
    assert [(each["reading"], each["value"], each["text"]) for each in shown] == others
    idle = [each for each in shown if not each["is_touched"]]
    assert {(each["difference_minor"], each["first_event"], each["words_beyond"]) for each in idle} == {(0, -1, 0)}
    text = rounds.ask(capfd, nonce).out
    assert text.count("      the round is the same to the byte") == len(idle)
    assert all(f"  {name} = {value}  {words}" in text for name, value, words in others)


def test_a_reading_may_change_the_steps_and_not_the_amount(capfd: Capture, played: Any) -> None:
    """Where only the steps differ the text says that the amount is the same."""
    rounds = played(MOONLIGHT, "buy", (PAYS_OF_SCATTERS,))
    nonce = rounds.first("MLP-2=1", lambda own, other: own.events != other.events and own.total_win_minor == other.total_win_minor)
    assert ", the same amount; played; differs from event" in rounds.ask(capfd, nonce, "--reading", "MLP-2=1").out


def test_a_round_that_goes_on_takes_words_that_it_never_took(capfd: Capture, played: Any) -> None:
    """A capped round that a reading lets go on says how many random words that takes."""
    rounds = played(MOONLIGHT, "buy", (("multiple = 5000", "multiple = 20"),))
    nonce = rounds.first("ALL-1=1", lambda own, other: own.ended == "capped" and other.ended == "played")
    beyond = rounds.outcome(nonce, "ALL-1=1").words_used - rounds.outcome(nonce).words_used
    assert beyond > 0
    assert f"it takes {beyond} random words that the round never took" in rounds.ask(capfd, nonce, "--reading", "ALL-1=1").out


def test_the_reading_as_decided_is_the_round_itself(capfd: Capture, played: Any) -> None:
    """The decided value may be asked for as well, and changes nothing."""
    (shown,) = played(MOONLIGHT, "buy", ()).ask(capfd, 0, "--reading", "MLP-1=0", "--json").document["what_if"]
    assert (shown["is_touched"], shown["difference_minor"], shown["first_event"]) == (False, 0, -1)


def test_a_round_in_play_shows_nothing(capfd: Capture, tmp_path: Path) -> None:
    """Each reading would disclose the outcome of an open round: text and JSON have none."""
    with known_seed(), RoundLedger.create(tmp_path / "ledger.db") as ledger:
        account = ledger.open_account("ann", "EUR")
        ledger.move_funds(account, 10**6)
        rules = installed_rules(MOONLIGHT)
        opened = ledger.open_round(account, game_of_rules(rules), "buy", BET_MINOR)
    options = ("verify", "--ledger", tmp_path / "ledger.db", "--round", opened.round_id, "--what-if")
    text = run(capfd, *options).out
    assert "INCOMPLETE_OPEN" in text
    assert "what if: nothing is shown of this round, for it is not settled, and each reading would disclose its outcome" in text
    for reading in ((), ("--reading", "MLP-1=1")):
        document = run(capfd, *options, *reading, "--json").document
        assert document["what_if"] is None
        assert document["round"]["total_win_minor"] is None


def test_without_the_seed_key_nothing_is_shown(capfd: Capture, tmp_path: Path, played: Any) -> None:
    """A round that cannot be rerun has no other outcome either, and the exit status is that of its verdict."""
    rounds = played(MOONLIGHT, "buy", ())
    done = rounds.ask(capfd, 0, "--keys", tmp_path)
    assert done.status == 3
    assert "what if: nothing is shown of this round, for it could not be rerun" in done.out
    assert rounds.ask(capfd, 0, "--keys", tmp_path, "--json").document["what_if"] is None


def test_without_the_option_the_document_has_no_such_member(capfd: Capture, played: Any) -> None:
    """`what_if` stands in the JSON only where it was asked for."""
    rounds = played(MOONLIGHT, "buy", ())
    done = run(capfd, "verify", "--ledger", rounds.path, "--rules", rounds.rules_file, "--round", rounds.round_ids[0], "--json")
    assert "what_if" not in done.document


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        ("MLP-9=1", "reading MLP-9=1 of moonlight-princess: want one of ALL-1=0, ALL-1=1, ALL-1=2, MLP-1=0, MLP-1=1"),
        ("MLP-1=7", "reading MLP-1=7 of moonlight-princess: want one of ALL-1=0"),
        ("MLP-1", "--reading: want a name and a value, such as MLP-1=1"),
        ("=1", "--reading: want a name and a value"),
        ("MLP-1=-1", "--reading: want a name and a value"),
        ("MLP-1=x", "--reading: want a name and a value"),
        ("MLP-1=\u0661", "--reading: want a name and a value"),
    ],
)
def test_a_reading_that_is_none_is_named(reading: str, words: str, capfd: Capture, played: Any) -> None:
    """An unknown reading or value, or none at all, ends with 2 and says what there is."""
    done = played(MOONLIGHT, "buy", ()).ask(capfd, 0, "--reading", reading)
    assert done.status == 2
    assert words in done.err


def test_the_options_that_do_not_go_together_are_named(capfd: Capture, played: Any) -> None:
    """--reading wants --what-if, and --what-if one round."""
    rounds = played(MOONLIGHT, "buy", ())
    alone = run(capfd, "verify", "--ledger", rounds.path, "--round", rounds.round_ids[0], "--reading", "MLP-1=1")
    assert alone.status == 2
    assert "--reading: want it only together with --what-if" in alone.err
    of_all = run(capfd, "verify", "--ledger", rounds.path, "--all", "--what-if")
    assert of_all.status == 2
    assert "--what-if: want it only together with --round" in of_all.err
