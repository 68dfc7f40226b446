"""Machine code is certain of nothing that is wrong, takes what is right, and where it cannot be had fsck goes on without."""

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines.game_events import GAME_EVENTS
from ledger.certain_stretches import certain_stretches
from ledger.event_forms import agreeing_values
from ledger.fsck import check_ledger
from ledger.game_forms import KERNELS, follows_form, form_of
from ledger.lifecycle_events import RoundOpened
from ledger.merkle import append_digest, leaf_bytes, leaf_hash
from ledger.sqlite_library import DirectConnection, addresses
from ledger.stretch import STRETCH_LEAVES, clean_stretches
from ledger.table_rows import table_rows
from tests.ledger.test_stretch import PIECE, REAL, TOKEN
from tests.ledger_files import altered, new_ledger, play_some

numba = pytest.importorskip("numba")
numpy = pytest.importorskip("numpy")

FORMS = {kind: form_of(model) for kind, model in GAME_EVENTS.items()}
GAME = st.sampled_from(sorted(GAME_EVENTS)).flatmap(lambda kind: st.tuples(st.just(kind), REAL[kind]))


@pytest.fixture(scope="module")
def compiled_follows_form() -> Any:
    """What goes along a form, as machine code."""
    from numba.extending import register_jitable

    for kernel in KERNELS:
        register_jitable(kernel)
    return numba.njit(follows_form)


WON = b'{"cells":[],"count":0,"kind":"win","line":0,"multiplier":0,"pay_x100":0,"symbol":0,"v":1,"ways":0,"win_minor":0}'


@given(event=GAME, piece=PIECE)
@example(event=("win", WON), piece=b"9007199254740992")
@example(event=("win", WON), piece=b"-0")
@example(event=("win", WON), piece=b"00")
@example(event=("win", WON), piece=b"[0,]")
def test_what_a_form_lets_through_is_exact(compiled_follows_form: Any, event: tuple[str, bytes], piece: bytes) -> None:
    """A game event follows its form; with other bytes in it only where it is one still; plain and compiled say the same."""
    kind, data = event
    form = FORMS[kind]
    numbers = numpy.array(form)
    assert follows_form(data, len(data), form, 0)
    for token in TOKEN.finditer(data):
        for start in token.span():
            altered = data[:start] + piece + data[token.end() :]
            is_let_through = follows_form(altered, len(altered), form, 0)
            assert not is_let_through or agreeing_values(f"{kind}/1", altered) is not None
            assert compiled_follows_form(numpy.frombuffer(altered + b" ", numpy.uint8), len(altered), numbers, 0) == is_let_through


def test_models_of_other_fields_have_no_form() -> None:
    """Texts of any kind are left to others: a model with one has no form."""
    with pytest.raises(TypeError, match=r"^no form for .*str"):
        form_of(RoundOpened)


MOVED = b'{"amount_minor":5,"balance_after_minor":5,"kind":"funds_moved","moved_at_us":1,"reason":"deposit","v":1}'
ENDED = b'{"award_minor":0,"cut_minor":0,"kind":"spin_ended","meter":0,"spin_multiplier":1,"total_minor":0,"v":1}'
RIGHT: dict[str, Any] = {
    "stream": "a",
    "first": 4,
    "last": 5,
    "time": 7,
    "topics": ("funds_moved/1", "spin_ended/1"),
    "datas": (MOVED, ENDED),
}
WRONG: dict[str, dict[str, Any]] = {
    "no name": {"stream": ""},
    "a long name": {"stream": "a" * 257},
    "a name of two lines": {"stream": "a\nb"},
    "a name that is no ASCII": {"stream": "ä"},
    "a name that is bytes": {"stream": b"a"},
    "a version 0": {"first": 0, "last": 1},
    "no version": {"first": 5, "last": 4},
    "versions without end": {"last": 2**63 - 1},
    "the greatest version": {"first": 2**63 - 2, "last": 2**63 - 1},
    "more versions than events": {"last": 6},
    "a time before all": {"time": -1},
    "a time with a fraction": {"time": 7.5},
    "an unknown topic": {"topics": ("funds_moved/1", "spin_ended/2")},
    "a topic that goes on": {"topics": ("funds_moved/1", "spin_ended/1\0")},
    "a topic that is bytes": {"topics": ("funds_moved/1", b"spin_ended/1")},
    "another kind": {"topics": ("funds_moved/1", "win/1")},
    "another form": {"datas": (MOVED, ENDED + b" ")},
    "less than a form": {"datas": (MOVED, ENDED[:-1])},
    "nothing": {"datas": (MOVED, b"")},
    "an event that is text": {"datas": (MOVED, ENDED.decode())},
    "an event without room": {"datas": (b" " * 4097, ENDED)},
    "more events without room": {"last": 12, "topics": ("funds_moved/1",) * 9, "datas": (MOVED,) * 9},
    "a game event first": {"first": 1, "last": 2, "topics": ("spin_ended/1",) * 2, "datas": (ENDED, ENDED)},
    "another hash": {"hash": bytes(32)},
    "a short hash": {"cut": 31},
    "another index": {"leaf_index": 1},
}


