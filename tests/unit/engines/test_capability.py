"""What the registry refuses, and what it lets through."""

import pytest

from pipeline.domain.engine import Engine, EngineFacts, Platform
from pipeline.domain.hardware import Hardware
from pipeline.domain.method import Method
from pipeline.domain.model import Model
from pipeline.engines.capability import driver_refusal, everything, needs, requirement, settle, unsupported

A_DRAFT = Model(name="d", source="/m/d")


def refused(
    version: str, method: str, *, platform: Platform = "cuda", temperature: float = 0.0, **options: object
) -> str | None:
    arm = Method(name=method, method=method, num_speculative_tokens=4, draft=A_DRAFT, options=options)
    return unsupported(Engine(version=version, platform=platform), arm, temperature=temperature)


@pytest.mark.parametrize(
    ("method", "last_without", "first_with"),
    [
        ("draft_model", "0.14.1", "0.15.0"),
        ("eagle3", "0.9.0.1", "0.9.1"),
        ("mtp", "0.10.2", "0.11.0"),
        ("suffix", "0.11.0", "0.11.1"),
        ("ngram_gpu", "0.17.1", "0.18.0"),
        ("dflash", "0.19.1", "0.20.0"),
        ("custom_class", "0.21.0", "0.22.0"),
        ("dspark", "0.24.0", "0.25.0"),
        ("medusa", "0.33.0", "0.32.0"),
        ("mlp_speculator", "0.33.0", "0.32.0"),
    ],
)
def test_methods_come_and_go_with_releases(method: str, last_without: str, first_with: str) -> None:
    assert refused(last_without, method)
    assert refused(first_with, method) is None


def test_draft_models_ran_on_the_v0_engine() -> None:
    assert refused("0.9.2", "draft_model") is None
    assert refused("0.10.0", "draft_model")


@pytest.mark.parametrize("method", ["ngram", "draft_model", "eagle3"])
def test_speculation_on_cpu_starts_with_0_20(method: str) -> None:
    assert refused("0.19.1", method, platform="cpu")
    assert refused("0.20.0", method, platform="cpu") is None


def test_the_release_whose_engine_died_of_drafts_on_cpu_is_left_out_there() -> None:
    assert "kills the engine of 0.30.0" in (refused("0.30.0", "ngram", platform="cpu") or "")
    assert refused("0.30.0", "ngram", platform="cuda") is None


def test_speculation_on_cpu_is_greedy() -> None:
    assert "temperature" in (refused("0.32.0", "ngram", platform="cpu", temperature=0.7) or "")
    assert refused("0.32.0", "ngram", platform="cuda", temperature=0.7) is None


def test_synthetic_acceptance_does_not_run_on_cpu() -> None:
    assert refused("0.32.0", "draft_model", platform="cpu", rejection_sample_method="synthetic")
    assert refused("0.32.0", "draft_model", platform="cuda", rejection_sample_method="synthetic") is None


@pytest.mark.parametrize(("version", "platform"), [("0.8.5", "cpu"), ("0.33.0", "cuda")])
def test_the_baseline_always_runs(version: str, platform: Platform) -> None:
    assert refused(version, "none", platform=platform, temperature=1.0) is None


def test_options_come_and_go_with_releases() -> None:
    assert refused("0.16.0", "ngram", disable_by_batch_size=8) is None
    assert refused("0.17.0", "ngram", disable_by_batch_size=8)
    assert refused("0.19.1", "ngram", synthetic_acceptance_rate=0.5) is None
    assert refused("0.18.1", "ngram", synthetic_acceptance_rate=0.5)
    assert refused("0.20.0", "ngram", rejection_sample_method="synthetic") is None
    assert refused("0.24.0", "ngram", rejection_sample_method="block")
    assert refused("0.15.1", "draft_model", parallel_drafting=True)
    assert refused("0.16.0", "draft_model", parallel_drafting=True) is None


def test_a_key_that_has_another_name_or_value_elsewhere_is_no_reason_to_skip() -> None:
    assert refused("0.20.0", "draft_model", rejection_sample_method="standard") is None  # strict, until 0.21
    assert refused("0.17.1", "draft_model", rejection_sample_method="standard")
    assert refused("0.19.1", "draft_model", synthetic_acceptance_length=2.0) is None  # synthetic_acceptance_rate
    assert refused("0.18.1", "draft_model", synthetic_acceptance_length=2.0)


def test_a_key_of_another_method_is_refused() -> None:
    assert "ngram" in (refused("0.32.0", "eagle3", prompt_lookup_max=4) or "")


