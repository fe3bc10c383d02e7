"""A window from outside: who is sent when, what comes back, and how it ends when servers do not answer."""

import itertools
import time
from typing import Any

import pytest

from pipeline.domain.workload import Prompt
from pipeline.drive.client import drain, warm_up
from tests.unit.drive.loads import driven, load
from tests.unit.drive.scripted import HEAD, Hang, Pause, Step, answer, serving

TURNS = [
    Prompt("a1", "chat", (("system", "be brief"), ("user", "one"))),
    Prompt("a2", "chat", (("user", "two"),), follows="a1"),
    Prompt("a3", "chat", (("user", "three"),), follows="a2"),
    Prompt("b1", "chat", (("user", "other"),)),
]


def said(body: dict[str, Any]) -> list[str]:
    return [message["content"] for message in body["messages"]]


@pytest.mark.loopback
def test_prompts_are_sent_in_their_order_with_their_seeds() -> None:
    with serving(lambda number, body: answer("a", "b")) as server:
        found = driven(server.url, 3, temperature=0.5)
    assert [said(body) for body in server.bodies] == [["p0"], ["p1"], ["p2"]]
    assert [body["seed"] for body in server.bodies] == [7, 8, 9]
    assert [(r.index, r.prompt_id, r.seed) for r in found.requests] == [(0, "p0", 7), (1, "p1", 8), (2, "p2", 9)]
    assert [(r.text, r.output_tokens, r.error) for r in found.requests] == [("ab", 2, None)] * 3
    assert {body["temperature"] for body in server.bodies} == {0.5}


@pytest.mark.loopback
def test_a_user_sends_when_the_last_request_ended() -> None:
    with serving(lambda number, body: answer("a")) as server:
        found = driven(server.url, 4)
    assert server.most_open == 1
    for before, after in itertools.pairwise(found.requests):
        assert before.end_ns == after.scheduled_ns <= after.sent_ns


@pytest.mark.loopback
def test_a_closed_loop_keeps_its_users_busy_and_no_more() -> None:
    with serving(lambda number, body: [HEAD, Pause(0.05), *answer("a")[1:]]) as server:
        found = driven(server.url, 9, concurrency=3)
    assert server.most_open == 3
    assert [record.error for record in found.requests] == [None] * 9


@pytest.mark.loopback
def test_an_open_loop_sends_as_planned_however_slow_the_server_is() -> None:
    with serving(lambda number, body: [HEAD, Pause(0.2), *answer("a")[1:]]) as server:
        found = driven(server.url, 4, concurrency=None, arrival="fixed", request_rate=50.0)
    assert [record.scheduled_ns - found.origin_ns for record in found.requests] == [
        0,
        20_000_000,
        40_000_000,
        60_000_000,
    ]
    assert all(record.scheduled_ns <= record.sent_ns for record in found.requests)
    assert server.most_open > 1


@pytest.mark.loopback
def test_a_turn_is_sent_after_the_answer_before_it_and_quotes_it() -> None:
    with serving(lambda number, body: answer(f"<{number}", ">")) as server:
        found = driven(server.url, prompts=TURNS)
    assert [said(body) for body in server.bodies] == [
        ["be brief", "one"],
        ["be brief", "one", "<0>", "two"],
        ["be brief", "one", "<0>", "two", "<1>", "three"],
        ["other"],
    ]
    assert [message["role"] for message in server.bodies[1]["messages"]] == ["system", "user", "assistant", "user"]
    assert [record.prompt_id for record in found.requests] == ["a1", "a2", "a3", "b1"]
    assert found.requests[0].end_ns <= found.requests[1].sent_ns


@pytest.mark.loopback
def test_a_turn_whose_predecessor_failed_is_not_sent() -> None:
    refused: list[Step] = [b"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbad"]
    with serving(lambda number, body: answer("a") if said(body) != ["be brief", "one"] else refused) as server:
        found = driven(server.url, prompts=TURNS)
    assert [said(body) for body in server.bodies] == [["be brief", "one"], ["other"]]
    assert [record.error for record in found.requests] == ["http_4xx", "cancelled", "cancelled", None]
    assert found.requests[2].error_detail == "not sent: the turn before it, prompt 1, has no answer"


