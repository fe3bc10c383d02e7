"""`specwatch plan`: what a matrix would measure. Changes nothing."""

from typing import Any

from pipeline.cli.output import chosen, duration, say, say_json, table
from pipeline.domain.block import Block
from pipeline.errors import EXIT_DONE
from pipeline.plan.remaining import Todo, seconds
from pipeline.steps.planning import expand_matrix, plan_blocks

# Rough figures for the estimate only, by platform: output tokens/s of one stream, s of a server start.
ASSUMED = {"cpu": (25.0, 60.0), "cuda": (60.0, 120.0)}


def run(arguments: Any) -> int:
    """Expand, order, print."""
    expansion = expand_matrix(arguments.matrix, overrides=chosen(arguments))
    _, blocks = plan_blocks(expansion, sweep_id="plan", trigger="cli", planned_at="")
    if arguments.json:
        say_json(_document(blocks, expansion.matrix_hash))
        return EXIT_DONE
    total = 0.0
    for block in blocks:
        total += estimate(block)
        say(f"block {block.block_id}: {len(block.starts)} server starts, about {duration(estimate(block))}")
        rows = [
            (start.index, start.position, start.method.name, len(start.cells), len(start.cells) * block.repetitions)
            for start in block.starts
        ]
        table(("start", "position", "method", "cells", "repetitions"), rows)
        if block.skipped:
            table(
                ("skipped cell", "reason"),
                [(skip.cell.label, skip.reason) for skip in block.skipped],
            )
    cells = sum(len(s.cells) for b in blocks for s in b.starts if s.position == "arm")
    skipped = sum(len(block.skipped) for block in blocks)
    say(f"{cells} speculative cells to measure, {skipped} skipped; about {duration(total)} (an estimate)")
    return EXIT_DONE


def estimate(block: Block) -> float:
    """Return an estimate of the block's time in s, from assumed speeds."""
    tokens_per_s, start_s = ASSUMED[block.engine.platform]
    todo = [
        Todo(start=s, attempt=1, repetitions=tuple((c, r) for c in s.cells for r in range(block.repetitions)))
        for s in block.starts
    ]
    return seconds(todo, tokens_per_s=tokens_per_s, start_s=start_s)


def _document(blocks: list[Block], matrix_hash: str) -> dict[str, Any]:
    return {
        "matrix_hash": matrix_hash,
        "blocks": [
            {
                "block_id": block.block_id,
                "engine": block.engine.engine_id,
                "target": block.target.name,
                "estimated_s": round(estimate(block)),
                "starts": [
                    {
                        "index": start.index,
                        "position": start.position,
                        "method": start.method.name,
                        "cells": [cell.as_json() for cell in start.cells],
                    }
                    for start in block.starts
                ],
                "skipped": [{"cell": skip.cell.as_json(), "reason": skip.reason} for skip in block.skipped],
            }
            for block in blocks
        ],
    }