def test_a_key_that_nobody_knows_is_refused_in_releases_that_were_read() -> None:
    assert refused("0.33.0", "ngram", telepathy=1)
    assert refused("0.34.0", "ngram", telepathy=1) is None


def test_a_custom_method_is_left_to_vllm() -> None:
    assert refused("0.32.0", "custom:telepathy", anything=1) is None
    assert refused("0.19.0", "custom:telepathy", platform="cpu")


def test_a_method_that_needs_a_draft_is_refused_without_one() -> None:
    arm = Method(name="e", method="eagle3", num_speculative_tokens=2)
    assert "needs a draft" in (unsupported(Engine("0.32.0", "cuda"), arm, temperature=0.0) or "")


def test_other_sampling_limits_are_asked_by_name() -> None:
    engine = Engine("0.32.0", "cuda")
    arm = Method(name="n", method="ngram", num_speculative_tokens=4)
    assert "HTTP 400" in (unsupported(engine, arm, temperature=0.0, sampling=("min_p",)) or "")
    assert unsupported(engine, Method("none", "none"), temperature=1.0, sampling=("min_p", "top_k")) is None
    assert unsupported(Engine("0.32.0", "cpu"), arm, temperature=0.0, sampling=("top_k",))


@pytest.mark.parametrize(
    ("version", "parameter", "words"),
    [
        ("0.13.0", "min_p", "silently"),
        ("0.14.0", "min_p", "HTTP 400"),
        ("0.14.0", "logit_bias", "HTTP 400"),
        ("0.16.0", "min_tokens", "HTTP 400"),
        ("0.17.0", "min_tokens", None),
        ("0.13.0", "logprobs", "silently"),
        ("0.14.0", "logprobs", None),
    ],
)
def test_sampling_limits_follow_the_releases(version: str, parameter: str, words: str | None) -> None:
    reason = asked(version, "ngram", parameter)
    assert reason is None if words is None else words in (reason or "")


def test_guided_decoding_came_to_speculation_with_0_9_and_to_draft_models_with_the_v1_engine() -> None:
    assert "drafted tokens are not checked" in (asked("0.8.5", "ngram", "guided") or "")
    assert asked("0.8.5", "none", "guided") is None
    assert asked("0.9.0", "ngram", "guided") is None
    assert "V0 engine" in (asked("0.9.2", "draft_model", "guided") or "")
    assert asked("0.15.0", "draft_model", "guided") is None


def asked(version: str, method: str, parameter: str) -> str | None:
    arm = Method(name=method, method=method, draft=A_DRAFT)
    return unsupported(Engine(version, "cuda"), arm, temperature=0.0, sampling=(parameter,))


def test_a_method_names_the_packages_that_a_release_does_not_bring() -> None:
    assert needs(Engine("0.32.0", "cpu"), ["ngram", "suffix", "suffix"]) == ("arctic-inference==0.1.1",)
    assert needs(Engine("0.32.0", "cuda"), ["ngram", "custom:telepathy"]) == ()
    assert needs(Engine("0.11.0", "cuda"), ["suffix"]) == ()


def test_releases_older_than_the_registry_are_refused() -> None:
    assert "older than 0.8.5" in (refused("0.8.4", "none") or "")
    assert refused("0.8.5", "none") is None


def test_a_gpu_that_a_matrix_states_does_not_concern_its_cpu_engines() -> None:
    cpu = Engine("0.8.5", "cpu")
    assert unsupported(cpu, Method("none", "none"), temperature=0.0, hardware=gpu("12.0")) is None


def test_flags_come_and_go_with_releases() -> None:
    def flag(name: str, version: str, platform: Platform = "cuda") -> str | None:
        return unsupported(Engine(version, platform), Method("none", "none"), temperature=0.0, flags=(name,))

    assert flag("--kv-cache-memory-bytes", "0.10.1.1")
    assert flag("--kv-cache-memory-bytes", "0.10.2") is None
    assert "kv_cache_gib" in (flag("--kv-cache-memory-bytes", "0.32.0", "cpu") or "")
    assert flag("--swap-space", "0.18.0")


@pytest.mark.parametrize(
    ("capability", "last_without", "first_with"),
    [
        ("9.0", None, "0.8.5"),
        ("10.0", "0.10.1.1", "0.10.2"),
        ("10.3", "0.19.1", "0.20.0"),
        ("12.0", "0.10.1.1", "0.10.2"),
        ("12.1", "0.19.1", "0.20.0"),
    ],
)
def test_a_gpu_has_a_first_release_on_the_package_index(
    capability: str, last_without: str | None, first_with: str
) -> None:
    assert refused_on(capability, first_with) is None
    assert last_without is None or refused_on(capability, last_without)


