"""A spin of runs from its start to its end: what it starts from, what it triggers, what it adds up to, and the end of a feature."""

from engines.game_events import ChoiceOffered, FeatureEnded, FeatureTrigger, SpinEnded, SpinStarted
from replay.referee.belief import fault, faults_of_fields
from replay.referee.runs_belief import RunsBelief, mask_of
from replay.referee.runs_tables import RunsRound, RunsTables
from replay.referee.sums import spin_sums

__all__ = ["after_feature", "after_spin", "choice_offers", "feature_ends", "spin_begun", "spin_ends", "spin_starts", "triggers"]


def spin_begun(play: RunsRound, belief: RunsBelief, index: int) -> list[RunsBelief]:
    """Return the belief once a spin of the part that is due has begun as the rules want it; highlighted cells are not known.

    Several where nobody knows which princess was chosen.
    """
    tables, part = play.tables, belief.part
    is_free = part == "free"
    begun = belief._replace(
        phase="drop", played=belief.played + 1, start_index=index, strip_set=tables.set_of_part[part], board=None, marks=tables.no_values,
        highlights=0, is_hidden=True, won=0, fresh=0, risen=0, is_constellation_paid=False, taken=(), is_settled=False, owed=(),
        powers=tables.choices if part == "resonance" else (), may_act=part == "base", triggered="",
        resonances=belief.resonances + (part == "resonance"), won_minor=0, added=0, cut=0,
    )  # fmt: skip
    if not is_free:
        return [begun._replace(multiplier=1, multiplier_right=1, multiplier_fault=-1, meter=0)]
    if belief.played:
        left, right = max(belief.left - 1, 0), belief.left_right - 1
        return [begun._replace(left=left, left_right=right, is_unowed=right < 0, powers=(belief.chosen,))]
    known = belief.chosen in tables.choices
    found = []
    for princess in (belief.chosen,) if known else tables.choices:
        spins = tables.spins_of[princess]
        found.append(begun._replace(chosen=princess, powers=(princess,), given=spins, left=spins - 1, left_right=spins - 1, meter=0))
    return found


def spin_starts(play: RunsRound, belief: RunsBelief, index: int, got: SpinStarted) -> list[RunsBelief]:
    """Return what may be believed after `spin_started`: a value may be wrong there alone, or be what the game goes on from."""
    found: list[RunsBelief] = []
    for begun in spin_begun(play, belief, index):
        mask = mask_of(got.highlighted_cells)
        begun = begun._replace(highlights=mask, is_hidden=False)
        found += _checked(play, begun, index, got)
    if got.spin_index > belief.spin and belief.part != "base" and belief.spin:
        missing = fault(belief, "spin_missing", "integrity", index, "spin_started", what="spin index", want=belief.spin, got=got.spin_index)
        told = missing._replace(
            spin=got.spin_index, total=None, multiplier=got.multiplier, multiplier_right=got.multiplier, meter=got.meter
        )
        told = told._replace(left=got.spins_left + 1, left_right=got.spins_left + 1, played=max(told.played, 1))
        found += [each._replace(highlights=mask_of(got.highlighted_cells), is_hidden=False) for each in spin_begun(play, told, index)]
    return sorted(found, key=lambda each: each.cost)


