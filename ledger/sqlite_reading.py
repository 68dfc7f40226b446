"""How SQLite writes what the statements of `ledger/reading.py` leave open.

Any column of a file may hold any type: all are cast to the one that they should have.
"""

import json

from ledger.reading import Dialect

__all__ = ["DIALECT"]

DIALECT = Dialect(
    mark="?",
    text="CAST({} AS TEXT)",
    integer="CAST({} AS INTEGER)",
    data="CAST({} AS BLOB)",
    listed=" IN (SELECT value FROM json_each(?))",
    unindexed="+",  # by the index of streams a range of leaves would be read in the wrong order
    texts_tables="SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'texts'",
    list_of=lambda names: json.dumps(list(names)),
)
