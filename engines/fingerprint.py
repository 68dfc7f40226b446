"""What a record names as the engine that made it: a hash over the sources its kernel reaches and its rules.

Nothing about interpreter, compiler or other games is in it: the bytes do not depend on them.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

__all__ = ["engine_fingerprint", "package_digest", "source_files"]

_ROOT = Path(__file__).resolve().parent.parent
# Our modules import each other by `from engines.x import y` alone; a test holds this pattern against the parsed source.
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(engines(?:\.\w+)*)", re.MULTILINE)


def _module_file(module: str) -> Path | None:
    path = _ROOT.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _imported_modules(source: bytes) -> list[str]:
    return [match.decode() for match in _IMPORT.findall(source)]


@cache
def source_files(module: str) -> tuple[tuple[str, str], ...]:
    """Return (module, SHA-256 of its source) of `module` and all modules of `engines` that it reaches, by name.

    Line ends are taken as a single newline, so a checkout that rewrites them names the same engine.
    """
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _module_file(name)
        if name in found or path is None:
            continue
        source = path.read_bytes().replace(b"\r\n", b"\n")
        found[name] = hashlib.sha256(source).hexdigest()
        waiting.extend(_imported_modules(source))
    return tuple(sorted(found.items()))


def engine_fingerprint(module: str, rules_hash: str) -> str:
    """Return the fingerprint of the kernel in `module` under the rules of `rules_hash`, 64 hex digits."""
    lines = [f"{name} {digest}" for name, digest in source_files(module)]
    return hashlib.sha256("\n".join(["engine/1", *lines, f"rules {rules_hash}"]).encode()).hexdigest()


@cache
def package_digest(package: str) -> str:
    """Return one SHA-256 over every source file of a package of ours, by path."""
    total = hashlib.sha256()
    for path in sorted((_ROOT / package).rglob("*.py")):
        total.update(f"{path.relative_to(_ROOT).as_posix()}\n".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
