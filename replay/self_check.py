"""Are the sources installed here those that were registered? Each file against the manifest in the record (GLI-19, 2.3.2 and B.2.6)."""

from typing import NamedTuple

from engines.manifest import manifest_fingerprint
from engines.registry import InstalledBuild, installed_builds
from ledger.builds import Registration, registrations
from ledger.lifecycle_events import BuildRegistered
from ledger.rounds import RoundLedger
from ledger.store import LEDGER_STREAM
from replay.record_check import check_record
from replay.verdict import Finding

__all__ = ["CheckedBuild", "SelfCheck", "SourceDifference", "check_installed"]

_NONE = "none"


class SourceDifference(NamedTuple):
    """A source that is not the registered one: SHA-256 wanted and found, `none` where there is no such source."""

    path: str
    want: str
    got: str


class CheckedBuild(NamedTuple):
    """A registered build, whether it is the one installed here, and in which files what is installed departs from it."""

    event: BuildRegistered
    event_index: int
    is_installed: bool
    differences: list[SourceDifference]


class SelfCheck(NamedTuple):
    """All registered builds in the order of the record, those installed here, and what is wrong; all findings are `integrity`."""

    registered: list[CheckedBuild]
    installed: list[InstalledBuild]
    findings: list[Finding]

    def is_registered(self, build: InstalledBuild) -> bool:
        """Return whether an installed build is a registered one."""
        return any(each.is_installed and each.event.game == build.game for each in self.of(build))

    def of(self, build: InstalledBuild) -> list[CheckedBuild]:
        """Return the registrations of an installed build's game and rules version, the newest last."""
        return [each for each in self.registered if (each.event.game, each.event.rules_version) == (build.game, build.rules_version)]


def check_installed(ledger: RoundLedger) -> SelfCheck:
    """Hold the sources installed here against the manifests of a ledger; nothing is wrong where no build is registered.

    Wrong is an altered stream of registrations, a manifest that is not its fingerprint's, and an installed build that is
    not registered. Raises CanonicalFormError, TopicMismatch, TreeBroken, RulesFileError.
    """
    installed = installed_builds()
    by_version = {(build.game, build.rules_version): build for build in installed}
    found = registrations(ledger)
    checked = [_checked(each, by_version.get((each.event.game, each.event.rules_version))) for each in found]
    result = SelfCheck(checked, installed, [])
    for finding in check_record(ledger.store.round_record(LEDGER_STREAM)):
        result.findings.append(finding._replace(message=f"stream ledger, {finding.message}"))
    if not checked:
        return result
    for build in checked:
        result.findings.extend(_check_manifest(build))
    for installed_build in installed:
        if not result.is_registered(installed_build):
            result.findings.append(_unregistered(installed_build, result.of(installed_build)))
    return result


def _checked(registration: Registration, build: InstalledBuild | None) -> CheckedBuild:
    event, event_index = registration
    if build is None:
        rules = SourceDifference(f"rules {event.rules_version} of {event.game}", event.rules_hash, _NONE)
        return CheckedBuild(event, event_index, False, [rules])
    paths = sorted(event.sources.keys() | build.sources.keys())
    pairs = [(path, event.sources.get(path, _NONE), build.sources.get(path, _NONE)) for path in paths]
    pairs.append((build.rules_path, event.rules_hash, build.rules_hash))
    differences = [SourceDifference(*pair) for pair in pairs if pair[1] != pair[2]]
    return CheckedBuild(event, event_index, event.engine_fingerprint == build.fingerprint, differences)


def _check_manifest(build: CheckedBuild) -> list[Finding]:
    found = manifest_fingerprint(build.event.sources, build.event.rules_hash)
    if found == build.event.engine_fingerprint:
        return []
    where = f"manifest of the build of {build.event.game}, event {build.event_index} of stream ledger"
    return [_finding("build_manifest", build.event_index, where, build.event.engine_fingerprint, found)]


def _unregistered(build: InstalledBuild, registered: list[CheckedBuild]) -> Finding:
    where = f"installed build of {build.game} {build.rules_version}"
    if not registered:
        return _finding("build_unapproved", -1, where, "a registered build, of which there is none", build.fingerprint)
    last = registered[-1]
    paths = ", ".join(difference.path for difference in last.differences)
    return _finding("build_unapproved", -1, where, last.event.engine_fingerprint, f"{build.fingerprint}, which differs in {paths}")


def _finding(code: str, event_index: int, where: str, want: str, got: str) -> Finding:
    return Finding(code, "integrity", event_index, -1, where, want, got, f"{where}: want {want}, got {got}")
