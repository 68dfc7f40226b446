"""What a spin of win lines and Moons pays: its line wins, the cash of Moons and the ladder, and the win cap over all."""

from engines.game_events import CapHit, Prize, Win
from replay.referee.amounts import win_amount
from replay.referee.belief import fault, faults_of_fields, raise_to_money
from replay.referee.hold_and_respin import possible_sums
from replay.referee.lines_belief import LinesBelief, Owed, with_value_faults_paid
from replay.referee.lines_tables import LinesRound
from replay.referee.scatter_pays import pay_for_count
from replay.referee.sums import cap_taken, pay_out
from replay.verdict import Severity

__all__ = ["after_prize", "after_win", "amount_of", "are_capped", "cap_hits", "paid_of", "prizes", "wins"]


def wins(play: LinesRound, belief: LinesBelief, index: int, got: Win) -> list[LinesBelief]:
    """Return what may be believed after a line win: each value may follow from the recorded or the right ones before it."""
    tables, bet = play.tables, play.bet_minor
    right = belief.owed[0].win
    assert right is not None
    amount = win_amount(right.pay_x100, 1, bet)
    numbers = (got.line, got.symbol, got.count, got.cells, got.pay_x100)
    if numbers == right and got.ways == got.multiplier == 1 and got.win_minor == amount:
        return [after_win(play, belief, amount)]
    where = f"line {right.line}"
    names = tables.symbol_name
    places = (("line", right.line, got.line), ("symbol", names(right.symbol), names(got.symbol)))
    after = faults_of_fields(belief, "win_", index, where, (*places, ("cells", list(right.cells), list(got.cells))), {})
    if got.count not in (right.run, len(got.cells)):
        after = fault(after, "win_count", "integrity", index, where, what="count", want=right.run, got=got.count)
    symbols = [symbol for symbol in (right.symbol, got.symbol) if symbol in tables.pays_by_symbol]
    counts = (right.run, got.count, len(got.cells))
    pays = {pay_for_count(count, tables.counts, tables.pays_by_symbol[symbol]) for symbol in symbols for count in counts}
    if got.pay_x100 not in pays:
        what = "pay in hundredths of the bet"
        after = fault(after, "win_pay", "money", index, where, what=what, want=right.pay_x100, got=got.pay_x100)
    for name in ("ways", "multiplier"):
        if getattr(got, name) != 1:
            after = fault(after, f"win_{name}", "integrity", index, where, what=name, want=1, got=getattr(got, name))
    factors = {1, got.multiplier, got.ways, got.multiplier * got.ways}
    amounts = {win_amount(pay, factor, bet) for pay in {right.pay_x100, got.pay_x100} for factor in factors}
    if got.win_minor not in amounts:
        after = fault(after, "win_amount", "money", index, where, what="win in minor units", want=amount, got=got.win_minor)
    if got.win_minor == amount:
        return [after_win(play, after, amount)]
    as_told = raise_to_money(after, len(belief.findings)) if len(after.findings) > len(belief.findings) else after
    return [after_win(play, after, amount), after_win(play, as_told, got.win_minor)]


def after_win(play: LinesRound, belief: LinesBelief, amount: int) -> LinesBelief:
    """Return a belief after the win that is owed next has been paid with `amount`."""
    return pay_out(play, belief._replace(owed=belief.owed[1:]), amount, is_win=True)


def after_prize(play: LinesRound, belief: LinesBelief, amount: int) -> LinesBelief:
    """Return a belief after the prize that is owed next has been paid with `amount`."""
    return pay_out(play, belief._replace(owed=belief.owed[1:]), amount, is_win=False)


def amount_of(play: LinesRound, owed: Owed) -> int:
    """Return a win or prize that is owed in minor units."""
    return win_amount(owed.pay_x100, 1, play.bet_minor)


def paid_of(play: LinesRound, belief: LinesBelief, prizes: tuple[Owed, ...]) -> int:
    """Return what the win cap leaves of `prizes`, in minor units."""
    amount, room = sum(amount_of(play, each) for each in prizes), _room(play, belief)
    return amount if room is None else min(amount, room)


def are_capped(play: LinesRound, belief: LinesBelief, prizes: tuple[Owed, ...]) -> bool:
    """Return whether `prizes` reach the win cap."""
    return paid_of(play, belief, prizes) == _room(play, belief)


def _room(play: LinesRound, belief: LinesBelief) -> int | None:
    """Return what the win cap leaves to pay, None where there is no cap or nobody knows."""
    if not play.tables.is_capped or belief.is_cap_ignored or belief.total is None:
        return None
    return play.cap_minor - belief.added - (0 if play.tables.is_cap_by_spin else belief.total)


