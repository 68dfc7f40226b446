"""Free spins: what a spin at rest awards, and how many are left."""

from collections.abc import Sequence
from typing import Protocol

from engines.game_events import FeatureTrigger
from replay.referee.grammar import SpinRecord
from replay.referee.notebook import distinct_values, settled_options
from replay.referee.scene import Scene
from replay.referee.standing import Standing

__all__ = ["AtRest", "check_trigger"]


class AtRest(Protocol):
    """What the award of free spins hangs on, for one board that a spin may rest on."""

    @property
    def scatters(self) -> int:
        """The scatters that lie there."""

    @property
    def spins(self) -> int:
        """The free spins that they award."""


def check_trigger(
    scene: Scene, record: SpinRecord, plans: Sequence[AtRest], rights: Sequence[AtRest], standing: Standing, hit: str
) -> None:
    """Check the trigger or retrigger of a spin at rest; `hit` says whether the cap took it, as in `CapOutcome`."""
    spins = distinct_values([plan.spins for plan in plans])
    if hit == "yes":
        spins = (0,)
    elif hit != "no" or scene.stop_fault is not None:
        spins = distinct_values((*spins, 0))
    right = 0 if hit == "due" else rights[0].spins if rights and hit == "no" else max(spins)
    standing.spins_right += right
    if record.trigger is None:
        if 0 not in spins:
            _note_missing(scene, record, plans[0], spins[0], standing)
        return
    index, trigger = record.trigger
    if trigger.feature != "free_spins":
        scene.notebook.add("feature", "integrity", index, "trigger", what="feature", want="free_spins", got=trigger.feature)
    if hit == "yes":
        if not standing.is_over_reported:
            want = "none after the cap"
            got = f"{trigger.spins_awarded} free spins"
            number = scene.notebook.add("after_cap", "open", index, "trigger", what="free spins", want=want, got=got, assumption="ALL-1")
            standing.spin_faults.append(number)
            standing.is_over_reported = True
        standing.spins_left = (trigger.spins_left,)
        return
    if not any(spins):
        _note_invented(scene, index, trigger, plans[0], standing)
        return
    _check_fields(scene, index, trigger, plans, tuple(count for count in spins if count), standing)


def _note_missing(scene: Scene, record: SpinRecord, plan: AtRest, spins: int, standing: Standing) -> None:
    index = record.ended[0] if record.ended else record.index_last
    want = f"{spins} free spins for {plan.scatters} scatters"
    number = scene.notebook.add("trigger_missing", "open", index, "trigger", what="free spins", want=want, got="no feature_trigger")
    standing.spin_faults.append(number)
    if standing.spins_left is not None:
        standing.spins_left = distinct_values((*standing.spins_left, *(left + spins for left in standing.spins_left)))


def _note_invented(scene: Scene, index: int, trigger: FeatureTrigger, plan: AtRest, standing: Standing) -> None:
    hung = "ALL-5" if scene.is_limited else None
    want = f"none for {plan.scatters} scatters" + (" at a technical limit" if scene.is_limited else "")
    got = f"{trigger.spins_awarded} free spins"
    number = scene.notebook.add("trigger_invented", "open", index, "trigger", what="free spins", want=want, got=got, assumption=hung)
    standing.spin_faults.append(number)
    standing.spins_left = distinct_values((trigger.spins_left, *(standing.spins_left or ())))


def _check_fields(
    scene: Scene, index: int, trigger: FeatureTrigger, plans: Sequence[AtRest], spins: tuple[int, ...], standing: Standing
) -> None:
    add = scene.notebook.add
    scatters = distinct_values([plan.scatters for plan in plans])
    if trigger.count not in scatters:
        number = add("trigger_count", "open", index, "trigger", what="count of scatters", want=scatters[0], got=trigger.count)
        standing.spin_faults.append(number)
        spins = distinct_values((*spins, scene.tables.spins_for(trigger.count, scene.is_free)))
    is_awarded_right = trigger.spins_awarded in spins
    if not is_awarded_right:
        number = add("spins_awarded", "open", index, "trigger", what="free spins awarded", want=spins[0], got=trigger.spins_awarded)
        standing.spin_faults.append(number)
    if standing.spins_left is None:
        standing.spins_left = (trigger.spins_left,)
        return
    possible = distinct_values((trigger.spins_awarded, *(() if is_awarded_right else spins)))
    wanted = distinct_values([left + awarded for left in standing.spins_left for awarded in possible])
    left, is_right = settled_options(trigger.spins_left, wanted)
    if not is_right:
        standing.spin_faults.append(
            add("spins_left", "open", index, "trigger", what="free spins left", want=wanted[-1], got=trigger.spins_left)
        )
    standing.spins_left = left if is_awarded_right else distinct_values((*left, *wanted))
