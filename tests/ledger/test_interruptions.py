"""A round that was interrupted, or whose writer died, at any place ends with the same game events, win and balance as one in one go."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.address import ledger_place
from ledger.bets import Leg, Played, Waiting
from ledger.held import CompletionRefused, complete_round
from ledger.interruptions import interrupt_round, resume_interrupted
from ledger.profile import shipped_profile
from ledger.profile_setting import set_profile
from ledger.references import now_us
from tests.broken_rounds import KINDS, WAYS, Kind, Writer, dealt_seeds, differences, kind_game, live, open_one
from tests.conftest import ROOT
from tests.ledger.dying_process import MOMENTS
from tests.ledger_files import Place, new_ledger_at, whole_ledger_faults
from tests.whole import everything_wrong, fsck_messages

ROUNDS = int(os.environ.get("SLOT_AUDIT_BROKEN_ROUNDS", "1"))  # of each game, mode and choice, in one way after the other
KILLS = int(os.environ.get("SLOT_AUDIT_BROKEN_KILLS", "4"))  # appends killed of each long round, each at one moment; 0: each at all
LOG = os.environ.get("SLOT_AUDIT_BROKEN_LOG")
INSTALLED = [kind for kind in KINDS if " " not in kind.game]


def record(name: str, told: Counter[str]) -> None:
    """Add a line to the file that SLOT_AUDIT_BROKEN_LOG names, for who wants to know how many there were."""
    if LOG:
        with Path(LOG).open("a") as file:
            file.write(f"{json.dumps({'of': name, **told})}\n")


def places(folder: Path, server: Any) -> Iterator[Place]:
    """Yield places for new ledgers, in files or databases."""
    number = 0
    while True:
        number += 1
        (folder / str(number)).mkdir()
        yield Place(server.url(server.new_database()) if server else folder / f"{number}" / "ledger.db", folder / f"{number}" / "keys")


@pytest.fixture(params=["sqlite", "postgres"])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Place]:
    """Give a function that makes a place for a new ledger in a file, then in a database."""
    if request.param == "postgres":
        pytest.importorskip("psycopg")
    made = places(tmp_path, request.getfixturevalue("postgres") if request.param == "postgres" else None)
    return lambda: next(made)


@pytest.mark.parametrize("are_installed", [True, False], ids=["installed", "test-rules"])
def test_a_round_broken_off_at_each_leg_is_the_round_in_one_go(new_place, are_installed):
    """For each game, mode and choice, by installed rules and by rules with many features: events, win, balance, state and digests."""
    place = new_place()
    is_file = not isinstance(place.ledger, str)
    kinds = INSTALLED if are_installed else [kind for kind in KINDS if kind not in INSTALLED][:: 1 if is_file or ROUNDS > 1 else 4]
    with dealt_seeds("broken off"):
        told = break_off(place, kinds)
    wrong = everything_wrong(place.ledger, place.keys_dir) if are_installed else fsck_messages(ledger_place(place.ledger))
    assert [*wrong, *whole_ledger_faults(place.ledger)] == []
    record(f"rounds of {'a file' if is_file else 'a database'}", told)
    assert told["legs"] > 4 * len(kinds)
    assert told["waits"] >= 1


def break_off(place: Place, kinds: list[Kind]) -> Counter[str]:
    """Play rounds of each kind and break them off in one way after the other; return what was done. Each must be as in one go."""
    told: Counter[str] = Counter()
    with new_ledger_at(place) as (_, ref):
        pass
    writer = Writer(place)
    for kind_number, kind in enumerate(kinds):
        chance = random.Random(str(kind))
        for number in range(ROUNDS):
            way = WAYS[(kind_number + number) % len(WAYS)]
            opened = open_one(writer.ledger, ref, kind, is_rare=number % 2 == 0)
            told += live(writer, opened.round_id, kind, way, chance)
            assert differences(writer.ledger, opened.round_id, kind, is_by_legs=way != "finished") == []
            account = writer.ledger.account(ref)
            settled = json.loads(writer.ledger.round_events(opened.round_id)[-1].data)
            assert (account.balance_minor, account.round_in_play) == (settled["balance_after_minor"], "")
    writer.ledger.close()
    return told


@pytest.fixture
def dying() -> Iterator[Callable[..., str]]:
    """Give a function that has a process play as told and die, and returns how it ended."""
    command = [sys.executable, str(ROOT / "tests" / "ledger" / "dying_process.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def die(place: Place, ref: str, kind: Kind, round_id: str, append: int, moment: str) -> str:
            task = {"ledger": str(place.ledger), "keys_dir": str(place.keys_dir), "account_ref": ref, "round_id": round_id}
            task |= {"game": kind.game, "mode": kind.mode, "choices": kind.choices, "append": append, "moment": moment}
            process.stdin.write(f"{json.dumps(task)}\n")
            process.stdin.flush()
            return str(process.stdout.readline().strip())

        yield die
        process.stdin.close()


def opened_in(place: Place, kind: Kind, *, is_opened: bool) -> tuple[str, str]:
    """Make a ledger with an account, and a round with legs that its writer left; the same one for each call."""
    with new_ledger_at(place) as (_, ref):
        pass
    if not is_opened:
        return ref, ""
    with dealt_seeds("kills"):
        writer = Writer(place)
        round_id = open_one(writer.ledger, ref, kind, is_rare=True).round_id
        writer.drop()
        writer.ledger.close()
    return ref, round_id


def go_on(place: Place, kind: Kind) -> str:
    """Finish what is in play, or play a round more; return which, having held it against the round in one go."""
    game = kind_game(kind.game)
    with place.open_for_writing() as ledger:
        left = ledger.store.rounds_in_play()
        for round_id in left:
            ledger.finish_round(round_id, game, kind.choices)
        ids = [stream.removeprefix("round/") for stream in ledger.store.streams("round/")]
        found = [difference for round_id in ids for difference in differences(ledger, round_id, kind)]
        assert found == []
        balance = ledger.account("alice").balance_minor
        if ids:
            assert balance == json.loads(ledger.round_events(ids[0])[-1].data)["balance_after_minor"]
        ledger.play(ledger.account("alice").account_ref, game, kind.mode, 2 * game.rules.bet.coins)
    return "left" if left else "over" if ids else "none"


# Each of the games; where a round asks, it has all there is.
KILLED = {
    "moonlight-princess": Kind("moonlight-princess", "buy", ()),
    "starlight-wins": Kind("starlight-wins by low caps", "base", ()),
    "moon-spell": Kind("moon-spell by many Moons", "base", ()),
    "stargazing": Kind("moon-princess-stargazing", "base", (1, 1, 1)),
}


def kill_points(name: str, is_opened: bool) -> Iterator[tuple[int, str]]:
    """Yield appends and moments without an end: each append at each moment, or some of them at one by chance."""
    chance, number = random.Random(name), 0
    while True:
        number += 1 if not KILLS or not is_opened else chance.randint(1, 4)
        yield from ((number, moment) for moment in (MOMENTS if not KILLS else [chance.choice(MOMENTS)]))


@pytest.mark.parametrize("name", KILLED)
def test_a_writer_killed_within_an_append_loses_nothing_and_changes_nothing(dying, new_place, name):
    """Whichever append of a round it is killed in, from the seed's to the last, the ledger is whole and the round ends as in one go."""
    kind, told = KILLED[name], Counter[str]()
    for is_opened in (False, True):
        for append, moment in kill_points(f"{name} {is_opened}", is_opened):
            place = new_place()
            ref, round_id = opened_in(place, kind, is_opened=is_opened)
            how = dying(place, ref, kind, round_id, append, moment)
            assert how in ("killed", "ended")
            assert whole_ledger_faults(place.ledger) == []
            assert fsck_messages(ledger_place(place.ledger)) == []
            told[how] += 1
            told[go_on(place, kind)] += 1
            assert [*whole_ledger_faults(place.ledger), *fsck_messages(ledger_place(place.ledger))] == []
            is_enough = KILLS and told["killed"] >= (KILLS if is_opened else KILLS // 4)
            if how == "ended" or is_enough:
                break
    record(f"kills of {name} in {'a database' if isinstance(place.ledger, str) else 'a file'}", told)
    assert told["left"]


HOURS_24_US = 24 * 3_600_000_000


def cut_off_completion(writer: Writer, round_id: str) -> None:
    """Have the system go on with a round that has stood still for long enough, and die before its first leg is recorded."""
    store = writer.ledger.store
    stopped = store.stream_appends(f"round/{round_id}")[-1].recorded_at_us
    interrupt_round(store, writer.ledger.recorded(round_id), "other", broke_at_us=stopped)
    resume_interrupted(store, writer.ledger.recorded(round_id), "system", channel="system")
    clock = store.clock
    writer.drop()
    writer.ledger.store.clock = clock


@pytest.mark.parametrize("is_cut", [False, True], ids=["whole", "cut off"])
def test_a_round_that_the_system_completes_is_the_round_in_one_go(new_place, is_cut):
    """Left at any leg, it ends as played with the first of each choice, also where the system itself was cut off on the way."""
    place, clock = new_place(), [now_us()]
    with new_ledger_at(place) as (ledger, ref):
        set_profile(ledger.store, shipped_profile("complete-24-hours"), "Ann", "Bob")
    writer, completed = Writer(place), 0
    writer.ledger.store.clock = lambda: clock[0]
    for number, kind in enumerate(kind for kind in INSTALLED if set(kind.choices) <= {0}):
        round_id, game = open_one(writer.ledger, ref, kind, is_rare=True).round_id, kind_game(kind.game)
        is_over = any(isinstance(writer.ledger.play_leg(round_id, game), Played) for _ in range(number))
        if is_over:
            continue
        with pytest.raises(CompletionRefused):
            complete_round(writer.ledger, round_id, game)
        clock[0] += HOURS_24_US
        if is_cut:
            cut_off_completion(writer, round_id)
        complete_round(writer.ledger, round_id, game)
        assert differences(writer.ledger, round_id, kind, by_system=True) == []
        completed += 1
    writer.ledger.close()
    assert completed >= 3
    assert everything_wrong(place.ledger, place.keys_dir) == []


def test_a_player_who_comes_back_when_the_system_was_cut_off_plays_the_rest(tmp_path):
    """Where the system went on with a round and died, the player goes on with it, and nothing is wrong with what he chooses."""
    place, kind, clock = Place(tmp_path / "ledger.db", tmp_path / "keys"), KILLED["stargazing"], [now_us()]
    game = kind_game(kind.game)
    with new_ledger_at(place) as (ledger, ref):
        set_profile(ledger.store, shipped_profile("complete-24-hours"), "Ann", "Bob")
    writer = Writer(place)
    writer.ledger.store.clock = lambda: clock[0]
    played: Any = None
    while not isinstance(played, Waiting):
        if not isinstance(played, Leg):
            round_id = open_one(writer.ledger, ref, kind, is_rare=True).round_id
        played = writer.ledger.play_leg(round_id, game)
    clock[0] += HOURS_24_US
    cut_off_completion(writer, round_id)
    writer.ledger.finish_round(round_id, game, kind.choices)
    assert differences(writer.ledger, round_id, kind) == []
    writer.ledger.close()
    assert everything_wrong(place.ledger, place.keys_dir) == []
