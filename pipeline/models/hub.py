"""Models of a hub: resolved to a commit at first use, kept in the hub's own cache, and the same commit ever after.

A branch such as `main` moves; a trend must not. So the commit that a branch meant at first use is noted under the
models root, and is used until somebody removes that note or names another revision in the matrix.
"""

import errno
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pipeline.domain.model import Model
from pipeline.errors import EnvironmentFault, UserError

HUB_ID = re.compile(r"^[\w.-]+/[\w.-]+$")
_COMMIT = re.compile(r"^[0-9a-f]{40}$")
_NOTES = ".revisions"
_TRUE = {"1", "true", "yes", "on"}
_DESCRIPTION = ("*.json", "*.jinja", "*.model", "*.txt", "tokenizer*")  # all but the weights
_TIMEOUT_S = 30


def find(model: Model, *, root: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the snapshot of a hub model that is on this machine, without a network; None when it has to be fetched."""
    commit = noted_commit(model, root=root)
    repository = repository_directory(model, environ=environ)
    if commit is None:
        commit = _reference(repository / "refs" / _asked(model))
    snapshot = repository / "snapshots" / (commit or "none")
    return snapshot if commit and _complete(snapshot, model=model) else None


def fetch(model: Model, *, root: Path, environ: Mapping[str, str], report: Callable[[str], None]) -> Path:
    """Return the snapshot of a hub model, downloading what is missing. Its name is the commit.

    Raises UserError (not found, gated, no access) or EnvironmentFault (offline, out of reach, disk full), each with
    what to do next; a token is never shown.
    """
    snapshot = find(model, root=root, environ=environ)
    if snapshot is None:
        snapshot = _download(model, root=root, environ=environ, report=report)
    _note(model, snapshot.name, root=root, report=report)
    return snapshot


def noted_commit(model: Model, *, root: Path) -> str | None:
    """Return the commit this model was resolved to at first use, or the one the matrix names; None before."""
    asked = _asked(model)
    if _COMMIT.match(asked):
        return asked
    try:
        commit = json.loads(_note_path(model, root=root).read_text(encoding="utf-8"))["commit"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return commit if isinstance(commit, str) and _COMMIT.match(commit) else None


def repository_directory(model: Model, *, environ: Mapping[str, str]) -> Path:
    """Return where the hub's cache keeps this model."""
    return _cache(environ) / f"models--{model.source.replace('/', '--')}"


def _asked(model: Model) -> str:
    return model.revision or "main"


def _note_path(model: Model, *, root: Path) -> Path:
    safe = re.sub(r"[^\w.-]", "-", _asked(model))
    return root / _NOTES / f"{model.source.replace('/', '--')}@{safe}.json"


def _note(model: Model, commit: str, *, root: Path, report: Callable[[str], None]) -> None:
    if _COMMIT.match(_asked(model)) or noted_commit(model, root=root) == commit:
        return
    path = _note_path(model, root=root)
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"source": model.source, "asked": _asked(model), "commit": commit, "at": datetime.now(UTC).isoformat()}
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)
    report(f"model {model.source}: {_asked(model)} is {commit[:12]} from now on (noted in {path})")


def _download(model: Model, *, root: Path, environ: Mapping[str, str], report: Callable[[str], None]) -> Path:
    commit = noted_commit(model, root=root)
    if _is_offline(environ):
        message = (
            f"model {model.name}: {model.source} at {commit or _asked(model)} is not on this machine (looked in "
            f"{repository_directory(model, environ=environ)}) and HF_HUB_OFFLINE is set. Unset it, download it with "
            f"`{_command(model, commit)}`, copy the hub cache of a machine that has it, or give a local path."
        )
        raise EnvironmentFault(message)
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()  # our reports are lines, and a log is no terminal
    what = "its configuration and tokenizer" if model.weights == "dummy" else "it"
    report(f"model {model.source} at {(commit or _asked(model))[:12]} is not here: downloading {what} from the hub")
    hub = HfApi(endpoint=environ.get("HF_ENDPOINT"), token=environ.get("HF_TOKEN"))
    try:
        info = hub.model_info(model.source, revision=commit or _asked(model), timeout=_TIMEOUT_S)
        names = [sibling.rfilename for sibling in info.siblings or ()]
        path = hub.snapshot_download(
            model.source,
            revision=info.sha,
            cache_dir=_cache(environ),
            allow_patterns=_wanted(model, names),
            etag_timeout=_TIMEOUT_S,
        )
    except Exception as error:  # the hub's own errors, its HTTP client's and the disk's: told apart there
        raise _explained(error, model=model, environ=environ) from error
    return Path(path)


