"""Every release from 0.8.5 to the newest x every method: argv and JSON, without a network; see snapshots/.

    SNAPSHOTS=write python -m pytest tests/unit/engines/test_every_release.py

writes them anew; the diff is what changed.
"""

import json
import os
from itertools import groupby
from pathlib import Path

import pytest

from pipeline.domain.cell import ServerSettings
from pipeline.domain.engine import Engine, Platform
from pipeline.domain.method import Method
from pipeline.domain.model import Model, ResolvedModel
from pipeline.engines.argv import build, environment, flags_of, speculative_config
from pipeline.engines.capability import METHODS, needs, unsupported

HERE = Path(__file__).parent
WRITE = os.environ.get("SNAPSHOTS") == "write"
SYNTHETIC = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 3.0}


def releases(platform: Platform) -> list[str]:
    text = (HERE / "releases.txt").read_text()
    block = text.split(f"\n{platform}\n", 1)[1]
    return [line.strip() for line in block.splitlines() if line.startswith("  ")][: _length(block)]


def _length(block: str) -> int:
    lines = block.splitlines()
    return next((n for n, line in enumerate(lines) if not line.startswith("  ")), len(lines))


def resolved(name: str) -> ResolvedModel:
    model = Model(name=name, source=f"/m/{name}")
    return ResolvedModel(
        model=model,
        path=f"/m/{name}",
        revision="sha256:0",
        layers=1,
        hidden_size=1,
        parameters=1,
        vocab_size=1,
        tokenizer_hash="t",
    )


TARGET, DRAFT = resolved("target"), resolved("draft")
WITH_DRAFT = {"draft_model", "eagle", "eagle3", "medusa", "mlp_speculator", "dflash"}


def arms() -> list[Method]:
    """Every method alone; then what has options of its own."""

    def arm(name: str, method: str, **options: object) -> Method:
        draft = DRAFT.model if method in WITH_DRAFT or method == "custom:telepathy" else None
        return Method(
            name=name,
            method=method,
            num_speculative_tokens=None if method == "none" else 4,
            draft=draft,
            options=options,
        )

    plain = [arm(method, method) for method in sorted(METHODS)]
    return [
        *plain,
        arm("ngram lookup", "ngram", prompt_lookup_min=2, prompt_lookup_max=5),
        arm("draft_model parallel", "draft_model", parallel_drafting=True),
        arm("draft_model synthetic", "draft_model", **SYNTHETIC),
        arm("draft_model sampled drafts", "draft_model", draft_sample_method="probabilistic"),
        arm("custom:telepathy", "custom:telepathy", range="any"),
    ]


def outcome(engine: Engine, method: Method, *, sampling: tuple[str, ...] = ()) -> str:
    if reason := unsupported(engine, method, temperature=0.0, sampling=sampling):
        return "skipped: " + reason.removesuffix(f"; engine {engine.engine_id}")
    draft = DRAFT if method.draft else None
    if method.is_baseline:
        return "runs"
    packages = "".join(f", with {package}" for package in needs(engine, [method.method]))
    configuration = speculative_config(method, engine=engine, target=TARGET, draft=draft)
    return json.dumps(configuration, sort_keys=True) + packages


def told(engine: Engine) -> str:
    """What a server is told when the attention backend and the KV cache are pinned."""
    server = ServerSettings(attention_backend="FLASH_ATTN", kv_cache_memory_bytes=1000)
    flags = flags_of(server, engine=engine)
    baseline = Method("none", "none")
    if reason := unsupported(engine, baseline, temperature=0.0, flags=flags):
        return "skipped: " + reason.removesuffix(f"; engine {engine.engine_id}")
    variables = environment(engine, server=server)
    by_variable = "VLLM_ATTENTION_BACKEND" if "VLLM_ATTENTION_BACKEND" in variables else "a flag"
    return f"{' '.join(flags)}; attention backend by {by_variable}"


def snapshot(platform: Platform) -> str:
    lines = []
    versions = releases(platform)
    for name, of in [
        *((method.name, lambda engine, method=method: outcome(engine, method)) for method in arms()),
        *(
            (f"{method.name} guided", lambda engine, method=method: outcome(engine, method, sampling=("guided",)))
            for method in arms()
            if method.name in ("ngram", "draft_model")
        ),
        ("pinned attention backend and KV cache", told),
    ]:
        lines.append(name)
        for said, same in groupby(versions, key=lambda version: of(Engine(version, platform))):
            found = list(same)
            span = found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
            lines.append(f"  {span}: {said}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("platform", ["cuda", "cpu"])
def test_what_every_release_is_told_or_why_it_is_skipped_stays_the_same(platform: Platform) -> None:
    path = HERE / "snapshots" / f"{platform}.txt"
    found = snapshot(platform)
    if WRITE:
        path.write_text(found)
    assert found == path.read_text()


@pytest.mark.parametrize("platform", ["cuda", "cpu"])
def test_every_release_gets_a_command_line_for_every_method_it_runs(platform: Platform) -> None:
    for version in releases(platform):
        engine = Engine(version, platform)
        for method in arms():
            if unsupported(engine, method, temperature=0.0):
                continue
            argv = build(
                Path("/e/bin/python"),
                engine=engine,
                target=TARGET,
                method=method,
                draft=DRAFT if method.draft else None,
                server=ServerSettings(),
                port=28000,
                served_model="m",
            )
            assert argv.count("--speculative-config") == (0 if method.is_baseline else 1)
            if not method.is_baseline:
                told = json.loads(argv[argv.index("--speculative-config") + 1])
                assert told["method"] == method.method.removeprefix("custom:")
                assert told["num_speculative_tokens"] == 4


def test_the_newest_releases_are_among_them() -> None:
    assert (releases("cuda")[-1], releases("cpu")[-1]) == ("0.33.0", "0.32.0")
