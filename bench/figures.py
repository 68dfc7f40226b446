"""The figures that matter, each beside its yardstick in the same run: ratios, since machines and their moods differ.

    python bench/figures.py [--rounds 100000] [--turns 7] [--folder DIR] [--json]

1. A base round of each game with full events, compiled, in scalar ChaCha20 blocks.
2. `audit verify --round` on many rounds and on 1,000, in starts of an interpreter that imports the libraries it needs.
3. Durable rounds, kernels warm, in plain sqlite3 writing the same rows in the same two transactions.
4. Appends with leaf and nodes, in the same appends without them.
5. `fsck` on many rounds, on all cores, in a plain sqlite3 cursor over the same events, leaves and nodes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.durable_rounds import measure_durable  # noqa: E402
from bench.whole_ledger import measure_appends, measure_fsck  # noqa: E402
from engines.registry import installed_game, installed_rules  # noqa: E402
from engines.simulate import CHUNK_ROUNDS, simulate  # noqa: E402
from ledger.rounds import RoundLedger  # noqa: E402

GAME = "moonlight-princess"
BLOCKS = 1_000_000
# A base round with full events, in blocks.
BLOCK_LIMITS = {"moonlight-princess": 14, "starlight-wins": 14, "moon-spell": 8, "moon-princess-stargazing": 24}
IMPORTS = "import typer, pydantic, eventsourcing.application, eventsourcing.sqlite"
VERIFY = "import sys; from audit_reports.cli import main\nif __name__ == '__main__': main(sys.argv[1:])"


def seconds(work: Callable[[], Any]) -> float:
    """Return how long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def figure(name: str, unit: str, limit: float, measured: list[float], yardstick: list[float]) -> dict[str, Any]:
    """Return a figure: the median of the ratios of neighbouring turns, and what it is made from."""
    ratios = [ours / theirs for ours, theirs in zip(measured, yardstick, strict=True)]
    return {
        "figure": name,
        "ratio": round(statistics.median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
        "limit": limit,
        "measured": statistics.median(measured),
        "yardstick": statistics.median(yardstick),
        "unit": unit,
    }


def measure_blocks(game: str, limit: float, turns: int) -> dict[str, Any]:
    """Measure a base round of a game with full events against one ChaCha20 block, both compiled, one core."""
    import numba
    import numpy

    from engines.jit import compiled
    from engines.rng import STREAM_LENGTH, chacha20_block

    block = compiled(chacha20_block)

    @numba.njit
    def run_blocks(stream: Any, count: int) -> None:
        for _ in range(count):
            block(stream)

    stream = numpy.zeros(STREAM_LENGTH, dtype=numpy.int64)
    run_blocks(stream, 1)
    rules = installed_rules(game)
    list(simulate(rules, "base", 1000, seed=bytes(32)))
    rounds, blocks = [], []
    for _ in range(turns):
        blocks.append(seconds(lambda: run_blocks(stream, BLOCKS)) / BLOCKS)
        rounds.append(seconds(lambda: list(simulate(rules, "base", 4 * CHUNK_ROUNDS, seed=bytes(32)))) / (4 * CHUNK_ROUNDS))
    return figure(f"a base round of {game} with full events, in ChaCha20 blocks", "seconds", limit, rounds, blocks)


def new_ledger(path: Path, round_count: int) -> str:
    """Make a ledger of base rounds and return the id of one in its middle."""
    game = installed_game(GAME)
    game.compile()
    middle = ""
    with RoundLedger.create(path) as ledger:
        account_ref = ledger.open_account("bench", "EUR")
        ledger.move_funds(account_ref, 10**12, "play_money")
        for number in range(round_count):
            played = ledger.play(account_ref, game, "base", 200)
            if number == round_count // 2:
                middle = played.round_id
    return middle


def measure_verify(folder: Path, round_count: int, turns: int) -> list[dict[str, Any]]:
    """Measure `audit verify --round` as a process of its own on two sizes of ledger, against an interpreter's imports."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(ROOT)
    commands = {}
    for size in (1000, round_count):
        path = folder / f"{size}.db"
        round_id = new_ledger(path, size)
        commands[size] = [sys.executable, "-c", VERIFY, "verify", "--ledger", str(path), "--round", round_id]
    imports = [sys.executable, "-c", IMPORTS]
    times: dict[str, list[float]] = {"small": [], "large": [], "imports": []}
    for turn in range(turns + 1):
        for name, command in (("small", commands[1000]), ("large", commands[round_count]), ("imports", imports)):
            taken = seconds(lambda command=command: subprocess.run(command, env=environment, check=True, capture_output=True))
            if turn:  # the first fills Python's own cache of compiled sources
                times[name].append(taken)
    large, small = times["large"], times["small"]
    return [
        figure(f"audit verify --round on {round_count} rounds, in starts with imports", "seconds", 3, large, times["imports"]),
        figure(f"audit verify --round on {round_count} rounds, in the same on 1000 rounds", "seconds", 1.1, large, small),
    ]


def main() -> None:
    """Measure all figures and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100_000, help="rounds of the large ledger")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--folder", type=Path, default=None, help="where to write; a folder of the disk that counts")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = [measure_blocks(game, limit, options.turns) for game, limit in BLOCK_LIMITS.items()]
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        ours, raw = measure_durable(Path(name), round_count=4000, turns=options.turns)
        figures.append(figure("durable rounds, in plain sqlite3 with the same rows (at least)", "rounds a second", 0.6, ours, raw))
        ours, raw = measure_appends(Path(name), turns=3 * options.turns)
        figures.append(figure("appends with leaf and nodes, in the same without them (at least)", "appends a second", 0.8, ours, raw))
        figures.extend(measure_verify(Path(name), options.rounds, options.turns))
        ours, raw = measure_fsck(Path(name) / f"{options.rounds}.db", turns=options.turns)
        title = f"fsck on {options.rounds} rounds, in a plain cursor over the same rows (at least)"
        figures.append(figure(title, "passes a second", 0.5, ours, raw))
    if options.json:
        print(json.dumps(figures))
        return
    for each in figures:
        spread = f"({each['ratio_min']} to {each['ratio_max']})"
        print(f"{each['ratio']:8.2f} {spread:18} limit {each['limit']:<5} {each['figure']}")
        print(f"{'':8} {each['measured']:.3g} beside {each['yardstick']:.3g} {each['unit']}")


if __name__ == "__main__":
    main()
