"""One event a line, ids on every line, no secret on any."""

import json

import pytest

from pipeline.logs import about, configure, log, redact, secrets_of

URL = "postgresql://specwatch:geheim-7@127.0.0.1:5432/specwatch"  # pragma: allowlist secret - made up
ENVIRONMENT = {
    "WAREHOUSE_URL": URL,
    "HF_TOKEN": "hf_abcdef",
    "SHORT_TOKEN": "ab",
    "HOME": "/root",
    "SPECWATCH_LOG": "json",
}


def test_json_has_one_event_a_line_with_its_ids(capsys: pytest.CaptureFixture[str]) -> None:
    configure(environment={"SPECWATCH_LOG": "json"})
    with about(sweep="s-1", block="b-1"):
        with about(cell="c-1"):
            log.info("measured\nin two lines")
        log.warning("after")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["event"], first["sweep"], first["block"], first["cell"]) == (
        "measured\nin two lines",
        "s-1",
        "b-1",
        "c-1",
    )
    assert (second["level"], second["block"]) == ("warning", "b-1")
    assert "cell" not in second


def test_a_terminal_shows_time_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    configure(environment={"SPECWATCH_LOG": "console"})
    with about(block="b-1"):
        log.info("ready after 3 s")
        log.warning("slow")
    first, second = capsys.readouterr().err.splitlines()
    assert first[2] == first[5] == ":"
    assert first.endswith(" ready after 3 s")
    assert second.endswith(" warning: slow")


def test_where_there_is_no_terminal_it_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    configure(environment={})
    log.info("x")
    assert json.loads(capsys.readouterr().err)["event"] == "x"


@pytest.mark.parametrize("style", ["json", "console"])
def test_no_secret_reaches_a_line(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure(environment=ENVIRONMENT | {"SPECWATCH_LOG": style})
    with about(block="hf_abcdef"):
        log.info("connecting to %s with hf_abcdef", URL)
        log.info("another postgres://u:other-secret@h/d")  # pragma: allowlist secret - made up
    said = capsys.readouterr().err
    for secret in ("geheim-7", "hf_abcdef", "other-secret"):
        assert secret not in said
    assert "specwatch:***@127.0.0.1" in said


def test_an_error_keeps_its_traceback_without_the_secret(capsys: pytest.CaptureFixture[str]) -> None:
    configure(environment=ENVIRONMENT | {"SPECWATCH_LOG": "json"})
    try:
        int(URL)
    except ValueError:
        log.exception("it broke")
    said = capsys.readouterr().err
    assert "ValueError" in said
    assert "geheim-7" not in said


def test_short_values_are_no_secrets_and_ordinary_addresses_stay() -> None:
    assert secrets_of(ENVIRONMENT) == ("hf_abcdef", "geheim-7")
    assert redact("http://127.0.0.1:28080/x and a:b@c") == "http://127.0.0.1:28080/x and a:b@c"
