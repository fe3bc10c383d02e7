"""The scan of `make check` finds what it is for, and nothing else."""

from pathlib import Path

import pytest

from checks.tree import REGISTRIES, findings, unexplained

CHECKOUT = Path("/srv/checkouts/specwatch")
INDEX = "files." + ".".join(REGISTRIES[0])


def found(name: str, text: str) -> list[tuple[int, str]]:
    return list(findings(name, text, repository=CHECKOUT))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (f"--find-links https://{INDEX}/simple", "package registry"),
        (f"INDEX = '{INDEX.upper()}'", "package registry"),
        ("cache: " + "/home/" + "ada/.cache", "path of one machine"),
        ("cache: " + "/Users/" + "ada", "path of one machine"),
        (f"see {CHECKOUT}/docs", "path of one machine"),
    ],
)
def test_what_belongs_to_one_machine_or_registry_is_found(line: str, what: str) -> None:
    ((number, said),) = found("notes.md", f"first\n{line}\n")
    assert number == 2
    assert what in said


@pytest.mark.parametrize(
    "line",
    ["/home/airflow/passwords.json", f"{CHECKOUT}-engines/0.32.0", "${HOME}/.cache", "https://docs.vllm.ai/en/latest"],
)
def test_what_every_machine_may_have_is_left_alone(line: str) -> None:
    assert found("notes.md", line) == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: S311",
        "# noqa",
        "# type: ignore[arg-type]",
        "# noqa: S311 - order",
        "# type: ignore[misc]  # noqa: S101",
        "# pragma: no cover",
        "-- noqa: LT05",
    ],
)
def test_an_exception_without_a_reason_is_found(comment: str) -> None:
    assert unexplained(comment)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: S311 - an order, no secret",
        "# noqa: S101, S311 - only here",
        "# type: ignore[arg-type]  # as the program prints it",
        "# pragma: allowlist secret - made up",
        "# nothing to except",
    ],
)
def test_an_exception_with_a_reason_is_fine(comment: str) -> None:
    assert unexplained(comment) is None


def test_only_comments_make_exceptions() -> None:
    assert found("module.py", 'PATTERN = "# noqa: S311"\n') == []
    assert found("module.py", "x = 1  # noqa: S311\n") == [
        (1, "gives no reason for `# noqa: S311`: add ` - why` after it")
    ]
