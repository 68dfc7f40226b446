"""Corrections and incidents as their events make them, for the check of a whole ledger: each where it may be, moving what it says."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ledger.faults import EventFault
from ledger.store import LEDGER_STREAM

__all__ = ["Movement", "RecomputedIncidents", "check_correction", "check_movement"]

_BALANCE = "balance_minor"


class Movement(NamedTuple):
    """What a correction of a balance says of the `funds_moved` behind it."""

    version: int
    amount_minor: int


def check_correction(values: dict[str, Any], version: int, balance_minor: int) -> tuple[Movement | None, list[EventFault]]:
    """Return what a `correction_recorded` of an account says that will be moved, and what is wrong with it.

    Raises KeyError, TypeError or ValueError for missing or wrong fields.
    """
    if values["element"] != _BALANCE:
        return None, [("correction_element", "element of correction_recorded", f"{_BALANCE} of an account", values["element"])]
    faults = []
    if values["before"] != str(balance_minor):
        faults.append(("correction_before", "balance before in correction_recorded", str(balance_minor), values["before"]))
    if values["movement_version"] != version + 1:
        got = str(values["movement_version"])
        faults.append(("correction_movement", "version of the movement in correction_recorded", str(version + 1), got))
    return Movement(version + 1, int(values["after"]) - int(values["before"])), faults


def check_movement(expected: Movement | None, values: dict[str, Any], version: int) -> Iterator[EventFault]:
    """Yield where an event of an account is not the movement that a correction before it names, or moves money for no correction."""
    is_correction = values["kind"] == "funds_moved" and values["reason"] == "correction"
    if expected is None:
        if is_correction:
            yield "correction_missing", "funds_moved with reason correction", "a correction_recorded directly before it", "none"
        return
    want = f"{expected.amount_minor} moved by version {expected.version} with reason correction"
    if not is_correction or (version, values["amount_minor"]) != expected:
        got = f"{values['amount_minor']} with reason {values['reason']}" if values["kind"] == "funds_moved" else values["kind"]
        yield "correction_movement", "what follows correction_recorded", want, f"{got} at version {version}"


class RecomputedIncidents:
    """The incidents so far, each once and about rounds that were opened before it."""

    def __init__(self) -> None:
        self._ids: set[str] = set()

    def take(self, stream: str, values: dict[str, Any], is_round_known: Callable[[str], bool]) -> Iterator[EventFault]:
        """Take an `incident_recorded` and yield what is wrong with it; raises KeyError or TypeError for missing or wrong fields."""
        incident_id = values["incident_id"]
        if stream != LEDGER_STREAM:
            yield "incident_stream", "stream of incident_recorded", LEDGER_STREAM, stream
        if incident_id in self._ids:
            yield "incident_twice", f"records of incident {incident_id}", "one", "another"
        self._ids.add(incident_id)
        if values["restored_at_us"] < values["began_at_us"]:
            began, restored = values["began_at_us"], values["restored_at_us"]
            yield "incident_times", f"end of incident {incident_id}", f"{began} or later, when it began", str(restored)
        for round_id in values["round_ids"]:
            if not is_round_known(round_id):
                yield "incident_round", f"round of incident {incident_id}", "one opened before it", round_id

    def check_correction(self, values: dict[str, Any]) -> Iterator[EventFault]:
        """Yield where a `correction_recorded` names an incident that was not recorded before it."""
        if values["incident_id"] and values["incident_id"] not in self._ids:
            yield "incident_unknown", "incident of correction_recorded", "one recorded before it", values["incident_id"]
