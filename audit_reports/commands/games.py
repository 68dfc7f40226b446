"""What is installed: `games`, `rules`."""

from itertools import pairwise
from typing import Annotated, Any

import typer

from audit_reports.options import GameOption, JsonOption, RulesOption, chosen_rules
from audit_reports.output import print_json, print_line, table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("games")(games)
    app.command("rules")(rules)


def games(as_json: JsonOption = False) -> None:
    """List the installed games with versions and hashes.

    Example: audit games --json
    """
    from engines.registry import GAMES, installed_game, rules_versions

    rows: list[dict[str, Any]] = []
    for game_id in GAMES:
        for version in rules_versions(game_id):
            game = installed_game(game_id, version)
            modes = [mode.name for mode in game.rules.modes]
            names = {"game": game_id, "title": game.rules.title, "rules_version": version, "modes": modes, "is_draft": game.rules.is_draft}
            rows.append({**names, "rules_hash": game.rules.rules_hash, "engine_fingerprint": game.fingerprint})
    if as_json:
        print_json({"schema": "games/1", "games": rows})
        return
    cells = []
    for row in rows:
        version = row["rules_version"] + (" draft" if row["is_draft"] else "")
        cells.append((row["game"], version, ", ".join(row["modes"]), row["rules_hash"][:16], row["engine_fingerprint"][:16]))
    for line in table(("game", "rules", "modes", "rules hash", "engine"), cells):
        print_line(line)


def rules(
    game: GameOption,
    version: Annotated[str, typer.Option("--version", help="Rules version; the newest unless named.")] = "",
    file: RulesOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show a game's values and where each comes from.

    Example: audit rules --game moonlight-princess
    """
    chosen = chosen_rules(game, file, version)
    if as_json:
        print_json({"schema": "rules/1", "rules_hash": chosen.rules_hash, "file": file or None, "rules": chosen.model_dump()})
        return
    for line in _rules_lines(chosen):
        print_line(line)
    if file:
        print_line(f"\nrules from a file outside the registry, hash {chosen.rules_hash}")


def _origin(part: Any) -> str:
    return str(part.source or part.assumption)


def _times(x100: int) -> str:
    return f"{x100 // 100}.{x100 % 100:02d}x"


def _rules_lines(rules: Any) -> list[str]:
    """Return the rules as text; origins stand in the last column."""
    draft = " (draft: may still be replaced)" if rules.is_draft else ""
    lines = [f"{rules.title}, rules {rules.version}{draft}", f"hash {rules.rules_hash}", ""]
    counts = rules.pay_counts.counts
    ends = [f"{count}-{following - 1}" for count, following in pairwise(counts)] + [f"{counts[-1]}+"]
    paying = [symbol for symbol in rules.symbols if symbol.role == "paying"]
    rows = [(s.name, s.letter, *map(_times, s.pays_x100), _origin(s)) for s in paying]
    rows += [(s.name, s.letter, *([s.role] + [""] * (len(ends) - 1)), _origin(s)) for s in rules.symbols if s.role != "paying"]
    lines.extend(table(("symbol", "letter", *ends, "from"), rows, right=frozenset(range(2, 2 + len(ends)))))
    scatter = next(symbol for symbol in rules.symbols if symbol.role == "scatter")
    pays = ", ".join(f"{count}: {_times(pay)}" for count, pay in enumerate(scatter.pays_x100) if pay)
    values = (
        ("scatter pays", pays, _origin(scatter)),
        ("free spins", f"{rules.trigger.count} scatters give {rules.trigger.spins}", _origin(rules.trigger)),
        ("retrigger", f"{rules.retrigger.count} scatters give {rules.retrigger.spins} more", _origin(rules.retrigger)),
        ("heart values", ", ".join(f"{value}x" for value in rules.heart_values.values), _origin(rules.heart_values)),
        ("cap", f"{rules.cap.multiple}x the bet", _origin(rules.cap)),
        ("bet", f"{rules.bet.coins} coins of {rules.bet.coin_minor_min} to {rules.bet.coin_minor_max} minor units", _origin(rules.bet)),
        *((f"cost of {mode.name}", _times(mode.cost_x100), _origin(mode)) for mode in rules.modes),
        *((f"strip set in {c.mode}", _weights(rules, c), _origin(c)) for c in rules.strip_choices),
        ("limits", f"{rules.limits.free_spins} free spins, {rules.limits.tumbles} tumbles", _origin(rules.limits)),
        ("RTP target", f"{rules.rtp_target_x10000 // 100}.{rules.rtp_target_x10000 % 100:02d}%", "guide"),
    )
    lines += ["", *table(("value", "is", "from"), values), "", "strips (letters; first position first)"]
    for strip_set in rules.strip_sets:
        lines += [f"  {strip_set.name} reel {reel + 1}  {strip}" for reel, strip in enumerate(strip_set.strips)]
    lines += ["", "readings: how a silent point was decided, and the other ways to read it"]
    for reading in rules.readings:
        lines += [f"  {'*' if v.value == reading.value else ' '} {reading.name} = {v.value}  {v.text}" for v in reading.values]
    lines += ["", "assumptions", *(f"  {name}  {text}" for name, text in rules.assumptions.items())]
    lines += ["", "sources", *(f"  {source.name}  {source.document}, SHA-256 {source.sha256}" for source in rules.sources)]
    return lines


def _weights(rules: Any, choice: Any) -> str:
    return ", ".join(f"{s.name} {weight}" for s, weight in zip(rules.strip_sets, choice.weights, strict=True) if weight)
