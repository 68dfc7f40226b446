"""Totals: what a round's opening and settlement say against its game events, and an account's balance against its rounds.

Pure functions of events; nothing is read. A value is right where it follows from the recorded or from the recomputed
values before it, so that one wrong amount is one finding. Findings here are about no spin: `spin_index` is -1.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engines.game_events import GAME_EVENTS
from engines.rules import GameRules
from ledger.lifecycle_events import FundsMoved, RoundOpened, RoundSettled, RoundVoided
from replay.referee.walk import RoundTotals
from replay.verdict import Finding, Severity

__all__ = [
    "AccountFact",
    "AccountFinding",
    "appended_digest",
    "bet_is_allowed",
    "check_digests",
    "cost_options",
    "credited_minor",
    "reconcile_account",
    "reconcile_round",
    "reconcile_stream",
    "win_options",
]


class AccountFact(NamedTuple):
    """One movement of an account's balance; `source` is a round id or a stream, `event_index` the event's place in it.

    `amounts` are what may have been debited or credited where the recorded amount is in doubt.
    """

    source: str
    event_index: int
    event: RoundOpened | RoundSettled | RoundVoided | FundsMoved
    amounts: tuple[int, ...] = ()


class AccountFinding(NamedTuple):
    """A finding about a balance, and the round or stream whose event it names."""

    source: str
    finding: Finding


def _finding(code: str, severity: Severity, index: int, *, where: str, want: object, got: object, assumption: str | None = None) -> Finding:
    return Finding(code, severity, index, -1, where, str(want), str(got), f"{where}: want {want}, got {got}", assumption)


def _either(values: Iterable[object]) -> str:
    return " or ".join(dict.fromkeys(map(str, values)))


def bet_is_allowed(rules: GameRules, bet_minor: int) -> bool:
    """Return whether `bet_minor` is the game's number of coins times a coin that the rules allow."""
    coin, rest = divmod(bet_minor, rules.bet.coins)
    return rest == 0 and rules.bet.coin_minor_min <= coin <= rules.bet.coin_minor_max


def cost_options(opened: RoundOpened, rules: GameRules) -> tuple[int, ...]:
    """Return what the round may have cost in minor units: as recorded, and by its mode and bet."""
    if rules.mode(opened.mode) is None:
        return (opened.cost_minor,)
    return tuple(dict.fromkeys((opened.cost_minor, rules.cost_minor(opened.mode, opened.bet_minor))))


def win_options(settled: RoundSettled, totals: RoundTotals) -> tuple[int, ...]:
    """Return what the round may have credited in minor units: as recorded, and by its game events."""
    return tuple(dict.fromkeys((settled.total_win_minor, *totals.total)))


def appended_digest(event_bytes: Iterable[bytes]) -> str:
    """Return the SHA-256 in hex over the append form of events: for each its length in 4 bytes, big-endian, and its bytes."""
    digest = hashlib.sha256()
    for data in event_bytes:
        digest.update(len(data).to_bytes(4, "big"))
        digest.update(data)
    return digest.hexdigest()


def reconcile_round(
    opened: tuple[int, RoundOpened],
    settled: tuple[int, RoundSettled] | None,
    totals: RoundTotals,
    rules: GameRules,
    *,
    is_balance_shown: bool = True,
    is_by_system: bool = False,
) -> list[Finding]:
    """Return what is wrong in a round's opening and settlement, each given with its index in the round's stream.

    `is_by_system` says that the system completed it. `is_balance_shown` is False where other events of the account may lie
    between the two, or where `reconcile_account` checks the balances. Digests are left to `check_digests`.
    """
    findings = _check_opened(opened, rules)
    if settled is not None:
        findings += _check_split(settled, totals, rules, is_by_system=is_by_system)
        if settled[1].settled_at_us < opened[1].opened_at_us:
            where, want = "time of round_settled", f"{opened[1].opened_at_us} or later, when the round was opened"
            findings.append(_finding("time_order", "integrity", settled[0], where=where, want=want, got=settled[1].settled_at_us))
        if is_balance_shown:
            findings += _check_balance(opened, settled, totals, rules)
    return findings


