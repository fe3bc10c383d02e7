"""`specwatch verdict`: the answer, cell by cell, from the warehouse."""

from typing import TYPE_CHECKING, Any

from pipeline.cli.output import ratio, say, say_json, share, table
from pipeline.errors import EXIT_DONE
from pipeline.settings import load_settings

if TYPE_CHECKING:
    import pandas as pd

WORDS = {"worth_it": "worth it", "not_worth_it": "not worth it", "undecided": "undecided"}
COLUMNS = (
    "verdict",
    "method",
    "workload",
    "load",
    "latency",
    "decode",
    "throughput",
    "accepted",
    "length",
    "n",
    "P(loss)",
)


def run(arguments: Any) -> int:
    """Print the verdicts, one table for each hardware, engine, target and kind of weights."""
    rows = read_verdicts(arguments.sweep, engine_version=arguments.engine)
    if arguments.json:
        say_json(rows)
        return EXIT_DONE
    if not rows:
        of = f" of sweep {arguments.sweep}" if arguments.sweep else ""
        of = f" with vLLM {arguments.engine}" if arguments.engine else of
        say(f"the warehouse holds no verdict{of}: run `make demo`, or `specwatch bench` and `specwatch ingest`")
        return EXIT_DONE
    show(rows, why=arguments.why)
    return EXIT_DONE


def read_verdicts(sweep_id: str | None, *, engine_version: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of the verdict view as plain values: of `sweep_id`, or the latest of every cell.

    The latest are those with `engine_version`, or with the newest release that each series was planned with.
    """
    from pipeline.steps.warehousing import open_migrated
    from pipeline.warehouse.queries import latest_verdicts, sweep_verdicts

    engine, _ = open_migrated(load_settings())
    if sweep_id:
        return _plain(sweep_verdicts(engine, sweep_id))
    newest = None if engine_version else True
    return _plain(latest_verdicts(engine, engine_version=engine_version, newest_engine=newest))


def _plain(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    return [
        {key: None if not isinstance(value, list) and value != value else value for key, value in row.items()}  # noqa: PLR0124 - only NaN differs from itself
        for row in frame.astype(object).where(frame.notna(), None).to_dict("records")
    ]


def show(rows: list[dict[str, Any]], *, why: bool = False) -> None:
    """Print verdicts; what was not measured has its reason below the table."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = (row["hardware_label"], row["engine_version"], row["target"], row["weights"], row["acceptance"])
        groups.setdefault(key, []).append(row)
    for (hardware, version, target, weights, acceptance), group in groups.items():
        marks = [f"{weights} weights"] * (weights != "real") + [f"{acceptance} acceptance"] * (acceptance != "real")
        title = f"{hardware} · vLLM {version} · {target}" + (f" · {', '.join(marks)}" if marks else "")
        table(COLUMNS, [_cells(row) for row in group], title=title)
        for row in group:
            _below(row, why=why)
        _footnote(group)


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    word = WORDS.get(row["verdict"] or "", row["status"])
    length = row["mean_acceptance_length"]
    return (
        f"{word} (harmful)" if row["harmful"] else word,
        row["method_name"],
        _asked(row),
        _load(row),
        ratio(row["estimate"], row["lower"], row["upper"]),
        ratio(row["decode_speedup"], row["decode_lower"], row["decode_upper"]),
        ratio(row["throughput_speedup"], row["throughput_lower"], row["throughput_upper"]),
        share(row["acceptance_rate"]),
        None if length is None else f"{length:.2f}",
        row["pairs"] and f"{row['pairs']}x{row['repetitions']}",
        share(row["probability_of_loss"]),
    )


def _asked(row: dict[str, Any]) -> str:
    """Name the prompt set, with its nominal input length and guided decoding where it has them."""
    length = f" {row['prompt_tokens']:.0f} in" if row.get("prompt_tokens") is not None else ""
    return f"{row['workload']}{length}{' guided' if row.get('guided') else ''}"


def _load(row: dict[str, Any]) -> str:
    return (
        f"c={row['concurrency']:.0f}" if row["arrival"] == "closed" else f"{row['arrival']} {row['request_rate']:g}/s"
    )


def _below(row: dict[str, Any], *, why: bool) -> None:
    """Say what kept a cell from being measured, and on request why its verdict is what it is."""
    reasons = list(row["reasons"] or ()) if why else []
    if why and row["blocks_to_decide"]:
        reasons.insert(0, f"about {row['blocks_to_decide']:.0f} blocks in all would decide")
    if row["reason"]:
        reasons.insert(0, f"{row['status']}: {row['reason']}")
    if reasons:
        say(f"{row['method_name']} · {_asked(row)} · {_load(row)}")
    for reason in reasons:
        say(f"  {reason}")


def _footnote(group: list[dict[str, Any]]) -> None:
    say("speedups with 95% intervals, above 1 is faster; n = prompts x repetitions; length counts the bonus token")
    if any(row["category"] == "creative" and row["temperature"] == 0 for row in group):
        say("creative ran greedy (temperature 0)")
    if group[0]["hardware_kind"] == "cpu":
        say("measured on a CPU: says nothing about a GPU")
    if any(row["start_variance_source"] == "prior" for row in group):
        say("the variance between server starts is a prior until 10 A/A pairs exist")
