"""No line that belongs elsewhere: addresses of package registries, paths of one machine, exceptions without a reason.

Prints `file:line: what` for each and ends with 1, or prints nothing and ends with 0.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from checks.files import tracked

REPOSITORY = Path(__file__).resolve().parents[1]

# In pieces, so that this file does not name one either. A fresh machine installs from its own default index.
REGISTRIES = (
    ("pypi", "org"),
    ("python(?:)hosted", "org"),
    ("anaconda", "org"),
    ("npmjs", "(?:org|com)"),
    ("yarnpkg", "com"),
    ("crates", "io"),
    ("rubygems", "org"),
    ("download", "pytorch", "org"),
    ("wheels", "vllm", "ai"),
    ("proxy", "golang", "org"),
)
REGISTRY = re.compile("|".join(r"\b" + r"\.".join(labels) + r"\b" for labels in REGISTRIES), re.IGNORECASE)

IMAGE_ACCOUNTS = "airflow"  # accounts of container images, not of people
OWN_PATH = re.compile(rf"(?<![\w.-])(?:/home/(?!{IMAGE_ACCOUNTS}\b)|/Users/|[A-Z]:\\Users\\|/root/)[\w.-]+")

CODES = r"[A-Z]+[0-9]+(?:\s*,\s*[A-Z]+[0-9]+)*"
EXCEPTION = re.compile(
    rf"(?:#|--)\s*(?:(?:ruff:\s*)?noqa(?::\s*{CODES})?|type:\s*ignore(?:\[[\w, -]*\])?"
    r"|pragma:\s*(?:no cover|no branch|allowlist secret))"
)
REASON = re.compile(r"[^\W\d_]{2,}\W+[^\W\d_]{1,}")  # two words


def main() -> int:
    """Look at every tracked text file."""
    found = [
        f"{name}:{line}: {what}"
        for name in tracked(REPOSITORY)
        for line, what in findings(name, _text(REPOSITORY / name), repository=REPOSITORY)
    ]
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return 1 if found else 0


def findings(name: str, text: str, *, repository: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, what is wrong) for the file `name` with the content `text`."""
    own = re.compile(f"{OWN_PATH.pattern}|{re.escape(str(repository))}(?![\\w.-])")
    for number, line in enumerate(text.splitlines(), start=1):
        if found := REGISTRY.search(line):
            yield number, f"names the package registry {found[0]}"
        if found := own.search(line):
            yield number, f"names a path of one machine, {found[0]}"
    for number, comment in _comments(name, text):
        if exception := unexplained(comment):
            yield number, f"gives no reason for `{exception}`: add ` - why` after it"


def unexplained(comment: str) -> str | None:
    """Return the exception that `comment` makes, unless two words or more after it say why."""
    found = list(EXCEPTION.finditer(comment))
    if not found or REASON.search(comment[found[-1].end() :]):
        return None
    return found[-1][0]


def _comments(name: str, text: str) -> Iterator[tuple[int, str]]:
    if name.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    elif name.endswith(".sql"):
        yield from enumerate(text.splitlines(), start=1)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:  # a picture
        return ""


if __name__ == "__main__":
    sys.exit(main())
