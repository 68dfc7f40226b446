"""Jurisdiction profile: what the house decides beside the rules of the games. Each round names the one it was played under."""

import hashlib
from functools import cache, cached_property
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from engines.canonical import canonical_json

__all__ = ["Profile", "default_profile"]


class Profile(BaseModel):
    """A set of decisions under one name."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)

    id: Annotated[str, Field(pattern="^[a-z0-9-]{1,64}$")] = "default"

    @cached_property
    def profile_hash(self) -> str:
        """SHA-256 of the canonical JSON of all values."""
        return hashlib.sha256(canonical_json(self.model_dump())).hexdigest()


@cache
def default_profile() -> Profile:
    """Return the profile of a house that has set none; made when asked for, as it takes time that reading a ledger does not need."""
    return Profile()
