"""The house's shape, read from its files: nothing here is run."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
MODULES = sorted((REPOSITORY / "pipeline").rglob("*.py"))
SKINS = sorted([*(REPOSITORY / "dags").glob("*.py"), *(REPOSITORY / "dashboard").rglob("*.py")])
ROOMS = sorted(
    path.stem
    for path in (REPOSITORY / "pipeline").iterdir()
    if path.name not in {"__init__.py", "__pycache__", "errors.py"}  # errors are words, used everywhere
)
QUERIES = sorted(path for folder in ("views", "checks") for path in (REPOSITORY / "sql" / folder).glob("*.sql"))
MOST_LINES = 300
MOST_BRANCHES = 8
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def public(node: ast.AST, *, within: str) -> Iterator[tuple[str, Documented]]:
    """Yield every public class, and function of module or class, with its dotted name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith("_"):
            name = f"{within}.{child.name}"
            yield name, child
            if isinstance(child, ast.ClassDef):
                yield from public(child, within=name)


def test_a_module_has_one_subject() -> None:
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in [*MODULES, *SKINS]}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_everything_public_says_what_it_is_for() -> None:
    trees = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
    named: list[tuple[str, Documented]] = list(trees.items())
    named += [pair for name, tree in trees.items() for pair in public(tree, within=name)]
    assert [name for name, node in named if ast.get_docstring(node) is None] == []


@pytest.mark.parametrize("path", sorted((REPOSITORY / "dags").glob("*.py")), ids=name_of)
def test_a_dag_file_is_parsed_without_the_product(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tasks = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(node) for task in tasks for node in ast.walk(task)}
    imported = [
        name
        for node in ast.walk(tree)
        if id(node) not in inside and isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    ]
    assert not {name.partition(".")[0] for name in imported} & {
        "pipeline",
        "pandas",
        "great_expectations",
        "sqlalchemy",
    }


def test_complexity_has_a_bound_and_no_exceptions() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert settings["mccabe"]["max-complexity"] <= MOST_BRANCHES
    assert "C901" not in str([settings["ignore"], settings["per-file-ignores"]])
    excused = [name_of(path) for path in [*MODULES, *SKINS] if "C901" in path.read_text(encoding="utf-8")]
    assert excused == []


def test_every_room_says_what_it_owns() -> None:
    table = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert set(ROOMS) - {"settings"} <= described


def test_every_room_has_tests_of_its_own() -> None:
    tests = REPOSITORY / "tests" / "unit"
    assert [room for room in ROOMS if not list((tests / room).glob("test_*.py"))] == []


def test_a_query_begins_with_what_it_answers() -> None:
    opening = re.compile(r"-- \S.*[.?]\n")
    assert [name_of(path) for path in QUERIES if not opening.match(path.read_text(encoding="utf-8"))] == []
