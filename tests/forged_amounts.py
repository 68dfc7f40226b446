"""What follows from an amount: award, totals, settlement, balances, and the files that say them again, made to fit what stands before."""

from typing import Any, cast

from audit_reports.round_reader import Played, build_report
from audit_reports.round_report import report_json
from engines.registry import installed_rules
from ledger.codec import parse_event
from ledger.lifecycle_events import RoundOpened, RoundSettled
from ledger.store import EventRow
from tests.pack_forging import Forgery, document, values_of

__all__ = ["follow_from_awards", "follow_from_balances", "follow_from_totals", "follow_from_wins", "follow_in_files"]


def follow_from_wins(pack: Forgery) -> None:
    """Make the award of each spin what its wins and prizes come to, and all that follows."""
    wins = prizes = 0
    for append, place, fields in list(pack.events(pack.round)):
        wins += fields.get("win_minor", 0)
        prizes += fields.get("prize_minor", 0)
        if fields["kind"] == "spin_ended":
            pack.put(append, place, {**fields, "award_minor": wins * fields["spin_multiplier"] + prizes - fields["cut_minor"]})
            wins = prizes = 0
    follow_from_awards(pack)


def follow_from_awards(pack: Forgery) -> None:
    """Make the totals what the awards come to, and all that follows; the round has one feature at most."""
    awards: list[int] = []
    for append, place, fields in list(pack.events(pack.round)):
        if fields["kind"] == "spin_ended":
            awards.append(fields["award_minor"])
            pack.put(append, place, {**fields, "total_minor": sum(awards)})
        elif fields["kind"] == "feature_ended":
            pack.put(append, place, {**fields, "total_minor": sum(awards[1:])})
        elif fields["kind"] == "round_settled":
            totals = {"total_win_minor": sum(awards), "base_win_minor": awards[0], "feature_win_minor": sum(awards[1:])}
            pack.put(append, place, {**fields, **totals})
    follow_from_totals(pack)


def follow_from_totals(pack: Forgery) -> None:
    """Make every balance of the account what stands before it comes to, from nothing on, and all that follows."""
    follow_from_balances(pack, since=0)


def follow_from_balances(pack: Forgery, *, since: int) -> None:
    """Make the balances of the appends from a leaf on what stands before them comes to; those before are as they say."""
    balance = 0
    for _, append in pack.appends:
        for place, (_, data) in enumerate(append.events):
            fields = values_of(data)
            name, balance = _moved(fields, balance)
            if name and append.leaf_index < since:
                balance = fields[name] - (fields["cost_minor"] - fields["bonus_minor"] if name == "balance_before_minor" else 0)
            elif name:
                before = balance + (fields["cost_minor"] - fields["bonus_minor"] if name == "balance_before_minor" else 0)
                pack.put(append, place, {**fields, name: before})
    follow_in_files(pack)


def _moved(fields: dict[str, Any], balance: int) -> tuple[str, int]:
    """Return the field of an event that holds a balance, empty where none does, and the balance after the event."""
    kind = fields["kind"]
    if kind == "round_opened":
        return "balance_before_minor", balance - fields["cost_minor"] + fields["bonus_minor"]
    if kind == "funds_moved":
        return "balance_after_minor", balance + fields["amount_minor"]
    return ("balance_after_minor", balance + fields["total_win_minor"]) if kind == "round_settled" else ("", balance)


def follow_in_files(pack: Forgery) -> None:
    """Make the report, the verdict's figures and the what-if what the events say; the verdict itself stays."""
    rows = [
        EventRow(pack.round, index + 1, f"{values_of(data)['kind']}/1", data)
        for each in pack.streams[pack.round]
        for index, data in each.events
    ]
    events = [(row.version - 1, parse_event(row)) for row in rows]
    opened = next(event for _, event in events if isinstance(event, RoundOpened))
    settled = next((event for _, event in events if isinstance(event, RoundSettled)), None)
    played = [(index, cast(Played, event)) for index, event in events if not isinstance(event, RoundOpened | RoundSettled)]
    report = build_report(pack.round_id, opened, settled, played, installed_rules(opened.game, opened.rules_version))
    pack.files["report.json"] = document(report_json(report))
    verdict = pack.json("verdict.json")
    amounts = {"bet_minor": opened.bet_minor, "cost_minor": opened.cost_minor, "mode": opened.mode}
    total = settled.total_win_minor if settled else 0
    pack.amend("verdict.json", round={**verdict["round"], **amounts, "total_win_minor": total})
    if "what-if.json" in pack.files:
        others = [{**other, "difference_minor": other["total_win_minor"] - total} for other in pack.json("what-if.json")]
        pack.files["what-if.json"] = document(others)
