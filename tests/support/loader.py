"""A loader as a process of its own: `python -m tests.support.loader URL whole BLOCK...` or `... killed BLOCK=POINT...`.

A point is a number n of a statement: the process is ended by SIGKILL right before the loader's n-th one, or for
`copy`, while its requests are being copied.
"""

import os
import signal
import sys
from collections.abc import Iterator

from sqlalchemy import Engine, event

from pipeline.domain.measurement import RepetitionKey
from pipeline.domain.request import RequestRow
from pipeline.warehouse.database import open_warehouse
from pipeline.warehouse.load import BlockLoad, stage
from pipeline.warehouse.publish import publish
from tests.support import warehouse as build

MID_COPY = "copy"


def load_of(block_id: str) -> BlockLoad:
    return build.block_load(build.block(block_id=block_id))


def load(engine: Engine, block: BlockLoad) -> None:
    publish(engine, stage(engine, block))


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed(url: str, block_id: str, point: str) -> None:
    """Load a block and die at `point`, in a process of its own."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, f"{block_id} ended by itself"
        return
    engine, block, seen = open_warehouse(url), load_of(block_id), 0

    def requests() -> Iterator[tuple[RepetitionKey, RequestRow]]:
        yield from list(block.requests)[:3]
        end()

    @event.listens_for(engine, "before_cursor_execute")
    def _count(*_: object) -> None:
        nonlocal seen
        seen += 1
        if point.isdigit() and seen == int(point):
            end()

    try:
        load(engine, build.replace(block, requests=requests()) if point == MID_COPY else block)
        os._exit(0)
    finally:
        os._exit(1)


def main(url: str, mode: str, blocks: list[str]) -> None:
    if mode == "whole":
        for block_id in blocks:
            load(open_warehouse(url), load_of(block_id))
        return
    for entry in blocks:
        block_id, _, point = entry.partition("=")
        killed(url, block_id, point)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