def test_an_interpreter_that_was_made_for_the_gpu_may_be_older() -> None:
    assert refused_on("12.0", "0.9.1", python="/e/bin/python") is None
    assert "sm_120" in (refused_on("12.0", "0.9.2", python="/e/bin/python") or "")
    assert refused_on("12.0", "0.8.5", python="/e/bin/python")


def refused_on(capability: str, version: str, *, python: str | None = None) -> str | None:
    engine = Engine(version, "cuda", python=python)
    return unsupported(engine, Method("none", "none"), temperature=0.0, hardware=gpu(capability))


def gpu(capability: str) -> Hardware:
    return Hardware(
        kind="gpu",
        name="g",
        architecture="blackwell",
        compute_capability=capability,
        accelerators=1,
        memory_bytes=1,
        driver_version="580.1",
        cuda_version="13.0",
        host_cpu="c",
        logical_cpus=1,
    )


def test_a_driver_is_compared_with_what_the_release_was_built_for() -> None:
    assert "CUDA 13.0" in (driver_refusal(Engine("0.25.1", "cuda"), driver_version="570.86.10") or "")
    assert driver_refusal(Engine("0.25.1", "cuda"), driver_version="580.65.06") is None
    assert driver_refusal(Engine("0.19.1", "cuda"), driver_version="550.54") is None
    assert driver_refusal(Engine("0.32.0", "cpu"), driver_version="1.0") is None
    assert driver_refusal(Engine("0.25.1", "cuda"), driver_version=None) is None
    assert driver_refusal(Engine("0.25.1", "cuda"), driver_version="N/A") is None


def test_what_a_release_needs_is_known() -> None:
    found = requirement(Engine("0.25.1", "cuda"))
    assert found is not None
    assert (found.torch, found.cuda, found.driver) == ("2.11.0", "13.0", ">=580")
    cpu = requirement(Engine("0.31.0", "cpu"))
    assert cpu is not None
    assert (cpu.torch, cpu.cuda) == ("2.13.0", None)
    assert requirement(Engine("0.7.0", "cuda")) is None


def test_what_a_release_that_nobody_read_needs_is_not_guessed() -> None:
    assert requirement(Engine("0.34.0", "cuda")) is None
    assert driver_refusal(Engine("0.34.0", "cuda"), driver_version="570.86.10") is None


def test_the_cpu_platform_settles_async_scheduling_whatever_the_log_says() -> None:
    said = EngineFacts(async_scheduling=True)
    assert settle(said, engine=Engine("0.32.0", "cpu")).async_scheduling is False
    assert settle(said, engine=Engine("0.32.0", "cuda")) == said


def test_the_cpu_platform_settles_the_attention_backend_where_the_log_is_silent() -> None:
    new, old, mla = Engine("0.29.0", "cpu"), Engine("0.26.0", "cpu"), EngineFacts(attention_backend="CPU_MLA")
    assert settle(EngineFacts(), engine=new).attention_backend == "CPU_ATTN"
    assert settle(mla, engine=new).attention_backend == "CPU_MLA"
    assert settle(EngineFacts(), engine=old).attention_backend is None
    assert settle(EngineFacts(), engine=Engine("0.29.0", "cuda")).attention_backend is None


def test_everything_of_a_release_can_be_listed() -> None:
    found = everything(Engine("0.19.0", "cpu"))
    assert found["methods"]["none"].state == "supported"
    assert found["methods"]["ngram"].refused
    assert found["flags"]["--attention-backend"].state == "supported"
    assert found["keys"]["synthetic_acceptance_length"].to == "synthetic_acceptance_rate"
    assert found["values"]["rejection_sample_method synthetic"].refused
    assert found["flags"]["--attention-backend"].source == "read from the released packages"


def test_what_works_only_in_part_says_so() -> None:
    assert "draft_model" in (everything(Engine("0.9.2", "cuda"))["sampling"]["guided"].reason or "")
    assert "arctic-inference==0.1.1" in (everything(Engine("0.32.0", "cuda"))["methods"]["suffix"].reason or "")


def test_a_reason_names_the_engine_and_how_we_know() -> None:
    reason = refused("0.14.0", "draft_model")
    assert reason is not None
    assert "0.14.0-cuda" in reason
    assert "package" in reason


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    assert "ngram" in (refused("0.32.0", "telepathy") or "")


def test_a_version_that_is_no_release_number_is_refused() -> None:
    assert "nightly" in (refused("nightly", "ngram") or "")


def test_post_and_pre_releases_belong_to_their_release() -> None:
    assert refused("0.9.2.post2", "eagle3") is None
    assert refused("0.33.0rc1", "dspark") is None