@pytest.mark.loopback
def test_a_turn_in_an_open_loop_waits_for_both_its_time_and_the_answer() -> None:
    with serving(lambda number, body: [HEAD, Pause(0.05), *answer("a")[1:]]) as server:
        found = driven(server.url, prompts=TURNS, concurrency=None, arrival="fixed", request_rate=100.0)
    first, second, third, other = found.requests
    assert (second.scheduled_ns, third.scheduled_ns) == (first.end_ns, second.end_ns)
    assert other.scheduled_ns == found.origin_ns + 30_000_000


@pytest.mark.loopback
def test_a_request_that_takes_too_long_is_a_timeout_and_the_others_go_on() -> None:
    with serving(lambda number, body: [HEAD, Hang()] if number == 1 else answer("a")) as server:
        found = driven(server.url, 3, request_timeout_s=0.2)
    assert [record.error for record in found.requests] == [None, "timeout", None]
    assert found.requests[1].error_detail == "no end of the answer within 0.2 s"
    assert found.requests[1].end_ns - found.requests[1].sent_ns >= 200_000_000


@pytest.mark.loopback
def test_the_deadline_cancels_what_runs_and_what_waits() -> None:
    began = time.perf_counter()
    with serving(
        lambda number, body: answer("a") if said(body) == ["p0"] else [*answer("a", "b")[:3], Hang()]
    ) as server:
        found = driven(server.url, 5, concurrency=2, deadline_s=0.3, request_timeout_s=60)
    assert time.perf_counter() - began < 30
    assert [record.error for record in found.requests] == [None, *["cancelled"] * 4]
    assert [record.error_detail for record in found.requests][3:] == [
        "not sent: the deadline of the window had passed"
    ] * 2
    assert found.requests[1].error_detail == "it was still running at the deadline of the window"
    assert found.requests[1].chunk_tokens == (1,)  # what came until then is kept


@pytest.mark.loopback
def test_the_client_says_how_it_did_its_work() -> None:
    with serving(lambda number, body: answer("a")) as server:
        found = driven(server.url, 2)
    assert (found.client.processes, found.client.clock) == (1, "kernel")
    assert found.client.busiest_core_share is not None
    assert 0 < found.client.busiest_core_share <= 1.1
    assert found.client.cpu_s <= found.ended_at_s - found.started_at_s + 0.1
    assert found.started_at_s == pytest.approx(time.time(), abs=60)


@pytest.mark.loopback
@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({"concurrency": 5}, ["p0", "p1", "p0", "p1", "p0"]),
        ({"concurrency": None, "arrival": "poisson", "request_rate": 2.5}, ["p0", "p1", "p0"]),
    ],
)
def test_warm_up_sends_a_full_wave_and_counts_what_failed(more: dict[str, Any], sent: list[str]) -> None:
    refused: list[Step] = [b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy"]
    with serving(lambda number, body: refused if said(body) == ["p1"] else answer("a")) as server:
        failed = warm_up(server.url, load(2, **more), served_model="m")
    assert sorted(said(body)[0] for body in server.bodies) == sorted(sent)
    assert failed == sent.count("p1")


@pytest.mark.loopback
def test_warm_up_sends_whole_conversations() -> None:
    with serving(lambda number, body: answer("x")) as server:
        assert warm_up(server.url, load(prompts=TURNS[:3], concurrency=2), served_model="m") == 0
    assert sorted(len(body["messages"]) for body in server.bodies) == [2, 2, 4, 4, 6, 6]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"concurrency": None}, "a closed loop needs a concurrency"),
        ({"arrival": "fixed", "concurrency": None}, "fixed arrivals need a request rate"),
        ({"arrival": "poisson", "request_rate": 0.0}, "poisson arrivals need a request rate"),
    ],
)
def test_a_loop_without_a_size_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(**more)


def test_a_server_is_drained_when_it_says_that_nothing_runs() -> None:
    answers = iter([3.0, OSError("away"), 1.0, 0.0])

    def running() -> float:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    drain(running, deadline_s=5.0, poll_s=0.0)
    assert next(answers, None) is None


def test_a_server_that_is_never_drained_is_named() -> None:
    with pytest.raises(TimeoutError, match="still has requests in flight after 0 s"):
        drain(lambda: 1.0, deadline_s=0.0, poll_s=0.0)
