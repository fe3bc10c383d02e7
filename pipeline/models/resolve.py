"""A model as the matrix names it -> the directory that vLLM is given and the content found there. Asks no network."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from pipeline.domain.model import Model, ResolvedModel
from pipeline.errors import UserError
from pipeline.models.contents import read_contents
from pipeline.models.embedded import PREFIX, prepare

_HUB_ID = re.compile(r"^[\w.-]+/[\w.-]+$")
_COMMIT = re.compile(r"^[0-9a-f]{40}$")


def resolve(
    model: Model,
    *,
    root: Path,
    engine_python: Path,
    report: Callable[[str], None],
    environ: Mapping[str, str] | None = None,
) -> ResolvedModel:
    """Return the model on this machine; an embedded one is prepared under `root` when it is not there yet.

    The revision is a content hash of a directory, or the commit of a hub model's snapshot. Raises UserError naming
    the path or id and what to do when it is not here.
    """
    source = model.source
    if source.startswith(PREFIX):
        directory = prepare(source.removeprefix(PREFIX), root=root, engine_python=engine_python, report=report)
        return _resolved(model, directory=directory, root=root)
    path = Path(source).expanduser()
    if path.is_dir():
        return _resolved(model, directory=path.resolve(), root=root)
    if not _HUB_ID.match(source):
        message = (
            f"model {model.name}: there is no directory {path}. Correct `source`: a directory with config.json, a hub "
            f"id as `org/name`, or {PREFIX}NAME."
        )
        raise UserError(message)
    snapshot = _snapshot(model, environ=os.environ if environ is None else environ)
    return _resolved(model, directory=snapshot, root=root, commit=snapshot.name)


def _resolved(model: Model, *, directory: Path, root: Path, commit: str | None = None) -> ResolvedModel:
    contents = read_contents(directory, cache_root=root)
    if model.weights == "real" and contents.parameters is None and not any(directory.glob("*.bin")):
        message = (
            f"model {model.name}: {directory} holds no weights (*.safetensors). Download them, or write "
            "`weights: dummy` to measure the shape with random weights."
        )
        raise UserError(message)
    return ResolvedModel(
        model=model,
        path=str(directory),
        revision=commit or contents.revision,
        layers=contents.layers,
        hidden_size=contents.hidden_size,
        parameters=contents.parameters,
        vocab_size=contents.vocab_size,
        tokenizer_hash=contents.tokenizer_hash,
    )


def _snapshot(model: Model, *, environ: Mapping[str, str]) -> Path:
    """Return the snapshot directory of a hub model in the local cache; its name is the commit."""
    repository = _hub_cache(environ) / f"models--{model.source.replace('/', '--')}"
    asked = model.revision or "main"
    commit = asked if _COMMIT.match(asked) else _named(repository / "refs" / asked)
    snapshot = repository / "snapshots" / (commit or asked)
    if commit and (snapshot / "config.json").exists():
        return snapshot
    revision = f" --revision {model.revision}" if model.revision else ""
    message = (
        f"model {model.name}: {model.source} at {asked} is not on this machine (looked in {repository}). "
        f"Download it with `hf download {model.source}{revision}`, or give a local path."
    )
    raise UserError(message)


def _hub_cache(environ: Mapping[str, str]) -> Path:
    if cache := environ.get("HF_HUB_CACHE"):
        return Path(cache)
    home = environ.get("HF_HOME") or Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    return Path(home) / "hub"


def _named(reference: Path) -> str | None:
    try:
        return reference.read_text(encoding="utf-8").strip()
    except OSError:
        return None
