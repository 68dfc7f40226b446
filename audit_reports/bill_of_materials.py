"""What the program is made of: its own files and the libraries that it stands on, as a CycloneDX 1.6 document."""

import hashlib
import json
import re
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

__all__ = ["bill_of_materials", "library_versions", "package_sources"]

PROGRAM = "slot-audit"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def library_versions() -> dict[str, str]:
    """Return each library that the program needs here, directly or through another, and its installed version, by name."""
    found: dict[str, str] = {}
    waiting = _needed(PROGRAM, {"certify"})
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # an extra that is not installed
            continue
        waiting += [each for each in _needed(name, set()) if each not in found]
    return dict(sorted(found.items()))


def _needed(name: str, extras: set[str]) -> list[str]:
    """Return the libraries that a distribution asks for on this machine, with these of its extras."""
    from packaging.requirements import Requirement

    needed = []
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        environments = [{"extra": extra} for extra in extras] or [{"extra": ""}]
        if requirement.marker is None or any(requirement.marker.evaluate(each) for each in environments):
            needed.append(requirement.name.lower().replace("_", "-"))
    return needed


def bill_of_materials(sources: dict[str, str]) -> dict[str, Any]:
    """Return the document: sources (SHA-256 by path) as files of the program, libraries by name, version and licence.

    The same on every run of one installation: no serial number, no time.
    """
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output.json import JsonV1Dot6

    program = Component(type=ComponentType.APPLICATION, name=PROGRAM, version=version(PROGRAM), bom_ref=PROGRAM)
    bom = Bom()
    bom.metadata.component = program
    for path, digest in sorted(sources.items()):
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digest)]
        bom.components.add(Component(type=ComponentType.FILE, name=path, hashes=hashes, bom_ref=f"file:{path}"))
    for name, installed in library_versions().items():
        bom.components.add(Component(type=ComponentType.LIBRARY, name=name, version=installed, bom_ref=f"library:{name}"))
    bom.register_dependency(program, bom.components)
    document: dict[str, Any] = json.loads(JsonV1Dot6(bom).output_as_string())
    document.pop("serialNumber", None)
    document["metadata"].pop("timestamp", None)
    return document


def package_sources() -> dict[str, str]:
    """Return the SHA-256 of every file of the program, by its path from the folder that holds its packages."""
    root = Path(__file__).resolve().parent.parent
    packages = ("engines", "ledger", "replay", "audit_reports")
    files = sorted(
        path for package in packages for path in (root / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
