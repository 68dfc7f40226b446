"""Manifests: the fingerprint follows from them, and each hash is the file's own."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.fingerprint import engine_fingerprint
from engines.manifest import manifest_fingerprint, source_manifest
from engines.registry import GameUnknownError, installed_builds, installed_game
from tests.conftest import ROOT

MODULE = "engines.games.moonlight_princess.game"
HASHES = st.binary(min_size=32, max_size=32).map(bytes.hex)


def test_a_manifest_comes_to_the_fingerprint() -> None:
    """The fingerprint of the manifest is that of the engine, whatever the rules' hash is."""
    sources = source_manifest(MODULE)
    assert "engines/games/moonlight_princess/game.py" in sources
    for rules_hash in ("a" * 64, "b" * 64):
        assert manifest_fingerprint(sources, rules_hash) == engine_fingerprint(MODULE, rules_hash)


def test_each_hash_is_that_of_the_file() -> None:
    """Any tool gets the same SHA-256 from the file at the path."""
    for path, digest in source_manifest(MODULE).items():
        assert hashlib.sha256((ROOT / path).read_bytes().replace(b"\r\n", b"\n")).hexdigest() == digest, path


@given(st.data(), HASHES)
def test_every_part_of_a_manifest_counts(data: st.DataObject, other: str) -> None:
    """Another hash, a source more and a source less each come to another fingerprint; the order of the paths does not matter."""
    sources = source_manifest(MODULE)
    path = data.draw(st.sampled_from(sorted(sources)))
    wanted = manifest_fingerprint(sources, "a" * 64)
    assert manifest_fingerprint(dict(reversed(sources.items())), "a" * 64) == wanted
    changed = {**sources, path: other}
    assert (manifest_fingerprint(changed, "a" * 64) == wanted) == (changed == sources)
    assert manifest_fingerprint({each: sources[each] for each in sources if each != path}, "a" * 64) != wanted
    assert manifest_fingerprint({**sources, "engines/more.py": other}, "a" * 64) != wanted
    assert manifest_fingerprint(sources, "b" * 64) != wanted


def test_a_package_is_named_as_its_module() -> None:
    """`engines/__init__.py` stands for the module `engines`, as in the fingerprint."""
    digest = "c" * 64
    wanted = hashlib.sha256(f"engine/1\nengines {digest}\nengines.rng {digest}\nrules {digest}".encode()).hexdigest()
    assert manifest_fingerprint({"engines/rng.py": digest, "engines/__init__.py": digest}, digest) == wanted


def test_installed_builds_are_those_that_play() -> None:
    """The build of each game and version has the fingerprint that its rounds name; an unknown game is refused."""
    builds = installed_builds()
    assert builds == [build for build in builds if installed_game(build.game, build.rules_version).fingerprint == build.fingerprint]
    assert installed_builds("moonlight-princess") == [build for build in builds if build.game == "moonlight-princess"]
    assert all((ROOT / build.rules_path).is_file() for build in builds)
    with pytest.raises(GameUnknownError):
        installed_builds("tic-tac-toe")
