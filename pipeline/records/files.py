"""Whole files or none: everything is written beside its place and renamed. JSON by way of pydantic's TypeAdapter."""

import contextlib
import errno
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson
import zstandard
from pydantic import TypeAdapter, ValidationError

from pipeline.domain.block import LAYOUT_VERSION
from pipeline.domain.versions import Upgrades, VersionRefused, brought_up_to
from pipeline.errors import EnvironmentFault, UserError

T = TypeVar("T")
_LEVEL = 10

# File name -> layout version -> the step to the next one. Empty: there has been one layout so far.
UPGRADES: dict[str, Upgrades] = {}


def write_bytes(path: Path, content: bytes) -> str:
    """Write `content` atomically and durably; return its SHA-256. Raises EnvironmentFault when the disk is full."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            message = f"the disk is full: {path} could not be written. Free space there; what is complete is kept."
            raise EnvironmentFault(message) from error
        message = f"{path} could not be written: {error.strerror}."
        raise EnvironmentFault(message) from error
    return hashlib.sha256(content).hexdigest()


def compress(content: bytes) -> bytes:
    """Return `content` as one zstandard frame."""
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(content)


def decompress(content: bytes, *, name: str) -> bytes:
    """Return the content of a zstandard frame. Raises UserError naming the file when it is damaged."""
    try:
        return zstandard.ZstdDecompressor().decompress(content)
    except zstandard.ZstdError as error:
        message = f"{name} is damaged ({error}). Copy the run directory again."
        raise UserError(message) from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def dump(value: object, kind: type[T]) -> bytes:
    """Return `value` as indented JSON."""
    return bytes(_adapter(cast("Any", kind)).dump_json(value, indent=1)) + b"\n"


def parse(content: bytes, kind: type[T], *, name: str) -> T:
    """Return the value in `content`. Raises UserError naming the file when it is of another layout or damaged."""
    try:
        value: T = _adapter(cast("Any", kind)).validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"{name} cannot be read ({where}: {first['msg']}). It is damaged, or of another release's layout."
        raise UserError(message) from error
    return value


def read(path: Path, kind: type[T]) -> T:
    """Read a JSON file as `kind`. Raises UserError when it is absent or damaged."""
    return parse(read_bytes(path), kind, name=str(path))


def read_versioned(path: Path, kind: type[T]) -> T:
    """Read a file that carries a layout version as `kind`, an older layout brought up to date.

    Raises UserError when it is absent, damaged, or newer than this release.
    """
    content = read_bytes(path)
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        document = None  # `parse` says where it is damaged
    if isinstance(document, dict):
        upgrades = UPGRADES.get(path.name, {})
        try:
            current = brought_up_to(document, current=LAYOUT_VERSION, upgrades=upgrades, name=str(path))
        except VersionRefused as error:
            raise UserError(str(error)) from error
        content = content if current is document else orjson.dumps(current)
    return parse(content, kind, name=str(path))


def read_bytes(path: Path) -> bytes:
    """Read a file. Raises UserError naming it when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}. Is this a run directory of Specwatch?"
        raise UserError(message) from error
