"""The draw log of a round: every random draw with the words of the key stream that it took (`rng/1`, item 8)."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from engines.game import Draw
from engines.rng import words

__all__ = ["draw_log"]


def draw_log(draws: Sequence[Draw], key: bytes) -> list[dict[str, Any]]:
    """Return each draw as a line of `draws.jsonl`; words are 32 bits, the last of them gave the result."""
    stream = list(islice(words(key), max((draw.first_word + draw.word_count for draw in draws), default=0)))
    return [
        {
            "number": draw.number,
            "purpose": draw.purpose,
            "n": draw.n,
            "first_word": draw.first_word,
            "words": stream[draw.first_word : draw.first_word + draw.word_count],
            "result": draw.result,
        }
        for draw in draws
    ]
