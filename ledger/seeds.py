"""Server seeds at rest (`rng/1`, item 1): sealed under the seed key, never written open.

Sealed form, on disk for ever: 12 random bytes, then AES-256-GCM of the 32 bytes of the seed under the seed key, with
the 32 bytes of the commitment as associated data. So a sealed seed cannot be passed off as another epoch's.
"""

import os

from engines.rng import seed_commitment
from ledger.errors import KeyMismatch

__all__ = ["SEED_BYTES", "SeedEpoch", "new_seed", "seal_seed", "unseal_seed"]

SEED_BYTES = 32
_NONCE_BYTES = 12


class SeedEpoch:
    """An epoch that this process may open rounds under, of any account unless it is one's own. Its text never shows the seed."""

    __slots__ = ("account_ref", "commitment", "next_nonce", "number", "seed")

    def __init__(self, number: int, seed: bytes, account_ref: str = "") -> None:
        self.number = number
        self.account_ref = account_ref
        self.seed = seed
        self.commitment = seed_commitment(seed)
        self.next_nonce = 0  # none below it is dealt again, whatever the ledger says

    def __repr__(self) -> str:
        return f"SeedEpoch(number={self.number}, commitment={self.commitment})"


def new_seed() -> bytes:
    """Return 32 fresh bytes of the operating system."""
    return os.urandom(SEED_BYTES)


def seal_seed(seed: bytes, seed_key: bytes) -> bytes:
    """Return a seed sealed under the seed key, for the store."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(seed_key).encrypt(nonce, seed, bytes.fromhex(seed_commitment(seed)))


def unseal_seed(sealed: bytes, commitment: bytes, seed_key: bytes, *, epoch: int) -> bytes:
    """Return the seed of an epoch; raises KeyMismatch where the key, the sealed bytes or the commitment is another's."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        seed = AESGCM(seed_key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], commitment)
    except (InvalidTag, ValueError) as error:
        expected = f"one that opens the seed committed to as {commitment.hex()}"
        raise KeyMismatch(f"seed key for epoch {epoch}", expected, "another") from error
    if seed_commitment(seed) != commitment.hex():
        raise KeyMismatch(f"sealed seed of epoch {epoch}", f"one of commitment {commitment.hex()}", seed_commitment(seed))
    return seed
