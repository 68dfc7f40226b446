"""A round's life between its opening and its end, on SQLite and on PostgreSQL."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts.life_contract import LifeContract
from tests.ledger_files import Place
from tests.postgres_server import PostgresServer


class TestSqliteLife(LifeContract):
    """The contract of a round's life, on SQLite."""

    @pytest.fixture
    def new_place(self, tmp_path: Path) -> Callable[[], Place]:
        """Give a function that makes a place for a new ledger."""
        return lambda: Place(tmp_path / "ledger.db", tmp_path / "keys")


class TestPostgresLife(LifeContract):
    """The contract of a round's life, on PostgreSQL."""

    @pytest.fixture
    def new_place(self, postgres: PostgresServer, tmp_path: Path) -> Callable[[], Place]:
        """Give a function that makes a database for a new ledger."""
        return lambda: Place(postgres.url(postgres.new_database()), tmp_path / "keys")
