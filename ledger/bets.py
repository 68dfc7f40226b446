"""A bet as it comes in, and the opening of a round that it becomes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypedDict

from engines.game import EventBytes, Outcome
from engines.rng import round_key, round_key_commitment
from engines.rules import GameRules
from ledger.accounts import check_text
from ledger.codec import event_bytes
from ledger.errors import EpochEnded, GameMismatch, IdempotencyConflict, TextInvalid
from ledger.lifecycle_events import RoundOpened, RoundSettled
from ledger.money import check_bet
from ledger.profile import Profile
from ledger.seeds import SeedEpoch
from ledger.states import state_after
from ledger.store import AccountRow, EventRow, Opening

__all__ = [
    "Bet",
    "BetTerms",
    "Draft",
    "Game",
    "Leg",
    "Opened",
    "Played",
    "Waiting",
    "check_client_seed",
    "check_game",
    "check_same_bet",
    "check_terms",
]

_CLIENT_SEED_BYTES_MAX = 256
_REFERENCE = re.compile("[0-9a-f]{32}")
_SAME = ("account_ref", "game", "mode", "bet_minor", "client_seed", "external_ref")


class Game(Protocol):
    """What the ledger asks of a game: its rules, what names its engine, and a round from a key."""

    @property
    def rules(self) -> GameRules:
        """The rules it is played by."""

    @property
    def fingerprint(self) -> str:
        """The engine that plays it: 64 hex digits, or empty."""

    def play(self, key: bytes, mode: str, bet_minor: int, state_in: dict[str, int], choices: Sequence[int]) -> Outcome:
        """Return the outcome that this round key leads to."""


class BetTerms(TypedDict, total=False):
    """What may come with a bet."""

    client_seed: str
    external_ref: str
    idempotency_key: str
    session_ref: str
    channel: str


class Bet(NamedTuple):
    """A bet with all its terms."""

    account_ref: str
    game: str
    mode: str
    bet_minor: int
    client_seed: str = ""
    external_ref: str = ""
    idempotency_key: str = ""
    session_ref: str = ""
    channel: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """A round that is paid for. `event` stands in the record as `data`; the key never leaves the server while it is open.

    `later` are the events that stand behind it, where it waits for a choice.
    """

    round_id: str
    event: RoundOpened
    data: bytes = field(repr=False)
    key: bytes = field(repr=False)
    is_repeat: bool = False  # of an earlier call with the same idempotency key
    later: tuple[EventRow, ...] = ()


class Played(NamedTuple):
    """A round from bet to settlement; `system_choices` are those that nobody made."""

    round_id: str
    opened: RoundOpened
    settled: RoundSettled
    is_repeat: bool = False
    system_choices: tuple[int, ...] = ()


class Leg(NamedTuple):
    """A round that has come to the end of a leg, from where it can go on at once; the number of events that the leg added."""

    round_id: str
    opened: RoundOpened
    event_count: int


class Waiting(NamedTuple):
    """A round that waits for one of the choices offered, each by its place in the rules file's list."""

    round_id: str
    opened: RoundOpened
    offered: tuple[int, ...]
    is_repeat: bool = False


