"""Packs in which one thing is wrong, and all that is signed, hashed or summed after it fits: what a careful forger hands over.

Each function of `wrong_amounts`, `wrong_records` and `wrong_bags` makes a right pack wrong as its name says. Those that are seen by all
are for any checker of the format to see; the others only for one that knows the rules of the game or runs its engine again.
"""

import tests.wrong_amounts
import tests.wrong_bags
import tests.wrong_records  # noqa: F401 - each notes its functions
from tests.pack_forging import WRONGS, Forgery, take_apart
from tests.right_packs import RightPacks
from tests.wrong_records import present

__all__ = ["WRONGS", "make_wrong", "right"]


def right(base: str, packs: RightPacks) -> Forgery:
    """Return a right pack for a wrong one to be made of, not yet sealed: of a settled round, one in play, one with what was shown."""
    pack = take_apart(packs.in_play if base == "in_play" else packs.settled)
    if base == "presented":
        present(pack)
    return pack


def make_wrong(name: str, packs: RightPacks) -> bytes | None:
    """Return the pack that is wrong in this one way, None where the pack has not what would be wrong."""
    way = WRONGS[name]
    pack = right(way.base, packs)
    if way.base == "in_play":
        pack.house_key = packs.key_in_play
    if way.needs and way.needs not in pack.files:
        return None
    way.change(pack)
    return pack.sealed()
