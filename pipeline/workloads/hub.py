"""A file of a hub's data set -> its path on this machine and the commit that it is of."""

import re
from pathlib import Path

from pipeline.domain.workload import PromptSource
from pipeline.errors import EnvironmentFault, UserError

TIMEOUT_S = 15.0
_COMMIT = re.compile(r"^[0-9a-f]{40}$")


def fetch(source: PromptSource, *, cache: Path, timeout_s: float = TIMEOUT_S) -> tuple[Path, str]:
    """Return (path, commit) of the file of `source`, downloaded into `cache` unless it lies there.

    A branch or tag is resolved to its commit, which is asked for each time; a commit that was downloaded needs no
    network. Raises UserError for what the hub does not have, EnvironmentFault when it cannot be reached.
    """
    from huggingface_hub import HfApi, hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, HFValidationError, RepositoryNotFoundError

    hub, file = str(source.hub), str(source.file)
    if source.revision and _COMMIT.match(source.revision):
        found = try_to_load_from_cache(hub, file, cache_dir=cache, revision=source.revision, repo_type="dataset")
        if isinstance(found, str):
            return Path(found), source.revision
    try:
        commit = HfApi().dataset_info(hub, revision=source.revision, timeout=timeout_s).sha
        path = hf_hub_download(hub, file, repo_type="dataset", revision=commit, cache_dir=cache, etag_timeout=timeout_s)
    except (RepositoryNotFoundError, EntryNotFoundError, HFValidationError) as error:
        message = (
            f"workload {source.name}: the hub has no file {file!r} of data set {hub!r} (revision "
            f"{source.revision or 'main'}), or not for this account: correct hub, file or revision, or log in"
        )
        raise UserError(message) from error
    except Exception as error:
        # offline, proxy, time-out, 5xx: the client raises its own classes and those of two HTTP libraries
        message = (
            f"workload {source.name}: data set {hub!r} cannot be fetched from the hub ({type(error).__name__}). Where "
            "there is no network, download the file elsewhere and name it with `path`; or write a commit that was "
            "fetched before as `revision`."
        )
        raise EnvironmentFault(message) from error
    return Path(path), str(commit)
