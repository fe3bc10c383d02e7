"""Whether an arm fits: weights, keys and values, and an allowance."""

from dataclasses import replace

import pytest

from pipeline.domain.cell import ServerSettings
from pipeline.domain.method import Method
from pipeline.domain.model import Model, Shape
from pipeline.plan.fit import GIB, RUNTIME_BYTES, Fit, fit
from tests.support.values import BASELINE, DRAFT, NGRAM

# 1 GiB of weights; 2 x 4 x 2 x 64 x 2 bytes = 2 KiB of keys and values a token
TARGET = Shape(source="t", weight_bytes=GIB, layers=4, kv_heads=2, head_dim=64)
SMALL = Shape(source="d", weight_bytes=GIB // 4, layers=1, kv_heads=2, head_dim=64)
SERVER = ServerSettings(max_model_len=1024, max_num_seqs=16, gpu_memory_utilization=0.5)
MTP = Method(name="mtp", method="mtp", num_speculative_tokens=1)
HEAD = Method(name="e", method="eagle3", num_speculative_tokens=3, draft=Model(name="h", source="h"))


def of(method: Method = BASELINE, *, memory_gib: float | None = 8.0, **changes: object) -> Fit:
    options: dict = {"target": TARGET, "draft": None, "server": SERVER, "platform": "cuda"} | changes
    memory = None if memory_gib is None else int(memory_gib * GIB)
    return fit(method, memory_bytes=memory, **options)


def test_the_room_is_what_the_share_of_the_gpu_leaves() -> None:
    found = of()
    assert found.state == "fits"
    assert found.kv_bytes_per_token == 2 * 4 * 2 * 64 * 2
    assert found.allowance_bytes == RUNTIME_BYTES  # no hidden size, no vocabulary: nothing more
    assert found.room_bytes == 4 * GIB - GIB - RUNTIME_BYTES
    assert found.kv_tokens == found.room_bytes // 2048
    assert found.reason == "room for all 16 requests of 1024 tokens"


def test_a_draft_takes_its_weights_and_its_own_keys_and_values() -> None:
    found = of(DRAFT, draft=SMALL)
    assert (found.draft_bytes, found.kv_bytes_per_token) == (GIB // 4, 2048 + 512)
    assert of(NGRAM).draft_bytes == 0


def test_mtp_and_a_head_keep_one_layer_more() -> None:
    assert of(MTP).kv_bytes_per_token == 2048 + 512
    silent = Shape(source="h", weight_bytes=1, layers=1)  # says nothing of its heads: they are the target's
    assert of(HEAD, draft=silent).kv_bytes_per_token == 2048 + 512


def test_only_layers_with_attention_keep_keys_and_the_others_a_state_for_each_sequence() -> None:
    hybrid = replace(TARGET, kv_layers=1, state_bytes=1000)
    found = of(MTP, target=hybrid)
    assert found.kv_bytes_per_token == 512 + 512
    assert found.allowance_bytes == RUNTIME_BYTES + 16 * 2 * 1000


def test_activations_and_logits_are_allowed_for() -> None:
    wide = replace(TARGET, hidden_size=10, intermediate_size=20, vocab_size=100)
    assert of(target=wide).allowance_bytes == RUNTIME_BYTES + 8192 * (40 + 40) * 2 + 16 * 100 * 4
    assert of(NGRAM, target=wide).allowance_bytes == RUNTIME_BYTES + 8192 * (40 + 40) * 2 + 16 * 5 * 100 * 4


def test_weights_that_are_too_large_do_not_fit() -> None:
    found = of(memory_gib=4)
    assert found.state == "does not fit"
    assert found.reason == "0.5 GiB too large before a single key or value is kept"


def test_room_for_less_than_one_request_does_not_fit() -> None:
    found = of(memory_gib=5.003)
    assert found.state == "does not fit"
    assert "fewer than max_model_len 1024: vLLM refuses to start" in found.reason


def test_room_for_some_requests_fits_and_says_how_many() -> None:
    found = of(memory_gib=5.02)
    assert found.state == "fits"
    assert found.longest_requests == pytest.approx(5.1, abs=0.1)
    assert found.reason == "room for 5.1 requests of 1024 tokens, of max_num_seqs 16"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"target": None}, "the target's sizes are not known here"),
        ({"method": DRAFT}, "the draft's sizes are not known here"),
        ({"target": Shape(source="t", weight_bytes=1)}, "the size of its keys and values is not known here"),
        ({"memory_gib": None}, "no GPU memory is stated (hardware.memory_gib) or found"),
    ],
)
def test_what_is_not_known_is_not_guessed(changes: dict, reason: str) -> None:
    found = of(**changes)
    assert (found.state, found.reason, found.room_bytes) == ("unknown", reason, None)


def test_a_cache_of_a_stated_size_ignores_the_share() -> None:
    stated = replace(SERVER, kv_cache_memory_bytes=3 * GIB)
    found = of(memory_gib=6, server=stated)
    assert (found.state, found.room_bytes) == ("fits", 3 * GIB)  # 6 = 1 + 1.5 + 3 and something to spare
    assert of(memory_gib=5.4, server=stated).state == "does not fit"


def test_on_a_cpu_the_cache_has_the_size_it_is_given() -> None:
    found = of(platform="cpu", memory_gib=8)
    assert (found.state, found.room_bytes) == ("fits", GIB)
    assert of(platform="cpu", memory_gib=1.5).state == "does not fit"
