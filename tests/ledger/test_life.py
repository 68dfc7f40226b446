"""A round's life between its opening and its end, on SQLite and on PostgreSQL."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts.life_contract import LifeContract
from tests.contracts.voids_contract import VoidsContract
from tests.ledger_files import Place
from tests.postgres_server import PostgresServer


class _OnSqlite:
    @pytest.fixture
    def new_place(self, tmp_path: Path) -> Callable[[], Place]:
        """Give a function that makes a place for a new ledger."""
        return lambda: Place(tmp_path / "ledger.db", tmp_path / "keys")


class _OnPostgres:
    @pytest.fixture
    def new_place(self, postgres: PostgresServer, tmp_path: Path) -> Callable[[], Place]:
        """Give a function that makes a database for a new ledger."""
        return lambda: Place(postgres.url(postgres.new_database()), tmp_path / "keys")


class TestSqliteLife(_OnSqlite, LifeContract):
    """The contract of a round's life, on SQLite."""


class TestSqliteVoids(_OnSqlite, VoidsContract):
    """The contract of voids and of what is recorded of a life, on SQLite."""


class TestPostgresLife(_OnPostgres, LifeContract):
    """The contract of a round's life, on PostgreSQL."""


class TestPostgresVoids(_OnPostgres, VoidsContract):
    """The contract of voids and of what is recorded of a life, on PostgreSQL."""
