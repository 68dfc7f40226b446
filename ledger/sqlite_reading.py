"""How SQLite writes what the statements of `ledger/reading.py` leave open.

Any column of a file may hold any type, and nothing at all where its table was made anew: all are cast to the one that they
should have.
"""

import json

from ledger.reading import Dialect

__all__ = ["DIALECT"]

DIALECT = Dialect(
    mark="?",
    text="coalesce(CAST({} AS TEXT), '')",
    integer="coalesce(CAST({} AS INTEGER), 0)",
    data="coalesce(CAST({} AS BLOB), x'')",
    listed=" IN (SELECT value FROM json_each(?))",
    unindexed="+",  # by the index of streams a range of leaves would be read in the wrong order
    later_tables="SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
    integer_type="INTEGER",
    list_of=lambda names: json.dumps(list(names)),
)
