"""The rules of the house as code: names, lengths, docstrings, what may be imported, what is exported."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGES = ("engines", "ledger", "replay", "audit_reports")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
ALL_CODE = SOURCES + sorted(path for folder in ("tests", "tools", "bench") for path in (ROOT / folder).rglob("*.py"))
TEXTS = [
    path for path in ROOT.rglob("*") if path.suffix in (".md", ".toml", ".py", ".lock") and not {".venv", ".git", "build"} & set(path.parts)
]

FUNCTION_LINES_MAX = 60
KERNEL_LINES_MAX = 70
FILE_LINES_MAX = 500
# A stand-alone verifier is one file that goes into every pack, so that one person can read it with nothing else at hand: a program that
# exports nothing, up to 599 lines (see its own test), one sentence of a docstring only where a name does not say it.
STANDALONE = {ROOT / "audit_reports" / "verifier" / name for name in ("verify_pack.py", "verify_certification.py")}
# Another system's book, a cipher's block, the commands of the command line apart (style, 4.1).
BANNED = re.compile(r"(^|_)(cascade|avalanche|sim|payout|utils?|helpers?|manager|infos?)(_|$)", re.IGNORECASE)
FOREIGN = re.compile(r"find-links|/opt/|/home/\w|/root/|/work/|/farm/|pypi\.org|files\.pythonhosted|index-url|trusted-host", re.IGNORECASE)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_functions_and_files_are_short() -> None:
    """No function passes 60 lines without its docstring (a kernel 70), no file 500."""
    long = []
    for path in ALL_CODE:
        if len(path.read_text().splitlines()) > FILE_LINES_MAX and path not in STANDALONE:
            long.append(f"{path.relative_to(ROOT)}: {len(path.read_text().splitlines())} lines")
        for node in functions(path):
            is_kernel = any(isinstance(mark, ast.Name) and mark.id == "kernel" for mark in node.decorator_list)
            if body_lines(node) > (KERNEL_LINES_MAX if is_kernel else FUNCTION_LINES_MAX):
                long.append(f"{path.relative_to(ROOT)}: {node.name}, {body_lines(node)} lines")
    assert not long


def test_names_are_the_field_s_words() -> None:
    """Files, classes, functions, parameters and assigned names use no word of the banned list."""
    wrong = []
    for path in ALL_CODE:
        names = [path.stem]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.append(node.name)
            elif isinstance(node, ast.arg):
                names.append(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.append(node.id)
        wrong += [f"{path.relative_to(ROOT)}: {name}" for name in names if BANNED.search(name)]
    assert not wrong


def is_public(name: str) -> bool:
    return not name.startswith("_")


def test_public_docstrings_begin_with_one_sentence() -> None:
    """Each module, public class and public function says in its first line, a whole sentence, what it is."""
    wrong = []
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        documented: list[tuple[str, str | None]] = []
        if path.name != "__init__.py":
            documented.append(("module", ast.get_docstring(tree)))
        for node in tree.body if path not in STANDALONE else []:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and is_public(node.name):
                documented.append((node.name, ast.get_docstring(node)))
            if isinstance(node, ast.ClassDef) and is_public(node.name):
                methods = [each for each in node.body if isinstance(each, ast.FunctionDef) and is_public(each.name)]
                documented += [(f"{node.name}.{method.name}", ast.get_docstring(method)) for method in methods]
        for name, text in documented:
            first = (text or "").split("\n\n")[0]
            if not first or not first.rstrip().endswith((".", ":", "?")):
                wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert not wrong


def test_every_test_states_the_fact_it_proves() -> None:
    """Each test function has a docstring that ends in a full stop."""
    wrong = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in functions(path):
            if node.name.startswith("test_") and not (ast.get_docstring(node) or "").rstrip().endswith("."):
                wrong.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert not wrong


@pytest.mark.parametrize("path", [path for path in SOURCES if path.name == "__init__.py"], ids=lambda path: str(path.relative_to(ROOT)))
def test_packages_import_nothing(path: Path) -> None:
    """`__init__.py` files are empty."""
    assert path.read_text().strip() == ""


@pytest.mark.parametrize("path", [path for path in SOURCES if path.name != "__init__.py"], ids=lambda path: str(path.relative_to(ROOT)))
def test_exports_are_what_is_there(path: Path) -> None:
    """`__all__` is sorted, holds names that exist, and every public class or function of the module that others may use."""
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    names = module.__all__
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert all(hasattr(module, name) for name in names)


def test_nothing_names_a_machine_or_a_registry() -> None:
    """No committed text names a path of one machine or the host of a package registry."""
    wrong = [str(path.relative_to(ROOT)) for path in TEXTS if path != Path(__file__).resolve() and FOREIGN.search(path.read_text())]
    assert not wrong


FORBIDDEN_TO_REFEREE = (
    "engines.rng engines.kernels engines.event_buffer engines.decode engines.game engines.registry engines.jit engines.simulate numba numpy"
)
REFEREE_PROGRAM = """
import importlib.abc, sys
forbidden = tuple(sys.argv[1].split())
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        own = name.split('.')
        is_of_game = own[:2] == ['engines', 'games'] and len(own) == 4 and own[3] != 'rules'
        if is_of_game or any(name == each or name.startswith(each + '.') for each in forbidden):
            raise ImportError(f'the referee must not reach {name}')
