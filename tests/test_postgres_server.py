"""The server of the tests: a machine without PostgreSQL skips its tests with the reason, or fails them where it was asked to."""

import pytest

from tests import postgres_server


@pytest.mark.parametrize(("required", "outcome"), [("", pytest.skip.Exception), ("required", pytest.fail.Exception)])
def test_a_machine_without_a_server_says_which_package_is_missing(monkeypatch, required, outcome):
    """Both ways the message names the Debian package."""
    monkeypatch.setattr(postgres_server, "postgres_binaries", lambda: None)
    monkeypatch.setenv("SLOT_AUDIT_POSTGRES", required)
    with pytest.raises(outcome, match="install the Debian package postgresql"):
        next(postgres_server._started())
