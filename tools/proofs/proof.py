"""What every proof needs: a thing that must hold, and the error where it does not."""

from pathlib import Path
from typing import Any

__all__ = ["ROOT", "SEED", "ProofError", "expect"]

ROOT = Path(__file__).resolve().parents[2]
SEED = bytes(range(32))


class ProofError(Exception):
    """Something that must hold does not."""

    def __init__(self, proof: str, wanted: str, found: str) -> None:
        super().__init__(proof, wanted, found)
        self.proof, self.wanted, self.found = proof, wanted, found

    def __str__(self) -> str:
        return f"{self.proof}: want {self.wanted}, got {self.found}"


def expect(proof: str, wanted: Any, found: Any) -> None:
    """Raise ProofError where the two are not equal."""
    if wanted != found:
        raise ProofError(proof, str(wanted)[:300], str(found)[:300])