def prizes(play: LinesRound, belief: LinesBelief, index: int, got: Prize) -> list[LinesBelief]:
    """Return what may be believed after a prize; the sum of the Moons may be right where one of their values is in doubt."""
    owed, bet = belief.owed[0], play.bet_minor
    pay = _right_pay(play, belief, owed, got)
    if owed.which == got.which == "moon_cash" and got.pay_x100 == belief.shown_x100 != pay and belief.value_faults:
        belief, pay = with_value_faults_paid(belief), got.pay_x100  # no values of the table make this sum; its board is named for it
    amount = win_amount(pay, 1, bet)
    if got.which == owed.which and got.pay_x100 == pay and got.multiplier == 1 and got.prize_minor == amount:
        return [after_prize(play, belief, amount)]
    where = f"{owed.which} of {owed.moons} Moons"
    after = belief
    is_seeds = False
    alone = _last_rung_alone(play, belief, index, got)
    if got.which != owed.which:
        after = fault(after, "prize_which", "integrity", index, where, what="prize", want=owed.which, got=got.which)
    if got.pay_x100 != pay:
        is_seeds = owed.which == "moon_cash" and _is_moon_in_doubt(play, belief, got.pay_x100 - pay)
        want = f"{pay}, or another value of a Moon that one board alone shows: the seed tells which" if is_seeds else pay
        severity: Severity = "integrity" if is_seeds else "money"
        hung = "MSP-3" if owed.which == "ladder" else None
        what = "pay in hundredths of the bet"
        after = fault(after, "prize_pay", severity, index, where, what=what, want=want, got=got.pay_x100, assumption=hung)
    if got.multiplier != 1:
        after = fault(after, "prize_multiplier", "integrity", index, where, what="multiplier", want=1, got=got.multiplier)
    amounts = {win_amount(each, factor, bet) for each in (pay, got.pay_x100) for factor in (1, got.multiplier)}
    if got.prize_minor not in amounts:
        after = fault(after, "prize_amount", "money", index, where, what="prize in minor units", want=amount, got=got.prize_minor)
    if got.prize_minor == amount:
        return [*alone, after_prize(play, after, amount)]
    as_told = after if is_seeds or len(after.findings) == len(belief.findings) else raise_to_money(after, len(belief.findings))
    return [*alone, after_prize(play, after, amount), after_prize(play, as_told, got.prize_minor)]


def _last_rung_alone(play: LinesRound, belief: LinesBelief, index: int, got: Prize) -> list[LinesBelief]:
    """Return the belief that of several rungs that are owed the last alone is paid."""
    owed, last = belief.owed, belief.owed[-1]
    amount = amount_of(play, last)
    is_last = (got.which, got.pay_x100, got.multiplier, got.prize_minor) == ("ladder", last.pay_x100, 1, amount)
    if len(owed) < 2 or owed[0].which != "ladder" or not is_last:
        return []
    severity: Severity = "integrity" if paid_of(play, belief, owed) == paid_of(play, belief, owed[-1:]) else "money"
    want = f"{len(owed)} prizes, {sum(amount_of(play, each) for each in owed)} for {last.moons} Moons"
    where, got_text = "ladder", f"the last alone, {amount}"
    found = fault(belief, "prize_missing", severity, index, where, what="prizes", want=want, got=got_text, assumption="MSP-3")
    return [after_prize(play, found._replace(owed=owed[-1:]), amount)]


def _right_pay(play: LinesRound, belief: LinesBelief, owed: Owed, got: Prize) -> int:
    if owed.which != "moon_cash" or -1 not in belief.moons:
        return owed.pay_x100
    sums = possible_sums(belief.moons, play.tables.moon_values)
    return got.pay_x100 if got.pay_x100 in sums else min(sums)


def _is_moon_in_doubt(play: LinesRound, belief: LinesBelief, difference: int) -> bool:
    """Return whether another value of a Moon that one board alone shows explains the sum."""
    return any(belief.moons[cell] + difference in play.tables.moon_values for cell in belief.fresh)


def cap_hits(play: LinesRound, belief: LinesBelief, index: int, got: CapHit) -> list[LinesBelief]:
    """Return what may be believed after a `cap_hit` that is due: what follows is forfeited, the round ends."""
    assert belief.cap_due is not None
    stopped = belief._replace(cap_due=None, owed=(), is_over=True, end="" if play.tables.is_cap_by_spin else "capped")
    after, cuts = cap_taken(play, stopped, index, got, belief.cap_due)
    return [after._replace(cut=each, end="maybe" if len(after.findings) > len(belief.findings) else after.end) for each in cuts]
