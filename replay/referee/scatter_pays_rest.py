"""A spin at rest: hearts, the win cap, the scatter prize, the trigger, and what `spin_ended` adds up to.

Each recorded value leaves those plans that it agrees with; one that agrees with none is a finding, and the check goes
on with the plans as they are and with what they become under the recorded value.
"""

from engines.game_events import CapHit, Prize
from replay.referee.amounts import cap_award, win_amount
from replay.referee.board import SpinBoards
from replay.referee.cap import CapOutcome, check_cap, past_the_cap
from replay.referee.doubt import is_heart_in_doubt
from replay.referee.grammar import SpinRecord
from replay.referee.notebook import distinct_values
from replay.referee.plan import Plan, plan_award, plan_of, plans_at_rest
from replay.referee.rest import check_sums, follow_rest, index_at_rest, take_as_told
from replay.referee.standing import Options, Standing
from replay.referee.trigger import check_trigger
from replay.referee.world import SpinScene

__all__ = ["check_rest"]


def check_rest(scene: SpinScene, record: SpinRecord, boards: SpinBoards, standing: Standing, cap_minor: int, *, is_last: bool) -> None:
    """Check what stands after a spin's last drop and bring `standing` up to date."""
    if not boards.worlds:
        _carry_as_told(record, standing)
        take_as_told(record, standing)
        return
    plans = plans_at_rest(scene, record, boards, standing.multipliers)
    rights = [plan for plan in plans if plan.is_right]
    fits = _check_change(scene, record, plans)
    rights += [plan for plan in fits if plan.is_right and plan not in rights]
    after = distinct_values([plan.change_to if plan.applies else plan.total for plan in fits])
    fits = _check_spin_multiplier(scene, record, fits)
    capped, prize_capped, fits = _check_money(scene, record, fits, standing, cap_minor)
    hit = capped.hit if capped.hit != "no" else prize_capped.hit
    standing.spin_faults += [cap.fault for cap in (capped, prize_capped) if cap.fault is not None]
    check_trigger(scene, record, fits, rights, standing, hit)
    award_before = standing.totals
    _check_ended(scene, record, fits, standing, (capped, prize_capped))
    _weigh(scene, rights, standing, award_before, cap_minor)
    if scene.is_free:
        _carry_multiplier(scene, rights, standing, after)
    follow_rest(scene, standing, hit, is_last=is_last)


def _carry_as_told(record: SpinRecord, standing: Standing) -> None:
    if record.change:
        standing.multipliers = (record.change[1].to_multiplier, *(standing.multipliers or ()))


def _changed(scene: SpinScene, plan: Plan, to: int) -> Plan:
    is_pay_multiplied = scene.tables.readings["MLP-1"] == 1
    return plan._replace(
        applies=True,
        change_to=to,
        spin_multiplier=to if plan.wins_minor > 0 else 1,
        prize_multiplier=to if is_pay_multiplied else 1,
        is_right=False,
    )


def _check_change(scene: SpinScene, record: SpinRecord, plans: list[Plan]) -> list[Plan]:
    add = scene.notebook.add
    if record.change is None:
        still = [plan for plan in plans if not plan.applies]
        if still:
            return still
        want = f"a change from {plans[0].change_from} to {plans[0].change_to} for hearts of {plans[0].hearts}"
        add("multiplier_missing", "open", index_at_rest(record), "multiplier", what="change", want=want, got="no multiplier_change")
        return plans + [plan._replace(applies=False, spin_multiplier=1, prize_multiplier=1, is_right=False) for plan in plans]
    index, change = record.change
    moved = [plan for plan in plans if plan.applies]
    if not moved:
        got = f"from {change.from_multiplier} to {change.to_multiplier}"
        hung = ("MLP-2" if scene.is_free else "MLP-1") if plans[0].prize_pay_x100 else None
        number = add(
            "multiplier_invented", "open", index, "multiplier", what="change", want="none: no hearts count here", got=got, assumption=hung
        )
        scene.multiplier_faults.append(number)
        told = [_changed(scene, plan, change.to_multiplier) for plan in plans]
        return plans + told + [plan._replace(prize_multiplier=change.to_multiplier) for plan in told]
    cause = "total_hearts" if scene.is_free else "hearts"
    if change.cause != cause:
        add("multiplier_cause", "integrity", index, "multiplier", what="cause", want=cause, got=change.cause)
    if change.from_multiplier not in {plan.change_from for plan in moved}:
        before = moved[0].change_from
        add("multiplier_from", "open", index, "multiplier", what="multiplier before the change", want=before, got=change.from_multiplier)
    agreeing = [plan for plan in moved if plan.change_to == change.to_multiplier]
    if agreeing:
        return agreeing
    told = [_changed(scene, plan, change.to_multiplier) for plan in moved]
    if scene.is_free and any(change.from_multiplier + plan.hearts == change.to_multiplier for plan in moved):
        return moved + told
    want_text = f"{moved[0].change_to} by hearts of {moved[0].hearts}"
    if is_heart_in_doubt(scene, record, [change.to_multiplier - plan.change_to for plan in moved]):
        want_text += ", or another value of a heart that the last drop alone shows: the seed tells which"
        add("multiplier_change", "integrity", index, "multiplier", what="multiplier", want=want_text, got=change.to_multiplier)
        return [plan._replace(is_right=True) for plan in told] + moved
    number = add("multiplier_change", "open", index, "multiplier", what="multiplier", want=want_text, got=change.to_multiplier)
    scene.multiplier_faults.append(number)
    return moved + told


