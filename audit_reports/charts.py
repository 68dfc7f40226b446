"""Charts of a certification, drawn for print: axes, units and a caption on each, the same bytes for the same figures."""

import io
import os
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from audit_reports.decimal_text import Z, mean_interval
from audit_reports.long_simulation import Simulated
from engines.rules import GameRules

__all__ = ["Chart", "certification_charts"]

WIDTH_INCHES, HEIGHT_INCHES = 6.6, 3.6  # the width of what is printed on A4
DEEP, SOFT, ALARM, QUIET = "#14365c", "#bcd0e8", "#a3142a", "#4a5560"
PERCENT = 100


class Chart(NamedTuple):
    """One chart: the file it is in, what it shows in a sentence, the same for who cannot see it, and the drawing as SVG."""

    file: str
    caption: str
    words: str
    svg: bytes


def certification_charts(rules: GameRules, simulated: list[Simulated]) -> Iterator[Chart]:
    """Yield for each configuration how its RTP came to rest, and how its wins are distributed; needs matplotlib."""
    for each in simulated:
        yield _convergence(rules, each)
        yield _distribution(rules, each)


def _figure() -> Any:
    """Return a figure to draw on; nothing of this machine is in what is drawn, nor in a folder of its user."""
    os.environ.setdefault("MPLCONFIGDIR", tempfile.gettempdir())
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")


def _svg(figure: Any, name: str) -> bytes:
    from matplotlib import rc_context

    written = io.BytesIO()
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "path", "font.family": "DejaVu Sans"}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()


def _ready(axes: Any, title: str, across: str, up: str) -> None:
    axes.set_title(title, fontsize=10, loc="left", color=DEEP)
    axes.set_xlabel(across, fontsize=9)
    axes.set_ylabel(up, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(True, color="#dde3ea", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _convergence(rules: GameRules, each: Simulated) -> Chart:
    configuration, cost = each.configuration, rules.cost_minor(each.configuration.mode, rules.bet.coins)
    rounds = [point.rounds for point in each.points]
    bands = {
        percent: [[float(value / cost) * PERCENT for value in mean_interval(*point, Z[percent])] for point in each.points]
        for percent in (95, 99)
    }
    displayed = rules.rtp_target_x10000 / PERCENT
    figure = _figure()
    axes = figure.add_subplot()
    for percent, colour in ((99, "#e3ebf5"), (95, SOFT)):
        lows, highs = ([row[place] for row in bands[percent]] for place in (1, 2))
        axes.fill_between(rounds, lows, highs, color=colour, label=f"{percent} % interval", linewidth=0)
    axes.plot(rounds, [row[0] for row in bands[99]], color=DEEP, marker="o", markersize=3, linewidth=1.2, label="RTP observed")
    axes.axhline(displayed, color=ALARM, linewidth=1, linestyle="--", label=f"RTP displayed, {displayed:.2f} %")
    axes.set_xscale("log")
    _ready(axes, f"{rules.title}, {configuration.name}: how the RTP came to rest", "rounds simulated (logarithmic)", "RTP in % of the cost")
    axes.legend(fontsize=7.5, frameon=False, loc="best")
    seen = bands[99][-1]
    words = (
        f"After {rounds[-1]:,} rounds {seen[0]:.3f} % was observed, 99 % interval {seen[1]:.3f} % to {seen[2]:.3f} %; displayed are"
        f" {displayed:.2f} %."
    )
    name = f"charts/convergence-{configuration.name}.svg"
    return Chart(
        name, f"RTP of {configuration.name} by number of simulated rounds, with its normal intervals. {words}", words, _svg(figure, name)
    )


def _distribution(rules: GameRules, each: Simulated) -> Chart:
    configuration, cost = each.configuration, rules.cost_minor(each.configuration.mode, rules.bet.coins)
    count, sums = each.sums.total("rounds"), each.sums
    last = max(place for place, rounds in enumerate(sums.histogram) if rounds)
    places = range(last + 1)
    labels = [_bounds(place) for place in places]
    of_rounds = [100 * sums.histogram[place] / count for place in places]
    of_return = [100 * float(Fraction(sums.class_wins[place], count * cost)) for place in places]
    figure = _figure()
    above, below = figure.subplots(2, 1, sharex=True)
    above.bar(places, of_rounds, color=SOFT, edgecolor=DEEP, linewidth=0.6)
    above.set_yscale("log")
    _ready(above, f"{rules.title}, {configuration.name}: how wins are distributed", "", "% of rounds\n(logarithmic)")
    below.bar(places, of_return, color=DEEP, linewidth=0)
    _ready(below, "", "win of a round, in bets", "RTP given,\n% of the cost")
    below.set_xticks(list(places), labels, rotation=45, ha="right", fontsize=7.5)
    most = max(places, key=lambda place: of_return[place])
    nothing, gives = f"{of_rounds[0]:.2f} % of rounds win nothing", f"{of_return[most]:.2f} % of the cost"
    words = f"{nothing}; wins of {labels[most]} bets give most of the RTP, {gives}."
    name = f"charts/distribution-{configuration.name}.svg"
    caption = f"Wins of {configuration.name} by class: share of rounds, and what they give of the RTP. {words}"
    return Chart(name, caption, words, _svg(figure, name))


def _bounds(place: int) -> str:
    """Return the wins of a class in bets, from the lower bound up to below the upper."""
    if place < 2:
        return ("0", "<1")[place]
    return f"{_short(1 << (place - 2))}-{_short(1 << (place - 1))}"


def _short(bets: int) -> str:
    return str(bets) if bets < 1024 else f"{bets // 1024}k"
