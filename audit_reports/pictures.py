"""The pictures of symbols: drawings of our own, one for each symbol of a game, told apart by shape and by colour.

What a symbol is called always stands beside its picture: a picture alone says nothing to a screen reader, and to few on paper.
"""

from math import cos, pi, sin

from audit_reports.round_report import SymbolReport

__all__ = ["symbol_shape", "symbol_svg"]

_COLOURS = (
    "#5e35b1",
    "#8d6e63",
    "#00695c",
    "#ef6c00",
    "#455a64",
    "#ad1457",
    "#3f51b5",
    "#7a8a1a",
    "#00838f",
    "#9e3d00",
    "#37474f",
    "#6d4c41",
)
_COLOUR_OF_WORD = {"golden": "#b8860b", "red": "#c62828", "ruby": "#b5123e", "blue": "#1565c0", "sapphire": "#1a4fb4", "green": "#2e7d32"}
_COLOUR_OF_WORD |= {
    "emerald": "#1b7f4b",
    "cyan": "#0097a7",
    "yellow": "#c79a00",
    "pink": "#d81b60",
    "black": "#263238",
    "amethyst": "#7b1fa2",
}
_OF_ROLE = {"scatter": "#b07600", "heart": "#c2185b", "moon": "#a67c00", "wild": "#00838f", "blank": "#8b949e", "unknown": "#57606a"}
_HEART = "M12 21C5 15.5 2.5 12 2.5 8.4A4.9 4.9 0 0 1 12 6.6 4.9 4.9 0 0 1 21.5 8.4C21.5 12 19 15.5 12 21Z"
_MOON = "M15.5 2.6A9.7 9.7 0 1 0 21.4 16.2 8.2 8.2 0 0 1 15.5 2.6Z"


def _corners(count: int, radii: tuple[float, ...], turn: float = 0.0) -> str:
    """Return a closed path through `count` corners around the middle, at these distances in turn; drawing to a tenth."""
    points = []
    for number in range(count):
        angle, radius = 2 * pi * number / count - pi / 2 + turn, radii[number % len(radii)]
        points.append(f"{12 + radius * cos(angle):.1f} {12 + radius * sin(angle):.1f}")
    return f"M{'L'.join(points)}Z"


_SHAPES = (
    "M12 2A10 10 0 1 0 12 22A10 10 0 1 0 12 2Z",
    "M6 3H18A3 3 0 0 1 21 6V18A3 3 0 0 1 18 21H6A3 3 0 0 1 3 18V6A3 3 0 0 1 6 3Z",
    _corners(6, (10.5,)),
    _corners(3, (11.5,)),
    _corners(8, (10.5,), pi / 8),
    _corners(5, (10.8,)),
    _corners(12, (10.8, 8.2)),
)
_STAR, _SUN, _GEM = _corners(10, (11.5, 5.2)), _corners(24, (11.2, 8.4)), _corners(6, (10.5,))
_SHAPE_OF_ROLE = {"scatter": _STAR, "heart": _HEART, "moon": _MOON, "wild": _corners(8, (11.5, 5.8))}
# The first word of these that is in a symbol's name says how it is drawn, so that a picture never contradicts a name.
_SHAPE_OF_WORD = {"gem": _GEM, "amethyst": _GEM, "emerald": _GEM, "ruby": _GEM, "sapphire": _GEM, "badge": _SHAPES[0], "sun": _SUN}
_SHAPE_OF_WORD |= {"moon": _MOON, "star": _STAR, "heart": _HEART}


def symbol_shape(symbol: SymbolReport) -> str:
    """Return the inside of a symbol's picture, in a square of 24 by 24."""
    said = symbol.name.split("_")
    colours = [_COLOUR_OF_WORD[word] for word in said if word in _COLOUR_OF_WORD]
    shapes = [shape for word, shape in _SHAPE_OF_WORD.items() if word in said]
    colour = _OF_ROLE.get(symbol.role) or next(iter(colours), _COLOURS[symbol.symbol % len(_COLOURS)])
    path = _SHAPE_OF_ROLE.get(symbol.role) or next(iter(shapes), _SHAPES[symbol.symbol % len(_SHAPES)])
    if symbol.role in ("blank", "unknown"):
        return f'<path d="{_SHAPES[0]}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-dasharray="3 3"/>'
    return f'<path d="{path}" fill="{colour}"/>'


def symbol_svg(symbol: SymbolReport) -> str:
    """Return a symbol's picture as an SVG document."""
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">{symbol_shape(symbol)}</svg>'
