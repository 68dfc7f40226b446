"""Round keys of `rng/1` by the letter, and that a sealed seed opens under its own key and commitment only."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines import rng
from ledger import seeds
from ledger.errors import KeyMismatch

SEED = bytes(range(32))
COMMITMENT = bytes.fromhex(rng.seed_commitment(SEED))


@given(st.binary(min_size=32, max_size=32), st.text(max_size=80), st.text(max_size=60), st.integers(0, 2**64 - 1))
def test_round_key_follows_the_text_of_the_specification(seed, game, client_seed, nonce):
    """For any input the key is the HMAC over the five parts, written out."""
    message = b"round-key/1"
    for part in (game.encode(), client_seed.encode()):
        message += bytes([len(part) // 256, len(part) % 256]) + part
    message += nonce.to_bytes(8, "big")
    assert rng.round_key(seed, game, client_seed, nonce) == hmac.new(seed, message, hashlib.sha256).digest()


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_a_sealed_seed_opens_under_its_key(seed, seed_key):
    """What was sealed comes back, and neither form nor length shows the seed."""
    sealed = seeds.seal_seed(seed, seed_key)
    assert len(sealed) == 12 + 32 + 16
    assert seed not in sealed
    assert seeds.unseal_seed(sealed, bytes.fromhex(rng.seed_commitment(seed)), seed_key, epoch=1) == seed
    assert seeds.seal_seed(seed, seed_key) != sealed


@given(st.integers(0, 60 * 8 - 1))
def test_a_changed_bit_keeps_a_seed_sealed(bit):
    """A sealed seed with any one bit changed does not open."""
    sealed = bytearray(seeds.seal_seed(SEED, bytes(32)))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(KeyMismatch):
        seeds.unseal_seed(bytes(sealed), COMMITMENT, bytes(32), epoch=1)


@pytest.mark.parametrize(
    ("commitment", "seed_key", "cut"), [(bytes(32), bytes(32), 60), (None, b"\x01" * 32, 60), (None, bytes(32), 5), (None, bytes(32), 0)]
)
def test_other_keys_commitments_and_lengths_are_refused(commitment, seed_key, cut):
    """A seed is bound to the key and to its commitment; short bytes are no crash."""
    sealed = seeds.seal_seed(SEED, bytes(32))[:cut]
    with pytest.raises(KeyMismatch):
        seeds.unseal_seed(sealed, commitment or COMMITMENT, seed_key, epoch=3)


def test_an_epoch_never_shows_its_seed():
    """The text of an epoch holds number and commitment, not the seed."""
    epoch = seeds.SeedEpoch(4, SEED)
    assert repr(epoch) == f"SeedEpoch(number=4, commitment={rng.seed_commitment(SEED)})"
