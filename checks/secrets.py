"""No secret in the tree: detect-secrets over every tracked file, without asking any service about what it finds.

A made-up secret of a test says so on its line: `pragma: allowlist secret` and the reason.
"""

import re
import subprocess
import sys
from pathlib import Path

from checks.files import tracked

REPOSITORY = Path(__file__).resolve().parents[1]
# Nothing but hashes, of packages and of recorded files, each of which would be taken for a key.
HASHES = re.compile(r"requirements/|samples/.*/(?:MANIFEST|BLOCK|block|host|sweep|workloads)\.json$")


def main() -> int:
    """Return the exit code of detect-secrets: 0 when nothing was found."""
    names = [name for name in tracked(REPOSITORY) if not HASHES.match(name)]
    hook = Path(sys.executable).with_name("detect-secrets-hook")
    return subprocess.run([hook, "--no-verify", "--cores", "1", *names], cwd=REPOSITORY, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