sys.meta_path.insert(0, Refuse())
from pathlib import Path
from engines.rules import load_rules
from engines.game_events import parse_game_event
from replay.referee.walk import referee_round
import json
rules = load_rules(Path(sys.argv[2]))
events = [(i, parse_game_event(json.loads(line)['kind'], line.encode())) for i, line in enumerate(sys.stdin.read().splitlines(), 1)]
print(len(events), referee_round(events, rules, mode='buy', bet_minor=40))
"""


def test_the_referee_runs_where_no_kernel_can_be_imported() -> None:
    """In a process in which kernels and random numbers cannot be imported, the referee judges a round and finds nothing."""
    from engines.registry import installed_game
    from engines.rng import round_key

    outcome = installed_game("moonlight-princess").play(round_key(bytes(32), "moonlight-princess", "", 0), "buy", 40, {}, ())
    lines = b"\n".join(event.data for event in outcome.events)
    rules = ROOT / "engines" / "games" / "moonlight_princess" / "rules-0.1.0.toml"
    command = [sys.executable, "-c", REFEREE_PROGRAM, FORBIDDEN_TO_REFEREE, str(rules)]
    done = subprocess.run(command, cwd=ROOT, input=lines, capture_output=True, check=True)
    assert done.stdout.decode().split() == [str(len(outcome.events)), "[]"]


HEAVY = ("sqlite_utils", "rich", "numpy", "numba", "psycopg", "matplotlib", "scipy", "pyarrow", "distributed")
VERIFY_PROGRAM = """
import sys
from audit_reports.cli import main
try:
    main(['verify', '--round', sys.argv[1], '--ledger', sys.argv[2]])
except SystemExit as end:
    assert end.code == 0, end.code
print(*sorted(name for name in sys.modules if '.' not in name))
"""


def test_verify_of_one_round_loads_nothing_heavy(tmp_path: Path) -> None:
    """`audit verify --round` imports none of the libraries that are slow to load."""
    from engines.registry import installed_game
    from ledger.rounds import RoundLedger

    path = tmp_path / "ledger.db"
    ledger = RoundLedger.create(path)
    account_ref = ledger.open_account("player", "EUR")
    ledger.move_funds(account_ref, 1000)
    played = ledger.play(account_ref, installed_game("moonlight-princess"), "base", 200)
    ledger.close()
    command = [sys.executable, "-c", VERIFY_PROGRAM, played.round_id, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "ledger" in loaded
    assert not set(loaded) & set(HEAVY)
