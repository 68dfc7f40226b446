"""Lifecycle events: what happens to a round, an account, an epoch, the ledger (`record/1`, Events).

Replay takes them as given, the reconciler checks them. Times are microseconds since 1970 UTC, money is in minor
units, hashes, keys and references are lower-case hex, and a string that another server cannot give is empty.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from engines.canonical import CanonicalFormError, Hash, Integer, Minor, RecordedEvent
from engines.game_events import Count, Index

__all__ = [
    "LIFECYCLE_EVENTS",
    "AccountForgotten",
    "AccountOpened",
    "BonusMoved",
    "BuildRegistered",
    "ChoiceMade",
    "CorrectionRecorded",
    "DisputeClosed",
    "DisputeOpened",
    "EpochClosed",
    "EpochCommitted",
    "FundsMoved",
    "IncidentRecorded",
    "InterruptionCause",
    "KeyRotated",
    "LedgerCreated",
    "PresentationAcked",
    "PresentationSent",
    "ProfileSet",
    "RoundInterrupted",
    "RoundOpened",
    "RoundResumed",
    "RoundSettled",
    "RoundVoided",
    "SeedKeyRotated",
    "SeedRevealed",
    "parse_lifecycle_event",
]

Reference = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
ReferenceOrEmpty = Annotated[str, Field(pattern="^([0-9a-f]{32})?$")]
HashOrEmpty = Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]
Text = Annotated[str, Field(max_length=256)]
Signature = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]
Currency = Annotated[str, Field(pattern="^[A-Z]{3}$")]
SourcePath = Annotated[str, Field(pattern="^[A-Za-z0-9_./-]{1,256}$")]
RoundId = Annotated[str, Field(pattern="^[A-Za-z0-9._-]{1,64}$")]
TimeUs = Annotated[int, Field(ge=0, le=2**53 - 1)]
# GLI-19, 4.16.1 (a) to (e), in its order.
InterruptionCause = Literal["connection_lost", "system_restarted", "device_restarted", "software_ended", "game_disabled", "other"]


class RoundOpened(RecordedEvent):
    """A round is paid for; durable before its outcome exists. Debits the cost."""

    kind: Literal["round_opened"] = "round_opened"
    external_ref: Text
    idempotency_key: Text
    account_ref: Reference
    session_ref: ReferenceOrEmpty
    channel: Text
    profile_id: Text
    profile_hash: HashOrEmpty
    game: Text
    rules_version: Text
    rules_hash: Hash
    texts_hash: HashOrEmpty
    rng: Literal["rng/1"]
    engine_fingerprint: HashOrEmpty
    mode: Text
    bet_minor: Minor
    cost_minor: Minor
    bonus_minor: Minor  # bonus money in the cost
    currency: Currency
    balance_before_minor: Minor
    epoch: Minor
    seed_commitment: HashOrEmpty
    round_key_commitment: HashOrEmpty
    client_seed: Text
    nonce: Minor
    state_in: dict[str, Integer]
    opened_at_us: TimeUs


class ChoiceMade(RecordedEvent):
    """What a round waited for: stands behind the `choice_offered` that it answers, before the next game event."""

    kind: Literal["choice_made"] = "choice_made"
    choice: Minor  # one of those offered: its place in the rules file's list of what can be chosen
    made_by: Literal["player", "system"]  # the system only where nobody chose
    session_ref: ReferenceOrEmpty  # of the choice, which may come from another session than the bet
    channel: Text
    made_at_us: TimeUs


class RoundInterrupted(RecordedEvent):
    """A round stops between two legs, its outcome not yet shown; its cost is held (GLI-19, 4.16.1 and 4.16.2)."""

    kind: Literal["round_interrupted"] = "round_interrupted"
    cause: InterruptionCause
    acked_index: Integer  # of the last event of the round that the player's device has said it had, from 0; -1 where it said nothing
    acked_at_us: TimeUs  # 0 where it said nothing
    broke_at_us: TimeUs  # when the round was cut off, which may be known later than it happened
    blocks: Literal["own_game", "all_games"]  # what the account cannot play until the round goes on
    held_minor: Minor  # the cost, bonus money in it included
    won_minor: Minor  # so far, in the spins that are recorded
    interrupted_at_us: TimeUs


class RoundResumed(RecordedEvent):
    """A round that was interrupted goes on where it stopped (GLI-19, 4.16.3)."""

    kind: Literal["round_resumed"] = "round_resumed"
    resumed_by: Literal["player", "system"]  # the system completes it, and the choices that are left are its own
    session_ref: ReferenceOrEmpty
    channel: Text
    resumed_at_us: TimeUs


class RoundVoided(RecordedEvent):
    """A round is over without its outcome. Pays what its profile says."""

    kind: Literal["round_voided"] = "round_voided"
    reason: Literal["deadline", "cannot_continue", "malfunction"]
    pays: Literal["return_of_bet", "better_of"]  # the profile's rule
    won_minor: Minor  # so far, in the spins that are recorded
    refund_minor: Minor  # credited to the balance
    refund_bonus_minor: Minor  # bonus money given back
    incident_id: ReferenceOrEmpty
    why_hash: HashOrEmpty  # salted hash of a text outside the tree; empty where a deadline says it
    voided_by_hash: HashOrEmpty  # of a name; empty where the system does what the profile says
    approved_by_hash: HashOrEmpty  # of another person's name
    balance_after_minor: Minor
    round_digest: Hash
    voided_at_us: TimeUs


class RoundSettled(RecordedEvent):
    """A round is over. Credits its total win."""

    kind: Literal["round_settled"] = "round_settled"
    total_win_minor: Minor
    base_win_minor: Minor  # the award of spin 0
    feature_win_minor: Minor  # the rest
    ended: Literal["played", "auto_completed", "capped", "limit"]
    state_out: dict[str, Integer]
    balance_after_minor: Minor
    outcome_digest: Hash
    round_digest: Hash
    settled_at_us: TimeUs


class PresentationSent(RecordedEvent):
    """What the player's client was told to show of a round, up to the end of a spin; as it was told, right or wrong."""

    kind: Literal["presentation_sent"] = "presentation_sent"
    through_index: Count  # of the `spin_ended` up to which it shows, in the round's stream
    spin_index: Index  # of that spin
    spin_win_minor: Integer  # told as that spin's win
    total_win_minor: Integer  # told as the round's win so far
    balance_minor: Integer  # told as the balance; -1 where none was told
    manifest_hash: HashOrEmpty  # SHA-256 of all that was sent, which is kept elsewhere
    session_ref: ReferenceOrEmpty  # of the client
    channel: Text
    sent_at_us: TimeUs


