"""What a spin of runs pays: its wins, the multiplier that they raise, constellation and clear grid, and the win cap over all."""

from engines.game_events import CapHit, MultiplierChange, Prize, Win
from replay.referee.amounts import win_amount
from replay.referee.belief import fault, faults_of_fields, raise_to_money
from replay.referee.runs import Run
from replay.referee.runs_belief import Owed, RunsBelief, paid
from replay.referee.runs_step import after_wins
from replay.referee.runs_tables import RunsRound
from replay.referee.sums import cap_taken
from replay.verdict import Severity

__all__ = [
    "after_prize",
    "after_win",
    "amount_of",
    "cap_hits",
    "changes",
    "is_rise_in_doubt",
    "past_cap",
    "prizes",
    "risen_to_least",
    "seed_tells",
    "settled",
    "wins",
]


def wins(play: RunsRound, belief: RunsBelief, index: int, got: Win) -> list[RunsBelief]:
    """Return what may be believed after a win: each value may follow from the recorded or the right ones before it."""
    told = Run(got.symbol, got.line, got.count, got.cells, got.pay_x100)
    right = belief.owed[0].run or told
    if not belief.pay_multiplier:  # the highlighted cells that raised it are not known
        belief = belief._replace(pay_multiplier=max(got.multiplier, belief.multiplier))
    factor = belief.pay_multiplier
    amount = win_amount(right.pay_x100, factor, play.bet_minor)
    if told == right and got.ways == 1 and got.multiplier == factor and got.win_minor == amount and belief.owed[0].run:
        return [after_win(play, belief, amount, right)]
    after = _check_win(play, belief, index, got, right)
    pays = {right.pay_x100, got.pay_x100}
    factors = {factor, got.multiplier, factor * got.ways, got.multiplier * got.ways}
    amounts = {win_amount(pay, each, play.bet_minor) for pay in pays for each in factors}
    if got.win_minor not in amounts:
        where = _place(right)
        after = fault(after, "win_amount", "money", index, where, what="win in minor units", want=amount, got=got.win_minor)
    found = []
    for paid_minor in dict.fromkeys((amount, got.win_minor)):
        as_paid = raise_to_money(after, len(belief.findings)) if paid_minor != amount else after
        for taken in dict.fromkeys((right, told)):
            for multiplier in dict.fromkeys((factor, got.multiplier)):
                found.append(after_win(play, as_paid._replace(pay_multiplier=multiplier), paid_minor, taken))
    return found


def _place(run: Run) -> str:
    return f"line {run.line}"


def _check_win(play: RunsRound, belief: RunsBelief, index: int, got: Win, right: Run) -> RunsBelief:
    tables = play.tables
    where, names = _place(right), tables.symbol_name
    places = (("line", right.line, got.line), ("symbol", names(right.symbol), names(got.symbol)))
    fields = (*places, ("cells", list(right.cells), list(got.cells)))
    after = faults_of_fields(belief, "win_", index, where, fields, {"symbol": "MPS-3"})
    lengths = (right.length, got.count, len(got.cells))
    if got.count not in (right.length, len(got.cells)):
        after = fault(after, "win_count", "integrity", index, where, what="count", want=right.length, got=got.count)
    pays = {tables.symbols.pay_x100(symbol, length) for symbol in (right.symbol, got.symbol) for length in lengths}
    if got.pay_x100 != right.pay_x100 and got.pay_x100 not in pays:
        what = "pay in hundredths of the bet"
        after = fault(after, "win_pay", "money", index, where, what=what, want=right.pay_x100, got=got.pay_x100)
    elif belief.owed[0].run is None and got.pay_x100 not in pays and not tables.symbols.is_mixed_summed:
        want = tables.symbols.pay_x100(got.symbol, len(got.cells))
        what = "pay in hundredths of the bet"
        after = fault(after, "win_pay", "money", index, where, what=what, want=want, got=got.pay_x100)
    if got.ways != 1:
        after = fault(after, "win_ways", "integrity", index, where, what="ways", want=1, got=got.ways)
    factor = belief.pay_multiplier
    if got.multiplier != factor:
        what = "multiplier"
        after = fault(after, "win_multiplier", "integrity", index, where, what=what, want=factor, got=got.multiplier, assumption="MPS-4")
    return after


