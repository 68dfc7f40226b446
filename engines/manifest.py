"""The manifest of a build: each source that its fingerprint is over, by path, so that any tool can hold a file against it.

It stands apart from `fingerprint.py`, which kernels reach: nothing here is part of any fingerprint.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from engines.fingerprint import source_files

__all__ = ["manifest_fingerprint", "source_manifest"]

_ROOT = Path(__file__).resolve().parent.parent


def source_manifest(module: str) -> dict[str, str]:
    """Return the SHA-256 of each source that `source_files` names, by its path from the folder that holds our packages.

    It is that of the file with every line end a single newline.
    """
    manifest = {}
    for name, digest in source_files(module):
        path = name.replace(".", "/")
        manifest[f"{path}.py" if (_ROOT / f"{path}.py").is_file() else f"{path}/__init__.py"] = digest
    return manifest


def manifest_fingerprint(sources: Mapping[str, str], rules_hash: str) -> str:
    """Return the fingerprint that a manifest comes to, whoever wrote it; no file is read."""
    modules = sorted((path.removesuffix(".py").removesuffix("/__init__").replace("/", "."), digest) for path, digest in sources.items())
    lines = "".join(f"{name} {digest}\n" for name, digest in modules)
    return sha256(f"engine/1\n{lines}rules {rules_hash}".encode()).hexdigest()
