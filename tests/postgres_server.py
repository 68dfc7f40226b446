"""A PostgreSQL server for tests: started on loopback in a temporary folder, stopped when the tests end."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["PostgresServer", "is_required", "postgres", "postgres_binaries", "postgres_to_kill"]

PACKAGE = "postgresql"
USER, PASSWORD = "postgres", "owner-password"  # the name of the server's own user, also in Debian
REQUIRED = "SLOT_AUDIT_POSTGRES"
START_ATTEMPTS = 50


def postgres_binaries() -> Path | None:
    """Return the folder of the server's programs, the newest where there are several."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if folders:
        return folders[-1].parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def is_required() -> bool:
    """Return whether a machine without the server fails the tests rather than skipping them."""
    return os.environ.get(REQUIRED) == "required"


class PostgresServer:
    """One server with its data in a folder of its own."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="slot-audit-postgres-"))
        self._databases = 0
        self._prefix: list[str] = []
        if os.getuid() == 0:
            # The server refuses to run as root.
            entry = pwd.getpwnam(USER)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            self._prefix = ["runuser", "-u", USER, "--"]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        password = self.folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        self._run(
            "initdb", "--pgdata", self.data, "--username", USER, "--pwfile", password, "--auth", "scram-sha-256", "--encoding", "UTF8"
        )

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.folder / "data"

    def _run(self, program: str, *arguments: object) -> None:
        command = [*self._prefix, str(self._binaries / program), *map(str, arguments)]
        with (self.folder / f"{program}.log").open("ab") as log:
            done = subprocess.run(command, cwd=self.folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise RuntimeError(
                f"{program}: want exit status 0, got {done.returncode}: {(self.folder / f'{program}.log').read_text()[-2000:]}"
            )

    def start(self) -> None:
        """Start, and wait until it takes connections; after a kill it recovers first."""
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder}"
        for attempts_left in reversed(range(START_ATTEMPTS)):
            try:
                self._run("pg_ctl", "start", "--pgdata", self.data, "--wait", "--log", self.folder / "server.log", "--options", options)
                return
            except RuntimeError:
                # The processes of a killed server need a moment to notice.
                if not attempts_left:
                    raise
                time.sleep(0.2)

    def stop(self, mode: str = "fast") -> None:
        """Stop; `immediate` is a crash."""
        self._run("pg_ctl", "stop", "--pgdata", self.data, "--wait", "--mode", mode)

    def kill(self) -> None:
        """End the server's first process without a chance to tidy up; the others end when they notice."""
        os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def wait(self) -> None:
        """Wait until connections are taken."""
        import psycopg

        for attempts_left in reversed(range(START_ATTEMPTS)):
            try:
                self.execute("postgres", "SELECT 1")
                return
            except psycopg.OperationalError:
                if not attempts_left:
                    raise
                time.sleep(0.2)

    def remove(self) -> None:
        """Stop if it is running, and remove the data."""
        if (self.data / "postmaster.pid").exists():
            with contextlib.suppress(RuntimeError):
                self.stop("immediate")
        shutil.rmtree(self.folder)

    def url(self, database: str, *, user: str = USER, password: str = PASSWORD) -> str:
        """Return the address of a database."""
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def execute(self, database: str, *statements: str) -> None:
        """Run statements as the owner of everything."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def new_database(self) -> str:
        """Make an empty database and return its name."""
        self._databases += 1
        name = f"ledger_{self._databases}"
        self.execute("postgres", f"CREATE DATABASE {name} TEMPLATE template0")
        return name


def _started() -> Iterator[PostgresServer]:
    binaries = postgres_binaries()
    if binaries is None:
        message = f"no PostgreSQL server on this machine: want initdb and pg_ctl, install the Debian package {PACKAGE}"
        if is_required():
            pytest.fail(message)
        pytest.skip(message)
    server = PostgresServer(binaries)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of this process."""
    yield from _started()


@pytest.fixture(scope="module")
def postgres_to_kill() -> Iterator[PostgresServer]:
    """A server that the tests of a module may kill; they leave it running."""
    yield from _started()