def after_win(play: RunsRound, belief: RunsBelief, amount: int, run: Run | None) -> RunsBelief:
    """Return a belief after the win that is owed next has been paid with `amount` and counts as `run`; None: it does not count."""
    taken = belief.taken if run is None else (*belief.taken, run)
    after = paid(play, belief._replace(owed=belief.owed[1:], taken=taken), amount, is_win=True)
    return settled(play, after)


def settled(play: RunsRound, belief: RunsBelief) -> RunsBelief:
    """Return the belief with what follows the step's wins where the last of them is written."""
    is_step_open = belief.board is not None and not belief.is_settled
    if belief.cap_due or not is_step_open or (belief.owed and belief.owed[0].kind == "win"):
        return belief
    return belief if belief.owed else after_wins(play, belief)


def amount_of(play: RunsRound, belief: RunsBelief, owed: Owed) -> int:
    """Return a win or prize that is owed in minor units."""
    if owed.run is not None:
        return win_amount(owed.run.pay_x100, belief.pay_multiplier, play.bet_minor)
    return win_amount(play.tables.prizes_x100[owed.which], belief.multiplier, play.bet_minor)


def is_rise_in_doubt(play: RunsRound, belief: RunsBelief, rise: int, *, has_constellation: bool | None) -> bool:
    """Return whether other highlighted cells than the recorded would explain this step's rise, and its constellation if given."""
    tables = play.tables
    if belief.is_hidden or not 0 <= rise <= belief.fresh:
        return False
    if tables.readings["MPS-5"] == 1:
        return rise <= 1
    risen = belief.risen + rise
    counts = tables.highlight_counts
    if has_constellation:
        return rise > 0 and risen in counts
    unwon = tables.cell_count - belief.won.bit_count()
    return any(risen + (has_constellation is False) <= count <= risen + unwon for count in counts)


def seed_tells(want: object, what: str) -> str:
    """Return the words for a value that another one, which is recorded in one event alone, may explain."""
    return f"{want}, or {what}: the seed tells which"


def changes(play: RunsRound, belief: RunsBelief, index: int, got: MultiplierChange) -> list[RunsBelief]:
    """Return what may be believed after a rise of the multiplier that is owed."""
    tables, owed = play.tables, belief.owed[0]
    before = belief.multiplier
    after = belief._replace(owed=belief.owed[1:], is_settled=False)
    where = "multiplier"
    if got.cause != "highlights":
        after = fault(after, "cause", "integrity", index, where, what="cause", want="highlights", got=got.cause)
    if got.from_multiplier != before:
        want, value = before, got.from_multiplier
        after = fault(after, "from_multiplier", "integrity", index, where, what="multiplier before", want=want, got=value)
    rise = got.to_multiplier - before
    if belief.is_hidden and 0 < rise <= belief.fresh and got.to_multiplier <= tables.ceiling:
        return [_risen(play, after, got.to_multiplier, rise)]
    to = owed.to or risen_to_least(play, belief)
    if got.to_multiplier == to:
        return [_risen(play, after, to, rise)]
    is_seeds = is_rise_in_doubt(play, belief, rise, has_constellation=None) and got.to_multiplier <= tables.ceiling
    want_text = seed_tells(to, "other highlighted cells") if is_seeds else to
    what = "multiplier after the rise"
    after = fault(after, "multiplier", "integrity", index, where, what=what, want=want_text, got=got.to_multiplier, assumption="MPS-5")
    followed = after._replace(multiplier=got.to_multiplier, risen=belief.risen + max(rise, 0))
    if not is_seeds:
        followed = followed._replace(multiplier_right=to, multiplier_fault=len(after.findings) - 1)
    return [_risen(play, after, to, to - before), followed]


