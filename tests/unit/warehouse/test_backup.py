"""What Postgres's programs are told, and what a backup file must end in; no database here."""

import json
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from pipeline.errors import UserError
from pipeline.warehouse.backup import client_environment, read_manifest

WRITTEN = "made%2Dup"  # pragma: allowlist secret - made up
URL = f"postgresql+psycopg://ada:{WRITTEN}@db.example:5433/w?sslmode=verify-full&sslrootcert=/ca.pem"


def test_the_password_and_tls_go_by_the_environment() -> None:
    told = client_environment(make_url(URL))
    assert (told["PGHOST"], told["PGPORT"], told["PGUSER"], told["PGDATABASE"]) == ("db.example", "5433", "ada", "w")
    assert (told["PGPASSWORD"], told["PGSSLMODE"], told["PGSSLROOTCERT"]) == ("made-up", "verify-full", "/ca.pem")


def test_what_the_shell_had_set_does_not_lead_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "elsewhere")
    monkeypatch.setenv("PGSERVICE", "elsewhere")
    told = client_environment(make_url("postgresql+psycopg:///w"))
    assert "elsewhere" not in {value for name, value in told.items() if name.startswith("PG")}


def test_a_file_that_is_no_backup_is_named(tmp_path: Path) -> None:
    path = tmp_path / "other.dump"
    path.write_text(json.dumps({"no": "backup"}) * 20)
    with pytest.raises(UserError, match=r"other\.dump is no whole backup"):
        read_manifest(path)
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_manifest(tmp_path / "nothing.dump")
