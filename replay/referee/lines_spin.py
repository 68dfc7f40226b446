"""A spin of win lines and Moons from its start to its end: its number, the respins left, the trigger, what it adds up to."""

from engines.game_events import FeatureEnded, FeatureTrigger, SpinEnded, SpinStarted
from replay.referee.belief import fault
from replay.referee.lines_belief import LinesBelief
from replay.referee.lines_tables import LinesRound
from replay.referee.sums import spin_sums

__all__ = ["after_spin", "feature_ends", "spin_ends", "spin_starts", "triggers", "with_respins"]


def spin_starts(play: LinesRound, belief: LinesBelief, index: int, got: SpinStarted) -> list[LinesBelief]:
    """Return what may be believed after `spin_started`: a counter may be wrong there, or be what the game counts by."""
    tables, spin = play.tables, belief.spin
    left = 0 if not spin else got.spins_left if belief.left is None else belief.left - 1
    right = belief.left_right - 1 if spin else 0
    after = belief._replace(phase="drop", left=left, left_right=right, won_minor=0, added=0, cut=0, strip_set=tables.base_set)
    wanted: tuple[tuple[str, object], ...] = (
        ("spin_index", spin),
        ("part", "respin" if spin else "base"),
        ("strip_set", -1 if spin else tables.base_set),
        ("multiplier", 1),
        ("total_multiplier", 0),
        ("meter", 0),
        ("highlighted_cells", ()),
    )
    bad = [(name, want, getattr(got, name)) for name, want in wanted if getattr(got, name) != want]
    if not bad and got.spins_left == left:
        return [after]
    found = [after]
    ahead = got.spin_index - spin
    for name, want, value in bad:
        if name == "strip_set":
            texts = ["none" if each == -1 else tables.set_name(each) for each in (tables.base_set if not spin else -1, value)]
            found = [fault(each, name, "integrity", index, "spin_started", what="strip set", want=texts[0], got=texts[1]) for each in found]
            if not spin and 0 <= value < len(tables.strips):
                found += [each._replace(strip_set=value) for each in found]
            continue
        shown = list(value) if isinstance(value, tuple) else value
        found = [
            fault(each, name, "integrity", index, "spin_started", what=name.replace("_", " "), want=want or "none", got=shown)
            for each in found
        ]
    if got.spins_left != left:
        found = [
            fault(each, "spins_left", "integrity", index, "spin_started", what="spins left", want=left, got=got.spins_left)
            for each in found
        ]
        number = len(found[0].findings) - 1
        found += [each._replace(left=got.spins_left, spin_fault=number) for each in found]
    if spin and ahead > 0:
        missing = fault(belief, "spin_missing", "integrity", index, "spin_started", what="spin index", want=spin, got=got.spin_index)
        missing = missing._replace(spin=got.spin_index, left=got.spins_left, left_right=got.spins_left, total=None, unseen=-1)
        found.append(missing._replace(phase="drop", won_minor=0, added=0, cut=0))
    return found


def with_respins(belief: LinesBelief, left: int, left_right: int | None = None) -> LinesBelief:
    """Return a belief in which the bonus has `left` respins, by the rules `left_right` where these are others."""
    right = left if left_right is None else left_right
    return belief._replace(in_bonus=True, left=left, left_right=right, is_over=False)


def triggers(play: LinesRound, belief: LinesBelief, index: int, got: FeatureTrigger) -> list[LinesBelief]:
    """Return what may be believed after a trigger that is owed: a number may be wrong there, or the game goes on by it."""
    tables, count = play.tables, belief.owed[0].moons
    is_full = count == tables.cell_count
    before = belief.left if belief.spin and belief.left is not None else 0
    left = 0 if is_full else tables.spins
    awarded = 0 if is_full else max(tables.spins - before, 0)
    after = belief._replace(owed=belief.owed[1:], in_bonus=True, left=left, left_right=left, is_over=is_full, spin_fault=-1)
    if not belief.spin:
        after = after._replace(moons_at_trigger=count)
    where = "trigger"
    if got.feature != "hold_and_respin":
        after = fault(after, "trigger_feature", "integrity", index, where, what="feature", want="hold_and_respin", got=got.feature)
    if got.count != count:
        after = fault(after, "trigger_count", "integrity", index, where, what="count of Moons", want=count, got=got.count)
    if got.spins_awarded != awarded:
        after = fault(after, "spins_awarded", "integrity", index, where, what="respins awarded", want=awarded, got=got.spins_awarded)
    if got.spins_left not in (left, before + got.spins_awarded):
        after = fault(after, "spins_left", "integrity", index, where, what="respins left", want=left, got=got.spins_left)
    if got.spins_left == left or len(after.findings) == len(belief.findings):
        return [after._replace(left=got.spins_left)]
    followed = after._replace(left=got.spins_left, spin_fault=len(after.findings) - 1, is_over=False)
    return [after, followed._replace(owed=(), goes_on=True) if is_full else followed]


def spin_ends(play: LinesRound, belief: LinesBelief, index: int, got: SpinEnded) -> list[LinesBelief]:
    """Return what may be believed after `spin_ended`: each amount follows from the recorded or the right ones before it."""
    after = belief
    if got.meter:
        after = fault(after, "meter", "integrity", index, "spin_ended", what="meter", want=0, got=got.meter)
    return [after_spin(each, award, total) for each, award, total in spin_sums(after, index, got)]


def after_spin(belief: LinesBelief, award: int, total: int | None) -> LinesBelief:
    """Return a belief after a spin that added `award` to the round, which then stands at `total`."""
    phase = "start" if not belief.is_over else "feature" if belief.in_bonus else "done"
    return belief._replace(
        phase=phase,
        spin=belief.spin + 1,
        total=total,
        base=belief.base if belief.spin else award,
        feature=belief.feature + award if belief.spin else 0,
        owed=(),
        told="" if belief.told == "spin" else belief.told,
    )


def feature_ends(play: LinesRound, belief: LinesBelief, index: int, got: FeatureEnded) -> list[LinesBelief]:
    """Return what may be believed after the end of the bonus."""
    after = belief._replace(phase="done")
    where = "feature_ended"
    if got.feature != "hold_and_respin":
        after = fault(after, "feature", "integrity", index, where, what="feature", want="hold_and_respin", got=got.feature)
    played = belief.spin - 1
    if belief.end == "stopped":
        return [after]
    if got.spins_played != played:
        after = fault(after, "spins_played", "integrity", index, where, what="respins played", want=played, got=got.spins_played)
    if belief.total is not None and got.total_minor not in (belief.feature, belief.total - belief.base):
        what = "total in minor units"
        after = fault(after, "feature_total", "money", index, where, what=what, want=belief.feature, got=got.total_minor)
    return [after]
