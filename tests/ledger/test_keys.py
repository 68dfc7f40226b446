"""The keys folder: made once, for the owner only, and read back or refused."""

import base64
import hashlib
import os
import stat

import pytest

from ledger import keys
from ledger.errors import KeyMissing, KeysExist, KeyUnreadable

LEDGER_ID = "00" * 16


@pytest.mark.parametrize("umask", [0, 0o077])
def test_keys_are_made_for_the_owner_and_read_back(tmp_path, umask):
    """Private files are the owner's alone whatever the umask, and the verifier key belongs to the signing key."""
    old = os.umask(umask)
    try:
        verifier_key = keys.create_keys(tmp_path / "keys", LEDGER_ID)
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "keys").iterdir()}
    assert modes == {"log.key": 0o600, "log.vkey": 0o644, "seeds.key": 0o600}
    assert len(keys.load_seed_key(tmp_path / "keys")) == 32
    assert keys.load_verifier_key(tmp_path / "keys" / "log.vkey") == verifier_key
    assert verifier_key.name == f"slot-ledger/{LEDGER_ID}"
    signing_key = keys.load_log_key(tmp_path / "keys")
    assert keys.public_key_bytes(signing_key) == verifier_key.public_key
    assert b"BEGIN PRIVATE KEY" in (tmp_path / "keys" / "log.key").read_bytes()


def test_the_verifier_key_has_the_form_of_c2sp(tmp_path):
    """Name, first four bytes of SHA-256(name, newline, 1, key) in hex, and the base64 of 1 and the key."""
    verifier_key = keys.create_keys(tmp_path, LEDGER_ID)
    raw = b"\x01" + verifier_key.public_key
    name = f"slot-ledger/{LEDGER_ID}"
    key_id = hashlib.sha256(name.encode() + b"\n" + raw).hexdigest()[:8]
    assert (tmp_path / "log.vkey").read_text() == f"{name}+{key_id}+{base64.b64encode(raw).decode()}\n"


def test_a_published_verifier_key_is_read():
    """A verifier key from the documentation of Go's sumdb is read, its hash compared."""
    text = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
    assert str(keys.parse_verifier_key(text, where="-")) == text


@pytest.mark.parametrize("name", ["log.key", "log.vkey", "seeds.key"])
def test_keys_are_never_replaced(tmp_path, name):
    """Where one of the files is there already, nothing is written."""
    (tmp_path / name).write_text("mine")
    with pytest.raises(KeysExist, match=name):
        keys.create_keys(tmp_path, LEDGER_ID)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_missing_and_damaged_keys_are_told_apart(tmp_path):
    """A missing file, one of another length and one that holds no key each have their error."""
    for load in (keys.load_seed_key, keys.load_log_key):
        with pytest.raises(KeyMissing):
            load(tmp_path)
    with pytest.raises(KeyMissing):
        keys.load_verifier_key(tmp_path / "log.vkey")
    (tmp_path / "seeds.key").write_bytes(bytes(31))
    with pytest.raises(KeyUnreadable, match="want 32 bytes, got 31 bytes"):
        keys.load_seed_key(tmp_path)
    (tmp_path / "log.key").write_text("no key")
    with pytest.raises(KeyUnreadable, match="want an Ed25519 private key in PKCS 8 PEM, got something else"):
        keys.load_log_key(tmp_path)
    (tmp_path / "log.key").unlink()
    (tmp_path / "log.key").mkdir()
    with pytest.raises(KeyUnreadable, match="directory"):
        keys.load_log_key(tmp_path)


def test_a_key_of_another_kind_is_refused(tmp_path):
    """An X25519 key in the same form does not pass for a signing key."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    pem = X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "log.key").write_bytes(pem)
    with pytest.raises(KeyUnreadable, match="a key of another kind"):
        keys.load_log_key(tmp_path)


GOOD = keys.VerifierKey("n", bytes(32))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n+00000000",
        "n+00000000+!!",
        f"n+00000000+{base64.b64encode(bytes(33)).decode()}",
        str(GOOD).replace("n+", "m+"),
        "+" + str(GOOD)[1:],
    ],
)
def test_other_texts_are_no_verifier_key(text):
    """A text of another form, kind or hash is refused."""
    with pytest.raises(KeyUnreadable):
        keys.parse_verifier_key(text, where="log.vkey")
