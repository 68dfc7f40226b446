"""A round whose writer is killed within one append after another, each time by another process, and ends as if nobody had been."""

import os
import signal
from multiprocessing import get_context
from typing import Any

from ledger.fsck import check_ledger
from ledger.interruptions import interrupt_round
from ledger.legs import standing_of
from ledger.rounds import RoundLedger
from ledger.store import ROUND_STREAM
from tests.cut_rounds import check_round, cut_game, telling_seed
from tests.ledger_files import Place, whole_ledger_faults

__all__ = ["POINTS", "play_killed"]

# Within the transaction: its rows are changed; its events stand too; all of it stands but is not committed.
POINTS = ("before the events", "before the leaf", "before the commit")
KILLED = -signal.SIGKILL
FUNDS_MINOR = 10**12
SPINS_MAX = {"asking": 9}  # where there are rounds that ask and are short


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_at(ledger: RoundLedger, number: int, point: str) -> None:
    """Have this process killed within its append `number`, from 0, to the stream of a round."""
    store, append = ledger.store, ledger.store._append
    count = 0

    def dying(cursor: Any, stream: str, *rest: Any) -> None:
        nonlocal count
        is_round = stream.startswith(ROUND_STREAM)
        is_last, count = is_round and count == number, count + is_round
        if is_last and point == POINTS[0]:
            _die()
        if is_last and point == POINTS[1]:
            store._write_leaf = lambda *_: _die()  # type: ignore[method-assign]
        append(cursor, stream, *rest)
        if is_last:
            _die()

    store._append = dying  # type: ignore[method-assign]


def _go_on(ledger: RoundLedger, round_id: str, name: str, choice: int) -> None:
    """Do what comes next for a round in play: a leg, and every fourth append an interruption."""
    opened = ledger.recorded(round_id)
    if standing_of(opened.later) != "interrupted" and len(ledger.store.stream_appends(ROUND_STREAM + round_id)) % 4 == 2:
        interrupt_round(ledger.store, opened, "system_restarted")
    else:
        offers = sum(row.topic == "choice_offered/1" for row in opened.later)
        ledger.play_leg(round_id, cut_game(name), [choice] * offers)


def _play_until_killed(place: Place, bet: tuple[str, str, str, int], choice: int, number: int, point: str) -> None:
    ledger = place.open_for_writing()
    _kill_at(ledger, number, point)
    ref, name, mode, bet_minor = bet
    if not ledger.store.rounds_in_play():
        ledger.open_round(ref, cut_game(name), mode, bet_minor)
    while in_play := ledger.store.rounds_in_play():
        _go_on(ledger, in_play[0], name, choice)
    ledger.close()


def play_killed(place: Place, name: str, mode: str, *, points: tuple[str, ...] = POINTS, seed: int = 0) -> int:
    """Play a round whose writer is killed at each point of each of its appends, and return how many were killed.

    After each kill the ledger is whole and the round where it was; in the end it is what its key and choices lead to.
    Raises AssertionError where it is not.
    """
    game = cut_game(name)
    choice = (seed + 1) % max(1, len(game.rules.choice_names))
    bet_minor = game.rules.bet.coins * min(10, game.rules.bet.coin_minor_max)
    with RoundLedger.create(place.ledger, place.keys_dir) as ledger:
        ref = ledger.open_account("alice", "EUR")
        ledger.move_funds(ref, FUNDS_MINOR)
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.killed_rounds"])
    kills, appends, is_over = 0, 0, False
    while not is_over:
        for place_of, point in enumerate(points):
            # The first point of an append is met by the process that has made the one before.
            is_next = appends > 1 and place_of == 0
            arguments = (place, (ref, name, mode, bet_minor), choice, int(is_next), point)
            process = context.Process(target=_play_until_killed, args=arguments)
            process.start()
            process.join()
            if is_over := process.exitcode == 0:
                break
            assert process.exitcode == KILLED, process.exitcode
            kills += 1
            _check_whole(place, appends)
        else:
            appends += 1
            if appends == 1:  # the bet: its client seed is looked for once
                with place.open_for_writing() as ledger:
                    client_seed = telling_seed(ledger, ref, game, mode, bet_minor, choice=choice, spins_max=SPINS_MAX.get(name, 10**6))
                    round_id = ledger.open_round(ref, game, mode, bet_minor, client_seed=client_seed).round_id
    with place.open_for_writing() as ledger:
        assert ledger.store.rounds_in_play() == []
        offers = sum(row.topic == "choice_offered/1" for row in ledger.round_events(round_id))
        check_round(ledger, round_id, game, [choice] * offers, FUNDS_MINOR)
    return kills


def _check_whole(place: Place, appends: int) -> None:
    """Raise AssertionError unless the round has so many appends, and a killed writer has left nothing else."""
    with place.open_for_reading() as reader:
        in_play = reader.store.rounds_in_play()
        assert [len(reader.store.stream_appends(ROUND_STREAM + round_id)) for round_id in in_play] == ([appends] if appends else [])
        assert whole_ledger_faults(place.ledger) == []
        assert [fault.message for fault in check_ledger(reader.path) if fault is not None] == []