def _checked(play: RunsRound, begun: RunsBelief, index: int, got: SpinStarted) -> list[RunsBelief]:
    tables, part = play.tables, begun.part
    left = begun.left if part == "free" else 0
    wanted: tuple[tuple[str, object], ...] = (("spin_index", begun.spin), ("part", part), ("total_multiplier", 0))
    is_lit = _are_highlights(tables, got.highlighted_cells)
    numbers = (got.strip_set, got.multiplier, got.meter, got.spins_left)
    if is_lit and numbers == (begun.strip_set, begun.multiplier, begun.meter, left) and all(getattr(got, n) == v for n, v in wanted):
        return [begun]
    where = "spin_started"
    after = faults_of_fields(begun, "", index, where, ((name, want, getattr(got, name)) for name, want in wanted), {})
    found = [after]
    if not is_lit:
        wanted_cells = f"different cells, ascending, as many as one of {sorted(tables.highlight_counts)}"
        cells = (("highlighted_cells", wanted_cells, list(got.highlighted_cells)),)
        lit = faults_of_fields(after, "", index, where, cells, {})
        found = [lit, lit._replace(is_hidden=True, highlights=0)]
    if got.strip_set != begun.strip_set:
        sets = (("strip_set", tables.set_name(begun.strip_set), tables.set_name(got.strip_set)),)
        found = [faults_of_fields(each, "", index, where, sets, {}) for each in found]
        if got.strip_set in range(len(tables.strips)):
            found += [each._replace(strip_set=got.strip_set) for each in found]
    rules_of = {"multiplier": {"free": "MPS-12", "resonance": "MPS-11"}.get(part, "MPS-4"), "meter": "MPS-10"}
    if got.multiplier != begun.multiplier:
        fields = (("multiplier", begun.multiplier, got.multiplier),)
        found = [faults_of_fields(each, "", index, where, fields, rules_of) for each in found]
        found += [each._replace(multiplier=got.multiplier, multiplier_fault=len(each.findings) - 1) for each in found]
    if got.meter != begun.meter:
        found = [faults_of_fields(each, "", index, where, (("meter", begun.meter, got.meter),), rules_of) for each in found]
        found += [each._replace(meter=got.meter) for each in found]
    return found if got.spins_left == left else [other for each in found for other in _wrong_left(play, each, index, got.spins_left, left)]


def _are_highlights(tables: RunsTables, cells: tuple[int, ...]) -> bool:
    is_rising = list(cells) == sorted(set(cells)) and max(cells, default=0) < tables.cell_count
    return is_rising and len(cells) in tables.highlight_counts


def _wrong_left(play: RunsRound, belief: RunsBelief, index: int, told: int, left: int) -> list[RunsBelief]:
    hung = "MPS-2" if belief.part == "free" and belief.played == 1 else None
    wrong = fault(belief, "spins_left", "integrity", index, "spin_started", what="spins left", want=left, got=told, assumption=hung)
    if belief.part != "free":
        return [wrong]
    found = [wrong, wrong._replace(left=told, spin_fault=len(wrong.findings) - 1)]
    if belief.played == 1:
        for princess, spins in enumerate(play.tables.spins_of):
            if spins - 1 == told:
                found.append(found[1]._replace(chosen=princess, powers=(princess,), given=spins))
    return found


def triggers(play: RunsRound, belief: RunsBelief, index: int, got: FeatureTrigger) -> list[RunsBelief]:
    """Return what may be believed after a trigger that is owed: a number may be wrong there, or the game goes on by it."""
    owed, where = belief.owed[0], "trigger"
    after = belief
    if got.feature != owed.which:
        after = fault(after, "trigger_feature", "integrity", index, where, what="feature", want=owed.which, got=got.feature)
    if got.count != owed.counted:
        after = fault(after, "trigger_count", "integrity", index, where, what="count", want=owed.counted, got=got.count)
    if got.spins_awarded != owed.spins:
        what = "spins awarded"
        after = fault(after, "spins_awarded", "integrity", index, where, what=what, want=owed.spins, got=got.spins_awarded)
    is_free = belief.part == "free"
    lefts = {owed.left, belief.left + got.spins_awarded} if is_free else {owed.left}
    if got.spins_left not in lefts:
        after = fault(after, "spins_left", "integrity", index, where, what="spins left", want=owed.left, got=got.spins_left)
    right = after._replace(owed=belief.owed[1:], triggered=owed.which)
    if not is_free:
        return [right]
    right = right._replace(left=owed.left, left_right=belief.left_right + owed.spins, given=belief.given + owed.spins)
    if len(after.findings) == len(belief.findings):
        return [right]
    number = len(after.findings) - 1
    awarded = right._replace(spin_fault=number, given=belief.given + got.spins_awarded)
    lefts = {got.spins_left, belief.left + got.spins_awarded}
    return [right, *(awarded._replace(left=left) for left in sorted(lefts) if left != owed.left)]


