"""A model as the matrix names it -> the directory that vLLM is given and the content found there."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pipeline.domain.model import Model, ResolvedModel
from pipeline.errors import UserError
from pipeline.models import embedded, shape_directory
from pipeline.models.contents import read_contents
from pipeline.models.hub import HUB_ID, fetch, find
from pipeline.models.shapes import PREFIX as SHAPE
from pipeline.models.shapes import parameters_of, read_shape

PREFIX = embedded.PREFIX


def resolve(
    model: Model,
    *,
    root: Path,
    engine_python: Path,
    report: Callable[[str], None],
    environ: Mapping[str, str] | None = None,
) -> ResolvedModel:
    """Return the model on this machine; an embedded one is prepared under `root`, one of a hub is downloaded.

    The revision is a content hash of a directory, or the commit of a hub model's snapshot. Raises UserError naming
    the path or id and what to do when it cannot be had, EnvironmentFault when the machine or the network stands in the
    way.
    """
    source = model.source
    if source.startswith(PREFIX):
        name = source.removeprefix(PREFIX)
        return _resolved(
            model, directory=embedded.prepare(name, root=root, engine_python=engine_python, report=report), root=root
        )
    if source.startswith(SHAPE):
        return _resolved(
            model,
            directory=shape_directory.prepare(model, root=root, engine_python=engine_python, report=report),
            root=root,
        )
    path = Path(source).expanduser()
    if path.is_dir():
        return _resolved(model, directory=path.resolve(), root=root)
    if not HUB_ID.match(source):
        message = (
            f"model {model.name}: there is no directory {path}. Correct `source`: a directory with config.json, a hub "
            f"id as `org/name`, {PREFIX}NAME or {SHAPE}NAME."
        )
        raise UserError(message)
    snapshot = fetch(model, root=root, environ=os.environ if environ is None else environ, report=report)
    return _resolved(model, directory=snapshot, root=root, commit=snapshot.name)


def locate(model: Model, *, root: Path, environ: Mapping[str, str] | None = None) -> Path | None:
    """Return where a model lies on this machine, without preparing, hashing or asking a network; None: not here yet."""
    source = model.source
    for prefix, name in ((PREFIX, "{}"), (SHAPE, shape_directory.NAME)):
        if source.startswith(prefix):
            directory = root / name.format(source.removeprefix(prefix))
            return directory if (directory / "config.json").is_file() else None
    path = Path(source).expanduser()
    if path.is_dir():
        return path.resolve()
    return find(model, root=root, environ=os.environ if environ is None else environ) if HUB_ID.match(source) else None


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
        parameters=contents.parameters or parameters_of(read_shape(directory)),
        vocab_size=contents.vocab_size,
        tokenizer_hash=contents.tokenizer_hash,
    )
