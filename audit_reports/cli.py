"""The `audit` command: its doors, and how every way of failing ends."""

import os
import signal
import sys
from types import FrameType
from typing import Annotated, Any

import typer

# Nothing that happens to be installed may change how a record is parsed; looking for it also costs a tenth of a start.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from audit_reports.commands import checkpoint, games, history, integrity, play, ready, rounds, seeds, show, simulate, verify

__all__ = ["app", "main"]

EXIT_UNREADABLE = 4
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="audit",
    help="The auditor of record for slot rounds: records every spin, reruns any round from its seed, says where record and rules part.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"slot-audit {version('slot-audit')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    """The auditor of record for slot rounds: records every spin, reruns any round from its seed, says where record and rules part."""


for module in (ready, games, play, verify, show, history, rounds, checkpoint, integrity, seeds, simulate):
    module.register(app)


class _Interrupted(BaseException):
    """Ctrl-C, told apart from what the command line library makes of it."""


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    del signal_number, frame
    raise _Interrupted


def main(arguments: list[str] | None = None) -> None:
    """Run one command; ends the process with the exit status that cli.md promises, never with a traceback for bad input."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        app(arguments)
    except _Interrupted:
        from audit_reports.output import done_so_far

        sys.stderr.write(f"interrupted; {done_so_far() or 'nothing was changed that is not recorded whole'}\n")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone: nothing more to say, and Python's own flush at the end would fail again.
        sys.stdout = None
        sys.exit(0)
    except Exception as error:
        status = _exit_status(error)
        if status is None:
            raise
        sys.stderr.write(f"audit: {error}\n")
        sys.exit(status)


def _exit_status(error: Exception) -> int | None:
    """Return the exit status of an error of our own tree, None for a bug."""
    status: Any = getattr(error, "exit_status", None)
    if isinstance(status, int):
        return status
    module = type(error).__module__.partition(".")[0]
    return EXIT_UNREADABLE if module in ("engines", "ledger", "replay", "audit_reports") else None