class PresentationAcked(RecordedEvent):
    """The client says what it has shown of what it was told to show."""

    kind: Literal["presentation_acked"] = "presentation_acked"
    sent_index: Count  # of the `presentation_sent` in the round's stream
    total_win_minor: Integer  # what it has shown as the round's win so far; -1 where it does not say
    acked_at_us: TimeUs


class AccountOpened(RecordedEvent):
    """An account exists from here on, with a balance of 0."""

    kind: Literal["account_opened"] = "account_opened"
    account_ref: Reference
    currency: Currency
    opened_at_us: TimeUs


class FundsMoved(RecordedEvent):
    """Money enters or leaves an account other than by a round."""

    kind: Literal["funds_moved"] = "funds_moved"
    amount_minor: Integer  # below 0 where money leaves
    reason: Literal["deposit", "withdrawal", "play_money", "correction"]
    balance_after_minor: Minor
    moved_at_us: TimeUs


class BonusMoved(RecordedEvent):
    """Bonus money is granted or taken back; it is no part of the balance, pays where that is short, and what it wins is balance."""

    kind: Literal["bonus_moved"] = "bonus_moved"
    amount_minor: Integer  # below 0 where it is taken back
    reason: Literal["granted", "forfeited"]
    bonus_after_minor: Minor
    moved_at_us: TimeUs


