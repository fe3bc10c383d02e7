"""Several processes that share one window."""

import os
import tempfile
from collections import Counter

import pytest

from pipeline.domain.workload import Prompt
from pipeline.drive import client
from pipeline.drive.shard import feed, users
from pipeline.drive.shards import NUMBER, process_count, run_shards
from tests.unit.drive.loads import driven, load, prompts
from tests.unit.drive.scripted import Hang, answer, serving


@pytest.mark.parametrize(
    ("more", "cores", "processes"),
    [
        ({"concurrency": 1}, 8, 1),
        ({"concurrency": 333}, 8, 1),  # 49,950 chunks/s at most
        ({"concurrency": 334}, 8, 2),
        ({"concurrency": 1000}, 8, 3),
        ({"concurrency": 1000}, 2, 2),  # no more than cores
        ({"concurrency": None, "arrival": "poisson", "request_rate": 100.0, "output_tokens": 500}, 8, 1),
        ({"concurrency": None, "arrival": "poisson", "request_rate": 101.0, "output_tokens": 500}, 8, 2),
        ({"concurrency": None, "arrival": "fixed", "request_rate": 1e6, "output_tokens": 500}, 99, 4),  # prompts
    ],
)
def test_the_number_of_processes_follows_from_the_load(more: dict[str, object], cores: int, processes: int) -> None:
    assert process_count(load(4, **more), cores=cores) == processes


def test_users_are_spread_over_the_processes() -> None:
    assert [users(load(concurrency=7), place=place, processes=3) for place in range(3)] == [3, 2, 2]


def test_a_closed_loop_shares_one_queue() -> None:
    with tempfile.TemporaryFile() as queue:
        queue.write(b"".join(NUMBER.pack(number) for number in range(3)))
        queue.flush()
        queue.seek(0)
        first, second = (feed(load(3), queue=os.dup(queue.fileno()), place=p, processes=2) for p in range(2))
        assert [first(), second(), first(), second(), first()] == [0, 1, 2, None, None]


def test_an_open_loop_knows_its_own_arrivals() -> None:
    planned = load(5, concurrency=None, arrival="fixed", request_rate=1.0)
    first, second = (feed(planned, queue=-1, place=p, processes=2) for p in range(2))
    assert [first() for _ in range(4)] == [0, 2, 4, None]
    assert [second() for _ in range(3)] == [1, 3, None]


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "process_count", lambda _: 2)


@pytest.mark.loopback
@pytest.mark.usefixtures("two_processes")
def test_two_processes_send_what_one_would() -> None:
    turns = [*prompts(8), Prompt("q", "chat", (("user", "q"),), follows="p7")]
    with serving(lambda number, body: answer(body["messages"][0]["content"], "!")) as server:
        found = driven(server.url, prompts=turns, concurrency=4)
    assert [record.text for record in found.requests] == [*(f"p{i}!" for i in range(8)), "p7!"]
    assert Counter(body["seed"] for body in server.bodies) == Counter(range(7, 16))
    assert server.most_open <= 4
    assert found.client.processes == 2
    assert min(record.sent_ns for record in found.requests) >= found.origin_ns


@pytest.mark.loopback
@pytest.mark.usefixtures("two_processes")
def test_two_processes_keep_the_plan_and_the_deadline() -> None:
    with serving(lambda number, body: [Hang()] if body["seed"] == 8 else answer("a")) as server:
        found = driven(server.url, 4, concurrency=None, arrival="fixed", request_rate=100.0, deadline_s=0.5)
    assert [record.scheduled_ns - found.origin_ns for record in found.requests] == [0, 10**7, 2 * 10**7, 3 * 10**7]
    assert [record.error for record in found.requests] == [None, "cancelled", None, None]


@pytest.mark.loopback
def test_a_process_that_is_lost_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="ended with status 1 before it had sent its part"):
        run_shards("no address", load(2, concurrency=2), served_model="m", processes=2)
