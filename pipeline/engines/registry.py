"""The capability registry: registry.yaml as checked values, read once. What the fields mean stands in that file."""

import functools
from pathlib import Path
from typing import Annotated, Any, Self

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as PackageRequirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from ruamel.yaml import YAML

from pipeline.domain.engine import Platform
from pipeline.engines.conversions import Conversion

FILE = Path(__file__).with_name("registry.yaml")


def _specifiers(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(str(error)) from error
    return text


def _version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion as error:
        raise ValueError(str(error)) from error
    return text


def _requirement(text: str) -> str:
    try:
        PackageRequirement(text)
    except InvalidRequirement as error:
        raise ValueError(str(error)) from error
    return text


Specifiers = Annotated[str, AfterValidator(_specifiers)]
Release = Annotated[str, AfterValidator(_version)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Refusal(_Record):
    """Something that does not work where everything stated holds."""

    reason: str
    versions: Specifiers = ""
    platform: Platform | None = None
    speculating: bool = False
    methods: tuple[str, ...] = ()  # none listed: any
    from_index: bool = False
    source: str | None = None  # None: the entry's


class Renaming(_Record):
    """What a key or value is called in some releases."""

    versions: Specifiers
    to: str
    convert: Conversion | None = None


class Need(_Record):
    """A package that some releases want for a method and do not bring."""

    versions: Specifiers
    package: Annotated[str, AfterValidator(_requirement)]  # as pip writes it, pinned
    note: str | None = None


class Entry(_Record):
    """One method, key, value, flag, variable, sampling parameter or GPU."""

    source: str
    since: Release | None = None
    until: Release | None = None
    renamed: tuple[Renaming, ...] = ()
    refused: tuple[Refusal, ...] = ()
    methods: tuple[str, ...] = ()
    draft: bool = False
    needs: tuple[Need, ...] = ()
    note: str | None = None


class Requirement(_Record):
    """What a release needs beside itself."""

    platform: Platform
    versions: Specifiers
    torch: str
    python: Specifiers
    source: str
    cuda: str | None = None
    driver: Specifiers | None = None


class Settled(_Record):
    """A start-up fact that the platform's code settles: whatever the log says, or only where it says nothing."""

    platform: Platform
    versions: Specifiers
    fact: str
    value: bool | str
    source: str
    where_silent: bool = False


class Speculation(_Record):
    """What holds for every method but `none`."""

    refused: tuple[Refusal, ...]


class Registry(_Record):
    """All of registry.yaml."""

    read_from: Release
    read_up_to: Release
    sources: dict[str, str]
    speculation: Speculation
    methods: dict[str, Entry]
    keys: dict[str, Entry]
    values: dict[str, dict[str, Entry]]
    flags: dict[str, Entry]
    environment: dict[str, Entry]
    sampling: dict[str, Entry]
    hardware: dict[str, Entry]
    requirements: tuple[Requirement, ...]
    settled: tuple[Settled, ...] = Field(default=())

    @model_validator(mode="after")
    def _sources_are_listed(self) -> Self:
        for name in _named(self.model_dump(), key="source"):
            if name not in self.sources:
                message = f"source {name!r} is not among {sorted(self.sources)}"
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _methods_are_listed(self) -> Self:
        named = [(f"key {key!r}", entry.methods) for key, entry in self.keys.items()]
        named += [(f"sampling {key!r}", refusal.methods) for key, e in self.sampling.items() for refusal in e.refused]
        for where, methods in named:
            if strange := set(methods) - self.methods.keys():
                message = f"{where} names the methods {sorted(strange)}, which are not listed"
                raise ValueError(message)
        return self


def _named(value: Any, *, key: str) -> list[str]:
    if isinstance(value, dict):
        own = [value[key]] if isinstance(value.get(key), str) else []
        return own + [name for part in value.values() for name in _named(part, key=key)]
    if isinstance(value, list | tuple):
        return [name for part in value for name in _named(part, key=key)]
    return []


@functools.cache
def load_registry(path: Path = FILE) -> Registry:
    """Read and check the registry, once a process. A file that is wrong is a bug of this release: ValueError."""
    document = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    try:
        return Registry.model_validate(document)
    except ValidationError as error:
        message = f"{path} is wrong: {error}"
        raise ValueError(message) from error