def risen_to_least(play: RunsRound, belief: RunsBelief) -> int:
    """Return the multiplier after the smallest rise."""
    return max(belief.multiplier, min(belief.multiplier + 1, play.tables.ceiling))


def _risen(play: RunsRound, belief: RunsBelief, to: int, rise: int) -> RunsBelief:
    right = max(belief.multiplier_right, min(play.tables.ceiling, belief.multiplier_right + rise))
    if belief.multiplier == belief.multiplier_right:
        right = to
    return belief._replace(multiplier=to, multiplier_right=right, risen=belief.risen + max(rise, 0))


def prizes(play: RunsRound, belief: RunsBelief, index: int, got: Prize) -> list[RunsBelief]:
    """Return what may be believed after a prize that is owed."""
    owed = belief.owed[0]
    pay, factor = play.tables.prizes_x100[owed.which], belief.multiplier
    amount = win_amount(pay, factor, play.bet_minor)
    if (got.which, got.pay_x100, got.multiplier, got.prize_minor) == (owed.which, pay, factor, amount):
        return [after_prize(play, belief, amount)]
    where, after = f"prize {owed.which}", belief
    if got.which != owed.which:
        after = fault(after, "prize_which", "integrity", index, where, what="prize", want=owed.which, got=got.which)
    if got.pay_x100 != pay:
        what = "pay in hundredths of the bet"
        after = fault(after, "prize_pay", "money", index, where, what=what, want=pay, got=got.pay_x100)
    if got.multiplier != factor:
        after = fault(after, "prize_multiplier", "integrity", index, where, what="multiplier", want=factor, got=got.multiplier)
    amounts = {win_amount(each, by, play.bet_minor) for each in (pay, got.pay_x100) for by in (factor, got.multiplier)}
    if got.prize_minor not in amounts:
        after = fault(after, "prize_amount", "money", index, where, what="prize in minor units", want=amount, got=got.prize_minor)
    found = [after_prize(play, after, amount)]
    if got.prize_minor != amount:
        found.append(after_prize(play, raise_to_money(after, len(belief.findings)), got.prize_minor))
    return found


def after_prize(play: RunsRound, belief: RunsBelief, amount: int) -> RunsBelief:
    """Return a belief after the prize that is owed next has been paid with `amount`."""
    is_paid = belief.is_constellation_paid or belief.owed[0].which == "constellation"
    return paid(play, belief._replace(owed=belief.owed[1:], is_constellation_paid=is_paid, is_settled=False), amount, is_win=False)


def cap_hits(play: RunsRound, belief: RunsBelief, index: int, got: CapHit, *, is_plain: bool) -> list[RunsBelief]:
    """Return what may be believed after a `cap_hit` that is due: what follows is forfeited, or the game went on."""
    assert belief.cap_due is not None
    after, cuts = cap_taken(play, belief._replace(cap_due=None), index, got, belief.cap_due)
    found = [past_cap(play, after._replace(cut=each)) for each in cuts]
    if len(after.findings) > len(belief.findings):
        return [each._replace(end="maybe" if each.end else "") for each in found]
    return found if is_plain else [*found, *_gone_on(play, after._replace(cut=cuts[0]), index + 1, "events played on")]


def past_cap(play: RunsRound, belief: RunsBelief) -> RunsBelief:
    """Return a belief after the cap has cut a win or prize: what would follow in the spin is forfeited."""
    stopped = belief._replace(cap_due=None, owed=(Owed("spin_ended"),), board=None, powers=(), may_act=False, taken=())
    return stopped if play.tables.is_cap_by_spin else stopped._replace(end="capped", left=0, left_right=0)


def _gone_on(play: RunsRound, belief: RunsBelief, index: int, got: str) -> list[RunsBelief]:
    severity: Severity = "integrity"
    want = "only spin_ended and feature_ended after the cap"
    found = fault(belief, "after_cap", severity, index, "", what="event", want=want, got=got, assumption="ALL-1")
    found = found._replace(is_cap_ignored=True, cap_fault=len(found.findings) - 1, end="maybe")
    return [settled(play, found)]