def certain_count(path: Path, *, stream: Any, first: int, last: int, time: Any, topics: Any, datas: Any, **other: Any) -> int:
    """Return of how many leaves machine code is certain where a file holds one leaf, with its right hash where not told otherwise."""
    from ledger.certain_leaves import go_over, new_room

    name = stream if isinstance(stream, str) else stream.decode()
    covered = [data.encode() if isinstance(data, str) else data for data in datas][: max(0, last - first + 1)]
    digest = append_digest(covered if last < 2**62 else [])
    found = other.get("hash", leaf_hash(leaf_bytes(name, first, last, int(time), digest)))[: other.get("cut", 32)]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE leaves (leaf_index, stream, first, last, time, hash)")
        connection.execute("INSERT INTO leaves VALUES (?,?,?,?,?,?)", (other.get("leaf_index", 0), stream, first, last, time, found))
        connection.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, stream, version, topic, data)")
        rows = [(stream, first + i, topic, data) for i, (topic, data) in enumerate(zip(topics, datas, strict=True)) if first + i < 2**63]
        connection.executemany("INSERT INTO events (stream, version, topic, data) VALUES (?,?,?,?)", rows)
    with DirectConnection(path) as direct:
        leaves, events = (direct.prepared(f"SELECT * FROM {table} ORDER BY 1", ()) for table in ("leaves", "events"))
        return go_over(leaves, events, [], 1, 0, new_room(1, 1))


def test_machine_code_is_certain_of_a_right_leaf(tmp_path: Path) -> None:
    """A leaf over a lifecycle event and a game event is taken."""
    assert certain_count(tmp_path / "a.db", **RIGHT) == 1


@pytest.mark.parametrize("wrong", WRONG)
def test_machine_code_is_certain_of_no_other_leaf(tmp_path: Path, wrong: str) -> None:
    """Whatever is wrong with a leaf or its events, though its hash is right, is left to who looks at each."""
    assert certain_count(tmp_path / "a.db", **(RIGHT | WRONG[wrong])) == 0


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of two rooms and a part of a third, of four stretches each."""
    folder = tmp_path_factory.mktemp("certain")
    with new_ledger(folder) as (ledger, account_ref):
        play_some(ledger, account_ref, 5 * STRETCH_LEAVES)
    return folder / "ledger.db"


def test_machine_code_goes_over_all_whole_stretches(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a clean ledger machine code takes all but the last, unfinished stretch, and they are those that are read in bulk."""
    monkeypatch.setattr("ledger.certain_stretches.ROOM_LEAVES", 4 * STRETCH_LEAVES)
    with table_rows(played) as rows:
        found = list(certain_stretches(played, rows) or ())
        whole_count = rows.leaf_count() // STRETCH_LEAVES
        wanted = list(clean_stretches(rows))[:whole_count]
    assert whole_count > 8
    assert [stretch._replace(streams=tuple(stretch.streams)) for stretch in found] == [
        stretch._replace(firsts=list(stretch.firsts), lasts=list(stretch.lasts)) for stretch in wanted
    ]
    started: list[int] = []
    monkeypatch.setattr("ledger.fsck.RANGES_MIN", 0)
    monkeypatch.setattr("ledger.fsck.clean_stretches", lambda rows, first: started.append(first) or clean_stretches(rows, first))
    assert list(check_ledger(played, job_count=2)) == []
    assert started == [whole_count * STRETCH_LEAVES]


