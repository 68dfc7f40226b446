"""Files of chunks: a run goes on with what is whole, and with nothing else."""

from pathlib import Path

import pytest

from tools.chunk_file import ChunkFile


def test_chunks_are_made_once(tmp_path: Path) -> None:
    """A second run makes the missing chunks alone; a line that is not whole is made again."""
    file, made = ChunkFile(tmp_path / "a" / "chunks.jsonl", "dice, seed 1"), []

    def sums_of_chunk(chunk: int) -> list[int]:
        made.append(chunk)
        return [chunk, chunk * chunk]

    assert file.extend(3, sums_of_chunk) == [[0, 0], [1, 1], [2, 4]]
    assert file.extend(2, sums_of_chunk) == [[0, 0], [1, 1]]
    file.path.write_text(file.path.read_text()[:-3])
    assert file.read() == [[0, 0], [1, 1]]
    assert file.extend(4, sums_of_chunk) == [[0, 0], [1, 1], [2, 4], [3, 9]]
    assert file.read() == [[0, 0], [1, 1], [2, 4], [3, 9]]
    assert made == [0, 1, 2, 2, 3]


def test_chunks_of_something_else_are_refused(tmp_path: Path) -> None:
    """A file of another subject is neither read nor added to."""
    path = tmp_path / "chunks.jsonl"
    ChunkFile(path, "seed 1").extend(1, lambda chunk: [chunk])
    with pytest.raises(ValueError, match=r"chunks.jsonl: want chunks of seed 2, got those of seed 1; use another folder"):
        ChunkFile(path, "seed 2").extend(2, lambda chunk: [chunk])
