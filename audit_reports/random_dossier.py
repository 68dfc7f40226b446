"""The dossier on the generator: what it is, how it is seeded and kept, that scaling has no bias, what a game draws and in which ranges."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from audit_reports.blocks import Block, Heading, Pairs, Table, plain
from audit_reports.randomness.sources import Range, ranges_of
from engines.game import Game
from engines.registry import installed_builds
from engines.rng import STREAM_LENGTH, below, choose, key_words, round_key, start_stream, words

__all__ = ["Dossier", "dossier", "dossier_blocks"]

TWO_32 = 1 << 32
COUNTED_BITS = 10  # word size at which the rule of scaling is counted out for every range
_FACTS = (
    ("algorithm", "ChaCha20 key stream (RFC 8439), read as little-endian 32-bit words, none skipped; specification rng/1"),
    ("key of a round", "HMAC-SHA-256 under the epoch's server seed over game, client seed and nonce: 256 bits, one for each round"),
    ("seeding", "32 bytes of the operating system's generator for each epoch; SHA-256 of them is recorded before the first bet"),
    ("new entropy", "each process that opens a ledger for writing starts epochs of its own; `audit seeds rotate` closes them at any time"),
    ("state", "none is carried from round to round: a round's words follow from its key and count from the first"),
    ("kept", "seeds are encrypted at rest (AES-256-GCM, the commitment as associated data) and revealed when an epoch is closed"),
    ("scaling", "below(n): product of word and n; a word whose low half is below 2^32 mod n is rejected, else the high half is the result"),
)
_PROOF = (
    "A word w gives the result r where w*n lies from r*2^32 up to below (r+1)*2^32; its low half is how far it lies above r*2^32. Of the"
    " multiples of n in that stretch those are rejected that lie less than t = 2^32 mod n above its start. What is left is a stretch whose"
    " length, 2^32 less t, is floor(2^32/n) times n, and such a stretch holds exactly floor(2^32/n) multiples of n wherever it begins. So"
    " every result has the same number of words."
)


class KnownAnswer(NamedTuple):
    """A vector that is published elsewhere, and what the generator here gives."""

    what: str
    want: str
    got: str


class Dossier(NamedTuple):
    """All of the dossier: known answers, ranges in use, ranges in which scaling was counted out wrongly, sources by hash."""

    answers: list[KnownAnswer]
    ranges: list[Range]
    uneven: list[int]
    sources: dict[str, str]

    @property
    def passes(self) -> bool:
        """Whether every known answer is right and no range is uneven."""
        return not self.uneven and all(each.want == each.got for each in self.answers)

    def as_json(self) -> dict[str, Any]:
        """Return the dossier as `dossier.json` has it."""
        return {
            "schema": "dossier/1",
            "facts": [{"what": what, "is": text} for what, text in _FACTS],
            "known_answers": [each._asdict() for each in self.answers],
            "scaling": {"proof": _PROOF, "counted_bits": COUNTED_BITS, "uneven": self.uneven},
            "ranges": [
                {"n": each.n, "purposes": list(each.purposes), "words_each": TWO_32 // each.n, "words_rejected": TWO_32 % each.n}
                for each in self.ranges
            ],
            "sources": self.sources,
            "result": "pass" if self.passes else "fail",
        }


def dossier(game: Game) -> Dossier:
    """Return the dossier of the generator as one game uses it."""
    builds = installed_builds(game.rules.game)
    sources = next((build.sources for build in builds if build.fingerprint == game.fingerprint), {})
    uneven = [n for n in range(1, 1 << COUNTED_BITS) if not _is_even(n)]
    return Dossier(list(_answers()), ranges_of(game), uneven, {path: digest for path, digest in sources.items() if "rng" in path})


def _is_even(n: int) -> bool:
    """Count out the rule of scaling over every word of COUNTED_BITS bits: whether each result has as many words."""
    size = 1 << COUNTED_BITS
    counts = [0] * n
    for word in range(size):
        product = word * n
        if product % size >= size % n:
            counts[product // size] += 1
    return set(counts) == {size // n}


def _answers() -> Iterator[KnownAnswer]:
    """Yield the vectors of RFC 8439, 2.3.2, and of rng/1."""
    stream = [0] * STREAM_LENGTH
    start_stream(stream, key_words(bytes(range(32))), [0x09000000, 0x4A000000, 0])
    from engines.rng import STREAM_BLOCK, STREAM_COUNTER, chacha20_block

    stream[STREAM_COUNTER] = 1
    chacha20_block(stream)
    want = "e4e7f110 15593bd1 1fdd0f50 c47120a3"
    yield KnownAnswer("RFC 8439, 2.3.2, first words", want, " ".join(f"{word:08x}" for word in stream[STREAM_BLOCK : STREAM_BLOCK + 4]))
    key = round_key(bytes(range(32)), "moonlight-princess", "client-1", 0)
    yield KnownAnswer("round key", "a37a1a6f358df93fe55e8b9d23ab4cd5d40989da46e2bfb56c195e1fd39584a1", key.hex())
    first = " ".join(str(word) for word in islice(words(key), 4))
    yield KnownAnswer("first words under it", "25016286 2963050300 1738081702 848946448", first)
    start_stream(stream, key_words(key), [0, 0, 0])
    large = (1 << 30) + 1
    drawn = [below(stream, n, 0) for n in (6, 30, 100, 15, 1000, large, large, large, 3)]
    yield KnownAnswer("draws in rejecting ranges", "0 20 40 2 66 124848929 891732532 509887678 2", " ".join(map(str, drawn)))
    start_stream(stream, key_words(key), [0, 0, 0])
    pool = list(range(25))
    choose(stream, 5, 25, pool, 0)
    yield KnownAnswer("five of 25", "0 17 10 5 2", " ".join(map(str, pool[:5])))


def dossier_blocks(found: Dossier) -> Iterator[Block]:
    """Yield the section of the report."""
    yield Heading(2, "The generator", "dossier")
    yield Pairs(_FACTS)
    rows = tuple((each.what, each.want, "pass" if each.want == each.got else f"FAIL: {each.got}") for each in found.answers)
    yield Table("known answers", ("vector", "published", "here"), rows)
    yield Heading(3, "Scaling has no bias", "scaling")
    yield plain(_PROOF)
    counted = "in each as many words for every result" if not found.uneven else f"UNEVEN in {len(found.uneven)} ranges"
    yield plain(f"Counted out for words of {COUNTED_BITS} bits in every range below {1 << COUNTED_BITS}: {counted}.")
    ranges = tuple(
        (str(each.n), ", ".join(each.purposes) or "stated by the rules", f"{TWO_32 // each.n:,}", f"{TWO_32 % each.n:,}")
        for each in found.ranges
    )
    yield Table("draw map: every range in use", ("range", "drawn for", "words each", "rejected"), ranges, frozenset((0, 2, 3)))
    yield Table("sources of the generator, by SHA-256", ("file", "SHA-256"), tuple(sorted(found.sources.items())), is_folded=True)
