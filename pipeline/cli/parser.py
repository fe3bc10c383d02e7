"""The command line as argparse: it starts in tens of ms, and each command imports only what it needs."""

import argparse
from typing import TYPE_CHECKING

MARGIN_HELP = "the speedup from which it counts as worth it (default 1.05)"


def make_parser() -> argparse.ArgumentParser:
    """Return the parser; every command sets `module`, the module of pipeline.cli that runs it."""
    parser = argparse.ArgumentParser(
        prog="specwatch",
        description="Is speculative decoding worth it? Measure it, keep it, read the verdict.",
        epilog="Exit codes: 0 done, 2 user error, 3 environment, 4 gate failed.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _measuring(commands)
    _warehouse(commands)
    _system(commands)
    return parser


if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name for it


def _add(commands: "Commands", name: str, module: str, text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    command.set_defaults(module=module, command=name)
    command.add_argument("--json", action="store_true", help="print JSON on standard output")
    return command


def _choices(command: argparse.ArgumentParser) -> None:
    command.add_argument("--methods", nargs="+", metavar="NAME", help="only these methods of the matrix")
    command.add_argument("--workloads", nargs="+", metavar="NAME", help="only these workloads of the matrix")
    command.add_argument("--concurrencies", nargs="+", type=int, metavar="N", help="these instead of the matrix's")
    command.add_argument(
        "--arrivals", nargs="+", metavar="P:RATE", help="open loops instead, such as poisson:4 (per s)"
    )
    command.add_argument("--prompt-tokens", nargs="+", metavar="N", help="these nominal input lengths instead")
    command.add_argument("--output-tokens", nargs="+", metavar="N", help="these instead; `stated`: the workload's own")
    command.add_argument("--temperatures", nargs="+", metavar="T", help="these instead; `stated`: the workload's own")
    command.add_argument("--engine-versions", nargs="+", metavar="V", help="these vLLM releases instead")
    command.add_argument("--repetitions", type=int, metavar="N", help="this many instead")


def _measuring(commands: "Commands") -> None:
    _add(commands, "doctor", "doctor", "what this machine can do, and what is missing")
    plan = _add(commands, "plan", "plan", "cells, blocks, skipped cells with reasons, time; changes nothing")
    plan.add_argument("matrix")
    _choices(plan)
    bench = _add(commands, "bench", "bench", "measure a matrix into run directories; continues what is unfinished")
    bench.add_argument("matrix")
    bench.add_argument("--runs", metavar="PATH", help="where run directories go (default: SPECWATCH_RUNS)")
    bench.add_argument("--new", action="store_true", help="begin a new sweep even if one is unfinished")
    bench.add_argument("--sweep", metavar="ID", help="begin or continue the sweep of this id")
    _choices(bench)
    engines = _add(commands, "engines", "engines", "vLLM releases: their environments and what they can do")
    engines.add_argument("action", choices=["list", "install", "show", "resolve", "prune"])
    engines.add_argument("version", nargs="?", help="a release (0.32.0), latest, last 5, or a range (>=0.27,<0.33)")
    engines.add_argument("--platform", choices=["cpu", "cuda"], help="default: cuda where a GPU is, else cpu")
    engines.add_argument("--methods", nargs="+", metavar="M", help="install: also the packages that these methods need")
    engines.add_argument("--days", type=float, default=30, metavar="N", help="prune: keep what was used since")
    engines.add_argument("--keep", nargs="+", metavar="V", help="prune: keep these, beside those that matrices name")
    engines.add_argument("--dry-run", action="store_true", help="prune: only say what would go")
    workloads = _add(
        commands, "workloads", "workloads", "the prompt sets: what they state, how long they are, their text"
    )
    workloads.add_argument("action", choices=["list", "show"])
    workloads.add_argument("name", nargs="?")
    workloads.add_argument("--target", metavar="DIR", help="count in the tokens of the model at DIR")
    workloads.add_argument("--prompt-tokens", type=int, metavar="N", help="of a set that comes in lengths: this one")


def _warehouse(commands: "Commands") -> None:
    ingest = _add(commands, "ingest", "ingest", "measure, validate and publish run directories; twice changes nothing")
    ingest.add_argument("paths", nargs="+", metavar="PATH", help="a sweep's or a block's run directory")
    ingest.add_argument("--margin", type=float, help=MARGIN_HELP)
    analyze = _add(commands, "analyze", "analyze", "recompute speedups and verdicts")
    analyze.add_argument("sweeps", nargs="*", metavar="SWEEP", help="default: every sweep in the warehouse")
    analyze.add_argument("--margin", type=float, help=MARGIN_HELP)
    verdict = _add(commands, "verdict", "verdict", "the latest verdict of every cell, with its newest vLLM")
    which = verdict.add_mutually_exclusive_group()
    which.add_argument("--sweep", metavar="ID", help="of this sweep instead")
    which.add_argument("--engine", metavar="VERSION", help="with this vLLM release instead")
    verdict.add_argument("--why", action="store_true", help="print the reasons, too")
    export = _add(commands, "export", "export", "tables and views of the warehouse as Parquet, CSV or JSON lines")
    export.add_argument("name", nargs="?", metavar="NAME", help="a table or view, such as verdicts")
    export.add_argument("--list", action="store_true", help="say what there is, a line each")
    export.add_argument("--all", metavar="DIRECTORY", help="everything, of one moment, a file each")
    export.add_argument("--format", choices=["parquet", "csv", "json"], help="default: by the file's ending, else CSV")
    export.add_argument("--where", action="append", metavar="KEY=VALUE", help="sweep=, version=, hardware= or a column")
    export.add_argument("-o", "--output", metavar="FILE", help="a file, or - for standard output (default)")
    _database(commands)


def _database(commands: "Commands") -> None:
    text = "the warehouse: start or stop the embedded one, migrate, back up, restore, print its address"
    database = commands.add_parser("db", help=text, description=text)
    actions = database.add_subparsers(metavar="ACTION", dest="action", required=True)
    _add(actions, "up", "db", "start the embedded one, at this release's schema")
    _add(actions, "down", "db", "stop the embedded one")
    _add(actions, "migrate", "db", "bring it to this release's schema")
    _add(actions, "url", "db", "print its address, password included")
    _add(actions, "check", "db", "look for rows that must not be there")
    roles = _add(actions, "roles", "db", "make owner, writer, reader and annotator, or print the SQL that does")
    roles.add_argument("--login", choices=["writer", "reader", "annotator"], help="let this one log in")
    roles.add_argument("--password-file", metavar="FILE", help="with the password in this file")
    backup = _add(actions, "backup", "db", "write it to one file, with counts and checksums")
    backup.add_argument("file", nargs="?", metavar="FILE", help="default: a dated file in SPECWATCH_HOME/backups")
    restore = _add(actions, "restore", "db", "put a backup into an empty database; proven by checksums")
    restore.add_argument("file", metavar="FILE")
    restore.add_argument("--into", metavar="NAME", help="into this database of the same server, made if need be")
    restore.add_argument("--replace", action="store_true", help="in place of the rows that are there")
    retention = _add(actions, "retention", "db", "drop requests by whole months, and what is left of old loads")
    retention.add_argument("--requests-days", type=int, default=180, metavar="N", help="days after a month's end (180)")
    retention.add_argument("--dry-run", action="store_true", help="only say what would go")


def _system(commands: "Commands") -> None:
    _add(commands, "up", "system", "start database, Airflow, edge worker and dashboard on this machine")
    _add(commands, "down", "system", "end everything that `up` started, and nothing else")
    _add(commands, "status", "system", "what runs, where, and whether it works")
    trigger = _add(commands, "trigger", "trigger", "start a DAG run through Airflow's REST API and follow it")
    trigger.add_argument("which", choices=["nightly", "adhoc"])
    trigger.add_argument("--matrix", help="matrix file (default: the DAG's own)")
    trigger.add_argument("--no-wait", action="store_true", help="print the run id and return")
    _choices(trigger)
    demo = _add(commands, "demo", "demo", "up, one real sweep of matrices/smoke.yaml, the verdicts, the dashboard")
    demo.add_argument("--matrix", default="matrices/smoke.yaml")
    demo.add_argument("--detach", action="store_true", help="leave everything running and return at the end")
