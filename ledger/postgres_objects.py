"""What the catalogs of a server say of the schema of a new ledger: each object, the table it is of, and its definition.

As `found_objects` of `ledger/postgres_structure.py` gives it. On disk for ever, as `ledger/postgres_schema.py` is.
"""

from ledger.later_tables import LATER_TABLES
from ledger.postgres_connection import SCHEMA
from ledger.postgres_schema import APPEND_ONLY, REFUSAL, TABLES

__all__ = ["OBJECTS"]

_COLUMNS = (
    ("account_names", "account_ref", "text not null collate C"),
    ("account_names", "name", "text not null collate C"),
    ("accounts", "account_ref", "text not null collate C"),
    ("accounts", "balance_minor", "bigint not null"),
    ("accounts", "currency", "text not null collate C"),
    ("accounts", "round_in_play", "text not null collate C"),
    ("accounts", "version", "bigint not null"),
    ("epochs", "epoch", "bigint not null"),
    ("epochs", "is_closed", "integer not null"),
    ("epochs", "next_nonce", "bigint not null"),
    ("epochs", "sealed_seed", "bytea not null"),
    ("epochs", "seed_commitment", "text not null collate C"),
    ("epochs", "writer_ref", "text not null collate C"),
    ("leaves", "leaf_hash", "bytea not null"),
    ("leaves", "leaf_index", "bigint not null"),
    ("leaves", "recorded_at_us", "bigint not null"),
    ("leaves", "stream", "text not null collate C"),
    ("leaves", "version_first", "bigint not null"),
    ("leaves", "version_last", "bigint not null"),
    ("nodes", "level", "bigint not null"),
    ("nodes", "node_hash", "bytea not null"),
    ("nodes", "node_index", "bigint not null"),
    ("rounds", "account_ref", "text not null collate C"),
    ("rounds", "external_ref", "text not null collate C"),
    ("rounds", "game", "text not null collate C"),
    ("rounds", "idempotency_key", "text not null collate C"),
    ("rounds", "round_id", "text not null collate C"),
    ("rounds", "status", "text not null collate C"),
    ("rounds", "version", "bigint not null"),
    ("schema_version", "version", "integer not null"),
    ("stored_events", "notification_id", "bigint not null nextval('stored_events_notification_id_seq'::regclass)"),
    ("stored_events", "originator_id", "text not null collate C"),
    ("stored_events", "originator_version", "bigint not null"),
    ("stored_events", "state", "bytea not null"),
    ("stored_events", "topic", "text not null collate C"),
    ("bonuses", "account_ref", "text not null"),
    ("bonuses", "bonus_minor", "bigint not null"),
    ("interrupted_rounds", "account_ref", "text not null"),
    ("interrupted_rounds", "game", "text not null"),
    ("interrupted_rounds", "round_id", "text not null"),
    ("states", "account_ref", "text not null"),
    ("states", "game", "text not null"),
    ("states", "round_id", "text not null"),
    ("texts", "content", "text not null"),
    ("texts", "salt", "text not null"),
    ("texts", "text_hash", "text not null"),
)
_CONSTRAINTS = (
    ("account_names", "account_names_name_key", "UNIQUE (name)"),
    ("account_names", "account_names_pkey", "PRIMARY KEY (account_ref)"),
    ("accounts", "accounts_balance_minor_check", "CHECK ((balance_minor >= 0))"),
    ("accounts", "accounts_pkey", "PRIMARY KEY (account_ref)"),
    ("epochs", "epochs_pkey", "PRIMARY KEY (epoch)"),
    ("epochs", "epochs_seed_commitment_key", "UNIQUE (seed_commitment)"),
    ("leaves", "leaves_pkey", "PRIMARY KEY (leaf_index)"),
    ("leaves", "leaves_stream_version_first_key", "UNIQUE (stream, version_first)"),
    ("nodes", "nodes_pkey", "PRIMARY KEY (level, node_index)"),
    ("rounds", "rounds_pkey", "PRIMARY KEY (round_id)"),
    ("schema_version", "schema_version_pkey", "PRIMARY KEY (version)"),
    ("stored_events", "stored_events_notification_id_key", "UNIQUE (notification_id)"),
    ("stored_events", "stored_events_pkey", "PRIMARY KEY (originator_id, originator_version)"),
    ("bonuses", "bonuses_bonus_minor_check", "CHECK ((bonus_minor >= 0))"),
    ("bonuses", "bonuses_pkey", "PRIMARY KEY (account_ref)"),
    ("interrupted_rounds", "interrupted_rounds_pkey", "PRIMARY KEY (account_ref, game)"),
    ("states", "states_pkey", "PRIMARY KEY (account_ref, game)"),
    ("texts", "texts_pkey", "PRIMARY KEY (text_hash)"),
)
# Name, table, and columns; those of constraints are unique.
_INDEXES = (
    ("UNIQUE ", "account_names_name_key", "account_names", "(name)"),
    ("UNIQUE ", "account_names_pkey", "account_names", "(account_ref)"),
    ("UNIQUE ", "accounts_pkey", "accounts", "(account_ref)"),
    ("UNIQUE ", "epochs_pkey", "epochs", "(epoch)"),
    ("UNIQUE ", "epochs_seed_commitment_key", "epochs", "(seed_commitment)"),
    ("UNIQUE ", "leaves_pkey", "leaves", "(leaf_index)"),
    ("UNIQUE ", "leaves_stream_version_first_key", "leaves", "(stream, version_first)"),
    ("UNIQUE ", "nodes_pkey", "nodes", "(level, node_index)"),
    ("", "rounds_by_external_ref", "rounds", "(external_ref) WHERE (external_ref <> ''::text)"),
    ("UNIQUE ", "rounds_by_idempotency_key", "rounds", "(idempotency_key) WHERE (idempotency_key <> ''::text)"),
    ("UNIQUE ", "rounds_pkey", "rounds", "(round_id)"),
    ("UNIQUE ", "schema_version_pkey", "schema_version", "(version)"),
    ("UNIQUE ", "stored_events_notification_id_key", "stored_events", "(notification_id)"),
    ("UNIQUE ", "stored_events_pkey", "stored_events", "(originator_id, originator_version)"),
    ("UNIQUE ", "bonuses_pkey", "bonuses", "(account_ref)"),
    ("UNIQUE ", "interrupted_rounds_pkey", "interrupted_rounds", "(account_ref, game)"),
    ("UNIQUE ", "states_pkey", "states", "(account_ref, game)"),
    ("UNIQUE ", "texts_pkey", "texts", "(text_hash)"),
)

OBJECTS = (
    *((f"table {table}", table, "p") for table in (*TABLES, *LATER_TABLES)),
    *((f"column {table}.{name}", table, definition) for table, name, definition in _COLUMNS),
    *((f"constraint {table}.{name}", table, definition) for table, name, definition in _CONSTRAINTS),
    *(
        (f"index {name}", table, f"CREATE {unique}INDEX {name} ON {SCHEMA}.{table} USING btree {columns}, p")
        for unique, name, table, columns in _INDEXES
    ),
    ("sequence stored_events_notification_id_seq", "stored_events_notification_id_seq", "p"),
    ("function refuse_change()", "", " ".join(f"{REFUSAL} f plpgsql".split())),
    *(
        (
            f"trigger {table}.{table}_append_only",
            table,
            f"CREATE TRIGGER {table}_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON {SCHEMA}.{table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change() A",
        )
        for table in APPEND_ONLY
    ),
)
