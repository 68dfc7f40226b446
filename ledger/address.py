"""Where a ledger is: a file, or a database on a server, whose address never shows its password."""

import re
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, unquote

__all__ = ["DATABASE_SCHEMES", "DatabaseAddress", "LedgerPlace", "ledger_place"]

DATABASE_SCHEMES = ("postgresql://", "postgres://")

# Only an address in which every part is delimited beyond doubt is shown, without its password; any other not at all.
_CLEAR = re.compile(
    r"""postgres(?:ql)?://
    (?:(?P<user>[^:@/?\#]*)(?::[^@/?\#]*)?@)?
    (?P<hosts>[\w.%-]*(?::\d+)?(?:,[\w.%-]*(?::\d+)?)*|\[[0-9A-Fa-f:]+\](?::\d+)?)
    (?:/(?P<database>[^@?\#]*))?
    (?:\?(?P<query>[^@\#]*))?""",
    re.VERBOSE | re.ASCII,
)
_SHOWN = ("host", "port", "dbname", "user")


class DatabaseAddress:
    """The address of a database; `secret_url` holds the password where there is one, its text does not."""

    __slots__ = ("secret_url",)

    def __init__(self, url: str) -> None:
        self.secret_url = url

    @property
    def is_clear(self) -> bool:
        """Whether it is beyond doubt which part of it is what; no other address is used or shown."""
        return _CLEAR.fullmatch(self.secret_url) is not None

    def __str__(self) -> str:
        clear = _CLEAR.fullmatch(self.secret_url)
        if clear is None:
            return "postgresql://…"
        user, database = unquote(clear["user"] or ""), unquote(clear["database"] or "")
        text = f"postgresql://{user + '@' if user else ''}{clear['hosts']}{'/' + database if database else ''}"
        shown = [f"{name}={value}" for name, value in parse_qsl(clear["query"] or "") if name in _SHOWN]
        return text + ("?" + "&".join(shown) if shown else "")

    def __repr__(self) -> str:
        return f"DatabaseAddress({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatabaseAddress) and other.secret_url == self.secret_url

    def __hash__(self) -> int:
        return hash(self.secret_url)


LedgerPlace: TypeAlias = Path | DatabaseAddress


def ledger_place(ledger: str | LedgerPlace) -> LedgerPlace:
    """Return where a ledger is: a text with the scheme of a database is its address, any other a path."""
    if isinstance(ledger, str):
        return DatabaseAddress(ledger) if ledger.startswith(DATABASE_SCHEMES) else Path(ledger)
    return ledger
