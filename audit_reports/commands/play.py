"""`play`: rounds into the ledger."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer

from audit_reports.interruption import held
from audit_reports.options import (
    GameOption,
    JsonOption,
    KeysOption,
    LedgerOption,
    RulesOption,
    UsageError,
    chosen_rules,
    keys_folder,
    named_choices,
    named_ledger,
    parse_count,
)
from audit_reports.output import follow, note, print_json, print_line, say_done

__all__ = ["AccountBusyError", "register", "show_played", "system_text"]

LINES_MAX = 20  # more rounds than this are summed up only
COMPILE_FROM = 200  # rounds for which machine code pays off
FUNDED_ROUNDS = 1000  # rounds that play money is given for at a time
COIN_MINOR = 10  # minor units of a coin where no bet is named: 2.00 for 20 coins
CHANNEL = "audit play"
ASKED = "-"  # as client seed: it is chosen after the commitment is shown


class AccountBusyError(Exception):
    """Somebody else plays on the account: a round of it was opened or settled between two of ours."""

    exit_status = 2

    def __init__(self, account: str, reason: str) -> None:
        super().__init__(account, reason)
        self.account, self.reason = account, reason

    def __str__(self) -> str:
        mend = "another process may be playing on it: wait until it has ended, or name another with --account"
        return f"account {self.account!r}: want it to ourselves, got {self.reason}; {mend}"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("play")(play)


def play(
    game: GameOption,
    mode: Annotated[str, typer.Option("--mode", help="base, ante or buy.")] = "base",
    bet: Annotated[
        str | None, typer.Option("--bet", help="The bet, in the currency; ten minor units a coin unless named, or the nearest coin below.")
    ] = None,
    currency: Annotated[str, typer.Option("--currency", help="ISO 4217 code of the account; EUR for one that is opened.")] = "",
    rounds: Annotated[str, typer.Option("--rounds", help="How many rounds.")] = "1",
    account: Annotated[str, typer.Option("--account", help="Name of the account; opened where it is not there.")] = "player",
    client_seed: Annotated[
        str,
        typer.Option("--client-seed", help="The player's part of the seed, at most 256 bytes; - asks once the commitment is shown."),
    ] = "",
    choice: Annotated[
        str, typer.Option("--choice", help="What the player chooses where a round waits for it, by name or place; else the first.")
    ] = "",
    leave_at_choice: Annotated[
        bool, typer.Option("--leave-at-choice", help="Leave a round that asks for a choice waiting; `audit resume` goes on with it.")
    ] = False,
    legs: Annotated[
        int, typer.Option("--legs", help="Leave the round after so many legs, as a lost connection does; see `audit interrupt`.")
    ] = 0,
    epoch_of: Annotated[str, typer.Option("--epoch-of", help="Whose the seed epochs are: writer or account.")] = "writer",
    rules: RulesOption = "",
    ledger: LedgerOption = "ledger.db",
    keys: KeysOption = "",
    as_json: JsonOption = False,
) -> None:
    """Play rounds and record them.

    Example: audit play --game moonlight-princess --mode ante --bet 1.00 --rounds 10
    """
    from engines.registry import game_of_rules, installed_game
    from ledger.money import check_mode
    from ledger.rounds import RoundLedger

    if epoch_of not in ("writer", "account"):
        raise UsageError("--epoch-of", "writer or account", epoch_of)
    round_count = parse_count(rounds, "--rounds")
    chosen = game_of_rules(chosen_rules(game, rules)) if rules else installed_game(game)
    check_mode(chosen.rules, mode)
    choices = _check_choice(chosen.rules, choice, is_left=leave_at_choice)
    _check_legs(legs, round_count, is_left=leave_at_choice)
    path = named_ledger(ledger)
    opened = RoundLedger.open_for_writing(path, keys_folder(path, keys), epoch_of="account" if epoch_of == "account" else "writer")
    try:
        bet_minor = _check_bet(opened, chosen.rules, account, currency, mode, bet, client_seed)
        row = _account(opened, account, currency or "EUR")
        with _told(row.account_ref, account):
            _finish_open_round(opened, row.account_ref, chosen, choice)
        if epoch_of == "account" or client_seed == ASKED:
            client_seed = _show_commitment(opened, row.account_ref, client_seed)
        if round_count >= COMPILE_FROM:
            _compile(chosen)
        table = _Table(opened, chosen, row, mode, bet_minor, client_seed, choices, is_left=leave_at_choice, leg_count=legs)
        with _told(row.account_ref, account), _accounted(opened, row.account_ref, table, round_count):
            for played in follow(table.rounds(round_count), what="rounds", total=round_count):
                table.show(played, as_json=as_json, is_shown=as_json or round_count <= LINES_MAX)
        table.sum_up(as_json=as_json)
        if rules:
            note(f"rules from a file outside the registry, hash {chosen.rules.rules_hash}")
    finally:
        opened.close()


def _check_choice(rules: Any, choice: str, *, is_left: bool) -> tuple[int, ...] | None:
    """Return the choice that is named, None where none is; raises UsageError."""
    choices = named_choices(rules, choice)
    if is_left and choice:
        raise UsageError("--choice, --leave-at-choice", "one of them", "both")
    if is_left and not rules.choice_names:
        raise UsageError("--leave-at-choice", "a game whose rounds wait for a choice", rules.game)
    return choices


def _check_legs(legs: int, round_count: int, *, is_left: bool) -> None:
    if legs < 0:
        raise UsageError("--legs", "a number of legs, 1 or more", str(legs))
    if legs and (round_count > 1 or is_left):
        raise UsageError("--legs", "it for one round, and without --leave-at-choice", "more" if round_count > 1 else "both")


def _check_bet(ledger: Any, rules: Any, account: str, currency: str, mode: str, bet: str | None, client_seed: str) -> int:
    """Return the bet in minor units; raises for whatever the ledger would not take, before anything is recorded."""
    from ledger.accounts import check_text
    from ledger.bets import Bet, check_terms
    from ledger.errors import AccountUnknown
    from ledger.money import allowed_coins, check_bet, parse_amount

    check_text("account name", account, is_empty_allowed=False)
    try:
        its_currency = ledger.account(account).currency
        if currency not in ("", its_currency):
            raise UsageError("--currency", f"{its_currency}, the currency of account {account}", currency)
    except AccountUnknown:
        its_currency = currency or "EUR"
    listed = ledger.profile.coins_minor(its_currency)
    if bet is not None:
        bet_minor = parse_amount(bet, its_currency)
    else:
        coins = allowed_coins(rules, listed)
        bet_minor = rules.bet.coins * max((coin for coin in coins if coin <= COIN_MINOR), default=coins[0] if coins else COIN_MINOR)
    check_bet(rules, bet_minor, its_currency, listed)
    check_terms(Bet(account, rules.game, mode, bet_minor, client_seed, channel=CHANNEL))
    return bet_minor


def _account(ledger: Any, name: str, currency: str) -> Any:
    from ledger.errors import AccountUnknown

    try:
        return ledger.account(name)
    except AccountUnknown:
        with held():
            ledger.open_account(name, currency)
            note(f"account {name!r} was not there: opened, in {currency}")
        return ledger.account(name)


@contextmanager
def _told(account_ref: str, name: str) -> Iterator[None]:
    """Translate what it looks like when another process plays on the same account."""
    from ledger.errors import RoundInPlay, RoundNotOpen

    try:
        yield
    except RoundInPlay as error:
        if error.account_ref != account_ref:
            raise
        raise AccountBusyError(name, f"round {error.round_id} in play that this command did not open") from error
    except RoundNotOpen as error:
        raise AccountBusyError(name, f"round {error.round_id} {error.status} by somebody else") from error


@contextmanager
def _accounted(ledger: Any, account_ref: str, table: "_Table", round_count: int) -> Iterator[None]:
    """Say how many rounds were recorded, and whether one lies open, where playing ends before its time."""
    try:
        yield
    except BaseException as error:
        text = f"{table.round_count} of {round_count} rounds done, each recorded whole{_open_text(ledger, account_ref)}"
        if not isinstance(error, Exception):
            say_done(text)
        elif not isinstance(error, BrokenPipeError):
            with suppress(OSError):  # the lines of those rounds first, where they can be written
                sys.stdout.flush()
            note(text)
        raise


def _open_text(ledger: Any, account_ref: str) -> str:
    from ledger.errors import LedgerError

    try:
        account = ledger.store.account(account_ref)
    except LedgerError:
        return "; whether one more is open cannot be read, the next audit play finishes it"
    if account is None or not account.round_in_play:
        return ""
    return f"; round {account.round_in_play} is open: its bet is taken; the next audit play finishes it"


def _finish_open_round(ledger: Any, account_ref: str, game: Any, choice: str) -> None:
    in_play = ledger.round_in_play(account_ref)
    if in_play is None:
        round_id = ledger.store.interrupted_round(account_ref, game.rules.game)
        if not round_id:
            return
        in_play = round_id, ledger.opening(round_id)
    round_id, opening = in_play
    if opening.rules_hash != game.rules.rules_hash:
        from engines.registry import game_of_rules, installed_rules

        game = game_of_rules(installed_rules(opening.game, opening.rules_version))
    choices = named_choices(game.rules, choice) if choice in game.rules.choice_names or choice.isdecimal() else None
    with held():
        played = ledger.finish_round(round_id, game, choices, channel=CHANNEL)
    text = system_text(game.rules, played)
    note(f"round {played.round_id} was still in play: finished first{f'; {text}' if text else ''}")


def _show_commitment(ledger: Any, account_ref: str, client_seed: str) -> str:
    """Show what the next round will be opened under, and return the client seed, asked for now where it is not given yet."""
    from ledger.bets import check_client_seed

    with held():
        shown = ledger.commitment(account_ref)
    note(f"epoch {shown.epoch}, commitment {shown.seed_commitment}, next nonce {shown.next_nonce}")
    if client_seed != ASKED:
        return client_seed
    note("client seed, one line:")
    try:
        line = sys.stdin.readline()
    except UnicodeDecodeError as error:
        raise UsageError("--client-seed", "a line of Unicode text on the standard input", "other bytes") from error
    if not line:
        raise UsageError("--client-seed", "a line on the standard input", "its end")
    client_seed = line.removesuffix("\n")
    check_client_seed(client_seed)
    return client_seed


def _compile(game: Any) -> None:
    try:
        game.compile()
    except ImportError:
        note("numba is not installed: rounds are played in plain Python, the bytes are the same; faster with the extra slot-audit[fast]")


def system_text(rules: Any, played: Any) -> str:
    """Return the words for choices that nobody made."""
    names = " and ".join(rules.choice_names[choice] for choice in played.system_choices)
    return f"it waited for a choice, the first was taken: {names}" if names else ""


def _is_left(played: Any) -> bool:
    from ledger.bets import Leg, Waiting

    return isinstance(played, Waiting | Leg)


def show_played(played: Any, currency: str, schema: str, *, as_json: bool) -> None:
    """Print the line of a settled round."""
    from ledger.money import amount_text

    settled = played.settled
    if as_json:
        row = {"round_id": played.round_id, "win_minor": settled.total_win_minor, "balance_minor": settled.balance_after_minor}
        print_json({"schema": schema, **row, "ended": settled.ended})
    else:
        won, balance = amount_text(settled.total_win_minor, currency), amount_text(settled.balance_after_minor, currency)
        print_line(f"{played.round_id}  won {won:>10}  balance {balance:>12}  {settled.ended}")


class _Table:
    """One account at one game: plays, says, sums up."""

    def __init__(
        self,
        ledger: Any,
        game: Any,
        account: Any,
        mode: str,
        bet_minor: int,
        client_seed: str,
        choices: Any,
        *,
        is_left: bool,
        leg_count: int,
    ) -> None:
        self._ledger, self._game, self._account = ledger, game, account
        self._mode, self._bet_minor, self._terms = mode, bet_minor, {"client_seed": client_seed, "channel": CHANNEL}
        self._choices, self._is_left, self._leg_count = choices, is_left, leg_count
        self._system_choices = 0
        self._cost_minor = game.rules.cost_minor(mode, bet_minor)
        self.round_count = 0  # rounds recorded
        self._won_minor = 0
        self._funded_minor = 0
        self._balance_minor = account.balance_minor

    def _amount(self, minor: int) -> str:
        from ledger.money import amount_text

        return amount_text(minor, self._account.currency)

    def rounds(self, round_count: int) -> Iterator[Any]:
        """Play so many rounds, or up to one that is left waiting, as its account has no other meanwhile."""
        for number in range(round_count):
            played = self.play(round_count - number)
            yield played
            if _is_left(played):
                return

    def play(self, rounds_left: int) -> Any:
        """Play one round, with play money first where the account cannot pay; Ctrl-C comes before or after it."""
        with held():
            played = self._play(rounds_left)
            self.round_count += 1
        return played

    def _play(self, rounds_left: int) -> Any:
        from ledger.errors import FundsShort

        ref = self._account.account_ref
        try:
            return self._play_one()
        except FundsShort:
            amount_minor = self._cost_minor * min(rounds_left, FUNDED_ROUNDS)
            self._ledger.move_funds(ref, amount_minor, "play_money")
            if not self._funded_minor:
                note(f"the account could not pay: funded with play money, {self._amount(amount_minor)} at a time")
            self._funded_minor += amount_minor
            return self._play_one()

    def _play_one(self) -> Any:
        bet = (self._account.account_ref, self._game, self._mode, self._bet_minor)
        if self._is_left:
            return self._ledger.play_to_choice(*bet, **self._terms)
        if self._leg_count:
            return self._play_legs(bet)
        return self._ledger.play(*bet, choices=self._choices, **self._terms)

    def _play_legs(self, bet: tuple[Any, ...]) -> Any:
        """Play a round leg by leg, so many of them at most; the first choice, or the one named, where it waits for one."""
        opened = self._ledger.open_round(*bet, **self._terms)
        played: Any = None
        for _ in range(self._leg_count):
            played = self._ledger.play_leg(opened.round_id, self._game, self._choices, channel=CHANNEL)
            if not _is_left(played):
                break
        return played

    def show(self, played: Any, *, as_json: bool, is_shown: bool) -> None:
        """Print the line of one round."""
        if _is_left(played):
            opened = played.opened
            self._balance_minor = opened.balance_before_minor - opened.cost_minor + opened.bonus_minor
            self._show_left(played, as_json=as_json)
            return
        settled = played.settled
        self._system_choices += len(played.system_choices)
        self._won_minor += settled.total_win_minor
        self._balance_minor = settled.balance_after_minor
        if not is_shown:
            return
        show_played(played, self._account.currency, "play/1", as_json=as_json)

    def _show_left(self, left: Any, *, as_json: bool) -> None:
        names = [self._game.rules.choice_names[choice] for choice in getattr(left, "offered", ())]
        if as_json:
            print_json({"schema": "play/1", "round_id": left.round_id, "waits_for": names, "balance_minor": self._balance_minor})
        else:
            waits = f"waits for a choice: {', '.join(names)}"
            print_line(f"{left.round_id}  {waits if names else 'left between two legs'}")
        note(f"go on with: audit resume --round {left.round_id}{f' --choice {names[0]}' if names else ''}")

    def sum_up(self, *, as_json: bool) -> None:
        """Print what the rounds came to."""
        round_count = self.round_count
        if self._system_choices:
            rounds = "a round" if self._system_choices == 1 else f"{self._system_choices} rounds"
            note(f"{rounds} asked for a choice, and the first was taken; name one with --choice, or leave it with --leave-at-choice")
        cost_minor = self._cost_minor * round_count
        if as_json:
            amounts = {"cost_minor": cost_minor, "win_minor": self._won_minor, "funded_minor": self._funded_minor}
            terms = {"account_ref": self._account.account_ref, "currency": self._account.currency, "balance_minor": self._balance_minor}
            print_json({"schema": "play/1", "rounds": round_count, **amounts, **terms, "rules_hash": self._game.rules.rules_hash})
            return
        rules = self._game.rules
        played = f"{round_count} round{'' if round_count == 1 else 's'} of {rules.game} {rules.version}"
        draft = ", draft rules" if rules.is_draft else ""
        paid, won = self._amount(cost_minor), self._amount(self._won_minor)
        print_line(f"{played}{draft}, {self._mode}: cost {paid}, won {won} {self._account.currency}")
