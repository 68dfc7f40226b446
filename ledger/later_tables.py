"""Tables that came after the first ledgers: a new ledger has them from the start, an old one gets each when it is first needed.

They read the same on both databases but for the name of the type of integers.
"""

__all__ = ["LATER_TABLES"]

LATER_TABLES = {
    # Names and free text that events hold by their hash (`ledger/texts.py`).
    "texts": "CREATE TABLE texts (text_hash TEXT PRIMARY KEY, salt TEXT NOT NULL, content TEXT NOT NULL)",
    # The round that left the last state of an account's game (`ledger/states.py`).
    "states": (
        "CREATE TABLE states (account_ref TEXT NOT NULL, game TEXT NOT NULL, round_id TEXT NOT NULL, PRIMARY KEY (account_ref, game))"
    ),
    # Rounds that are interrupted and leave their account's slot free: they keep the account from their own game alone.
    "interrupted_rounds": (
        "CREATE TABLE interrupted_rounds (account_ref TEXT NOT NULL, game TEXT NOT NULL, round_id TEXT NOT NULL, "
        "PRIMARY KEY (account_ref, game))"
    ),
    # Bonus money, kept apart from the balance; no row where there never was any.
    "bonuses": "CREATE TABLE bonuses (account_ref TEXT PRIMARY KEY, bonus_minor INTEGER NOT NULL CHECK (bonus_minor >= 0))",
}
