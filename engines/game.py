"""A game as those see it who play, replay or simulate it: rules, fingerprint, and rounds from a key."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from engines.canonical import RecordedEvent, canonical_bytes
from engines.event_buffer import (
    CAPPED,
    HEAD_BASE,
    HEAD_ENDED,
    HEAD_POSITION,
    HEAD_STATE,
    HEAD_TOTAL,
    LIMITED,
    NOT_ENDED,
    PLAYED,
    STATUS_BUFFER_FULL,
    STATUS_DONE,
    STATUS_LIMIT,
    STATUS_WANTS_CHOICE,
    RoundBuffer,
    new_buffer,
)
from engines.rng import DRAW_FIELDS, LOG_START, STREAM_FAULT, STREAM_LOG, STREAM_WORDS, RandomStreamError, key_words
from engines.rules import GameRules

__all__ = ["Draw", "EventBytes", "Game", "Outcome"]

ENDED_WORDS = {NOT_ENDED: "", PLAYED: "played", CAPPED: "capped", LIMITED: "limit"}
EVENT_WORDS_MAX = 1 << 26  # a round of the highest limits stays far below
DRAWS_FIRST = 1 << 12
DRAWS_MAX = 1 << 22


class EventBytes(NamedTuple):
    """One game event as it is recorded: its topic `<kind>/<v>` and its canonical bytes."""

    topic: str
    data: bytes


class Outcome(NamedTuple):
    """All that a round came to, in the order in which it happened. Money in minor units.

    A round that waits for a choice has no end yet: its events end with the `choice_offered`, its totals are those so far.
    """

    events: Sequence[EventBytes]
    total_win_minor: int
    base_win_minor: int  # the award of spin 0
    feature_win_minor: int  # the rest
    ended: str  # played, capped or limit; empty while the round waits for a choice
    state_out: dict[str, int]
    words_used: int  # random words taken, rejected ones included

    @property
    def wants_choice(self) -> bool:
        """Whether the round waits for a choice that was not given."""
        return not self.ended


class Draw(NamedTuple):
    """One draw of a round, for the draw log (`rng/1`, item 8)."""

    number: int  # from 0
    purpose: str
    n: int  # the draw gave 0 to n - 1
    first_word: int  # number of its first word in the key stream
    word_count: int  # all but the last were rejected
    result: int


class Game:
    """One version of one game.

    `kernel` is its `play_round`, `tables` its rules as integers. `figures`: what its rounds leave in the head for simulations
    to add up, each with what the sum is shown per: `rounds`, `cost` (money in minor units) or the name of another figure.
    """

    def __init__(
        self,
        rules: GameRules,
        kernel: Callable[..., int],
        tables: Any,
        *,
        fingerprint: str,
        state_fields: tuple[str, ...],
        draw_purposes: tuple[str, ...],
        figures: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.rules, self.kernel, self.tables = rules, kernel, tables
        self.fingerprint = fingerprint
        self.state_fields, self.draw_purposes, self.figures = state_fields, draw_purposes, figures
        self._compiled_round: CompiledRound | None = None

    @cached_property
    def _plain_buffer(self) -> RoundBuffer:
        return self.new_buffer()

    def new_buffer(self, *, event_words: int = 1 << 14, draw_count: int = 0) -> RoundBuffer:
        """Return an empty buffer of lists for this game's grid."""
        rows = self.rules.reel_rows
        return new_buffer(cell_count=sum(rows), reel_count=len(rows), event_words=event_words, draw_count=draw_count)

    def compile(self) -> None:
        """Play all further rounds by the compiled kernel; the bytes stay the same."""
        if self._compiled_round is None:
            self._compiled_round = CompiledRound(self)

    def play(self, key: bytes, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]) -> Outcome:
        """Return the outcome of the round that `key` decides.

        key: 32 bytes. bet_minor: an allowed bet. state_in: the game's state fields. choices: what the player chose so
        far, in order, each by its place in `rules.choice_names`; the round waits at the first one that is missing. Raises
        KeyError for an unknown mode, RandomStreamError where the key stream runs out.
        """
        if self._compiled_round is not None:
            return self._compiled_round.play(key, mode, bet_minor, state_in, choices)
        buffer = self._run_plain(self._plain_buffer, key, mode, bet_minor, state_in, choices)
        events = [EventBytes(f"{event.kind}/{event.v}", canonical_bytes(event)) for event in self._decoded(buffer)]
        return self._outcome(buffer, events)

    def events(self, key: bytes, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]) -> list[RecordedEvent]:
        """Return the game events of the round that `key` decides as models; see `play`."""
        return list(self._decoded(self._run_plain(self._plain_buffer, key, mode, bet_minor, state_in, choices)))

    def draws(self, key: bytes, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]) -> list[Draw]:
        """Return every draw of the round that `key` decides, in order; see `play`."""
        draw_count = DRAWS_FIRST
        while True:
            buffer = self._run_plain(self.new_buffer(draw_count=draw_count), key, mode, bet_minor, state_in, choices)
            stream = buffer.stream
            if stream[STREAM_LOG] + DRAW_FIELDS <= len(stream) or draw_count >= DRAWS_MAX:
                break
            draw_count *= 2
        places = range(LOG_START, stream[STREAM_LOG], DRAW_FIELDS)
        return [
            Draw(number, self.draw_purposes[stream[at]], stream[at + 1], stream[at + 2], stream[at + 3], stream[at + 4])
            for number, at in enumerate(places)
        ]

    def _decoded(self, buffer: RoundBuffer) -> Iterator[RecordedEvent]:
        from engines.decode import decode

        return decode(buffer.events, buffer.head[HEAD_POSITION])

    def _run_plain(
        self, buffer: RoundBuffer, key: bytes, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]
    ) -> RoundBuffer:
        arguments = self._arguments(mode, bet_minor, state_in, choices)
        while True:
            status = self.kernel(key_words(key), [0, 0, 0], self.tables, *arguments, buffer)
            if status != STATUS_BUFFER_FULL:
                break
            assert len(buffer.events) < EVENT_WORDS_MAX, "a round outgrew every limit of the rules"
            buffer = buffer._replace(events=[0] * (2 * len(buffer.events)))
        self._check_stream(buffer, status)
        return buffer

    def _arguments(self, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]) -> tuple[Any, ...]:
        state = [state_in[name] for name in self.state_fields]
        return self.rules.mode_index(mode), bet_minor, self.rules.reading_values(), state, list(choices)

    def _check_stream(self, buffer: RoundBuffer, status: int) -> None:
        if buffer.stream[STREAM_FAULT]:
            raise RandomStreamError(int(buffer.stream[STREAM_WORDS]))
        assert status in (STATUS_DONE, STATUS_LIMIT, STATUS_WANTS_CHOICE), f"play_round ended with status {status}"

    def _outcome(self, buffer: RoundBuffer, events: Sequence[EventBytes]) -> Outcome:
        head = buffer.head
        total_minor, base_minor = int(head[HEAD_TOTAL]), int(head[HEAD_BASE])
        return Outcome(
            events=events,
            total_win_minor=total_minor,
            base_win_minor=base_minor,
            feature_win_minor=total_minor - base_minor,
            ended=ENDED_WORDS[int(head[HEAD_ENDED])],
            state_out={name: int(head[HEAD_STATE + i]) for i, name in enumerate(self.state_fields)},
            words_used=int(buffer.stream[STREAM_WORDS]),
        )


