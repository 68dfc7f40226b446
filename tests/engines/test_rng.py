"""Random numbers, specification 1: vectors, an independent ChaCha20, and the rules of each draw."""

from itertools import islice

import numpy
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import given
from hypothesis import strategies as st

from engines import rng
from engines.jit import compiled

SEED = bytes(range(32))
KEY_1 = rng.round_key(SEED, "moonlight-princess", "client-1", 0)
WORDS_1 = [25016286, 2963050300, 1738081702, 848946448, 286521732, 499395717, 928367452, 717257628]


def stream_of(key: bytes) -> list[int]:
    stream = [0] * rng.STREAM_LENGTH
    rng.start_stream(stream, rng.key_words(key), [0, 0, 0])
    return stream


def test_commitment_and_round_keys_are_those_of_the_specification() -> None:
    """The vectors of rng/1 hold for commitments and keys."""
    assert rng.seed_commitment(SEED) == "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"
    assert KEY_1.hex() == "a37a1a6f358df93fe55e8b9d23ab4cd5d40989da46e2bfb56c195e1fd39584a1"
    assert rng.round_key_commitment(KEY_1) == "8dcc53af7984de798013d2e6f34a9aba663c36df82fea62ebf3bf78d19ca7055"
    key = rng.round_key(SEED, "starlight-wins", "", 7)
    assert key.hex() == "70b9de2fe797319694315f31f1da5b8a0536a1cd91fa6c35e3d6f2dd3819b500"
    assert list(islice(rng.words(key), 4)) == [3771252262, 1611162439, 1846906184, 4111331537]


def test_words_and_draws_are_those_of_the_specification() -> None:
    """The vectors of rng/1 hold for words, below and choose."""
    assert list(islice(rng.words(KEY_1), 8)) == WORDS_1
    stream = stream_of(KEY_1)
    ranges = [6, 30, 100, 15, 1000, 1073741825, 1073741825, 1073741825, 3]
    assert [rng.below(stream, n, 0) for n in ranges] == [0, 20, 40, 2, 66, 124848929, 891732532, 509887678, 2]
    assert stream[rng.STREAM_WORDS] == 15
    stream, pool = stream_of(KEY_1), [0] * 25
    rng.choose(stream, 5, 25, pool, 0)
    assert pool[:5] == [0, 17, 10, 5, 2]
    assert stream[rng.STREAM_WORDS] == 5


def test_simulation_streams_are_those_of_the_specification() -> None:
    """The vectors of rng/1 hold for simulation keys and nonces."""
    key = rng.simulation_key(SEED, "moonlight-princess", "base", 0)
    assert key.hex() == "6f1488e5e66c539c60b1416c560f11bc14a68d4505e5afa8d07bd07eb94b0987"
    assert list(islice(rng.words(key), 4)) == [1762983884, 3906639548, 1245828863, 2309306699]
    nonce = [0, 0, 0]
    rng.simulation_nonce(65535, nonce)
    assert list(islice(rng.words(key, nonce), 4)) == [10423829, 3568903668, 2690143709, 1839798236]


def test_block_function_is_that_of_rfc_8439() -> None:
    """The block of RFC 8439 section 2.3.2 comes out word for word."""
    stream = [0] * rng.STREAM_LENGTH
    nonce = [0x09000000, 0x4A000000, 0x00000000]
    rng.start_stream(stream, rng.key_words(bytes(range(32))), nonce)
    stream[rng.STREAM_COUNTER] = 1
    rng.chacha20_block(stream)
    want = "e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3"
    want += " 466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2"
    assert [f"{word:08x}" for word in stream[16:32]] == want.split()


def cryptography_words(key: bytes, nonce: list[int], count: int) -> list[int]:
    # The package takes the counter's four bytes before the nonce's twelve.
    start = bytes(4) + b"".join(word.to_bytes(4, "little") for word in nonce)
    text = Cipher(algorithms.ChaCha20(key, start), mode=None).encryptor().update(bytes(4 * count))
    return [int.from_bytes(text[4 * i : 4 * i + 4], "little") for i in range(count)]


@given(st.binary(min_size=32, max_size=32), st.lists(st.integers(0, 2**32 - 1), min_size=3, max_size=3), st.integers(1, 200))
def test_words_equal_another_chacha20(key: bytes, nonce: list[int], count: int) -> None:
    """Under any key and nonce the words are those of the cryptography package, for any length."""
    assert list(islice(rng.words(key, nonce), count)) == cryptography_words(key, nonce, count)


