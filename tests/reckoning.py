"""A reckoning of a ledger by its events alone: plain SQL and JSON, nothing of the product.

The events are gone over in the order of the record; what they come to is held against the rows of the accounts, and against
what callers were told while it was written.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Account", "Reckoning", "Round", "reckon"]

SCHEMA = "slot_ledger"  # of a ledger in a database
EVENTS = "SELECT originator_id, state FROM stored_events ORDER BY "
ACCOUNTS = "SELECT account_ref, version, balance_minor, round_in_play FROM accounts"


@dataclass
class Account:
    """What the events make of an account."""

    version: int = 1
    balance: int = 0
    in_play: str = ""
    debits: int = 0
    credits: int = 0
    moved: int = 0
    balances: set[int] = field(default_factory=set)  # all that it ever had
    states: dict[str, Any] = field(default_factory=dict)  # by game, as the last settled round left it

    def come_to(self, balance: int) -> None:
        """Have another balance."""
        self.balance = balance
        self.balances.add(balance)


@dataclass
class Round:
    """What the events say of a round; `win` is None while it is in play."""

    account: str
    cost: int
    key: str
    external_ref: str
    balance_opened: int
    game: str
    win: int | None = None
    balance_settled: int = -1


class Reckoning:
    """Accounts and rounds as the events make them, and in `faults` what does not follow."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.accounts: dict[str, Account] = {}
        self.rounds: dict[str, Round] = {}
        self.round_by_key: dict[str, str] = {}
        self.event_count = 0

    def _expect(self, what: str, want: object, got: object) -> None:
        if want != got:
            self.faults.append(f"{what}: want {want}, got {got}")

    def follow(self, stream: str, event: dict[str, Any]) -> None:
        """Go on by one event."""
        self.event_count += 1
        name = stream.partition("/")[2]
        match event["kind"]:
            case "account_opened":
                self.accounts[name] = Account()
                self.accounts[name].come_to(0)
            case "funds_moved":
                account = self.accounts[name]
                account.version += 1
                account.moved += event["amount_minor"]
                self._expect(f"balance after funds moved of {name}", account.balance + event["amount_minor"], event["balance_after_minor"])
                account.come_to(event["balance_after_minor"])
            case "round_opened":
                self._open(name, event)
            case "round_settled":
                self._settle(name, event)
            case "choice_offered" | "choice_made":
                self._expect(f"round in play at {event['kind']} of {name}", name, self.accounts[self.rounds[name].account].in_play)

    def _open(self, round_id: str, event: dict[str, Any]) -> None:
        ref, key, cost = event["account_ref"], event["idempotency_key"], event["cost_minor"]
        account = self.accounts[ref]
        self._expect(f"rounds in play of {ref} when {round_id} is opened", "", account.in_play)
        self._expect(f"balance before {round_id}", account.balance, event["balance_before_minor"])
        self._expect(f"state in of {round_id}", account.states.get(event["game"], event["state_in"]), event["state_in"])
        if key:
            self._expect(f"earlier round under key {key} of {round_id}", None, self.round_by_key.get(key))
            self.round_by_key[key] = round_id
        account.in_play = round_id
        account.debits += cost
        account.come_to(account.balance - cost)
        if account.balance < 0:
            self.faults.append(f"balance after the bet of {round_id}: want 0 or more, got {account.balance}")
        self.rounds[round_id] = Round(ref, cost, key, event["external_ref"], account.balance, event["game"])

    def _settle(self, round_id: str, event: dict[str, Any]) -> None:
        found = self.rounds[round_id]
        account = self.accounts[found.account]
        self._expect(f"round in play of {found.account} when {round_id} is settled", round_id, account.in_play)
        self._expect(f"balance after {round_id}", account.balance + event["total_win_minor"], event["balance_after_minor"])
        if account.in_play == round_id:
            account.in_play = ""
        account.credits += event["total_win_minor"]
        account.come_to(event["balance_after_minor"])
        account.states[found.game] = event["state_out"]
        found.win, found.balance_settled = event["total_win_minor"], event["balance_after_minor"]

    def compare_rows(self, rows: Iterable[tuple[str, int, int, str]]) -> None:
        """Hold the rows of the accounts against what the events come to."""
        found = {ref: (version, balance, in_play) for ref, version, balance, in_play in rows}
        self._expect("accounts with a row", sorted(self.accounts), sorted(found))
        for ref, account in self.accounts.items():
            self._expect(f"row of {ref}", (account.version, account.balance, account.in_play), found.get(ref))
            self._expect(f"sum of {ref}", account.moved - account.debits + account.credits, account.balance)

    def compare_told(self, told: Iterable[dict[str, Any]]) -> None:
        """Hold what callers were told against the record, and the record against what they were told."""
        unknown, moved, cut = set(self.rounds), dict.fromkeys(self.accounts, 0), set()
        for line in told:
            name = line.get("round", "")
            match line["told"]:
                case "opened" | "waiting" | "settled":
                    unknown.discard(name)
                    self._compare_round(name, line)
                case "in_play" if name not in self.rounds or self.rounds[name].account != line["account"]:
                    self.faults.append(f"round in play of {line['account']} as told: want one of its rounds, got {name}")
                case "locked":
                    cut.add(line["external_ref"])
                case "moved":
                    moved[line["account"]] += line["amount"]
                case "short":
                    self._expect(f"{line['balance']} is short of {line['cost']}", True, line["balance"] < line["cost"])
            if "balance" in line and line["balance"] not in self.accounts[line["account"]].balances:
                self.faults.append(f"balance of {line['account']} as told: want one that it had, got {line['balance']}")
        self._expect("funds moved as told", moved, {ref: account.moved for ref, account in self.accounts.items()})
        self._expect("rounds that nobody was told of", [], [name for name in unknown if self.rounds[name].external_ref not in cut])

    def _compare_round(self, name: str, line: dict[str, Any]) -> None:
        found = self.rounds.get(name)
        if found is None:
            self.faults.append(f"round {name}: want what was told, {line['told']}, got no such round")
            return
        self._expect(
            f"account, cost and key of {name} as told", (line["account"], line["cost"], line["key"]), (found.account, found.cost, found.key)
        )
        if line["told"] == "settled":
            self._expect(f"win and balance of {name} as told", (line["win"], line["balance"]), (found.win, found.balance_settled))
        else:
            self._expect(f"balance of {name} as told", line["balance"], found.balance_opened)


def _events(connection: Any, number: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for stream, state in connection.execute(EVENTS + number):
        yield stream, json.loads(state)


def reckon(ledger: Path | str, told: Iterable[dict[str, Any]]) -> Reckoning:
    """Return what the events of a ledger come to, held against its rows and against what was told."""
    if isinstance(ledger, str):
        import psycopg

        connection: Any = psycopg.connect(ledger, options=f"-c search_path={SCHEMA}")
        number = "notification_id"
    else:
        connection, number = sqlite3.connect(ledger), "rowid"
    reckoning = Reckoning()
    with closing(connection):
        for stream, event in _events(connection, number):
            reckoning.follow(stream, event)
        reckoning.compare_rows(connection.execute(ACCOUNTS).fetchall())
    reckoning.compare_told(told)
    return reckoning
