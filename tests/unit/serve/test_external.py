"""A server that somebody else runs: which addresses are taken, what is checked, and what is left alone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import EnvironmentFault, UserError
from pipeline.serve.errors import ServerDied, ServerFailed
from pipeline.serve.external import Expected, ask_version, attach, port_of
from pipeline.serve.server import Server
from tests.support.fake_vllm.serving import fake_server

pytestmark = pytest.mark.loopback
NGRAM = Expected(arm="ngram-k4", version="0.32.0", num_speculative_tokens=4, max_model_len=2048)


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Server]:
    with fake_server(tmp_path / "theirs", speculative={"method": "ngram", "num_speculative_tokens": 4}) as server:
        yield server


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost:8000/"])
def test_a_server_on_this_machine_is_taken(url: str) -> None:
    assert port_of(url) == 8000


@pytest.mark.parametrize(
    "url", ["http://gpu-box:8000", "https://127.0.0.1:8000", "http://127.0.0.1", "127.0.0.1:8000", "http://127.0.0.1:x"]
)
def test_any_other_address_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="write http://127"):
        port_of(url)


def test_it_is_measured_under_its_own_name_and_left_running(theirs: Server, tmp_path: Path) -> None:
    assert ask_version({"none": theirs.url}) == "0.32.0"
    with attach(theirs.url, expected=NGRAM, lock_path=tmp_path / "lock", marker="m") as server:
        assert (server.served_model, server.ready_s, server.watched_pid) == ("m", None, None)
        server.check()
        assert "vllm:spec_decode_num_drafts_total" in server.scrape()
    assert theirs.process.poll() is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": "0.31.0"}, "it runs vLLM 0.32.0, and the plan was made for 0.31.0"),
        ({"num_speculative_tokens": None}, "drafts 4 tokens a step, but the baseline speculates nothing"),
        ({"num_speculative_tokens": 3}, "drafts 4 tokens a step, and the arm 3"),
        ({"max_model_len": 4096}, "its max_model_len is 2048, less than the matrix's 4096"),
    ],
)
def test_what_differs_from_the_plan_is_said(
    theirs: Server, tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    expected = replace(NGRAM, **changes)  # type: ignore[arg-type]  # fields by name
    with (
        pytest.raises(ServerFailed, match=said) as caught,
        attach(theirs.url, expected=expected, lock_path=tmp_path / "lock", marker="m"),
    ):
        pass
    assert not caught.value.failure.retryable


def test_one_that_ends_meanwhile_is_told_from_one_of_ours(theirs: Server, tmp_path: Path) -> None:
    with attach(theirs.url, expected=NGRAM, lock_path=tmp_path / "lock", marker="m") as server:
        theirs.stop(grace_s=1)
        with pytest.raises(ServerDied, match="Specwatch neither starts nor ends it"):
            server.check()
        with pytest.raises(ServerDied, match="does not answer /metrics"):
            server.scrape()
    with pytest.raises(EnvironmentFault, match="does not answer /version"):
        ask_version({"none": theirs.url})
