"""Boards of Moon Princess Stargazing worked from the rule text alone: lists of five reels, bottom last, no kernel.

A cell is a letter: b h t r the low symbols, A N S the princesses, W a wild, P a Power Wild, `.` nothing.
"""

from itertools import combinations

__all__ = ["LETTERS", "Run", "after_runs", "board_text", "is_clear", "runs_of"]

LETTERS = "bhtrANSW"  # symbol 0 to 7; P is a wild with mark 2, `.` symbol 9
PRINCESSES = "ANS"
WILDS = "WP"
Run = tuple[int, tuple[int, ...], str]  # line, cells, symbol (`M` mixed)


def lines_of() -> list[tuple[int, ...]]:
    """Return the cells of the five rows from the top and the five reels from the left."""
    rows = [tuple(5 * reel + row for reel in range(5)) for row in range(5)]
    return rows + [tuple(5 * reel + row for row in range(5)) for reel in range(5)]


def symbol_of(letters: str) -> str:
    """Return what a stretch of letters would pay as if it were a run by itself; empty where it is none."""
    if "." in letters:
        return ""
    kinds = set(letters) - set(WILDS)
    if not kinds:
        return "W"
    if len(kinds) == 1:
        return kinds.pop()
    return "M" if kinds <= set(PRINCESSES) else ""


def runs_of(board: str) -> list[Run]:
    """Return the winning runs of a board of 25 letters: of all stretches of three or more, those that lie in no longer one."""
    found: list[Run] = []
    for number, line in enumerate(lines_of()):
        stretches = [line[start:end] for start, end in combinations(range(6), 2) if end - start >= 3]
        paid = [(cells, symbol_of("".join(board[cell] for cell in cells))) for cells in stretches]
        paid = [(cells, symbol) for cells, symbol in paid if symbol]
        for cells, symbol in paid:
            is_longest = not any(set(cells) < set(other) for other, _ in paid)
            if is_longest and not (symbol == "W" and all(board[cell] == "P" for cell in cells)):
                found.append((number, cells, symbol))
    return found


def after_runs(board: str, runs: list[Run]) -> str:
    """Return the board after its runs: middles of three turn, the rest goes, Power Wilds stay, all falls."""
    middles = {cells[1] for _, cells, symbol in runs if len(cells) == 3 and symbol != "W"}
    won = {cell for _, cells, _ in runs for cell in cells}
    kept = [letter if letter == "P" else "W" if cell in middles else "." if cell in won else letter for cell, letter in enumerate(board)]
    reels = ["".join(kept[5 * reel : 5 * reel + 5]).replace(".", "") for reel in range(5)]
    return "".join(reel.rjust(5, ".") for reel in reels)


def is_clear(board: str) -> bool:
    """Return whether no paying symbol is left."""
    return not set(board) & set("bhtrANS")


def board_text(symbols: list[int], marks: list[int]) -> str:
    """Return a `drop`'s board as letters."""
    return "".join("P" if mark == 2 else LETTERS[symbol] if symbol < 8 else "." for symbol, mark in zip(symbols, marks, strict=True))