class AccountForgotten(RecordedEvent):
    """The personal data of an account are erased: its name, and the texts that concern it alone. Proofs and sums stay."""

    kind: Literal["account_forgotten"] = "account_forgotten"
    erased_text_count: Minor
    forgotten_by_hash: Hash  # salted hash of a name: the name itself is text outside the tree
    approved_by_hash: Hash  # of another person's name
    forgotten_at_us: TimeUs


class CorrectionRecorded(RecordedEvent):
    """Something recorded was wrong (GLI-19, B.3.2): what it was and what it is from here on. What stands before is as it was."""

    kind: Literal["correction_recorded"] = "correction_recorded"
    alteration_id: Reference
    element: Text  # of a round `<kind>.<field>`, of an account `balance_minor`
    before: Text  # the value, as text
    after: Text
    movement_version: Minor  # of the `funds_moved` of the same append that moves the money; 0 where none is moved
    incident_id: ReferenceOrEmpty
    why_hash: Hash  # salted hash of a text outside the tree
    corrected_by_hash: Hash  # of a name
    approved_by_hash: Hash  # of another person's name
    corrected_at_us: TimeUs


class IncidentRecorded(RecordedEvent):
    """A malfunction, in the six parts of GLI-19, B.2.1(e); each text stands outside the tree, here its salted hash."""

    kind: Literal["incident_recorded"] = "incident_recorded"
    incident_id: Reference
    cause_hash: Hash  # i
    review_hash: Hash  # ii: which records were looked at, and what they show
    repair_hash: Hash  # iii
    integrity_hash: Hash  # iv: how the component was verified before it was started again
    began_at_us: TimeUs  # v, as the two that follow
    restored_at_us: TimeUs
    reason_hash: Hash
    is_recovered: bool  # vi: only where it is not may rounds be void
    recovery_hash: Hash  # why, and what follows for wagers and pays
    round_ids: tuple[RoundId, ...]  # that it concerns
    recorded_by_hash: Hash  # of a name
    approved_by_hash: Hash  # of another person's name
    recorded_at_us: TimeUs


class DisputeOpened(RecordedEvent):
    """A complaint about rounds came in (GLI-19, A.4.4); its text stands outside the tree, here its salted hash."""

    kind: Literal["dispute_opened"] = "dispute_opened"
    dispute_id: Reference
    round_ids: tuple[RoundId, ...]  # that it concerns, one at least
    claimant_ref: ReferenceOrEmpty  # account of whoever complains; empty where that is none of this ledger
    claim_hash: Hash
    received_at_us: TimeUs  # when it came in: the time to answer runs from here
    recorded_by_hash: Hash  # of a name
    recorded_at_us: TimeUs


class DisputeClosed(RecordedEvent):
    """Two people have answered a complaint; from here on it holds no round any more."""

    kind: Literal["dispute_closed"] = "dispute_closed"
    dispute_id: Reference
    answer_hash: Hash  # of a text outside the tree
    decision: Literal["upheld", "rejected", "settled", "withdrawn"]
    answered_at_us: TimeUs  # when the answer went out
    closed_by_hash: Hash  # of a name
    approved_by_hash: Hash  # of another person's name
    closed_at_us: TimeUs


class EpochCommitted(RecordedEvent):
    """A server seed is fixed before the first bet under it."""

    kind: Literal["epoch_committed"] = "epoch_committed"
    epoch: Minor
    seed_commitment: Hash
    sealed_seed_hash: Hash  # SHA-256 of the sealed seed in the epoch's row: nobody can change that unseen either
    writer_ref: Reference
    account_ref: ReferenceOrEmpty  # empty for an epoch of a writer process
    committed_at_us: TimeUs


class EpochClosed(RecordedEvent):
    """No round is opened under this epoch any more."""

    kind: Literal["epoch_closed"] = "epoch_closed"
    epoch: Minor
    round_count: Minor
    closed_at_us: TimeUs


