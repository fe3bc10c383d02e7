"""A matrix file that is wrong is refused with its line, its key and what to write instead."""

from pathlib import Path

import pytest

from pipeline.errors import UserError
from pipeline.matrix.load import load_matrix, parse_matrix
from pipeline.settings import REPOSITORY
from pipeline.workloads.sets import LENGTHS

GOOD = """\
version: 1
name: tiny
engines:
  - version: "0.32.0"
    platform: cpu
targets:
  - name: target
    source: embedded:smollm2-135m-instruct
drafts:
  - name: small
    source: ./small
methods:
  - method: none
  - name: ngram-k4
    method: ngram
    num_speculative_tokens: 4
  - method: draft_model
    draft: small
    num_speculative_tokens: 3
workloads: [structured, creative]
prompts: 8
output_tokens: 48
concurrency: [1, 4]
repetitions: 2
"""


def parse(text: str):
    return parse_matrix(text, name="m.yaml", base=Path("/base"), workloads=LENGTHS)


def test_a_good_matrix_is_read() -> None:
    matrix = parse(GOOD)
    assert [entry.arm for entry in matrix.methods] == ["none", "ngram-k4", "draft-model-k3"]


def test_relative_sources_start_at_the_files_directory() -> None:
    assert parse(GOOD).drafts[0].source == "/base/small"


def test_every_matrix_of_the_repository_is_good() -> None:
    found = sorted((REPOSITORY / "matrices").glob("*.yaml"))
    assert found
    for path in found:
        load_matrix(path, workloads=LENGTHS)


@pytest.mark.parametrize("named", ["latest", "last 5", '">=0.27,<0.33"', "0.33.0rc1"])
def test_releases_can_be_named_in_other_ways(named: str) -> None:
    assert parse(GOOD.replace('"0.32.0"', named, 1)).engines[0].version == named.strip('"')


def test_servers_that_run_already_are_named_by_arm() -> None:
    (engine,) = parse(GOOD.replace('version: "0.32.0"', "external: {none: u, ngram-k4: v}", 1)).engines
    assert (engine.version, engine.external) == (None, {"none": "u", "ngram-k4": "v"})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("repetitions:", "repetition:", "m.yaml:24: unknown key 'repetition'; did you mean 'repetitions'?"),
        ("method: ngram", "metod: ngram", "m.yaml:15: unknown key 'metod'; did you mean 'method'?"),
        ("platform: cpu", "platform: tpu", "m.yaml:5: engines.0.platform"),
        ("creative", "creativ", "m.yaml:20: unknown workload 'creativ'; did you mean 'creative'?"),
        ("tokens: 4", "tokens: 0", "m.yaml:14: methods.1: num_speculative_tokens is 0; it must be at least 1"),
        ("tokens: 4", "tokens: -1", "num_speculative_tokens is -1"),
        ("tokens: 4", "tokens: 48", "m.yaml:16: methods.1.num_speculative_tokens: method 'ngram-k4' drafts 48"),
        ("tokens: 4", "tokens: four", "m.yaml:16"),
        ('"0.32.0"', "0.32", "write the version in quotes"),
        ('"0.32.0"', '"newest"', "'newest' is not a version"),
        ('"0.32.0"', "latest\n    python: /e/python", "an interpreter (python) holds one release"),
        ('version: "0.32.0"', "external: {none: u}\n    version: '1'", "leave out version and python"),
        ('version: "0.32.0"', "external: {ngram-k4: u}", "add `none: URL`"),
        ('version: "0.32.0"', "external: {none: u, ngram-k9: u}", "external names a server for 'ngram-k9'"),
        ('version: "0.32.0"\n    platform', "platform", "version is missing"),
        ("[1, 4]", "[1, 16]", "m.yaml:23: concurrency: concurrency 16 is never reached with 8 prompts"),
        ("[1, 4]", "[4, 4]", "4 stands there twice"),
        ("draft: small", "draft: smal", "m.yaml:18: methods.2.draft: method 'draft-model-k3' names the draft 'smal'"),
        ("    draft: small\n", "", "draft_model needs `draft`"),
        ("version: 1\n", "version: 2\n", "update Specwatch"),
        ("version: 1\n", "", "key 'version' is missing"),
        ("name: tiny", "name: tiny\nname: two", "duplicate key"),
        ("name: tiny", "name: [", "not YAML"),
        ("name: tiny", "name: 'tiny\x07'", "not YAML"),
        ("version: 1\n", "version: 0\n", "m.yaml is of version 0, which this release (1) cannot bring up to date"),
        (
            "method: none",
            "method: none\n    num_speculative_tokens: 4",
            "the baseline (method none) speculates nothing",
        ),
        ("    num_speculative_tokens: 4\n", "", "num_speculative_tokens is missing"),
        ("tokens: 4", "tokens: 4\n    options: {method: ngram}", "options repeats a key that has a field of its own"),
        ("output_tokens: 48", "output_tokens: 9999", "leaves no room for a prompt in server.max_model_len"),
        ("repetitions: 2", "repetitions: 2\nserver: {max_num_seqs: 2}", "exceeds server.max_num_seqs 2"),
        ("platform: cpu\n", "platform: cpu\n  - {version: '0.32.0', platform: cpu}\n", "stands there twice"),
    ],
)
def test_a_wrong_matrix_says_where_and_what(old: str, new: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(GOOD.replace(old, new, 1))
    assert said in str(caught.value)


def test_two_methods_alike_are_refused() -> None:
    twin = "  - name: twin\n    method: ngram\n    num_speculative_tokens: 4\nworkloads:"
    with pytest.raises(UserError, match="'ngram-k4' and 'twin' are alike"):
        parse(GOOD.replace("workloads:", twin))


def test_two_methods_of_one_name_are_refused() -> None:
    twin = "  - name: ngram-k4\n    method: ngram\n    num_speculative_tokens: 5\nworkloads:"
    with pytest.raises(UserError, match="two methods are named 'ngram-k4'"):
        parse(GOOD.replace("workloads:", twin))


def test_a_baseline_alone_is_refused() -> None:
    start, rest = GOOD.split("  - name: ngram-k4")
    with pytest.raises(UserError, match="only the baseline is listed"):
        parse(start + rest[rest.index("workloads:") :])


def test_a_text_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(UserError, match="a matrix is a mapping"):
        parse("- a\n- b\n")


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "smoke.yaml").write_text("version: 1")
    with pytest.raises(UserError, match=r"cannot be read: No such file or directory\. There are: .*smoke\.yaml"):
        load_matrix(tmp_path / "smok.yaml", workloads=LENGTHS)
