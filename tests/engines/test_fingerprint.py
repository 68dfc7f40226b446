"""Fingerprint and compile cache: an edited source never replays old code."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

from engines.fingerprint import engine_fingerprint, source_files
from tests.conftest import ROOT

MODULE = "engines.games.moonlight_princess.game"


def test_the_fingerprint_covers_what_the_kernel_reaches() -> None:
    """Kernel, shared kernels and random numbers are in it; simulation, decoding and the registry are not."""
    names = {name for name, _ in source_files(MODULE)}
    assert {MODULE, "engines.rng", "engines.event_buffer", "engines.kernels.reels", "engines.kernels.win_cap", "engines.rules"} <= names
    assert not names & {"engines.simulate", "engines.decode", "engines.registry", "engines.game"}


def test_imports_are_found_as_the_parser_finds_them() -> None:
    """The pattern that finds imports sees what Python's own parser sees, in every source of the engines."""
    for path in (ROOT / "engines").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        wanted = set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("engines"):
                wanted.add(node.module)
            elif isinstance(node, ast.Import):
                wanted.update(alias.name for alias in node.names if alias.name.startswith("engines"))
        reached = {found for found, _ in source_files(name)}
        assert wanted <= reached, path


def test_rules_are_part_of_the_fingerprint() -> None:
    """Other rules, another fingerprint."""
    assert engine_fingerprint(MODULE, "a" * 64) != engine_fingerprint(MODULE, "b" * 64)


PROGRAM = """
import numpy
from engines import rng
from engines.jit import cache_folder, compiled
stream = numpy.zeros(rng.STREAM_LENGTH, dtype=numpy.int64)
rng.start_stream(stream, numpy.zeros(8, dtype=numpy.int64), numpy.zeros(3, dtype=numpy.int64))
print(cache_folder().name, compiled(rng.next_word)(stream))
"""


def test_an_edited_callee_is_compiled_anew(tmp_path: Path) -> None:
    """After an edit in a function that a cached kernel calls, the compiled kernel gives the new result, from another folder."""
    shutil.copytree(ROOT / "engines", tmp_path / "engines")

    def run() -> list[str]:
        environment = {"HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    first = run()
    assert run() == first
    source = tmp_path / "engines" / "rng.py"
    source.write_text(source.read_text().replace("d = ((d << 16) & MASK) | (d >> 16)", "d = ((d << 17) & MASK) | (d >> 15)"))
    edited = run()
    assert edited[0] != first[0]
    assert edited[1] != first[1]
