"""Exports of a real warehouse: what comes out, how it is typed, and that memory does not follow the rows."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine, text

from pipeline.cli import main
from pipeline.errors import UserError
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.export import export
from pipeline.warehouse.export_formats import ROWS_A_GROUP, Format
from pipeline.warehouse.load import stage
from pipeline.warehouse.publish import publish
from tests.support import warehouse as build

ARM = build.cell().cell_id
BASE = build.cell(build.BASE).cell_id
PEAK = """
import sys
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.export import export
for where in ({"start_index": ["1"]}, {}):
    with open("/dev/null", "wb") as sink:
        rows = export(
            open_warehouse(sys.argv[1]), "request", sink, form=sys.argv[2], where=where, progress=lambda *_: None
        )
    # of this program alone: getrusage keeps the peak of the process that started it
    print(rows, next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
MORE_REQUESTS = """
insert into warehouse.request ({columns})
select {values}
from warehouse.request as r
cross join generate_series(1, :times) as n
where r.request_index = 0
"""


@pytest.fixture(scope="module")
def engine(warehouse_url: str) -> Iterator[Engine]:
    """A warehouse that holds one block; request 1 of each repetition failed."""
    engine = open_warehouse(warehouse_url)
    publish(engine, stage(engine, build.block_load()))
    with engine.begin() as connection:
        connection.execute(text("update warehouse.request set tpot_ms = null, error = '' where request_index = 1"))
    yield engine
    engine.dispose()


@pytest.fixture
def command(engine: Engine, warehouse_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", warehouse_url)


def exported(engine: Engine, name: str, form: Format, **where: str) -> bytes:
    sink = io.BytesIO()
    said: list[tuple[int, int]] = []
    rows = export(
        engine,
        name,
        sink,
        form=form,
        where={key: [value] for key, value in where.items()},
        progress=lambda *told: said.append(told),
    )
    assert rows == 0 or said[-1][0] == rows
    return sink.getvalue()


def test_csv_has_a_header_and_keeps_null_apart_from_empty_text(engine: Engine) -> None:
    lines = exported(engine, "request", "csv").decode().splitlines()
    rows = list(csv.DictReader(lines))
    assert len(rows) == 3 * 2 * 2
    assert {(row["request_index"], row["tpot_ms"] == "") for row in rows} == {("0", False), ("1", True)}
    assert all(',"",' in line for line in lines[1:] if line.split(",")[6] == "1")  # an empty error is quoted


def test_json_lines_keep_types_null_and_nested_values(engine: Engine) -> None:
    (start, *_) = [json.loads(line) for line in exported(engine, "server_start", "json").splitlines()]
    assert start["argv"] == ["vllm", "serve"]
    assert start["failure_class"] is None
    assert datetime.fromisoformat(start["started_at"]) == datetime(2026, 1, 1, 2, tzinfo=UTC)


def test_parquet_is_typed_and_says_what_its_columns_mean(engine: Engine) -> None:
    table = pq.read_table(io.BytesIO(exported(engine, "measurement", "parquet")))
    assert table.num_rows == 3 * 2
    types = {field.name: str(field.type) for field in table.schema}
    assert types["requests"] == "int64"
    assert types["ttft_mean_ms"] == "double"
    assert types["started_at"] == "timestamp[us, tz=UTC]"
    assert table.column("drafts").null_count == 2 * 2  # baselines draft nothing: NULL, not 0
    told = table.schema.field("output_tokens_per_s").metadata
    assert told[b"unit"] == b"tokens/s"
    assert b"output_tokens / window_s" in told[b"comment"]
    assert json.loads(table.schema.metadata[b"specwatch"])["name"] == "measurement"


def test_columns_of_a_view_have_unit_and_comment_too(engine: Engine) -> None:
    schema = pq.read_schema(io.BytesIO(exported(engine, "cell_summary", "parquet")))
    assert schema.field("ttft_mean_ms").metadata[b"unit"] == b"ms"
    assert b"mean TTFT" in schema.field("ttft_mean_ms").metadata[b"comment"]


def test_where_takes_words_and_columns(engine: Engine) -> None:
    assert len(exported(engine, "verdicts", "json", sweep="s1", version="0.32.0").splitlines()) == 1
    assert len(exported(engine, "request", "json", cell=ARM, request_index="1").splitlines()) == 2
    assert exported(engine, "request", "json", sweep="s2") == b""


@pytest.mark.parametrize(
    ("name", "where", "said"),
    [
        ("verdictss", {}, r"did you mean verdicts\?"),
        ("nothing_like_it", {}, "there are: "),
        ("request", {"version": "0.32.0"}, "request cannot be asked for 'version'"),
        ("request", {"sweeep_id": "s1"}, r"did you mean sweep_id\?"),
        ("request", {"request_index": "one"}, "--where does not fit request"),
    ],
)
def test_what_cannot_be_asked_names_the_nearest(engine: Engine, name: str, where: dict[str, str], said: str) -> None:
    with pytest.raises(UserError, match=said):
        exported(engine, name, "csv", **where)


def test_an_unknown_name_is_exit_2_and_leaves_no_file(
    command: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "verdictss", "-o", str(tmp_path / "v.csv")]) == 2
    assert "did you mean verdicts?" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_takes_the_place_of_an_older_one(
    command: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "measurement.parquet"
    path.write_text("older")
    assert main(["export", "measurement", "-o", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "measurement", "rows": 6, "file": str(path)}
    assert pq.read_table(path).num_rows == 6
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_standard_output_holds_nothing_but_rows(command: None, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["export", "cell", "--json"]) == 0
    assert {json.loads(line)["cell_id"] for line in capfdbinary.readouterr().out.splitlines()} == {ARM, BASE}


def test_all_writes_every_table_and_view(
    command: None, engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--list", "--json"]) == 0
    listed = {thing["name"]: thing["kind"] for thing in json.loads(capsys.readouterr().out)}
    assert (listed["verdicts"], listed["measurement"]) == ("view", "table")
    assert main(["export", "--all", str(tmp_path / "out"), "--format", "csv", "--json"]) == 0
    done = {one["name"]: one["rows"] for one in json.loads(capsys.readouterr().out)}
    assert done.keys() == listed.keys()
    assert (done["request"], done["cell"]) == (12, 2)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f"{name}.csv" for name in listed}


def test_the_list_has_a_line_each(command: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--list"]) == 0
    assert "One row a repetition of a cell" in capsys.readouterr().out


def test_memory_does_not_follow_the_rows(database_url: str) -> None:
    engine = open_warehouse(database_url)
    publish(engine, stage(engine, build.block_load()))
    rows = more_requests(engine, times=ROWS_A_GROUP + 1)  # of each of two repetitions of a start: two groups and more
    engine.dispose()
    for form in ("csv", "json", "parquet"):
        done = subprocess.run(
            [sys.executable, "-c", PEAK, database_url, form], capture_output=True, text=True, check=True
        )
        (a_start, less), (everything, more) = (map(int, line.split()) for line in done.stdout.splitlines())
        assert (a_start, everything) == (rows // 3, rows), form
        assert more < less + 16 * 1024, form  # KiB, for 80,000 rows more: held, they would take 60 MiB and more


def more_requests(engine: Engine, *, times: int) -> int:
    """Copy request 0 of every repetition until there are `times` more of each; return how many rows there are."""
    with engine.begin() as connection:
        columns = list(connection.execute(text("select * from warehouse.request limit 0")).keys())
        values = ["100 + n" if column == "request_index" else f"r.{column}" for column in columns]
        for constraint in ("request_measurement_fkey", "request_pkey"):  # most of the time of making them
            connection.execute(text(f"alter table warehouse.request drop constraint {constraint}"))
        statement = MORE_REQUESTS.format(columns=", ".join(columns), values=", ".join(values))
        connection.execute(text(statement), {"times": times})
        return connection.execute(text("select count(*) from warehouse.request")).scalar_one()
