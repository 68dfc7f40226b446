"""Writes docs/reference/: the event catalogue from the models, the command line from its own help, the verifier's hash from its bytes.

`python tools/references.py --check` says whether the files are stale and changes nothing.
"""

import ast
import hashlib
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

COMMANDS = (
    "demo, init, games, rules, play, interrupt, resume, void, held, find, verify, show, history, history build, export, check, checkpoint,"
    " prove, fsck, copy,"
    " seeds list, seeds rotate, seeds reveal, seeds release, seeds rekey, builds register, builds list, profile show, profile set,"
    " account open, account fund, account bonus, account forget, incident record, incident list, incident show, correct, dispute open,"
    " dispute close, dispute list, dispute show, retention, pack build, pack verify, simulate, certify, monitor, doctor"
)
FOLDER = ROOT / "docs" / "reference"
VERIFIER_PAGE = """# The stand-alone verifiers

Made by `make docs` from the program's own bytes and help; do not edit.

`audit_reports/verifier/verify_pack.py` checks an evidence pack ([../pack-format.md](../pack-format.md), "What a checker does") for
whoever has neither the ledger nor this program: one file of {count} lines, Python's standard library alone, nothing written to disk, no
network. It was written from the format page by somebody who had not seen the code that builds and checks packs here, and shares none
with it. Read it, or have it read, before you trust it.

A copy lies in every pack. Do not run that one: whoever made the pack made it too. Get the file by another way, and compare:

    sha256sum verify_pack.py

    {digest}  verify_pack.py

## How to run it

    python -I -S verify_pack.py PACK.zip --vkey log.vkey --key pack.pub

Python 3.11 or newer (its syntax is that of 3.8); `-I -S` keeps everything but the standard library away. The first line says it:
`NOTHING FOUND  pack of round …, reproduced`, or how many findings there are. What was checked and what could not be, with the reason,
stands below. The verdict that the pack gives of its round is apart from the findings: a whole pack of a round that was paid wrongly has
none, and ends with status 3.

```
{help}
```

| status | it means |
|---|---|
| 0 | nothing found, and the pack's verdict is `reproduced`, `incomplete_open` or `incomplete_resolved` |
| 3 | findings, or any other verdict |
| 2 | wrong usage |
| 4 | a file cannot be read, or is no zip of the form |

`--json` prints one document: `schema` `pack-verify/1`, `round_id`, `verdict`, `checked` and `unchecked` (lists of text), `findings` (each
`code`, `where`, `want`, `got`).

## That of certification packs

`audit_reports/verifier/verify_certification.py` checks the pack of a game ([../certification-format.md](../certification-format.md)) in
the same way: one file of {certification_count} lines that needs Python 3.10 or newer and nothing else. Every figure of the par sheet is
computed again from the sums of the simulation, in fractions; strips and hashes are held against the rules; small samples of random
numbers are made again from the seed, and p-values corrected again; forced rounds are gone over. What needs an engine it says that it
cannot check. Zip, signature, key stream and canonical JSON are the same text as in the other file.

    sha256sum verify_certification.py

    {certification_digest}  verify_certification.py

```
{certification_help}
```

Status 0: nothing found, and the pack's own verdict is that it agrees; 3: findings, or a pack that disagrees; 2 and 4 as above. `--json`
prints `schema` `certification-verify/1`, `of`, `verdict`, `checked`, `unchecked`, `findings`.
"""


def field_comments(model: type) -> dict[str, str]:
    """Return the comment that stands behind each field in the model's source."""
    lines = inspect.getsource(model).splitlines()
    tree = ast.parse("\n".join(lines))
    comments = {}
    for node in tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            _, mark, comment = lines[(node.end_lineno or 1) - 1].partition("  # ")
            comments[node.target.id] = comment if mark else ""
    return comments


