"""What a person reads of a cell."""

from dataclasses import replace

from tests.support.values import make_cell


def test_a_label_names_length_guided_decoding_and_load_where_they_are_told() -> None:
    cell = make_cell()
    plain = cell.label
    assert plain.endswith(f" {cell.workload} c=1")
    long = replace(cell, prompt_tokens=4096, guided=True, arrival="poisson", request_rate=2.5, concurrency=None)
    assert long.label == plain.replace(" c=1", " 4096 in guided poisson 2.5/s")


def test_later_factors_change_the_id_only_where_they_are_used() -> None:
    cell = make_cell()
    others = [
        replace(cell, prompt_tokens=4096),
        replace(cell, guided=True),
        replace(cell, arrival="poisson", request_rate=2.5, concurrency=None),
        replace(cell, arrival="fixed", request_rate=2.5, concurrency=None),
    ]
    assert len({cell.cell_id, *(other.cell_id for other in others)}) == 5
    assert cell.factors().keys().isdisjoint({"arrival", "request_rate", "prompt_tokens", "guided"})
