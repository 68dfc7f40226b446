"""The `audit` command: its doors, and how every way of failing ends."""

# Before all imports that take time: Ctrl-C must end cleanly while they are still loading.
import os
import sys

from audit_reports.interruption import Interrupted, end_at_once, ignore_interrupts, raise_interrupts

if os.path.basename(sys.argv[0]).removesuffix(".exe") == "audit":  # the command itself, or a worker process of it
    end_at_once()

from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

# Nothing that happens to be installed may change how a record is parsed; looking for it also costs a tenth of a start.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from audit_reports.commands import (
    account,
    builds,
    certify,
    checkpoint,
    dispute,
    games,
    history,
    incident,
    integrity,
    life,
    monitor,
    pack,
    play,
    profile,
    ready,
    resume,
    retention,
    rounds,
    seeds,
    show,
    simulate,
    verify,
)

__all__ = ["app", "main"]

EXIT_PIPE_CLOSED = 141
EXIT_UNREADABLE = 4


class _OutputError(Exception):
    """What was printed could not be written; the command line library would make a crash of a reader that has gone."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(cause)
        self.cause = cause


class _Commands(TyperGroup):
    """The group of all commands; hands on errors of output as our own."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the words of the command line, which may print help."""
        try:
            return super().make_context(*arguments, **options)
        except BrokenPipeError as error:
            raise _OutputError(error) from error

    def invoke(self, context: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(context)
        except BrokenPipeError as error:
            raise _OutputError(error) from error


app = typer.Typer(
    cls=_Commands,
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


for module in (
    ready,
    games,
    play,
    resume,
    verify,
    show,
    history,
    rounds,
    checkpoint,
    integrity,
    seeds,
    builds,
    profile,
    account,
    incident,
    life,
    pack,
    dispute,
    retention,
    simulate,
    certify,
    monitor,
):
    module.register(app)


def main(arguments: list[str] | None = None) -> None:
    """Run one command; ends the process with the exit status that cli.md promises, never with a traceback for bad input."""
    from audit_reports.output import prepare_streams

    raise_interrupts()
    prepare_streams()
    status = _run(arguments)
    ignore_interrupts()
    sys.exit(status)


def _run(arguments: list[str] | None) -> int | str | None:
    try:
        status: int | str | None = 0
        try:
            app(arguments)
        except SystemExit as end:
            status = end.code
        _flush()
    except Interrupted as error:
        return _end_interrupted(error)
    except _OutputError as error:
        return _end_output(error.cause)
    except Exception as error:
        _flush_or_close()
        own_status = _exit_status(error)
        if own_status is None:
            raise
        _say(f"audit: {_message(error)}")
        return own_status
    return status


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _OutputError(error) from error


def _flush_or_close() -> None:
    try:
        _flush()
    except _OutputError:
        _close_output()


def _say(text: str) -> None:
    from audit_reports.output import note

    with suppress(OSError):  # nobody is left to tell
        note(text)


def _end_interrupted(error: Interrupted) -> int:
    from audit_reports.output import done_so_far

    _say(f"interrupted; {done_so_far() or 'nothing was changed that is not recorded whole'}")
    _flush_or_close()
    return error.exit_status


def _end_output(error: OSError) -> int:
    """Return 141 and say nothing where the reader of our output has gone; say what is the case where it cannot be written.

    Never 0: that would tell a script that nothing is wrong, of a verdict which nobody has read to its end. 141 is what a
    shell gives a program that a closed pipe has ended.
    """
    _close_output()
    if isinstance(error, BrokenPipeError):
        return EXIT_PIPE_CLOSED
    _say(f"audit: output: want it written, got {error.strerror or type(error).__name__}; what was printed so far is not whole")
    return EXIT_UNREADABLE


def _close_output() -> None:
    """Let what is still to be written go nowhere, so that Python's own flush at the end does not fail again."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _exit_status(error: Exception) -> int | None:
    """Return the exit status of an error of our own tree or of the operating system, None for a bug."""
    status: Any = getattr(error, "exit_status", None)
    if isinstance(status, int):
        return status
    if isinstance(error, OSError):
        return EXIT_UNREADABLE
    module = type(error).__module__.partition(".")[0]
    return EXIT_UNREADABLE if module in ("engines", "ledger", "replay", "audit_reports") else None


def _message(error: Exception) -> str:
    if not isinstance(error, OSError) or type(error).__module__ != "builtins":
        return str(error)
    where = f"file {error.filename}" if error.filename else "output"
    return f"{where}: want it to work, got {error.strerror or type(error).__name__}; see to room and access"
