"""Random numbers, specification `rng/1`: round keys, the ChaCha20 key stream, unbiased draws.

The specification never changes: neither do the numbers that these functions give for a key.
A stream is a sequence of integers (see the names of its places below), so kernels can pass it on.
"""

import hashlib
import hmac
import struct
from collections.abc import Iterator

from engines.jit import kernel

__all__ = [
    "DRAW_FIELDS",
    "LOG_START",
    "REJECTIONS_MAX",
    "STREAM_FAULT",
    "STREAM_LENGTH",
    "STREAM_LOG",
    "STREAM_WORDS",
    "RandomStreamError",
    "below",
    "chacha20_block",
    "choose",
    "key_words",
    "next_word",
    "round_key",
    "round_key_commitment",
    "seed_commitment",
    "simulation_key",
    "simulation_nonce",
    "start_stream",
    "weighted",
    "words",
]

MASK = 0xFFFFFFFF
TWO_32 = 1 << 32
BLOCK_WORDS = 16
# Each try is rejected with a chance below one half: a thousand in a row never happens to a working generator.
REJECTIONS_MAX = 1000

# Places in a stream: eight words of key, three of nonce, then state, then the block in use, then the draw log.
STREAM_KEY = 0
STREAM_NONCE = 8
STREAM_COUNTER = 11
STREAM_POSITION = 12
STREAM_WORDS = 13  # words taken so far, rejected ones included
STREAM_FAULT = 14  # 1 once the block counter would pass 2^32 or a draw was rejected REJECTIONS_MAX times
STREAM_LOG = 15  # where the next draw is noted; 0 keeps no log
STREAM_BLOCK = 16
LOG_START = 32
STREAM_LENGTH = 32
DRAW_FIELDS = 5  # of a logged draw: purpose, range, first word's number, words taken, result


class RandomStreamError(Exception):
    """The key stream of one round has run out, or a draw was rejected without end."""

    def __init__(self, words_used: int) -> None:
        super().__init__(words_used)
        self.words_used = words_used

    def __str__(self) -> str:
        return f"random numbers of the round: want an end before block 2^32, got {self.words_used} words used; the rules never end a round"