def _wanted(model: Model, names: list[str]) -> list[str]:
    """Return the patterns to fetch: what vLLM reads at the top of the repository, in one format of weights."""
    if model.weights == "dummy":
        return list(_DESCRIPTION)
    safe = any(name.endswith(".safetensors") and "/" not in name for name in names)
    chosen = [*_DESCRIPTION, "*.safetensors" if safe else "*.bin"]
    # other folders hold the same weights again (original/, onnx/): only the top counts
    return [name for name in names if "/" not in name and any(Path(name).match(pattern) for pattern in chosen)]


def _explained(error: Exception, *, model: Model, environ: Mapping[str, str]) -> UserError | EnvironmentFault:
    """Say what happened and what to do. Texts of the hub are left out: they repeat addresses and headers."""
    from huggingface_hub import errors

    who = f"model {model.name}: {model.source}"
    token = "the token in HF_TOKEN" if environ.get("HF_TOKEN") else "no token in HF_TOKEN"
    if isinstance(error, errors.GatedRepoError):
        return UserError(
            f"{who} is gated and {token} has no access. Ask for access on its page of the hub, then set HF_TOKEN to a "
            "token of that account."
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return UserError(f"{who} has no revision {_asked(model)!r}. Correct `revision`: a branch, a tag or a commit.")
    if isinstance(error, errors.RepositoryNotFoundError):
        return UserError(
            f"{who} was not found on the hub with {token}. Correct `source`; a private repository needs HF_TOKEN."
        )
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in {401, 403}:
        return UserError(
            f"{who}: the hub gives no access to {token} (HTTP {status}). Set HF_TOKEN to one that may read."
        )
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return EnvironmentFault(
            f"{who}: no space is left in {_cache(environ)}. Free some or point HF_HOME to a larger disk; run again."
        )
    said = f"HTTP {status}" if status else type(error).__name__
    return EnvironmentFault(
        f"{who} could not be downloaded ({said}). Check the network and run again: what is complete is kept. Or "
        f"download it elsewhere with `{_command(model, None)}` and copy the hub cache."
    )


def _command(model: Model, commit: str | None) -> str:
    revision = commit or model.revision
    return f"hf download {model.source}" + (f" --revision {revision}" if revision else "")


def _complete(snapshot: Path, *, model: Model) -> bool:
    """Return whether a snapshot holds what is needed: a download that broke off leaves some of the weights out."""
    if not (snapshot / "config.json").exists():
        return False
    if model.weights == "dummy":
        return True
    try:
        index = json.loads((snapshot / "model.safetensors.index.json").read_text(encoding="utf-8"))
        names = set(index["weight_map"].values())
    except (OSError, ValueError, KeyError, AttributeError):
        names = set()
    if names:
        return all((snapshot / name).exists() for name in names)
    return any(snapshot.glob("*.safetensors")) or any(snapshot.glob("*.bin"))


def _is_offline(environ: Mapping[str, str]) -> bool:
    return environ.get("HF_HUB_OFFLINE", "").lower() in _TRUE


def _cache(environ: Mapping[str, str]) -> Path:
    if cache := environ.get("HF_HUB_CACHE"):
        return Path(cache)
    home = environ.get("HF_HOME") or Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    return Path(home) / "hub"


def _reference(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