class CompiledRound:
    """The compiled kernel of a game with its arrays; one for a thread."""

    def __init__(self, game: Game) -> None:
        import numpy

        from engines.decode import CanonicalWriter
        from engines.jit import arrays_of, compiled

        self._game = game
        self._numpy = numpy
        self._kernel = compiled(game.kernel)
        self._writer = CanonicalWriter()
        self._tables = arrays_of(game.tables)
        self._buffer = arrays_of(game.new_buffer())
        self._key = numpy.zeros(8, dtype=numpy.int64)
        self._nonce = numpy.zeros(3, dtype=numpy.int64)
        self._nothing = numpy.zeros(0, dtype=numpy.int64)
        self._readings = numpy.array(game.rules.reading_values(), dtype=numpy.int64)

    def play(self, key: bytes, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]) -> Outcome:
        """Return the outcome of the round that `key` decides; see `Game.play`."""
        numpy, game = self._numpy, self._game
        mode_index, _, _, state, chosen = game._arguments(mode, bet_minor, state_in, choices)
        key_array = self._key
        key_array[:] = numpy.frombuffer(key, dtype="<u4")
        state_array = numpy.array(state, dtype=numpy.int64) if state else self._nothing
        choice_array = numpy.array(chosen, dtype=numpy.int64) if chosen else self._nothing
        while True:
            status = self._kernel(
                key_array, self._nonce, self._tables, mode_index, bet_minor, self._readings, state_array, choice_array, self._buffer
            )
            if status != STATUS_BUFFER_FULL:
                break
            assert len(self._buffer.events) < EVENT_WORDS_MAX, "a round outgrew every limit of the rules"
            events = numpy.zeros(2 * len(self._buffer.events), dtype=numpy.int64)
            self._buffer = self._buffer._replace(events=events)
        game._check_stream(self._buffer, status)
        pairs = self._writer.write(self._buffer, int(self._buffer.head[HEAD_POSITION]))
        return game._outcome(self._buffer, [EventBytes(*pair) for pair in pairs])