@given(st.binary(min_size=32, max_size=32), st.integers(0, 2**32 - 1))
def test_compiled_block_equals_the_plain_one(key: bytes, counter: int) -> None:
    """The compiled block function gives the plain one's words."""
    plain = stream_of(key)
    plain[rng.STREAM_COUNTER] = counter
    machine = numpy.array(plain, dtype=numpy.int64)
    rng.chacha20_block(plain)
    compiled(rng.chacha20_block)(machine)
    assert machine.tolist() == plain


@given(st.binary(min_size=32, max_size=32), st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=20))
def test_below_follows_its_rule_on_plain_integers(key: bytes, ranges: list[int]) -> None:
    """Each draw is the specification's, worked out with unbounded integers from another ChaCha20's words."""
    words = iter(cryptography_words(key, [0, 0, 0], 2000))
    stream = stream_of(key)
    used = 0
    for n in ranges:
        while True:
            product = next(words) * n
            used += 1
            if product % 2**32 >= 2**32 % n:
                break
        assert rng.below(stream, n, 0) == product >> 32
        assert stream[rng.STREAM_WORDS] == used


@given(st.binary(min_size=32, max_size=32), st.integers(1, 30), st.data())
def test_choose_takes_from_those_left_in_listed_order(key: bytes, n: int, draw: st.DataObject) -> None:
    """choose(k, n) removes the drawn place from a list each time."""
    k = draw.draw(st.integers(0, n))
    stream, pool = stream_of(key), [0] * 32
    rng.choose(stream, k, n, pool, 0)
    other, left, want = stream_of(key), list(range(n)), []
    for i in range(k):
        want.append(left.pop(rng.below(other, n - i, 0)))
    assert pool[:k] == want
    assert pool[k:n] == left


@given(st.binary(min_size=32, max_size=32), st.lists(st.integers(0, 1000), min_size=1, max_size=20).filter(any))
def test_weighted_takes_the_first_entry_above_the_draw(key: bytes, weights: list[int]) -> None:
    """A weighted draw is the first entry whose cumulative weight is greater than below(sum), so never one of weight 0."""
    r = rng.below(stream_of(key), sum(weights), 0)
    want = next(i for i in range(len(weights)) if sum(weights[: i + 1]) > r)
    assert rng.weighted(stream_of(key), [7, *weights], 1, len(weights), 0) == want
    assert weights[want] > 0


def test_the_stream_ends_at_block_2_to_the_32() -> None:
    """A stream that would pass block 2^32 is an error that says how far it came."""
    stream = stream_of(KEY_1)
    stream[rng.STREAM_COUNTER] = 2**32 - 1
    for _ in range(16):
        rng.next_word(stream)
    assert stream[rng.STREAM_FAULT] == 0
    assert rng.next_word(stream) == 0
    assert stream[rng.STREAM_FAULT] == 1
    message = "random numbers of the round: want an end before block 2^32, got 16 words used; the rules never end a round"
    assert str(rng.RandomStreamError(16)) == message


def test_a_draw_that_is_rejected_without_end_is_a_fault() -> None:
    """A generator stuck on one word is stopped, not followed for ever."""
    stream = stream_of(KEY_1)
    # 3 * 0x55555555 is 2^32 - 1 below a multiple; a block of zero words is rejected by every range that is no power of two.
    stream[rng.STREAM_COUNTER] = 2**32
    assert rng.below(stream, 3, 0) == 0
    assert stream[rng.STREAM_FAULT] == 1


@pytest.mark.parametrize("n", [1, 2, 6, 30])
def test_draws_are_even(n: int) -> None:
    """Over 30,000 draws each value comes near its share (six standard deviations)."""
    stream = stream_of(KEY_1)
    counts = [0] * n
    run = compiled(_draw_many)
    machine, totals = numpy.array(stream, dtype=numpy.int64), numpy.array(counts, dtype=numpy.int64)
    run(machine, n, totals, 30_000)
    share = 30_000 / n
    assert all(abs(count - share) <= 6 * (share * (1 - 1 / n)) ** 0.5 for count in totals.tolist())


def _draw_many(stream: list[int], n: int, counts: list[int], count: int) -> None:
    for _ in range(count):
        counts[rng.below(stream, n, 0)] += 1
