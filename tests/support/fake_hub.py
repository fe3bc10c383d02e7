"""A model hub on 127.0.0.1: repositories as directories, access as the real one answers it."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit


@dataclass
class FakeHub:
    """What it holds, and what it was asked."""

    repositories: dict[str, Path] = field(default_factory=dict)  # id -> directory with its files
    revisions: dict[str, str] = field(default_factory=dict)  # branch or commit -> commit
    gated: set[str] = field(default_factory=set)
    token: str | None = None  # that opens the gated ones
    refuse: int | None = None  # an HTTP status for everything
    url: str = ""
    fetched: list[str] = field(default_factory=list)  # files sent, in order

    def answer(self, path: str, *, token: str | None) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body."""
        if self.refuse:
            return self.refuse, {}, b"{}"
        parts = unquote(urlsplit(path).path).strip("/").split("/")
        api = parts[:2] == ["api", "models"]
        repository = "/".join(parts[2:4] if api else parts[:2])
        if repository not in self.repositories:
            return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"
        if repository in self.gated and not api and not (token and token == self.token):
            return 403, {"X-Error-Code": "GatedRepo"}, b"{}"
        rest = parts[4:] if api else parts[2:]
        commit = self.revisions.get(rest[1] if len(rest) > 1 else "main")
        if commit is None:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b"{}"
        if api:
            return self._api(repository, commit, tree=rest[0] == "tree")
        return self._file(repository, commit, "/".join(rest[2:]))

    def _api(self, repository: str, commit: str, *, tree: bool) -> tuple[int, dict[str, str], bytes]:
        files = sorted(path for path in self.repositories[repository].rglob("*") if path.is_file())
        names = [path.relative_to(self.repositories[repository]).as_posix() for path in files]
        document: object = {"id": repository, "sha": commit, "siblings": [{"rfilename": name} for name in names]}
        if tree:
            document = [
                {"type": "file", "path": name, "size": path.stat().st_size, "oid": _etag(path)}
                for name, path in zip(names, files, strict=True)
            ]
        return 200, {"Content-Type": "application/json"}, json.dumps(document).encode()

    def _file(self, repository: str, commit: str, name: str) -> tuple[int, dict[str, str], bytes]:
        path = self.repositories[repository] / name
        if not path.is_file():
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        return 200, {"X-Repo-Commit": commit, "ETag": f'"{_etag(path)}"'}, path.read_bytes()


def _etag(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()  # noqa: S324 - the hub names small files so


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """Serve a hub; its `url` is what HF_ENDPOINT takes."""
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, *, body: bool) -> None:
            bearer = self.headers.get("Authorization", "").removeprefix("Bearer ") or None
            status, headers, content = hub.answer(self.path, token=bearer)
            if body and status == 200 and "/resolve/" in self.path:
                hub.fetched.append(self.path.rsplit("/", 1)[1])
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(content)

        def do_GET(self) -> None:
            self._answer(body=True)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
