"""The time of a plan: from records where there are any, else from the documented estimate."""

import pytest

from pipeline.domain.engine import Engine
from pipeline.domain.model import Shape
from pipeline.plan.estimate import Accelerator, Clock, Recorded, bytes_of, weight_bytes
from tests.support.values import DRAFT, TARGET, make_block, make_cell

CUDA = Engine(version="0.32.0", platform="cuda")
GPU = Accelerator(name="g", bandwidth_bytes_per_s=1e9, dense_flops=1e9)
SHAPE = Shape(source="here", parameters=7_000_000)  # 14 MB: 14e6 / (0.7 x 1e9) = 20 ms a token
CLOCK = Clock(accelerator=GPU, shapes={TARGET.source: SHAPE})


def test_a_closed_loop_is_waves_and_one_to_warm_up() -> None:
    # 4 prompts at 2: two waves and one of warm-up, each 10 tokens of 20 ms x (1 + 2 / 256)
    cell = make_cell(engine=CUDA, prompts=4, concurrency=2, output_tokens=10)
    assert CLOCK.window_s(cell) == pytest.approx(3 * 10 * 0.020 * (1 + 2 / 256))


def test_an_open_loop_lasts_as_long_as_it_sends() -> None:
    cell = make_cell(engine=CUDA, prompts=20, concurrency=None, arrival="poisson", request_rate=2.0, output_tokens=10)
    assert CLOCK.window_s(cell) == pytest.approx(20 / 2.0 + 2 * 10 * 0.020 * (1 + 1 / 256))


def test_prompts_take_two_operations_a_parameter_and_token() -> None:
    cell = make_cell(engine=CUDA, prompts=1, concurrency=1, output_tokens=10, prompt_tokens=100)
    without = CLOCK.window_s(make_cell(engine=CUDA, prompts=1, concurrency=1, output_tokens=10))
    assert CLOCK.window_s(cell) - without == pytest.approx(2 * 100 * 2 * 7e6 / (0.4 * 1e9))


def test_the_length_of_a_workloads_prompts_counts_where_the_cell_has_none() -> None:
    cell = make_cell(engine=CUDA)
    clock = Clock(accelerator=GPU, shapes=CLOCK.shapes, prompt_tokens={cell.workload_id: 100})
    assert clock.window_s(cell) > CLOCK.window_s(cell)


def test_a_draft_model_is_taken_as_half_as_slow_again() -> None:
    ngram, draft = make_cell(engine=CUDA), make_cell(engine=CUDA, method=DRAFT)
    assert CLOCK.window_s(draft) == pytest.approx(1.5 * CLOCK.window_s(ngram))


def test_more_requests_than_prompts_are_never_in_flight() -> None:
    assert CLOCK.window_s(make_cell(engine=CUDA, prompts=2, concurrency=64)) == CLOCK.window_s(
        make_cell(engine=CUDA, prompts=2, concurrency=2)
    )


def test_what_was_recorded_is_taken_with_a_wave_of_warm_up_more() -> None:
    cell = make_cell(prompts=8, concurrency=2)
    clock = Clock(recorded=Recorded(window_s={cell.series_id: 10.0}, start_s={("cpu", "tiny"): 33.0}))
    assert clock.window_s(cell) == pytest.approx(10.0 * (1 + 2 / 8))
    assert clock.start_s(cell) == 33.0
    assert clock.start_s(make_cell(engine=CUDA)) == 120.0


def test_a_record_of_another_release_counts() -> None:
    cell = make_cell(engine=Engine(version="0.31.0", platform="cpu"))
    clock = Clock(recorded=Recorded(window_s={make_cell().series_id: 10.0}))
    assert clock.window_s(cell) == clock.window_s(make_cell())


def test_a_block_is_its_starts_with_every_repetition() -> None:
    block = make_block(repetitions=2)
    clock = Clock(recorded=Recorded(window_s={c.series_id: 10.0 for s in block.starts for c in s.cells}))
    # concurrency 1 and 2 of 2 prompts: warm-up adds 1/2 and 2/2
    assert clock.block_s(block) == pytest.approx(4 * (60 + 2 * (15 + 20)))
    assert clock.basis(block) == "recorded"
    assert Clock().basis(block) == "estimate"
    assert Clock().basis(make_block(unsupported=lambda cell: "no")) == "estimate"


def test_a_gpu_of_which_nothing_is_known_is_still_estimated() -> None:
    assert Clock().window_s(make_cell(engine=CUDA)) > 0


def test_weights_are_the_checkpoints_size_or_parameters_times_dtype() -> None:
    assert weight_bytes(SHAPE) == 14_000_000
    assert weight_bytes(SHAPE, dtype="float32") == 28_000_000
    assert weight_bytes(Shape(source="x", parameters=10, weight_bytes=7)) == 7
    assert weight_bytes(Shape(source="x")) is weight_bytes(None) is None
    assert (bytes_of("bfloat16"), bytes_of("float32")) == (2, 4)


def test_a_server_that_runs_already_takes_no_time_to_start() -> None:
    external = Engine(version="0.32.0", platform="cuda", external=(("none", "http://127.0.0.1:1"),))
    assert CLOCK.start_s(make_cell(engine=external)) == 0
    assert CLOCK.start_s(make_cell(engine=CUDA)) > 0
