"""The files that a commit would hold."""

import subprocess
from pathlib import Path


def tracked(repository: Path) -> list[str]:
    """Return the paths, relative to `repository`, of all files that git tracks or would add. Needs git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(name for name in listed.stdout.split("\0") if name and (repository / name).is_file())
