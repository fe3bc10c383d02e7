"""A matrix that is measured on the fake vLLM: three arms, one workload, a few prompts, seconds."""

from pathlib import Path

from tests.support.fake_vllm.engine import make_fake_engine, make_fake_model

TEXT = """\
version: 1
name: fake
engines:
  - version: "0.32.0"
    platform: cpu
    python: {python}
targets:
  - name: target
    source: {target}
drafts:
  - name: draft
    source: {draft}
methods:
  - name: ngram-k4
    method: ngram
    num_speculative_tokens: 4
  - name: draft-k3
    method: draft_model
    draft: draft
    num_speculative_tokens: 3
workloads: [structured]
prompts: 4
output_tokens: 16
concurrency: [1, 2]
repetitions: 2
server:
  enforce_eager: true
  max_num_seqs: 8
"""


def make_fake_matrix(directory: Path, *, changes: dict[str, str] | None = None) -> Path:
    """Write the matrix, its engine and its models under `directory`; `changes` replace text of the matrix."""
    python = make_fake_engine(directory / "engine")
    target = make_fake_model(directory / "target", layers=30)
    draft = make_fake_model(directory / "draft", layers=2)
    text = TEXT.format(python=python, target=target, draft=draft)
    for old, new in (changes or {}).items():
        assert old in text, old
        text = text.replace(old, new)
    path = directory / "fake.yaml"
    path.write_text(text)
    return path