def type_text(model: type, name: str) -> str:
    """Return a field's type in the words of the catalogue."""
    from ledger.lifecycle_events import InterruptionCause

    tree = ast.parse(inspect.getsource(model))
    assert isinstance(tree.body[0], ast.ClassDef)
    for node in tree.body[0].body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            text = ast.unparse(node.annotation).replace("'", "`").replace("...", "…")
            if text == "InterruptionCause":
                text = f"Literal[{', '.join(f'`{cause}`' for cause in get_args(InterruptionCause))}]"
            return text.replace("tuple[Count, …]", "list of counts").replace("tuple[list of counts, …]", "list of lists of counts").lower()
    return ""


def event_catalogue() -> str:
    """Return the catalogue of all events as Markdown."""
    from engines.game_events import GAME_EVENTS
    from ledger.lifecycle_events import LIFECYCLE_EVENTS

    parts = [
        "# Events\n\nMade by `make docs` from the models; do not edit. Every event holds `kind` and `v` (its version, 1) and"
        " always all of its fields. Types: `count` 0 or more; `index` -1 where there is none; `minor` money in minor units, 0 or"
        " more; `integer` below 2^53 in magnitude; `hash`, `reference` and `signature` lower-case hex of 32, 16 and 64 bytes;"
        " `timeus` microseconds since 1970 UTC. Symbols and strip sets are places in the lists of the rules file, cells are"
        " numbered reel by reel from the left, top row first.\n"
    ]
    for title, models in (("Game events", GAME_EVENTS), ("Lifecycle events", LIFECYCLE_EVENTS)):
        parts.append(f"\n## {title}\n")
        for kind, model in models.items():
            comments = field_comments(model)
            parts.append(f"\n### `{kind}`\n\n{(model.__doc__ or '').strip()}\n\n| field | type | |\n|---|---|---|\n")
            for name in model.model_fields:
                if name not in ("kind", "v"):
                    cell = type_text(model, name).replace("|", "\\|")
                    parts.append(f"| `{name}` | {cell} | {comments.get(name, '')} |\n")
    return "".join(parts)


def help_text(words: list[str]) -> str:
    """Return the help of a command as the program prints it at 100 columns."""
    environment = {**os.environ, "COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    for name in ("AUDIT_LEDGER", "AUDIT_KEYS"):
        environment.pop(name, None)
    program = f"from audit_reports.cli import main; main({[*words, '--help']!r})"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.replace("Usage: -c", "Usage: audit").strip().splitlines())


def command_reference() -> str:
    """Return the help of every command as Markdown."""
    parts = ["# The `audit` command\n\nMade by `make docs` from the program's own help; do not edit.\n"]
    parts.append(f"\n```\n{help_text([])}\n```\n")
    names = COMMANDS.split(", ")
    for name in names:
        parts.append(f"\n## audit {name}\n\n```\n{help_text(name.split())}\n```\n")
    return "".join(parts)


def verifier_page() -> str:
    """Return the page on the stand-alone verifiers, with the SHA-256 that whoever gets one compares."""
    facts: dict[str, object] = {}
    for prefix, name in (("", "verify_pack.py"), ("certification_", "verify_certification.py")):
        path = ROOT / "audit_reports" / "verifier" / name
        data = path.read_bytes()
        command = [sys.executable, "-I", "-S", str(path), "--help"]
        done = subprocess.run(command, env={"COLUMNS": "100"}, capture_output=True, text=True, check=True)
        facts[f"{prefix}count"], facts[f"{prefix}digest"] = len(data.splitlines()), hashlib.sha256(data).hexdigest()
        facts[f"{prefix}help"] = done.stdout.strip()
    return VERIFIER_PAGE.format(**facts)


def main() -> int:
    """Write the files, or say with --check which are stale; returns the exit status."""
    stale = []
    for name, text in (("events.md", event_catalogue()), ("cli.md", command_reference()), ("verifier.md", verifier_page())):
        path = FOLDER / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
        if "--check" not in sys.argv:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if "--check" in sys.argv and stale:
        sys.stderr.write(f"docs/reference: want what the program says, got older {', '.join(stale)}; run make docs\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
