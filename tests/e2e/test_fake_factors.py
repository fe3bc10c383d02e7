"""The factors of a matrix on the fake vLLM, to the verdict: open loop, conversations, guided decoding, a long input."""

from pathlib import Path

from sqlalchemy import text

from pipeline import steps
from pipeline.warehouse.database import open_warehouse
from tests.e2e.conftest import quiet, sweep
from tests.support.fake_matrix import make_fake_matrix

FACTORS = {
    "workloads: [structured]": "workloads: [json, chat, rag]\nprompt_tokens: 1024\nguided: [false, true]",
    "output_tokens: 16": "output_tokens: 8",
    "concurrency: [1, 2]": "concurrency: [1]\narrivals: [{process: poisson, rate_per_s: 20}]",
    "repetitions: 2": "repetitions: 1",
    "  - name: draft-k3\n    method: draft_model\n    draft: draft\n    num_speculative_tokens: 3\n": "",
    "  enforce_eager: true": "  enforce_eager: true\n  max_model_len: 2048",
}


def test_every_factor_reaches_its_verdict(tmp_path: Path, home: Path, database_url: str) -> None:
    planned = sweep(make_fake_matrix(tmp_path, changes=FACTORS))
    for block in planned["blocks"]:
        load = steps.ingest_block(block, report=quiet)
        assert (load["state"], load["quarantined"]) == ("published", {})
    steps.analyze_sweep(planned["sweep_id"], report=quiet)
    with open_warehouse(database_url).connect() as connection:
        columns = "workload, arrival, concurrency, request_rate, prompt_tokens, guided"
        found = connection.execute(text(f"select {columns}, throughput_speedup from warehouse.latest_verdicts")).all()
    loads = [("closed", 1, None), ("poisson", None, 20.0)]
    sets = [("json", None, False), ("json", None, True), ("chat", None, False), ("rag", 1024, False)]
    wanted = {(name, *load, nominal, guided) for name, nominal, guided in sets for load in loads}
    assert {tuple(row[:6]) for row in found} == wanted
    # the rate of arrival sets the throughput of an open loop
    assert {row.arrival: row.throughput_speedup is None for row in found} == {"closed": False, "poisson": True}
