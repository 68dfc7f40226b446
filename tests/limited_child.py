"""Runs a command over many files, each in a child of its own with little memory and time: `python -I limited_child.py COMMAND… < LIST`.

The command is the words for a Python interpreter to run with a file's name behind them, or `audit` and its words, which are run in a
fork of this process once the program is loaded. The list is a file's name a line; for each a line of JSON is written: `file`, `status`
(below 0: ended by that signal), `seconds` of processor time, `bytes` of memory at most. What it writes is in FILE.out and FILE.err.
"""

import contextlib
import io
import json
import os
import resource
import signal
import sys
from pathlib import Path

MEMORY_BYTES, PROCESSOR_SECONDS, WALL_SECONDS, FILE_BYTES = 2**30, 5, 60, 2**26


def in_child(words: list[str], file: str, folder: str) -> None:
    """Run the command on a file and never return."""
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(os.path.join(folder, f"{os.path.basename(file)}.{name}"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, PROCESSOR_SECONDS),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    signal.alarm(WALL_SECONDS)
    if words[0] != "audit":
        os.execv(sys.executable, [sys.executable, *words, file])
    from audit_reports.cli import main

    status = 1
    try:
        main([*words[1:], file])
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        import traceback

        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def run_all(folder: str, words: list[str]) -> None:
    """Run the command on each file of the list; the first one, an honest file, also in this process, so that every fork has all loaded."""
    files = sys.stdin.read().splitlines()
    if words[0] == "audit":
        from audit_reports.cli import main

        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main([*words[1:], files[0]])
    for file in files:
        child = os.fork()
        if child == 0:
            in_child(words, file, folder)
        _, ended, used = os.wait4(child, 0)
        seconds = round(used.ru_utime + used.ru_stime, 3)
        facts = {"file": Path(file).name, "status": os.waitstatus_to_exitcode(ended), "seconds": seconds, "bytes": used.ru_maxrss * 1024}
        print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    run_all(sys.argv[1], sys.argv[2:])
