"""Run the checks two at a time and say what each took: `python -m checks [NAME ...]`, by default all of them.

`make check` and the pre-commit hooks both come through here, so that a check is written down once.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PYTHON = sys.executable

# The longest first: they decide when the whole is done.
CHECKS: dict[str, tuple[str, ...]] = {
    "sql": (f"{BIN}/sqlfluff", "lint", "--disable-progress-bar", "sql"),
    "secrets": (PYTHON, "-m", "checks.secrets"),
    "schema": (PYTHON, "-m", "checks.schema"),
    "types": (f"{BIN}/mypy",),
    "lint": (f"{BIN}/ruff", "check", "--quiet", "."),
    "airflow": (f"{BIN}/ruff", "check", "--quiet", "--preview", "--select", "AIR", "dags"),
    "format": (f"{BIN}/ruff", "format", "--check", "--quiet", "."),
    "imports": (f"{BIN}/lint-imports",),
    "tree": (PYTHON, "-m", "checks.tree"),
}


def main(names: list[str]) -> int:
    """Run the named checks; 0 when all hold, 1 when one does not, 2 for an unknown name."""
    if unknown := sorted(set(names) - set(CHECKS)):
        sys.stderr.write(f"no check {', '.join(unknown)}; there are {', '.join(CHECKS)}\n")
        return 2
    began = time.monotonic()
    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        held = list(pool.map(_run, names or CHECKS))
    sys.stdout.write(f"{sum(held)} of {len(held)} checks hold, {time.monotonic() - began:.0f} s\n")
    return 0 if all(held) else 1


def _run(name: str) -> bool:
    began = time.monotonic()
    done = subprocess.run(
        CHECKS[name],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    holds = done.returncode == 0
    line = f"{'ok  ' if holds else 'FAIL'} {name:<8} {time.monotonic() - began:5.1f} s\n"
    sys.stdout.write(line if holds else line + done.stdout.rstrip() + "\n")
    sys.stdout.flush()
    return holds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
