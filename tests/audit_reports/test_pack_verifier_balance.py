"""The balance of the account over all its movements in a pack: each wrong one is found by the stand-alone verifier, and once."""

from typing import Any

import pytest

from audit_reports.verifier import verify_pack
from tests import pack_maker as maker
from tests.pack_maker import lean, parts_of, signed

FUNDS = f"account/{maker.ACCOUNT}"
# In the order of leaves: stream, kind, what it leaves. The round itself opens at 1000 (cost 100, bonus money 20) and is paid 500.
LIFE: list[tuple[str, str, dict[str, Any]]] = [
    ("round/other", "round_opened", {"balance_before_minor": 5000, "cost_minor": 50, "bonus_minor": 0}),
    (FUNDS, "funds_moved", {"amount_minor": 1, "balance_after_minor": 1}),  # long before: no one has what lies between
    ("round/before", "round_opened", {"balance_before_minor": 700, "cost_minor": 100, "bonus_minor": 40}),
    ("round/before", "round_settled", {"total_win_minor": 260, "balance_after_minor": 900}),
    (FUNDS, "funds_moved", {"amount_minor": 100, "balance_after_minor": 1000}),
    ("round/r-1", "round_opened", {}),
    ("round/other", "round_settled", {"total_win_minor": 30, "balance_after_minor": 950}),
    (FUNDS, "funds_moved", {"amount_minor": -200, "balance_after_minor": 750}),
    ("round/r-1", "round_settled", {}),
    (FUNDS, "funds_moved", {"amount_minor": 10, "balance_after_minor": 1260}),
    ("round/after", "round_opened", {"balance_before_minor": 1260, "cost_minor": 60, "bonus_minor": 0}),
    ("round/after", "round_voided", {"won_minor": 0, "refund_minor": 60, "balance_after_minor": 9999}),  # behind the last that is held
]
FIELD = {"round_opened": "balance_before_minor"}


def pack(life: list[tuple[str, str, dict[str, Any]]], own_end: int = 1250, **opening: Any) -> maker.Parts:
    """A pack of the round with these movements of its account around it."""

    def around(appends: maker.Appends) -> maker.Appends:
        own = [append for append in appends if append[0] == f"round/{maker.ROUND}"]
        found = [append for append in appends if append not in own]
        for stream, kind, fields in life:
            account = {"account_ref": maker.ACCOUNT} if kind == "round_opened" else {}
            event = {"kind": kind, "v": 1, **account, **fields}
            found.append(own.pop(0) if stream == f"round/{maker.ROUND}" else (stream, [event]))
        return found

    return lean(parts_of(lambda events: events[0].update(opening), {"balance_after_minor": own_end}, [], around))


def found_in(parts: maker.Parts) -> list[tuple[str, str]]:
    return [(each["code"], each["where"]) for each in verify_pack.audit_of(signed(parts)).findings]


def changed(place: int, **fields: Any) -> list[tuple[str, str, dict[str, Any]]]:
    stream, kind, old = LIFE[place]
    return [*LIFE[:place], (stream, kind, {**old, **fields}), *LIFE[place + 1 :]]


def test_an_honest_account_is_clean() -> None:
    """A round before and after, funds moved, a round that ends meanwhile, bonus money: nothing is found, and it was checked."""
    audit = verify_pack.audit_of(signed(pack(LIFE)))
    assert audit.findings == []
    assert any(text.startswith("balance: 9 movements") for text in audit.checked), audit.checked


@pytest.mark.parametrize("place", [3, 4, 6, 7, 9, 10])
def test_each_wrong_balance_is_found_once(place: int) -> None:
    """Where the recorded balances go on from the wrong one, that one alone is a finding, at its place."""
    life = [(stream, kind, dict(fields)) for stream, kind, fields in LIFE]
    for _, kind, fields in life[place:11]:
        name = FIELD.get(kind, "balance_after_minor")
        if name in fields:
            fields[name] += 7
    opening = {"balance_before_minor": 1007} if place < 5 else {}
    (only,) = found_in(pack(life, own_end=1257 if place < 8 else 1250, **opening))
    assert only[0] == "balance"
    assert only[1].startswith(life[place][0])
    assert only[1].endswith(FIELD.get(life[place][1], "balance_after_minor"))


@pytest.mark.parametrize("field", ["cost_minor", "bonus_minor"])
def test_cost_and_bonus_money_count(field: str) -> None:
    """Another cost or bonus of the round or of the one before makes the next balance wrong."""
    (only,) = found_in(pack(changed(2, **{field: 41})))
    assert only[0] == "balance"
    assert "round/before index 1" in only[1]
    (only,) = found_in(pack(LIFE, **{field: 19}))
    assert "round/other index 1" in only[1]


def test_the_end_of_the_round_itself_and_what_follows_from_it() -> None:
    """A wrong end alone, from which the account goes on as it should have been: the end, and the movement behind it."""
    assert [where.split(":")[0].split(",")[0] for _, where in found_in(pack(LIFE, own_end=1251))] == [
        "round/r-1 index 11",
        f"{FUNDS} index 4",
    ]


def test_a_void_counts_by_its_refund() -> None:
    """A round before that was voided gives back its refund and nothing of what it had won."""
    void = ("round/before", "round_voided", {"won_minor": 260, "refund_minor": 60, "balance_after_minor": 700})
    life = [*LIFE[:3], void, (FUNDS, "funds_moved", {"amount_minor": 300, "balance_after_minor": 1000}), *LIFE[5:]]
    assert found_in(pack(life)) == []
    void[2]["refund_minor"] = 61
    assert [code for code, _ in found_in(pack(life))] == ["balance"]


def test_rounds_of_another_account_are_found_and_rounds_in_between_excuse() -> None:
    """A round of somebody else has no place in the pack; where `absent` says that rounds are missing nothing is added up."""
    stranger = changed(2, account_ref="c" * 32)
    assert [where for _, where in found_in(pack(stranger))] == ["accounts of its rounds"]
    parts = pack(LIFE, own_end=1251)
    parts["pack.json"]["absent"] = {"rounds in between": "too many"}
    audit = verify_pack.audit_of(signed(parts))
    assert audit.findings == []
    assert any(text.startswith("balance: not all") for text in audit.unchecked)


def test_streams_are_60_at_most_and_each_file_once() -> None:
    """One file under two names, and more streams than the page allows, are refused before they are read."""
    for more in ({"round/x": "streams/round.jsonl"}, {f"round/x-{number}": f"streams/x-{number}.jsonl" for number in range(60)}):
        parts = lean(parts_of())
        parts["pack.json"]["streams"] |= more
        found = verify_pack.audit_of(signed(parts)).findings
        assert any("60 streams at most, each file once" in each["got"] for each in found), found