def _check_spin_multiplier(scene: SpinScene, record: SpinRecord, plans: list[Plan]) -> list[Plan]:
    if record.ended is None:
        return plans
    index, ended = record.ended
    agreeing = [plan for plan in plans if plan.spin_multiplier == ended.spin_multiplier]
    if agreeing:
        return agreeing
    want = plans[0].spin_multiplier
    scene.notebook.add(
        "spin_multiplier", "open", index, "spin_ended", what="multiplier of the spin's win", want=want, got=ended.spin_multiplier
    )
    return plans + [plan._replace(spin_multiplier=ended.spin_multiplier, is_right=False) for plan in plans]


def _check_money(
    scene: SpinScene, record: SpinRecord, plans: list[Plan], standing: Standing, cap_minor: int
) -> tuple[CapOutcome, CapOutcome, list[Plan]]:
    """Check the cap on the spin's win, the scatter prize, and the cap on it."""
    index = index_at_rest(record)
    wins = distinct_values([plan.wins_minor * plan.spin_multiplier for plan in plans])
    before: Options = (0,) if scene.tables.readings["ALL-1"] == 2 else standing.totals
    win_cap, prize_cap = record.cap_of_win, record.cap_of_prize
    if win_cap is not None and prize_cap is None and before is not None:
        is_of_win = any(cap_award(total, win, cap_minor) is not None for total in before for win in wins)
        if not is_of_win and any(plan.prize_pay_x100 for plan in plans) and _is_cap_of_prize(scene, win_cap, record.prize):
            win_cap, prize_cap = None, win_cap
    if standing.is_over_reported:
        capped = past_the_cap(win_cap or prize_cap, wins)
    else:
        capped = check_cap(scene.notebook, win_cap, what="spin win", index=index, before=before, amounts=wins, cap_minor=cap_minor)
    plans = _check_prize(scene, record, plans, standing, capped)
    prizes = distinct_values([plan.prize_minor(scene.bet_minor) for plan in plans] + _told_prize(record))
    if capped.hit == "yes" or capped.is_faulty or standing.is_over_reported:
        is_told = capped.is_faulty and not standing.is_over_reported
        return capped, past_the_cap(prize_cap if is_told else None, prizes), plans
    after = None if before is None else distinct_values([total + award for total in before for award in capped.awarded])
    prize_capped = check_cap(
        scene.notebook, prize_cap, what="scatter prize", index=index, before=after, amounts=prizes, cap_minor=cap_minor
    )
    return capped, prize_capped, plans


def _is_cap_of_prize(scene: SpinScene, recorded: tuple[int, CapHit], prize: tuple[int, Prize] | None) -> bool:
    """Return whether a cap that no win reaches is that of the prize, which should stand before it."""
    index, event = recorded
    if prize is None:
        return True
    if event.uncapped_minor != prize[1].prize_minor:
        return False
    want, got = "prize before cap_hit", f"cap_hit at index {index}"
    scene.notebook.add("event_order", "integrity", index, "event cap_hit", what="order", want=want, got=got)
    return True


def _told_prize(record: SpinRecord) -> list[int]:
    return [record.prize[1].prize_minor] if record.prize else []


def _check_prize(scene: SpinScene, record: SpinRecord, plans: list[Plan], standing: Standing, capped: CapOutcome) -> list[Plan]:
    """Check the scatter prize and return the plans that agree with it, with what it becomes under what is recorded."""
    none = [plan._replace(prize_pay_x100=0) for plan in plans]
    if record.prize is None:
        paying = [plan for plan in plans if plan.prize_pay_x100]
        if capped.hit == "yes":
            return none
        if capped.hit in ("maybe", "due") or len(paying) < len(plans):
            return none if capped.hit != "no" else [plan for plan in plans if not plan.prize_pay_x100]
        want = f"{paying[0].prize_minor(scene.bet_minor)} for {paying[0].scatters} scatters"
        hung = "MLP-4" if scene.is_free else None
        scene.notebook.add(
            "prize_missing", "open", index_at_rest(record), "scatter prize", what="prize", want=want, got="no prize", assumption=hung
        )
        return plans + none
    index, prize = record.prize
    if capped.hit == "yes":
        scene.notebook.add(
            "after_cap", "open", index, "scatter prize", what="prize", want="none after the cap", got=prize.prize_minor, assumption="ALL-1"
        )
        standing.is_over_reported = True
        return plans + none
    paying = [plan for plan in plans if plan.prize_pay_x100]
    told = [plan._replace(prize_pay_x100=prize.pay_x100, prize_multiplier=prize.multiplier, is_right=False) for plan in plans]
    if not paying:
        want = f"no prize for {plans[0].scatters} scatters"
        scene.notebook.add("prize_invented", "open", index, "scatter prize", what="prize", want=want, got=prize.prize_minor)
        return plans + told
    return _check_prize_fields(scene, index, record, paying) or paying + told