def reconcile_stream(
    opened: tuple[int, RoundOpened],
    settled: tuple[int, RoundSettled] | None,
    totals: RoundTotals,
    rules: GameRules,
    event_bytes: Sequence[tuple[str, bytes]],
    *,
    is_balance_shown: bool = True,
    is_clean: bool = True,
) -> list[Finding]:
    """Return the findings of `reconcile_round`, and where there are none those of `check_digests`.

    `event_bytes` are kind and bytes of the round's events before its settlement, in order; `is_clean` says that
    nothing else was found in the round.
    """
    findings = reconcile_round(opened, settled, totals, rules, is_balance_shown=is_balance_shown)
    if findings or settled is None or not is_clean:
        return findings
    return check_digests(settled, event_bytes)


def check_digests(settled: tuple[int, RoundSettled | RoundVoided], event_bytes: Sequence[tuple[str, bytes]]) -> list[Finding]:
    """Return at most one finding: that the events before the settlement or void are not those whose digests it holds.

    `event_bytes` are kind and bytes of each, in order. Call it last, where nothing else was found in the round.
    """
    index, event = settled
    if isinstance(event, RoundSettled):
        outcome = appended_digest(data for kind, data in event_bytes if kind in GAME_EVENTS)
        if outcome != event.outcome_digest:
            where = "outcome digest of round_settled"
            return [_finding("outcome_digest", "integrity", index, where=where, want=outcome, got=event.outcome_digest)]
    of_all = appended_digest(data for _, data in event_bytes)
    if of_all != event.round_digest:
        return [_finding("round_digest", "integrity", index, where=f"round digest of {event.kind}", want=of_all, got=event.round_digest)]
    return []


def _check_opened(placed: tuple[int, RoundOpened], rules: GameRules) -> list[Finding]:
    index, opened = placed
    findings = []
    is_mode_known = rules.mode(opened.mode) is not None
    costs = cost_options(opened, rules)
    if not is_mode_known:
        want = _either_names([mode.name for mode in rules.modes])
        findings.append(_finding("mode", "integrity", index, where="mode of round_opened", want=want, got=opened.mode))
    if not bet_is_allowed(rules, opened.bet_minor):
        coin = rules.bet
        want = f"{coin.coins} coins of {coin.coin_minor_min} to {coin.coin_minor_max}"
        hung = coin.assumption or None
        findings.append(_finding("bet", "money", index, where="bet of round_opened", want=want, got=opened.bet_minor, assumption=hung))
    elif opened.cost_minor not in costs[1:] and len(costs) > 1:
        where = f"cost of round_opened for mode {opened.mode} at bet {opened.bet_minor}"
        findings.append(_finding("cost", "money", index, where=where, want=costs[1], got=opened.cost_minor))
    if opened.bonus_minor > max(costs):
        where = "bonus money in the cost of round_opened"
        findings.append(_finding("bonus", "money", index, where=where, want=f"at most {max(costs)}", got=opened.bonus_minor))
    if opened.state_in not in rules.states:
        findings.append(
            _finding("state_in", "integrity", index, where="state in of round_opened", want=_either(rules.states), got=opened.state_in)
        )
    return findings


def _either_names(names: Sequence[str]) -> str:
    return " or ".join(names)


