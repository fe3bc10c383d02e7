"""The address behind a URL."""

import socket

import pytest

from pipeline.drive import shards
from pipeline.drive.target import Target, resolve
from tests.unit.drive.loads import driven


def test_an_address_is_taken_apart() -> None:
    found = resolve("http://127.0.0.1:8000/base/")
    assert (found.address, found.family, found.path) == (("127.0.0.1", 8000), socket.AF_INET, "/base")
    assert (found.name, found.tls, found.problem) == ("127.0.0.1:8000", None, None)


@pytest.mark.parametrize(
    ("url", "loopback"), [("http://127.0.0.2:1", True), ("http://[::1]:1", True), ("http://192.0.2.1:1", False)]
)
def test_a_server_on_this_machine_is_known(url: str, loopback: bool) -> None:
    assert resolve(url).loopback is loopback


def test_the_port_of_the_scheme_is_used() -> None:
    assert [resolve(f"{scheme}://127.0.0.1").port for scheme in ("http", "https")] == [80, 443]


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "127.0.0.1:8000", "http://"])
def test_another_kind_of_address_is_an_error(url: str) -> None:
    with pytest.raises(ValueError, match="is not an http or https address"):
        resolve(url)


def test_a_name_that_nobody_knows_has_no_address() -> None:
    def unknown(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(-2, "Name or service not known")

    found = resolve("http://nowhere.invalid", look_up=unknown)
    assert (found.address, found.problem) == (None, "nowhere.invalid: [Errno -2] Name or service not known")


@pytest.mark.loopback
def test_requests_to_a_name_that_nobody_knows_are_records(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = Target("nowhere.invalid", 80, "", problem="Name or service not known")
    monkeypatch.setattr(shards, "resolve", lambda _: unknown)
    found = driven("http://nowhere.invalid", 3).requests
    assert [record.error for record in found] == ["refused"] * 3
    assert found[0].error_detail == "nowhere.invalid:80: Name or service not known"