def _check_prize_fields(scene: SpinScene, index: int, record: SpinRecord, plans: list[Plan]) -> list[Plan]:
    """Return the plans that the prize agrees with; none where it is a finding."""
    assert record.prize is not None
    prize, add, bet = record.prize[1], scene.notebook.add, scene.bet_minor
    told = (prize.pay_x100, prize.multiplier, prize.prize_minor)
    agreeing = [plan for plan in plans if (plan.prize_pay_x100, plan.prize_multiplier, plan.prize_minor(bet)) == told]
    if agreeing:
        return agreeing
    plan = plans[0]
    where = f"scatter prize of {plan.scatters} scatters"
    if prize.pay_x100 not in {plan.prize_pay_x100 for plan in plans}:
        add("prize_pay", "money", index, where, what="pay in hundredths of the bet", want=plan.prize_pay_x100, got=prize.pay_x100)
    if prize.multiplier not in {plan.prize_multiplier for plan in plans}:
        add(
            "prize_multiplier",
            "open",
            index,
            where,
            what="multiplier",
            want=plan.prize_multiplier,
            got=prize.multiplier,
            assumption="MLP-1",
        )
    pays = {prize.pay_x100, *(plan.prize_pay_x100 for plan in plans)}
    factors = {prize.multiplier, *(plan.prize_multiplier for plan in plans)}
    if prize.prize_minor not in {win_amount(pay, factor, bet) for pay in pays for factor in factors}:
        add("prize_amount", "money", index, where, what="prize in minor units", want=plan.prize_minor(bet), got=prize.prize_minor)
    return []


def _check_ended(scene: SpinScene, record: SpinRecord, plans: list[Plan], standing: Standing, caps: tuple[CapOutcome, CapOutcome]) -> None:
    """Check `cut_minor`, `award_minor` and `total_minor`, each by the law of adding up."""
    cuts = distinct_values([first + second for first in caps[0].cuts for second in caps[1].cuts])
    wins = distinct_values([plan.wins_minor * plan.spin_multiplier for plan in plans])
    prizes = distinct_values([plan.prize_minor(scene.bet_minor) for plan in plans] + _told_prize(record))
    if record.prize_extra_minor:
        prizes = distinct_values([*prizes, *(prize + record.prize_extra_minor for prize in prizes)])
    told_cut = [record.ended[1].cut_minor] if record.ended else []
    awards = [win + prize - cut for win in wins for prize in prizes for cut in (*cuts, *told_cut)]
    for cap in caps:
        if cap.is_faulty:
            factors = {plan.spin_multiplier for plan in plans}
            awards += [award * factor for award in cap.awarded for factor in (1, *factors)]
    check_sums(scene, record, cuts, distinct_values(awards), standing)


def _weigh(scene: SpinScene, rights: list[Plan], standing: Standing, totals: Options, cap_minor: int) -> None:
    """Decide whether the spin's faults, and earlier ones of the total multiplier, made its award a wrong one."""
    award = standing.awards[-1]
    cap = None if standing.is_over_reported else cap_minor
    known = totals if totals is not None else ()
    awards = {plan_award(scene, plan, total, cap) for plan in rights for total in known}
    is_wrong = scene.is_diverged or (bool(awards) and award not in awards)
    scene.notebook.close_spin(is_paid_wrongly=is_wrong)
    standing.awards_right.append(next(iter(awards)) if awards and award not in awards else award)
    if standing.multiplier_faults and rights:
        plans = [_under_total(scene, plan, standing.multiplier_right) for plan in rights]
        if award not in {plan_award(scene, plan, total, cap) for plan in plans for total in known}:
            for number in standing.multiplier_faults:
                scene.notebook.raise_to_money(number)


def _under_total(scene: SpinScene, plan: Plan, total: int) -> Plan:
    return plan_of(scene.tables, is_free=scene.is_free, wins_minor=plan.wins_minor, total=total, hearts=plan.hearts, scatters=plan.scatters)


def _carry_multiplier(scene: SpinScene, rights: list[Plan], standing: Standing, after: tuple[int, ...]) -> None:
    """Carry the total multiplier on, and for the weight of later wins also what it would be without a fault."""
    standing.multipliers = after
    standing.multiplier_faults += scene.multiplier_faults
    if rights:
        standing.multiplier_right += rights[0].hearts if rights[0].applies else 0
    if not rights or not standing.multiplier_faults:
        standing.multiplier_right = after[0]
