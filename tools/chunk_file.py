"""A file of chunks of integer sums that a long run adds to and a later run goes on from."""

import json
from collections.abc import Callable
from pathlib import Path


class ChunkFile:
    """One JSON line with the subject (what was sampled and how), then one list of integers a chunk, in the order of chunks.

    A run that was killed leaves at most a last line that is not whole; the next run drops it. Raises ValueError for a
    file of another subject: its sums are those of something else.
    """

    def __init__(self, path: Path, subject: str) -> None:
        self.path, self.subject = path, subject

    def read(self) -> list[list[int]]:
        """Return the chunks that are there."""
        if not self.path.exists():
            return []
        lines = self.path.read_text().split("\n")[:-1]
        if not lines:
            return []
        if json.loads(lines[0]) != self.subject:
            raise ValueError(f"{self.path}: want chunks of {self.subject}, got those of {json.loads(lines[0])}; use another folder")
        return [json.loads(line) for line in lines[1:]]

    def extend(self, count: int, sums_of_chunk: Callable[[int], list[int]]) -> list[list[int]]:
        """Return the first `count` chunks; those that are missing are made by `sums_of_chunk` and added to the file."""
        chunks = self.read()
        if len(chunks) >= count:
            return chunks[:count]
        whole = "".join(json.dumps(each) + "\n" for each in [self.subject, *chunks])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists() or self.path.read_text() != whole:
            self.path.write_text(whole)
        with self.path.open("a") as file:
            for chunk in range(len(chunks), count):
                chunks.append(sums_of_chunk(chunk))
                file.write(json.dumps(chunks[-1]) + "\n")
                file.flush()
        return chunks
