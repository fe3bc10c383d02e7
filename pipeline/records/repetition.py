"""One repetition on disk: requests, /metrics before and after, and the manifest that makes it complete."""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import orjson

from pipeline.domain.block import LAYOUT_VERSION
from pipeline.domain.request import ClientFacts, RequestRecord
from pipeline.domain.telemetry import TelemetrySample
from pipeline.errors import UserError
from pipeline.records import files
from pipeline.records.layout import AFTER_FILE, BEFORE_FILE, MANIFEST_FILE, REQUESTS_FILE, TELEMETRY_FILE


@dataclass(frozen=True, slots=True)
class Manifest:
    """MANIFEST.json: what the repetition is, its window, and the hash of every file. Written last."""

    layout_version: int
    start_index: int
    attempt: int
    position: str
    cell_id: str
    repetition: int
    started_at: str  # ISO 8601, UTC: first send
    started_at_s: float  # the same as Unix time
    ended_at_s: float
    origin_ns: int  # monotonic clock at started_at; times in the requests are on that clock
    client_cpu_s: float  # CPU time of the load client in the window
    files: dict[str, str]  # name -> sha256
    client: ClientFacts | None = None  # None: recorded before 2026-12


@dataclass(frozen=True, slots=True)
class Window:
    """What the load client brings back from one measured window."""

    requests: tuple[RequestRecord, ...]
    before: str  # /metrics, drained
    after: str
    started_at: str
    started_at_s: float
    ended_at_s: float
    origin_ns: int
    client_cpu_s: float
    client: ClientFacts | None = None
    telemetry: tuple[TelemetrySample, ...] | None = None  # None: none was taken


def write_repetition(
    directory: Path, window: Window, *, start_index: int, attempt: int, position: str, cell_id: str, repetition: int
) -> None:
    """Write one repetition. What an earlier, incomplete try left in `directory` is removed first."""
    if (directory / MANIFEST_FILE).exists():
        message = f"{directory} is complete already: raw records are append-only"
        raise RuntimeError(message)
    shutil.rmtree(directory, ignore_errors=True)
    lines = b"".join(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in window.requests)
    contents = {REQUESTS_FILE: lines, BEFORE_FILE: window.before.encode(), AFTER_FILE: window.after.encode()}
    if window.telemetry is not None:
        contents[TELEMETRY_FILE] = b"".join(map(_sample_line, window.telemetry))
    hashes = {name: files.write_bytes(directory / name, files.compress(content)) for name, content in contents.items()}
    manifest = Manifest(
        layout_version=LAYOUT_VERSION,
        start_index=start_index,
        attempt=attempt,
        position=position,
        cell_id=cell_id,
        repetition=repetition,
        started_at=window.started_at,
        started_at_s=window.started_at_s,
        ended_at_s=window.ended_at_s,
        origin_ns=window.origin_ns,
        client_cpu_s=window.client_cpu_s,
        files=hashes,
        client=window.client,
    )
    files.write_bytes(directory / MANIFEST_FILE, files.dump(manifest, Manifest))


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a repetition. Raises UserError when it is damaged or of a newer layout."""
    return files.read_versioned(directory / MANIFEST_FILE, Manifest)


def read_window(directory: Path) -> tuple[Manifest, Window]:
    """Read a complete repetition and check every hash. Raises UserError naming the file that does not agree."""
    manifest = read_manifest(directory)
    contents = {name: _checked(directory / name, digest) for name, digest in manifest.files.items()}
    window = Window(
        requests=tuple(_records(contents.pop(REQUESTS_FILE), name=str(directory / REQUESTS_FILE))),
        before=contents[BEFORE_FILE].decode(),
        after=contents[AFTER_FILE].decode(),
        started_at=manifest.started_at,
        started_at_s=manifest.started_at_s,
        ended_at_s=manifest.ended_at_s,
        origin_ns=manifest.origin_ns,
        client_cpu_s=manifest.client_cpu_s,
        client=manifest.client,
        telemetry=_samples(contents.get(TELEMETRY_FILE), name=str(directory / TELEMETRY_FILE)),
    )
    return manifest, window


def _sample_line(sample: TelemetrySample) -> bytes:
    """Return one line; what was not asked at that moment is left out."""
    told = {name: value for name in sample.__slots__ if (value := getattr(sample, name)) is not None}
    return orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)


def _samples(lines: bytes | None, *, name: str) -> tuple[TelemetrySample, ...] | None:
    if lines is None:
        return None
    return tuple(files.parse(line, TelemetrySample, name=name) for line in lines.splitlines())


def _checked(path: Path, digest: str) -> bytes:
    content = files.read_bytes(path)
    if hashlib.sha256(content).hexdigest() != digest:
        message = f"{path} does not match its manifest: it was changed or cut short. Copy the run directory again."
        raise UserError(message)
    return files.decompress(content, name=str(path))


def _records(lines: bytes, *, name: str) -> Iterator[RequestRecord]:
    for line in BytesIO(lines):  # one at a time: the lines of a long window are many times its rows
        yield files.parse(line, RequestRecord, name=name)


def manifests(attempts: Sequence[Path]) -> Iterator[tuple[Path, Manifest]]:
    """Yield the complete repetitions under each attempt directory, in a stable order."""
    for attempt in attempts:
        for path in sorted(attempt.glob(f"*/*/{MANIFEST_FILE}")):
            yield path.parent, read_manifest(path.parent)