def spin_ends(play: RunsRound, belief: RunsBelief, index: int, got: SpinEnded) -> list[RunsBelief]:
    """Return what may be believed after `spin_ended`: each amount follows from the recorded or the right ones before it."""
    meter = 0 if belief.meter >= play.tables.sections else belief.meter
    after = belief._replace(meter=meter)
    followed = [after]
    if got.meter != meter:
        want = meter
        wrong = fault(after, "meter", "integrity", index, "spin_ended", what="meter", want=want, got=got.meter, assumption="MPS-10")
        followed = [wrong, wrong._replace(meter=got.meter)] if belief.part == "free" else [wrong]
    if belief.owed and belief.owed[0].which == "limit":
        followed = [each._replace(end="limit") for each in followed]
    return [after_spin(play, each, award, total) for one in followed for each, award, total in spin_sums(one, index, got)]


def after_spin(play: RunsRound, belief: RunsBelief, award: int, total: int | None) -> RunsBelief:
    """Return a belief after a spin that added `award` to the round, which then stands at `total`."""
    is_base = belief.part == "base"
    after = belief._replace(
        spin=belief.spin + 1, total=total, base=award if is_base else belief.base, owed=(), board=None, marks=(), powers=(), may_act=False,
        feature=belief.feature + (0 if is_base else award), features=belief.features + (0 if is_base else award),
    )  # fmt: skip
    if is_base:
        if belief.triggered == "resonance":
            return after._replace(phase="start", part="resonance", played=0)
        return after._replace(phase="done")
    goes_on = belief.left > 0 if belief.part == "free" else belief.triggered == "resonance"
    return after._replace(phase="start" if goes_on else "feature")


def feature_ends(play: RunsRound, belief: RunsBelief, index: int, got: FeatureEnded) -> list[RunsBelief]:
    """Return what may be believed after the end of Resonances or free spins."""
    after, where = belief, "feature_ended"
    name = "free_spins" if belief.part == "free" else "resonance"
    if got.feature != name:
        after = fault(after, "feature", "integrity", index, where, what="feature", want=name, got=got.feature)
    if belief.end == "stopped":
        return [after_feature(after)]
    if got.spins_played != belief.played and belief.total is not None:
        after = fault(after, "spins_played", "integrity", index, where, what="spins played", want=belief.played, got=got.spins_played)
    allowed = {belief.feature}
    if belief.total is not None:
        allowed.add(belief.total - belief.base - (belief.features - belief.feature))
    if belief.total is not None and got.total_minor not in allowed:
        what = "total in minor units"
        after = fault(after, "feature_total", "money", index, where, what=what, want=belief.feature, got=got.total_minor)
    return [after_feature(after)]


def after_feature(belief: RunsBelief) -> RunsBelief:
    """Return a belief after the end of a feature: the choice, or the end of the round."""
    is_won = belief.part == "resonance" and belief.triggered == "free_spins"
    return belief._replace(phase="choice" if is_won else "done")


def choice_offers(play: RunsRound, belief: RunsBelief, index: int, got: ChoiceOffered | None) -> list[RunsBelief]:
    """Return the belief after the choice: the free spins begin; None: it is not written."""
    after = belief._replace(phase="start", part="free", played=0, feature=0)
    if got is not None and got.choices != play.tables.choices:
        want, told = list(play.tables.choices), list(got.choices)
        after = fault(after, "choices", "integrity", index, "choice_offered", what="choices", want=want, got=told)
    return [after]
