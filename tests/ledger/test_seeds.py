"""Seeds and round keys of `rng/1`: its vectors, and that a sealed seed opens under its own key and commitment only."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import seeds
from ledger.errors import KeyMismatch

SEED = bytes(range(32))


def test_vectors():
    """Commitment, round keys and round key commitment are those of the specification."""
    assert seeds.seed_commitment(SEED).hex() == "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"
    key = seeds.round_key(SEED, "moonlight-princess", "client-1", 0)
    assert key.hex() == "a37a1a6f358df93fe55e8b9d23ab4cd5d40989da46e2bfb56c195e1fd39584a1"
    assert seeds.round_key_commitment(key).hex() == "8dcc53af7984de798013d2e6f34a9aba663c36df82fea62ebf3bf78d19ca7055"
    other = seeds.round_key(SEED, "starlight-wins", "", 7)
    assert other.hex() == "70b9de2fe797319694315f31f1da5b8a0536a1cd91fa6c35e3d6f2dd3819b500"


@given(st.binary(min_size=32, max_size=32), st.text(max_size=80), st.text(max_size=60), st.integers(0, 2**64 - 1))
def test_round_key_follows_the_text_of_the_specification(seed, game, client_seed, nonce):
    """For any input the key is the HMAC over the five parts, written out."""
    message = b"round-key/1"
    for part in (game.encode(), client_seed.encode()):
        message += bytes([len(part) // 256, len(part) % 256]) + part
    message += nonce.to_bytes(8, "big")
    assert seeds.round_key(seed, game, client_seed, nonce) == hmac.new(seed, message, hashlib.sha256).digest()


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_a_sealed_seed_opens_under_its_key(seed, seed_key):
    """What was sealed comes back, and neither form nor length shows the seed."""
    sealed = seeds.seal_seed(seed, seed_key)
    assert len(sealed) == 12 + 32 + 16
    assert seed not in sealed
    assert seeds.unseal_seed(sealed, seeds.seed_commitment(seed), seed_key, epoch=1) == seed
    assert seeds.seal_seed(seed, seed_key) != sealed


@given(st.integers(0, 60 * 8 - 1))
def test_a_changed_bit_keeps_a_seed_sealed(bit):
    """A sealed seed with any one bit changed does not open."""
    sealed = bytearray(seeds.seal_seed(SEED, bytes(32)))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(KeyMismatch):
        seeds.unseal_seed(bytes(sealed), seeds.seed_commitment(SEED), bytes(32), epoch=1)


@pytest.mark.parametrize(
    ("commitment", "seed_key", "cut"), [(bytes(32), bytes(32), 60), (None, b"\x01" * 32, 60), (None, bytes(32), 5), (None, bytes(32), 0)]
)
def test_other_keys_commitments_and_lengths_are_refused(commitment, seed_key, cut):
    """A seed is bound to the key and to its commitment; short bytes are no crash."""
    sealed = seeds.seal_seed(SEED, bytes(32))[:cut]
    with pytest.raises(KeyMismatch):
        seeds.unseal_seed(sealed, commitment or seeds.seed_commitment(SEED), seed_key, epoch=3)


def test_an_epoch_never_shows_its_seed():
    """The text of an epoch holds number and commitment, not the seed."""
    epoch = seeds.SeedEpoch(4, SEED)
    assert repr(epoch) == f"SeedEpoch(number=4, commitment={seeds.seed_commitment(SEED).hex()})"
