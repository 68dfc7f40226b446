"""The walk of a game that pays anywhere and multiplies by hearts."""

from collections.abc import Sequence

from engines.game_events import GameEvent
from engines.games.moonlight_princess.rules import Rules
from engines.rules import GameRules
from replay.referee.board import walk_boards
from replay.referee.grammar import SpinRecord
from replay.referee.notebook import Notebook
from replay.referee.scatter_pays_rest import check_rest
from replay.referee.sequence import SpinPlace, walk_spins
from replay.referee.standing import Standing
from replay.referee.tables import tables_of
from replay.referee.walk import RoundTerms, RoundWalk
from replay.referee.world import SpinScene

__all__ = ["walk_events"]


def walk_events(events: Sequence[tuple[int, GameEvent]], rules: GameRules, terms: RoundTerms) -> RoundWalk:
    """Return what a round of a game that pays anywhere departs from and what its settlement may say; see `walk_round`."""
    assert isinstance(rules, Rules)
    tables = tables_of(rules)
    cap_minor = tables.cap_minor(terms.mode, terms.bet_minor)

    def check_spin(notebook: Notebook, standing: Standing, record: SpinRecord, place: SpinPlace) -> None:
        scene = SpinScene(tables, notebook, spin=place.spin, bet_minor=terms.bet_minor, strip_sets=place.strip_sets)
        scene.is_past_end = standing.is_over_reported
        boards = walk_boards(scene, record)
        if place.spin == 0 and tables.is_bought(terms.mode):
            _check_bought_board(scene, record)
        check_rest(scene, record, boards, standing, cap_minor, is_last=place.is_last)

    return walk_spins(events, tables, check_spin, terms)


def _check_bought_board(scene: SpinScene, record: SpinRecord) -> None:
    if not record.steps or record.steps[0].drop is None:
        return
    index, drop = record.steps[0].drop
    tables = scene.tables
    count = drop.symbols.count(tables.scatter)
    is_noted = any(finding.event_index == index for finding in scene.notebook.findings)
    if count not in tables.buy_scatters and not is_noted:
        want = " or ".join(map(str, tables.buy_scatters))
        scene.notebook.add("bought_scatters", "open", index, "drop 0", what="scatters bought", want=want, got=count, assumption="MLP-7")