class Draft:
    """A round about to be opened; what only its transaction knows, nonce, balance and time, is filled in inside it."""

    __slots__ = ("bet", "cost_minor", "epoch", "event", "game", "key", "ledger_version", "profile")

    def __init__(self, bet: Bet, game: Game, epoch: SeedEpoch, profile: Profile, ledger_version: int) -> None:
        self.bet, self.game, self.epoch, self.profile, self.ledger_version = bet, game, epoch, profile, ledger_version
        self.cost_minor = game.rules.cost_minor(bet.mode, bet.bet_minor)
        self.event: RoundOpened | None = None
        self.key = b""

    def opening(self, round_id: str) -> Opening:
        """Return what the store is asked for."""
        bet = self.bet
        epoch = self.epoch
        terms = (bet.account_ref, bet.game, self.cost_minor, bet.external_ref, bet.idempotency_key)
        return Opening(round_id, *terms, epoch.number, epoch.commitment, self.ledger_version, bool(self.game.rules.first_state))

    def event_of(self, account: AccountRow, nonce: int, settlement: bytes | None, now: int) -> EventBytes:
        """Return the `round_opened` of this bet, and keep it and the round key.

        settlement: the `round_settled` that left a state, None where none did.
        Raises EpochEnded where the nonce was dealt before: a backup was put in the ledger's place while this writer ran; and
        BetNotAllowed for a coin that the profile leaves out.
        """
        bet, rules, epoch = self.bet, self.game.rules, self.epoch
        if (listed := self.profile.coins_minor(account.currency)) is not None:
            check_bet(rules, bet.bet_minor, account.currency, listed)
        if nonce < epoch.next_nonce:
            raise EpochEnded(epoch.number)
        self.key = round_key(epoch.seed, bet.game, bet.client_seed, nonce)
        self.event = RoundOpened(
            external_ref=bet.external_ref,
            idempotency_key=bet.idempotency_key,
            account_ref=bet.account_ref,
            session_ref=bet.session_ref,
            channel=bet.channel,
            profile_id=self.profile.id,
            profile_hash=self.profile.profile_hash,
            game=bet.game,
            rules_version=rules.version,
            rules_hash=rules.rules_hash,
            texts_hash=rules.texts_hash,
            rng="rng/1",
            engine_fingerprint=self.game.fingerprint,
            mode=bet.mode,
            bet_minor=bet.bet_minor,
            cost_minor=self.cost_minor,
            bonus_minor=max(0, self.cost_minor - account.balance_minor),  # the balance pays first
            currency=account.currency,
            balance_before_minor=account.balance_minor,
            epoch=epoch.number,
            seed_commitment=epoch.commitment,
            round_key_commitment=round_key_commitment(self.key),
            client_seed=bet.client_seed,
            nonce=nonce,
            state_in=state_after(rules, settlement),
            opened_at_us=now,
        )
        return event_bytes(self.event)


def check_client_seed(client_seed: str) -> None:
    """Raise TextInvalid for a client seed that the record does not take."""
    check_text("client seed", client_seed, is_zero_allowed=True)
    if len(size := client_seed.encode()) > _CLIENT_SEED_BYTES_MAX:
        raise TextInvalid("client seed", f"{_CLIENT_SEED_BYTES_MAX} bytes at most", str(len(size)))


def check_terms(bet: Bet) -> None:
    """Raise TextInvalid for a text that the record does not take."""
    check_client_seed(bet.client_seed)
    if bet.session_ref and not _REFERENCE.fullmatch(bet.session_ref):
        raise TextInvalid("session reference", "32 hex digits", ascii(bet.session_ref)[:80])
    check_text("external reference", bet.external_ref)
    check_text("idempotency key", bet.idempotency_key)
    check_text("channel", bet.channel)


def check_same_bet(opened: Opened, bet: Bet) -> None:
    """Raise IdempotencyConflict where the bet is not the one that its idempotency key was recorded with."""
    for name in _SAME:
        recorded, given = getattr(opened.event, name), getattr(bet, name)
        if recorded != given:
            raise IdempotencyConflict(bet.idempotency_key, opened.round_id, name, str(recorded), str(given))


def check_game(opened: Opened, game: Game) -> None:
    """Raise GameMismatch where the round was opened under another game, version, rules file or build."""
    event, rules = opened.event, game.rules
    for what, expected, found in (
        ("game", event.game, rules.game),
        ("rules version", event.rules_version, rules.version),
        ("rules hash", event.rules_hash, rules.rules_hash),
        ("engine fingerprint", event.engine_fingerprint, game.fingerprint),
    ):
        if expected != found:
            raise GameMismatch(opened.round_id, what, expected, found)
