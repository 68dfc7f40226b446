"""Calibrate a game: make its strips, trim its weights until each mode returns its target, measure the result.

    python tools/calibrate.py moonlight-princess STEP [options]     # strips, tune, measure
    python tools/calibrate.py starlight-wins [options]              # makes the tables; --measure
    python tools/calibrate.py moon-spell [options]                  # exact: nothing is sampled; --write
    python tools/calibrate.py moon-princess-stargazing STEP [options]  # strips, tune, measure

Each game has a module `calibrate_<game>`. Samples are kept outside the project and a run goes on where the one before it
stopped; the same options give the same numbers however often they were interrupted. docs/calibration.md says what is
estimated and why it is right.
"""

import argparse
import importlib
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

MODULES = {
    "moonlight-princess": "calibrate_moonlight",
    "starlight-wins": "calibrate_starlight",
    "moon-spell": "calibrate_moon_spell",
    "moon-princess-stargazing": "calibrate_stargazing",
}


def module_of(game: str) -> ModuleType:
    """Return the module that calibrates a game."""
    return importlib.import_module(f"tools.{MODULES[game]}")


def main() -> None:
    """Run one step of one game; what it finds goes to stdout, progress to stderr."""
    if sys.argv[1:2] and sys.argv[1] in MODULES and not hasattr(module_of(sys.argv[1]), "STEPS"):
        module_of(sys.argv[1]).main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", choices=MODULES)
    parser.add_argument("step", help="what to do; the game's module lists its STEPS")
    parser.add_argument("--seed", nargs="+", default=["1"], help="of shuffles and samples; several make one sample (default: 1)")
    parser.add_argument("--scale", type=int, default=1, help="size of each seed's sample, in units of the game (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where the chunks are kept; a run goes on with those of the one before")
    parser.add_argument("--version", help="rules version (default: the newest)")
    options = parser.parse_args()
    steps = module_of(options.game).STEPS
    if options.step not in steps:
        parser.error(f"step {options.step!r}: want one of {', '.join(steps)}")
    if options.folder is None and options.step != "strips":
        parser.error(f"step {options.step!r} samples: want --folder, a folder outside the project")
    print(steps[options.step](options))


if __name__ == "__main__":
    main()
