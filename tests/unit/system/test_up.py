"""Parts of `up` that need no running system: which ports it takes, what it makes of a service that fails."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import EnvironmentFault
from pipeline.system import supervise, up
from pipeline.system.airflow_api import Airflow, ApiError
from pipeline.system.credentials import passwords_file
from pipeline.system.layout import Layout
from pipeline.system.services import Service
from pipeline.system.supervise import ProcessState
from tests.support.fake_airflow import FakeAirflow, serving
from tests.unit.system.test_state import STATE

SERVICE = Service("scheduler", ("airflow", "scheduler"), {}, ready="scheduler")
RUNNING = {"scheduler": ProcessState("scheduler", "RUNNING", pid=7, started_at=100, detail="")}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.make()
    return layout


@pytest.fixture(autouse=True)
def ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that was asked for is given, otherwise the default or what follows what is promised already."""

    def choose(asked: int | None, *, default: int, taken: frozenset[int] = frozenset(), **_: str) -> int:
        return asked or max({default, *(port + 1 for port in taken)})

    monkeypatch.setattr(up, "choose_port", choose)


def test_a_system_that_runs_keeps_its_ports_unless_others_are_asked_for() -> None:
    ran = replace(STATE, airflow_port=28080, dashboard_port=28501)
    assert up._ports(ran, airflow_port=None, dashboard_port=None) == (28080, 28501)
    assert up._ports(ran, airflow_port=28080, dashboard_port=28501) == (28080, 28501)
    assert up._ports(ran, airflow_port=28090, dashboard_port=None) == (28090, 28501)
    assert up._ports(ran, airflow_port=None, dashboard_port=28600) == (28080, 28600)


def test_two_services_get_two_ports() -> None:
    assert up._ports(None, airflow_port=28501, dashboard_port=None) == (28501, 28502)


@pytest.mark.parametrize(("late", "state"), [(True, "STARTING"), (False, "FATAL")])
def test_a_service_that_does_not_come_up_is_named_with_the_end_of_its_log(
    layout: Layout, late: bool, state: str
) -> None:
    (layout.logs / "scheduler.log").write_text("".join(f"line {n}\n" for n in range(20)))
    known = {"scheduler": ProcessState("scheduler", state, pid=None, started_at=None, detail="exited too quickly")}
    with pytest.raises(EnvironmentFault) as caught:
        up._give_up(layout, {"scheduler": SERVICE}, known, late=late)
    said = str(caught.value)
    assert "scheduler did not become ready (exited too quickly)" in said
    assert ("line 7\n" in said, "line 8\n" in said) == (False, True)  # the last 12


def test_a_service_without_a_log_says_so(layout: Layout) -> None:
    with pytest.raises(EnvironmentFault, match=r"\(no log\)"):
        up._give_up(layout, {"scheduler": SERVICE}, RUNNING, late=True)


def test_what_is_starting_is_waited_for(layout: Layout) -> None:
    up._give_up(layout, {"scheduler": SERVICE}, RUNNING, late=False)


def test_a_supervisor_that_ends_meanwhile_is_named(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "states", lambda _: None)
    with pytest.raises(EnvironmentFault, match=r"the process supervisor ended.*supervisord\.log"):
        up._wait_until_ready(layout, state_in(layout), (SERVICE,), report=print, progress=None, ready_s=1.0)


def test_a_sign_of_life_from_before_the_start_does_not_count(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    signs = iter([{"scheduler": 99.0}, {"scheduler": 100.0}])
    monkeypatch.setattr(supervise, "states", lambda _: RUNNING)
    monkeypatch.setattr(up, "signs_of_life", lambda *_, **__: next(signs))
    monkeypatch.setattr(up, "POLL_S", 0)
    told: list[tuple[int, int, str]] = []
    up._wait_until_ready(
        layout, state_in(layout), (SERVICE,), report=print, progress=lambda *step: told.append(step), ready_s=60.0
    )
    assert told == [(1, 1, "scheduler")]
    assert next(signs, None) is None
    assert "scheduler: ready after" in capsys.readouterr().out


def test_a_service_that_stopped_is_started_again_and_the_others_are_left(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    dead = {"triggerer": replace(RUNNING["scheduler"], name="triggerer", state="FATAL", pid=None)}
    monkeypatch.setattr(supervise, "configuration", lambda *_, **__: "same")
    monkeypatch.setattr(supervise, "states", lambda _: RUNNING | dead)
    monkeypatch.setattr(supervise, "is_current", lambda *_: True)
    monkeypatch.setattr(supervise, "start_service", lambda _, name: started.append(name))
    up._start(layout, SITE, (SERVICE,), report=print)
    assert started == ["triggerer"]


def test_other_settings_restart_everything(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(supervise, "configuration", lambda *_, **__: "new")
    monkeypatch.setattr(supervise, "states", lambda _: RUNNING)
    monkeypatch.setattr(supervise, "shut_down", lambda _: done.append("shut down"))
    monkeypatch.setattr(supervise, "start", lambda _, text: done.append(f"start {text}"))
    monkeypatch.setattr(up, "_migrate_airflow", lambda *_, **__: done.append("migrate"))
    monkeypatch.setattr(up, "_cluster", lambda _: "c")
    up._start(layout, SITE, (SERVICE,), report=print)
    assert done == ["shut down", "migrate", "start new"]


@pytest.mark.loopback
def test_the_pool_is_made_once(tmp_path: Path) -> None:
    fake = FakeAirflow()
    with serving(fake) as url:
        api = Airflow(url, passwords_file(tmp_path), timeout_s=5)
        for status in (201, 409):  # made; there already
            fake.say("POST", "/api/v2/pools", {}, status=status)
            up.ensure_pool(api)
        fake.say("POST", "/api/v2/pools", {"detail": "broken"}, status=500)
        with pytest.raises(ApiError, match="broken"):
            up.ensure_pool(api)
    assert fake.sent[0]["slots"] == 1


class Site:
    """What `_start` reads of a site."""

    repository = Path("/repository")


SITE: Any = Site()


def state_in(layout: Layout) -> Any:
    return replace(STATE, passwords_file=str(passwords_file(layout.airflow)))
