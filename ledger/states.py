"""What a game carries from round to round of an account: the state out of a round is the state in of the next one.

The table holds, for each account and game that carries a state, which round left it; the state itself stands in that
round's settlement. A round that is voided leaves none, so that the one before it counts.
"""

import json

from engines.rules import GameRules

__all__ = ["state_after"]


def state_after(rules: GameRules, settlement: bytes | None) -> dict[str, int]:
    """Return the state in of an account's next round under these rules.

    settlement: the bytes of the `round_settled` that left a state, None where none did. A state that these rules do not know,
    as another version may leave one, counts as none.
    """
    state: dict[str, int] = json.loads(settlement)["state_out"] if settlement is not None else {}
    return state if state in rules.states else rules.first_state
