"""Money from pays, and what the win cap leaves of it; in minor units."""

__all__ = ["cap_award", "win_amount"]

PAY_SCALE = 100


def win_amount(pay_x100: int, multiplier: int, bet_minor: int) -> int:
    """Return a pay in minor units; whole for every allowed bet, else cut down to the whole unit below."""
    return pay_x100 * multiplier * bet_minor // PAY_SCALE


def cap_award(total_before_minor: int, uncapped_minor: int, cap_minor: int) -> int | None:
    """Return what the cap leaves of a win or prize that reaches or passes it, None for one that does not."""
    if uncapped_minor <= 0 or total_before_minor + uncapped_minor < cap_minor:
        return None
    return max(cap_minor - total_before_minor, 0)
