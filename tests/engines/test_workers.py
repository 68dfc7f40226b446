"""Workers of a pool leave Ctrl-C alone and end when the process that started them is gone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT

PROGRAM = """
import os, signal, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from engines.workers import start_worker
if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, get_context("spawn"), start_worker, (os.getpid(),))
    print(pool.submit(os.getpid).result(), pool.submit(signal.getsignal, signal.SIGINT).result().name, flush=True)
    time.sleep(60)
"""


def is_running(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes by /proc")
def test_a_worker_does_not_outlive_its_parent(tmp_path: Path) -> None:
    """A worker ignores SIGINT, and is gone soon after its parent was killed."""
    (tmp_path / "parent.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, str(tmp_path / "parent.py")], env=environment, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker, handler = parent.stdout.readline().split()
    assert handler == "SIG_IGN"
    assert is_running(int(worker))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while is_running(int(worker)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(int(worker))