def _prefixed(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded


def seed_commitment(server_seed: bytes) -> str:
    """Return the commitment to a server seed of 32 bytes (item 1), in hex."""
    return hashlib.sha256(server_seed).hexdigest()


def round_key(server_seed: bytes, game: str, client_seed: str, nonce: int) -> bytes:
    """Return the 32-byte key of one round (item 2); `client_seed` is at most 256 bytes of UTF-8, `nonce` counts from 0."""
    message = b"round-key/1" + _prefixed(game) + _prefixed(client_seed) + struct.pack(">Q", nonce)
    return hmac.digest(server_seed, message, "sha256")


def round_key_commitment(key: bytes) -> str:
    """Return the commitment to a round key (item 2), in hex."""
    return hashlib.sha256(b"round-key-commitment/1" + key).hexdigest()


def simulation_key(simulation_seed: bytes, game: str, mode: str, chunk: int) -> bytes:
    """Return the key of one chunk of 2^16 simulated rounds (item 9)."""
    message = b"sim-key/1" + _prefixed(game) + _prefixed(mode) + struct.pack(">Q", chunk)
    return hmac.digest(simulation_seed, message, "sha256")


@kernel
def simulation_nonce(index: int, nonce: list[int]) -> None:
    """Write the nonce of simulated round `index` of a chunk (item 9) into the three words of `nonce`."""
    nonce[0] = 0
    nonce[1] = index & MASK
    nonce[2] = index >> 32


def key_words(key: bytes) -> list[int]:
    """Return the eight little-endian 32-bit words of a 32-byte key."""
    return list(struct.unpack("<8I", key))


@kernel
def start_stream(stream: list[int], key: list[int], nonce: list[int]) -> None:
    """Set a stream to the start of the key stream under `key` (8 words) and `nonce` (3 words); keeps whether draws are logged."""
    for i in range(8):
        stream[STREAM_KEY + i] = key[i]
    for i in range(3):
        stream[STREAM_NONCE + i] = nonce[i]
    stream[STREAM_COUNTER] = 0
    stream[STREAM_POSITION] = BLOCK_WORDS
    stream[STREAM_WORDS] = 0
    stream[STREAM_FAULT] = 0
    if stream[STREAM_LOG] > 0:
        stream[STREAM_LOG] = LOG_START


@kernel
def quarter_round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """Return the four words after one quarter round (RFC 8439, 2.1)."""
    a = (a + b) & MASK
    d ^= a
    d = ((d << 16) & MASK) | (d >> 16)
    c = (c + d) & MASK
    b ^= c
    b = ((b << 12) & MASK) | (b >> 20)
    a = (a + b) & MASK
    d ^= a
    d = ((d << 8) & MASK) | (d >> 24)
    c = (c + d) & MASK
    b ^= c
    b = ((b << 7) & MASK) | (b >> 25)
    return a, b, c, d


@kernel
def chacha20_block(stream: list[int]) -> None:
    """Fill the stream's block with the 16 words of its counter's block (RFC 8439, 2.3)."""
    c0, c1, c2, c3 = 0x61707865, 0x3320646E, 0x79622D32, 0x6B206574
    k0, k1, k2, k3 = stream[0], stream[1], stream[2], stream[3]
    k4, k5, k6, k7 = stream[4], stream[5], stream[6], stream[7]
    n0, n1, n2, n3 = stream[STREAM_COUNTER], stream[8], stream[9], stream[10]
    x0, x1, x2, x3, x4, x5, x6, x7 = c0, c1, c2, c3, k0, k1, k2, k3
    x8, x9, x10, x11, x12, x13, x14, x15 = k4, k5, k6, k7, n0, n1, n2, n3
    for _ in range(10):
        x0, x4, x8, x12 = quarter_round(x0, x4, x8, x12)
        x1, x5, x9, x13 = quarter_round(x1, x5, x9, x13)
        x2, x6, x10, x14 = quarter_round(x2, x6, x10, x14)
        x3, x7, x11, x15 = quarter_round(x3, x7, x11, x15)
        x0, x5, x10, x15 = quarter_round(x0, x5, x10, x15)
        x1, x6, x11, x12 = quarter_round(x1, x6, x11, x12)
        x2, x7, x8, x13 = quarter_round(x2, x7, x8, x13)
        x3, x4, x9, x14 = quarter_round(x3, x4, x9, x14)
    b = STREAM_BLOCK
    stream[b], stream[b + 1], stream[b + 2], stream[b + 3] = (x0 + c0) & MASK, (x1 + c1) & MASK, (x2 + c2) & MASK, (x3 + c3) & MASK
    stream[b + 4], stream[b + 5], stream[b + 6], stream[b + 7] = (x4 + k0) & MASK, (x5 + k1) & MASK, (x6 + k2) & MASK, (x7 + k3) & MASK
    stream[b + 8], stream[b + 9], stream[b + 10], stream[b + 11] = (x8 + k4) & MASK, (x9 + k5) & MASK, (x10 + k6) & MASK, (x11 + k7) & MASK
    stream[b + 12], stream[b + 13], stream[b + 14], stream[b + 15] = (
        (x12 + n0) & MASK,
        (x13 + n1) & MASK,
        (x14 + n2) & MASK,
        (x15 + n3) & MASK,
    )


@kernel
def next_word(stream: list[int]) -> int:
    """Return the next 32-bit word (item 3); 0 and a fault in the stream once the block counter would pass 2^32."""
    if stream[STREAM_POSITION] == BLOCK_WORDS:
        if stream[STREAM_COUNTER] >= TWO_32:
            stream[STREAM_FAULT] = 1
            return 0
        chacha20_block(stream)
        stream[STREAM_COUNTER] += 1
        stream[STREAM_POSITION] = 0
    word = stream[STREAM_BLOCK + stream[STREAM_POSITION]]
    stream[STREAM_POSITION] += 1
    stream[STREAM_WORDS] += 1
    return word


@kernel
def below(stream: list[int], n: int, purpose: int) -> int:
    """Return an unbiased integer from 0 to n - 1 (item 4), 1 <= n < 2^31; `purpose` is what a draw log calls it."""
    first = stream[STREAM_WORDS]
    product = next_word(stream) * n
    if (product & MASK) < n:
        threshold = TWO_32 % n
        tries = 0
        while (product & MASK) < threshold:
            tries += 1
            if tries > REJECTIONS_MAX:
                stream[STREAM_FAULT] = 1
                return 0
            product = next_word(stream) * n
    if stream[STREAM_LOG] > 0:
        note_draw(stream, purpose, n, first, product >> 32)
    return product >> 32


@kernel
def note_draw(stream: list[int], purpose: int, n: int, first: int, result: int) -> None:
    """Note one draw in the stream's log; what no longer fits is left out."""
    place = stream[STREAM_LOG]
    if place + DRAW_FIELDS <= len(stream):
        stream[place] = purpose
        stream[place + 1] = n
        stream[place + 2] = first
        stream[place + 3] = stream[STREAM_WORDS] - first
        stream[place + 4] = result
        stream[STREAM_LOG] = place + DRAW_FIELDS


@kernel
def choose(stream: list[int], k: int, n: int, pool: list[int], purpose: int) -> None:
    """Draw k different integers of 0 to n - 1 (item 5); they are left in pool[0] to pool[k - 1] in the order drawn.

    pool: at least n places, changed in place; its places from k on hold those not taken, in listed order.
    """
    for i in range(n):
        pool[i] = i
    for i in range(k):
        place = i + below(stream, n - i, purpose)
        taken = pool[place]
        while place > i:
            pool[place] = pool[place - 1]
            place -= 1
        pool[i] = taken


@kernel
def weighted(stream: list[int], weights: list[int], start: int, count: int, purpose: int) -> int:
    """Return an index from 0 to count - 1 drawn by the weights at `start` and on (item 6); their sum is 1 to 2^31 - 1."""
    total = 0
    for i in range(count):
        total += weights[start + i]
    r = below(stream, total, purpose)
    reached = 0
    for i in range(count):
        reached += weights[start + i]
        if reached > r:
            return i
    return count - 1


def words(key: bytes, nonce: list[int] | None = None) -> Iterator[int]:
    """Yield the key stream's 32-bit words under `key` (item 3); raises RandomStreamError at block 2^32."""
    stream = [0] * STREAM_LENGTH
    start_stream(stream, key_words(key), nonce or [0, 0, 0])
    while True:
        word = next_word(stream)
        if stream[STREAM_FAULT]:
            raise RandomStreamError(stream[STREAM_WORDS])
        yield word
