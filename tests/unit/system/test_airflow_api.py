"""The REST client against a server that answers as Airflow does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import EnvironmentFault, UserError
from pipeline.system import airflow_api
from pipeline.system.airflow_api import Airflow, ApiError, follow, request, result, returned, task_log, trigger
from pipeline.system.credentials import passwords_file
from tests.support.fake_airflow import RUN_ID, FakeAirflow, serving, task

pytestmark = pytest.mark.loopback

RUN = "/api/v2/dags/nightly_matrix/dagRuns/manual__1"


@pytest.fixture
def fake() -> FakeAirflow:
    return FakeAirflow()


@pytest.fixture
def api(fake: FakeAirflow, tmp_path: Path) -> Iterator[Airflow]:
    with serving(fake) as url:
        yield Airflow(url, passwords_file(tmp_path), timeout_s=5)


def test_trigger_returns_the_run_id(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("POST", "/api/v2/dags/nightly_matrix/dagRuns", {"dag_run_id": "manual__1"})

    assert trigger(api, "nightly_matrix", conf={"matrix": "m.yaml"}) == "manual__1"
    assert fake.sent[-1] == {"logical_date": None, "conf": {"matrix": "m.yaml"}}


def test_refused_parameters_are_the_users_error(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("POST", "/api/v2/dags/nightly_matrix/dagRuns", {"detail": "'x' is not of type 'integer'"}, status=400)

    with pytest.raises(UserError, match="'x' is not of type 'integer'"):
        trigger(api, "nightly_matrix", conf={})


def test_an_unknown_parameter_is_refused_before_a_run_exists(api: Airflow, fake: FakeAirflow) -> None:
    with pytest.raises(UserError, match="no parameter matrx; it has matrix"):
        trigger(api, "nightly_matrix", conf={"matrx": "m.yaml"})


def test_a_paused_dag_is_not_triggered(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("GET", "/api/v2/dags/nightly_matrix", {"is_paused": True})

    with pytest.raises(UserError, match="paused"):
        trigger(api, "nightly_matrix", conf={})


def test_a_dag_that_does_not_import_says_why(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("GET", "/api/v2/dags/nightly_matrix", {"detail": "not found"}, status=404)
    fake.say("GET", "/api/v2/importErrors", {"import_errors": [{"stack_trace": "NameError: plam"}]})

    with pytest.raises(EnvironmentFault, match="NameError: plam"):
        trigger(api, "nightly_matrix", conf={}, wait_s=0)


def test_an_expired_token_is_renewed_once(api: Airflow, fake: FakeAirflow) -> None:
    fake.answers["GET", "/api/v2/x"] = [(401, {"detail": "expired"}), (200, {"fine": True})]

    assert api.get("x") == {"fine": True}
    assert fake.logins == 2


def test_a_server_that_always_refuses_the_token_is_an_error(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("GET", "/api/v2/x", {"detail": "no"}, status=401)

    with pytest.raises(ApiError, match="401"):
        api.get("x")
    assert fake.logins == 2


def test_nobody_there_says_how_to_start_it(tmp_path: Path) -> None:
    nobody = Airflow("http://127.0.0.1:9", passwords_file(tmp_path), timeout_s=1)

    with pytest.raises(EnvironmentFault, match="specwatch up"):
        nobody.get("version")


def test_follow_yields_each_change_once_until_the_run_ends(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("GET", RUN, {"state": "running"}, {"state": "running"}, {"state": "success"})
    pages = [
        [task("plan", "running"), task("gate", None)],
        [task("plan", "success"), task("gate", None)],
        [task("plan", "success"), task("gate", "success")],
    ]
    fake.say("GET", f"{RUN}/taskInstances", *[{"task_instances": p, "total_entries": 2} for p in pages])

    seen = [(t.name, t.state) for t in follow(api, "nightly_matrix", "manual__1", poll_s=0.01)]

    assert seen == [("plan", "running"), ("plan", "success"), ("gate", "success")]


def test_a_mapped_task_is_named_by_its_block(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("GET", RUN, {"state": "failed"})
    tasks = [task("bench", "failed", map_index=0, label="b1"), task("gate", "upstream_failed")]
    fake.say("GET", f"{RUN}/taskInstances", {"task_instances": tasks, "total_entries": 2})

    assert [t.name for t in result(api, "nightly_matrix", "manual__1").failed] == ["bench[b1]"]


def test_what_a_task_did_not_return_is_none(api: Airflow) -> None:
    assert returned(api, "nightly_matrix", "manual__1", task_id="plan") is None


def test_a_log_has_its_exception_and_no_markers(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("GET", RUN, {"state": "failed"})
    fake.say("GET", f"{RUN}/taskInstances", {"task_instances": [task("gate", "failed")], "total_entries": 1})
    error = {"exc_type": "GateFailed", "exc_value": "2 cells"}
    content = [{"event": "::group::Pre"}, {"event": "Task failed", "error_detail": [error]}, "plain"]
    fake.say("GET", f"{RUN}/taskInstances/gate/logs/1", {"content": content})
    failed = result(api, "nightly_matrix", "manual__1").failed[0]

    assert task_log(api, "nightly_matrix", "manual__1", task=failed) == ["Task failed", "GateFailed: 2 cells", "plain"]


def test_another_refusal_than_of_parameters_is_no_fault_of_the_user(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("POST", "/api/v2/dags/nightly_matrix/dagRuns", {"detail": ["no room"]}, status=500)

    with pytest.raises(ApiError, match=r"500.*no room"):
        trigger(api, "nightly_matrix", conf={})


def test_a_dag_that_is_not_parsed_yet_is_waited_for(api: Airflow, fake: FakeAirflow) -> None:
    path = ("GET", "/api/v2/dags/nightly_matrix")
    fake.answers[path] = [(404, {"detail": "not found"}), *fake.answers[path]]
    fake.say("POST", "/api/v2/dags/nightly_matrix/dagRuns", {"dag_run_id": "manual__1"})

    assert trigger(api, "nightly_matrix", conf={}) == "manual__1"


def test_an_airflow_that_is_broken_is_not_waited_for(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("GET", "/api/v2/dags/nightly_matrix", {"detail": "broken"}, status=500)
    with pytest.raises(ApiError, match="broken"):
        trigger(api, "nightly_matrix", conf={})

    fake.say("GET", f"{RUN}/taskInstances/plan/xcomEntries/return_value", {"detail": "broken"}, status=500)
    with pytest.raises(ApiError, match="broken"):
        returned(api, "nightly_matrix", "manual__1", task_id="plan")


def test_a_short_absence_is_waited_for_while_following(
    api: Airflow, fake: FakeAirflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.runs(("success", [task("plan", "success")]))
    failures = iter([EnvironmentFault("away")] * 2)

    def flaky(*arguments: Any, **more: Any) -> Any:
        if failure := next(failures, None):
            raise failure
        return request(*arguments, **more)

    monkeypatch.setattr(airflow_api, "request", flaky)
    assert [t.state for t in follow(api, "nightly_matrix", RUN_ID, poll_s=0)] == ["success"]


def test_a_long_absence_ends_the_following(tmp_path: Path) -> None:
    nobody = Airflow("http://127.0.0.1:9", passwords_file(tmp_path), timeout_s=1)

    with pytest.raises(EnvironmentFault, match="specwatch up"):
        list(follow(nobody, "nightly_matrix", RUN_ID, poll_s=0, patience_s=0))


def test_a_run_of_many_tasks_is_read_page_by_page(api: Airflow, fake: FakeAirflow) -> None:
    fake.say("GET", RUN, {"state": "running"})
    first, second = [task("a", "success")], [task("b", "running")]
    fake.say("GET", f"{RUN}/taskInstances", *({"task_instances": p, "total_entries": 2} for p in (first, second)))

    assert [t.name for t in result(api, "nightly_matrix", RUN_ID).tasks] == ["a", "b"]


def test_a_log_line_of_an_older_worker_is_plain_text(api: Airflow, fake: FakeAirflow) -> None:
    fake.runs(("success", [task("plan", "success")]))
    fake.logs("plan", ["plain text", {"event": "::group::Log"}, {"event": "an event"}])
    (plan,) = result(api, "nightly_matrix", RUN_ID).tasks

    assert task_log(api, "nightly_matrix", RUN_ID, task=plan) == ["plain text", "an event"]
