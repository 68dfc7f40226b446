"""The store on PostgreSQL: the contract of every store, and what only a server can do to a ledger."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts.store_contract import StoreContract
from tests.ledger_files import Place, altered
from tests.postgres_server import PostgresServer


@pytest.fixture(scope="module")
def new_place(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Place]:
    """Give a function that makes a database for a new ledger."""

    def make() -> Place:
        return Place(postgres.url(postgres.new_database()), tmp_path_factory.mktemp("store") / "keys")

    return make


class TestPostgresStore(StoreContract):
    """The contract of every store, on PostgreSQL."""

    @pytest.fixture
    def newer_schema(self) -> str:
        """Give the statement that makes a ledger one of a newer program."""
        return "UPDATE schema_version SET version = 7"

    @pytest.fixture(
        params=[
            "UPDATE stored_events SET state = 'text', topic = '5'",
            "UPDATE stored_events SET state = NULL, topic = NULL WHERE originator_version = 1",
            "UPDATE leaves SET leaf_hash = 'text'",
            "UPDATE leaves SET recorded_at_us = NULL, version_last = -4",
            "UPDATE leaves SET leaf_hash = NULL",
            "DELETE FROM nodes",
            "UPDATE nodes SET node_hash = NULL",
            "DELETE FROM leaves WHERE leaf_index = 3",
        ]
    )
    def alteration(self, request: pytest.FixtureRequest) -> Callable[[Path | str], None]:
        """Give a function that puts wrong values into a ledger, or takes rows away."""
        columns = {"stored_events": ("topic", "state"), "leaves": ("recorded_at_us", "leaf_hash"), "nodes": ("node_hash",)}
        nullable = [f"ALTER TABLE {table} ALTER {name} DROP NOT NULL" for table, names in columns.items() for name in names]
        return lambda ledger: altered(ledger, *nullable, request.param)