class SeedRevealed(RecordedEvent):
    """The seed of a closed epoch is shown to everybody; none of its rounds is in play."""

    kind: Literal["seed_revealed"] = "seed_revealed"
    epoch: Minor
    server_seed: Hash
    revealed_at_us: TimeUs


class LedgerCreated(RecordedEvent):
    """The first event of a ledger."""

    kind: Literal["ledger_created"] = "ledger_created"
    ledger_id: Reference
    record: Literal["record/1"]
    log_public_key: Hash  # Ed25519, 32 bytes
    created_at_us: TimeUs


class KeyRotated(RecordedEvent):
    """Another key signs the ledger's checkpoints from here on."""

    kind: Literal["key_rotated"] = "key_rotated"
    old_public_key: Hash
    new_public_key: Hash
    proof: Signature  # Ed25519 by the old key over the 64 hex digits of the new one
    rotated_at_us: TimeUs


class BuildRegistered(RecordedEvent):
    """Two people let a build of a game make rounds from here on; what it was made of is its manifest."""

    kind: Literal["build_registered"] = "build_registered"
    game: Text
    rules_version: Text
    rules_hash: Hash
    engine_fingerprint: Hash
    sources: dict[SourcePath, Hash]  # the manifest: SHA-256 of each source that the fingerprint is over, by path
    registered_by_hash: Hash  # salted hash of a name: the name itself is text outside the tree
    approved_by_hash: Hash  # of another person's name
    registered_at_us: TimeUs


class ProfileSet(RecordedEvent):
    """Two people let a jurisdiction profile govern the rounds opened from here on."""

    kind: Literal["profile_set"] = "profile_set"
    profile_id: Text
    profile_version: Text
    profile_hash: Hash  # SHA-256 of the canonical JSON of the values
    profile: dict[str, Any]  # all its values (`ledger/profile.py`)
    set_by_hash: Hash  # salted hash of a name: the name itself is text outside the tree
    approved_by_hash: Hash  # of another person's name
    set_at_us: TimeUs


class SeedKeyRotated(RecordedEvent):
    """Another key seals the seeds from here on; every epoch that was open is closed in the same transaction."""

    kind: Literal["seed_key_rotated"] = "seed_key_rotated"
    old_key_id: Hash  # SHA-256 over "seed-key/1" and the 32 bytes of the key; names a key, shows nothing of it
    new_key_id: Hash
    rotated_at_us: TimeUs


LIFECYCLE_EVENTS: dict[str, type[RecordedEvent]] = {
    "round_opened": RoundOpened,
    "choice_made": ChoiceMade,
    "round_interrupted": RoundInterrupted,
    "round_resumed": RoundResumed,
    "round_voided": RoundVoided,
    "round_settled": RoundSettled,
    "presentation_sent": PresentationSent,
    "presentation_acked": PresentationAcked,
    "account_opened": AccountOpened,
    "funds_moved": FundsMoved,
    "bonus_moved": BonusMoved,
    "account_forgotten": AccountForgotten,
    "correction_recorded": CorrectionRecorded,
    "incident_recorded": IncidentRecorded,
    "dispute_opened": DisputeOpened,
    "dispute_closed": DisputeClosed,
    "epoch_committed": EpochCommitted,
    "epoch_closed": EpochClosed,
    "seed_revealed": SeedRevealed,
    "ledger_created": LedgerCreated,
    "key_rotated": KeyRotated,
    "build_registered": BuildRegistered,
    "profile_set": ProfileSet,
    "seed_key_rotated": SeedKeyRotated,
}


def parse_lifecycle_event(kind: str, data: bytes) -> RecordedEvent:
    """Return the lifecycle event of `kind` that `data` is the canonical form of.

    Raises CanonicalFormError for an unknown kind and for bytes that are not that kind's canonical form.
    """
    model = LIFECYCLE_EVENTS.get(kind)
    if model is None:
        raise CanonicalFormError("one of " + ", ".join(LIFECYCLE_EVENTS), data, f"kind {kind!r} is not known")
    return model.parse(data)