@pytest.mark.parametrize("level", [1, 6])
def test_a_node_of_another_type_is_none(played: Path, tmp_path: Path, level: int) -> None:
    """A hash that is text of the same bytes is no node that is certain."""
    copy = tmp_path / "copy.db"
    shutil.copyfile(played, copy)
    altered(copy, f"UPDATE nodes SET node_hash = CAST(node_hash AS TEXT) WHERE level = {level} AND node_index = {64 >> level}")
    with table_rows(copy) as rows:
        assert len(list(certain_stretches(copy, rows) or ())) == 1


def test_what_is_written_later_is_not_looked_at(tmp_path: Path) -> None:
    """Machine code reads at a later moment, and no leaf that the moment held to does not have."""
    with new_ledger(tmp_path) as (ledger, account_ref):
        play_some(ledger, account_ref, STRETCH_LEAVES)
        path = tmp_path / "ledger.db"
        with table_rows(path) as rows:
            count = rows.leaf_count()
            play_some(ledger, account_ref, STRETCH_LEAVES)
            found = list(certain_stretches(path, rows) or ())
            assert rows.leaf_count() == count
    assert sum(len(stretch.ends) for stretch in found) == count // STRETCH_LEAVES * STRETCH_LEAVES


def test_fsck_goes_on_without_machine_code(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where numba, or a library's functions, are missing there are no stretches by machine code, and fsck finds what it finds."""
    monkeypatch.delitem(sys.modules, "ledger.certain_leaves", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    with table_rows(played) as rows:
        assert certain_stretches(played, rows) is None
    asked: list[int] = []
    monkeypatch.setattr("ledger.fsck.RANGES_MIN", 0)
    monkeypatch.setattr("ledger.fsck.stretches_of_ranges", lambda _, range_count, job_count: asked.append(job_count) or iter(()))
    assert list(check_ledger(played, job_count=2)) == []
    assert asked == [2]


def test_libraries_that_show_nothing_are_named() -> None:
    """A function that a library has not, and a module that is none of a library, say so as a failed import."""
    for module in ("_sqlite3", "sys"):
        with pytest.raises(ImportError, match=f"^{module} shows no sqlite3_fly$"):
            addresses(module, ["sqlite3_fly"])


def test_machine_code_needs_a_place_to_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no folder can be made for it, machine code is not made each time, which takes longer than doing without."""
    from ledger import certain_leaves

    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ImportError, match=r"^machine code cannot be kept in .*/file/"):
        certain_leaves._machine_code()


def test_a_full_disk_is_no_end_of_fsck(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room to keep machine code in, the stretches by it come to an end, and fsck goes on without."""
    from ledger import certain_leaves

    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(certain_leaves, "go_over", refuse)
    monkeypatch.setattr("ledger.fsck.RANGES_MIN", 0)
    assert list(check_ledger(played, job_count=2)) == []


def test_a_file_that_cannot_be_opened_is_left_alone(tmp_path: Path, played: Path) -> None:
    """The library's own refusal is an error of sqlite3, of which the stretches make an end."""
    with pytest.raises(sqlite3.OperationalError, match=r"^sqlite3_open_v2: 14$"):
        DirectConnection(tmp_path / "missing.db")
    with DirectConnection(played) as direct, pytest.raises(sqlite3.OperationalError, match=r"^sqlite3_prepare_v2: 1$"):
        direct.prepared("SELECT nothing FROM nowhere", ())
    with table_rows(played) as rows:
        assert list(certain_stretches(tmp_path / "missing.db", rows) or ()) == []
