"""Moon Princess Stargazing's strips: the wanted numbers of each symbol, shuffled from a seed until no run down a strip is too long.

    python tools/calibrate.py moon-princess-stargazing strips --seed 1

The order is free but for one rule: no symbol more than twice in a row down a strip, the end and the start of it taken as
neighbours and the princesses as one symbol, so that a window shows no winning run of its own. Another seed moves what a base
spin is worth by some hundredths of a bet, which the weights of the powers make good.
"""

import random

LETTERS = "BHTRANS"
PRINCESSES = "ANS"
OUTER = (16, 16, 8, 8, 4, 4, 4)  # of each letter, on reels 1, 2, 4 and 5
MIDDLE = (4, 4, 22, 22, 2, 2, 4)  # on reel 3, whose lows are the other two
RUN_MAX = 2


def has_long_run(strip: str) -> bool:
    """Return whether one symbol, or princesses, follow each other more than RUN_MAX times, around the strip's end."""
    around = strip + strip[:RUN_MAX]
    kinds = ["A" if letter in PRINCESSES else letter for letter in around]
    return any(len(set(kinds[at : at + RUN_MAX + 1])) == 1 for at in range(len(strip)))


def shuffled_strip(counts: tuple[int, ...], chance: random.Random) -> str:
    """Return a strip with these counts of LETTERS and no long run."""
    letters = [letter for letter, count in zip(LETTERS, counts, strict=True) for _ in range(count)]
    while True:
        chance.shuffle(letters)
        if not has_long_run("".join(letters)):
            return "".join(letters)
