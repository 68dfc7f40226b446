"""What is installed: `games`, `rules`."""

from itertools import pairwise
from typing import Annotated, Any

import typer

from audit_reports.options import GameOption, JsonOption, RulesOption, chosen_rules
from audit_reports.output import print_json, print_line, table
from audit_reports.pay_text import pays_text, times
from engines.rules import Sourced, StripSet, Symbol

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


def _rules_lines(rules: Any) -> list[str]:
    """Return the rules as text, each value with its origin."""
    draft = " (draft: may still be replaced)" if rules.is_draft else ""
    lines = [f"{rules.title}, rules {rules.version}{draft}", f"hash {rules.rules_hash}", ""]
    lines += [*_symbol_lines(rules), "", *table(("value", "from", "is (reels and rows are counted from 0)"), _value_rows(rules))]
    lines += ["", "strips (letters; first position first)"]
    for strip_set in rules.strip_sets:
        lines += [f"  {strip_set.name} reel {reel + 1}  {strip}" for reel, strip in enumerate(strip_set.strips)]
    lines += ["", "readings: how a silent point was decided, and the other ways to read it"]
    for reading in rules.readings:
        lines += [f"  {'*' if v.value == reading.value else ' '} {reading.name} = {v.value}  {v.text}" for v in reading.values]
    lines += ["", "assumptions", *(f"  {name}  {text}" for name, text in rules.assumptions.items())]
    lines += ["", "sources", *(f"  {source.name}  {source.document}, SHA-256 {source.sha256}" for source in rules.sources)]
    return lines


def _symbol_lines(rules: Any) -> list[str]:
    """Return the paytable: a symbol a line, in multiples of the bet by the readings as decided."""
    counts = rules.pay_counts.counts
    ends = [str(count) if following == count + 1 else f"{count}-{following - 1}" for count, following in pairwise(counts)]
    ends.append(f"{counts[-1]}" if rules.kind != "scatter_pays" else f"{counts[-1]}+")
    rows = []
    for number, symbol in enumerate(rules.symbols):
        pays = tuple(map(times, rules.pays_x100_of(number))) if symbol.role == "paying" else (symbol.role, *[""] * (len(ends) - 1))
        rows.append((symbol.name, symbol.letter, *pays, _origin(symbol)))
    return list(table(("symbol", "letter", *ends, "from"), rows, right=frozenset(range(2, 2 + len(ends)))))


def _value_rows(rules: Any) -> list[tuple[str, str, str]]:
    """Return every other value of the game's own model: what it is called, its origin, what it is."""
    others = [(number, symbol) for number, symbol in enumerate(rules.symbols) if symbol.role != "paying"]
    rows = [(f"{symbol.name} pays", _origin(symbol), text) for number, symbol in others if (text := pays_text(rules, number))]
    for name in type(rules).model_fields:
        value = getattr(rules, name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Sourced) and not isinstance(part, Symbol | StripSet):
                label, text = _part_text(part)
                rows.append((f"{name.replace('_', ' ')}{label}", _origin(part), text))
    target = f"{rules.rtp_target_x10000 // 100}.{rules.rtp_target_x10000 % 100:02d}%"
    sets = [(name.replace("_", " "), "", getattr(rules, name)) for name in type(rules).model_fields if name.endswith("_strip_set")]
    return [*rows, *sets, ("RTP target", "", target)]


def _part_text(part: Sourced) -> tuple[str, str]:
    """Return what a part is of (its texts), and its numbers: by their names, but for a list that is all it has."""
    values = {name: value for name, value in part if name not in Sourced.model_fields}
    label = "".join(f" of {value}" for value in values.values() if isinstance(value, str))
    numbers = {name: value for name, value in values.items() if not isinstance(value, str)}
    texts = [(name.removesuffix("_x100").replace("_", " "), _number_text(name, value)) for name, value in numbers.items()]
    if len(texts) == 1 and isinstance(next(iter(numbers.values())), tuple):
        return label, texts[0][1]
    return label, "; ".join(f"{name} {text}" for name, text in texts)


def _number_text(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        if value and isinstance(value[0], tuple):
            return "; ".join(" ".join(map(str, each)) for each in value)
        return ", ".join(_number_text(name, each) for each in value) or "none"
    return times(value) if name.endswith("_x100") else str(value)