def _check_split(placed: tuple[int, RoundSettled], totals: RoundTotals, rules: GameRules, *, is_by_system: bool) -> list[Finding]:
    index, settled = placed
    findings = []
    if totals.total and settled.total_win_minor not in totals.total:
        findings.append(
            _finding("total_win", "money", index, where="total win of round_settled", want=totals.total[0], got=settled.total_win_minor)
        )
    if totals.base and settled.base_win_minor not in totals.base:
        findings.append(
            _finding("base_win", "money", index, where="base win of round_settled", want=totals.base[0], got=settled.base_win_minor)
        )
    bases = (settled.base_win_minor, *totals.base)
    features = {total - base for total in win_options(settled, totals) for base in bases} | set(totals.feature)
    allowed = features if findings or not totals.feature else set(totals.feature)
    if settled.feature_win_minor not in allowed:
        want = totals.feature[0] if totals.feature else settled.total_win_minor - settled.base_win_minor
        findings.append(
            _finding("feature_win", "money", index, where="feature win of round_settled", want=want, got=settled.feature_win_minor)
        )
    ended = [("auto_completed" if is_by_system and each == "played" else each) for each in totals.ended]
    if settled.ended not in ended:
        want_ended = _either_names(ended)
        findings.append(_finding("ended", "integrity", index, where="end of round_settled", want=want_ended, got=settled.ended))
    if settled.state_out not in (totals.state_out or rules.states):
        state = totals.state_out[0] if totals.state_out else _either(rules.states)
        findings.append(_finding("state_out", "integrity", index, where="state out of round_settled", want=state, got=settled.state_out))
    return findings


def _check_balance(
    opened: tuple[int, RoundOpened], settled: tuple[int, RoundSettled], totals: RoundTotals, rules: GameRules
) -> list[Finding]:
    before, bonus = opened[1].balance_before_minor, opened[1].bonus_minor
    costs, wins = cost_options(opened[1], rules), win_options(settled[1], totals)
    if before + bonus < min(costs):
        where = "balance before of round_opened"
        return [_finding("balance_negative", "money", opened[0], where=where, want=f"at least the cost of {min(costs)}", got=before)]
    after = settled[1].balance_after_minor
    bonuses = (bonus,) if bonus <= max(costs) else (bonus, 0)  # which is said already
    options = [before - cost + paid + win for win in wins for cost in costs for paid in bonuses]
    if after in options:
        return []
    return [_finding("balance", "money", settled[0], where="balance after of round_settled", want=options[0], got=after)]


def reconcile_account(facts: Sequence[AccountFact], *, balance_minor: int = 0) -> list[AccountFinding]:
    """Return where the balances of one account do not follow from its movements, given in the order of time.

    `balance_minor` is the balance before the first. A settlement credits its total win, an opening debits its cost.
    """
    findings: list[AccountFinding] = []
    balances: tuple[int, ...] = (balance_minor,)
    for fact in facts:
        event = fact.event
        name = f"{event.kind} of {fact.source}"
        if isinstance(event, RoundOpened):
            recorded = event.balance_before_minor
            balances = _follow(findings, fact, f"balance before in {name}", recorded, balances)
            costs = (event.cost_minor, *fact.amounts)
            balances = tuple(dict.fromkeys(balance - cost + event.bonus_minor for balance in balances for cost in costs))
            if max(balances) < 0:
                where = f"balance in {name}"
                findings.append(
                    AccountFinding(
                        fact.source, _finding("balance_negative", "money", fact.event_index, where=where, want="0 or more", got=balances[0])
                    )
                )
                balances = (balances[0],)
            continue
        amount = credited_minor(event)
        options = tuple(dict.fromkeys(balance + added for balance in balances for added in (amount, *fact.amounts)))
        balances = _follow(findings, fact, f"balance after in {name}", event.balance_after_minor, options)
    return findings


def credited_minor(event: RoundSettled | RoundVoided | FundsMoved) -> int:
    """Return what an event adds to a balance as it is recorded, in minor units, below 0 where it takes from it."""
    if isinstance(event, RoundSettled):
        return event.total_win_minor
    return event.refund_minor if isinstance(event, RoundVoided) else event.amount_minor


def _follow(findings: list[AccountFinding], fact: AccountFact, where: str, recorded: int, options: tuple[int, ...]) -> tuple[int, ...]:
    if recorded in options:
        return (recorded,)
    findings.append(AccountFinding(fact.source, _finding("balance", "money", fact.event_index, where=where, want=options[0], got=recorded)))
    return (recorded, *options)
