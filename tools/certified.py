"""Writes the certified returns that `audit monitor` holds ledgers against (replay/certified/), from certification packs.

`python tools/certified.py PACK.zip …`, each as `audit certify` built it; a file of the same game and version is replaced.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def certified_of(files: dict[str, bytes]) -> dict[str, Any]:
    """Return the certified returns that a pack's files come to."""
    index, par, simulation = (json.loads(files[name]) for name in ("pack.json", "par.json", "simulation.json"))
    exact = {(row["mode"], row["choice"]): row["return_exact"] for row in par["configurations"]}
    return {
        "schema": "certified/1",
        "game": index["game"],
        "rules_version": index["rules_version"],
        "rules_hash": index["rules_hash"],
        "bet_minor": simulation["bet_minor"],
        "cap_multiple": par["cap_multiple"],
        "pay_step_x100": pay_step_x100(load_rules_of(files)),
        "configurations": [
            {
                "mode": row["mode"],
                "choice": row["choice"],
                "cost_minor": row["cost_minor"],
                "return_exact": exact[row["mode"], row["choice"]],
                "classes": row["classes"],
            }
            for row in simulation["configurations"]
        ],
    }


def load_rules_of(files: dict[str, bytes]) -> dict[str, Any]:
    """Return the values of the rules in a whole pack."""
    rules: dict[str, Any] = json.loads(files["rules.json"])["rules"]
    return rules


def pay_step_x100(values: Any) -> int:
    """Return the greatest step of which every pay and prize is a multiple, in hundredths of the bet; amounts at 40 are SLW-1's."""
    from math import gcd

    step = 0
    if isinstance(values, dict):
        for name, value in values.items():
            if name in ("pays_x100", "values_x100", "prizes_x100"):
                step = gcd(step, *value)
            elif name == "pay_x100":
                step = gcd(step, value)
            elif name == "amounts_minor":
                step = gcd(step, *(amount * 100 // 40 for amount in value))
            else:
                step = gcd(step, pay_step_x100(value))
    elif isinstance(values, list):
        step = gcd(0, *(pay_step_x100(value) for value in values)) if values else 0
    return step


def main(names: list[str]) -> None:
    """Write a file for each pack."""
    from audit_reports.bag import read_zip

    for name in names:
        members = read_zip(Path(name).read_bytes(), name)
        files = {member.split("/data/", 1)[1]: content for member, content in members.items() if "/data/" in member}
        returns = certified_of(files)
        path = ROOT / "replay" / "certified" / f"{returns['game']}-{returns['rules_version']}.json"
        path.write_text(json.dumps(returns, indent=1) + "\n")
        print(f"{path.relative_to(ROOT)}: {sum(int(row['rounds']) for row in returns['configurations'][0]['classes'])} rounds each")


if __name__ == "__main__":
    main(sys.argv[1:])
