"""The server's process tree as this machine sees it: CPU time, memory, and which processes are not of it."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet

import psutil


class ProcessTree:
    """A process and its descendants. Whoever left it takes its CPU time along."""

    def __init__(self, pid: int, *, find: Callable[[int], psutil.Process] = psutil.Process) -> None:
        self._pid = pid
        self._find = find
        self._known: dict[int, psutil.Process] = {}

    @property
    def pids(self) -> frozenset[int]:
        """Its processes when it was last looked through."""
        return frozenset(self._known)

    def look(self) -> None:
        """Find its processes again: reads the whole process table, so it is done seldom. Raises psutil.Error."""
        root = self._find(self._pid)
        found = {process.pid: process for process in (root, *root.children(recursive=True))}
        self._known = {pid: self._known.get(pid, process) for pid, process in found.items()}

    def figures(self) -> tuple[float, int]:
        """Return CPU time (s, since they began) and resident bytes, summed. Raises psutil.Error when none is left.

        In a namespace of its own the server's processes are seen from here by ids of ours. Shared pages count in each.
        """
        cpu_s, rss = 0.0, 0
        for pid, process in list(self._known.items()):
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    cpu_s += times.user + times.system
                    rss += process.memory_info().rss
            except psutil.NoSuchProcess:
                del self._known[pid]
        if not self._known:
            raise psutil.NoSuchProcess(self._pid)
        return cpu_s, rss


def foreign(on_gpu: AbstractSet[int], *, own: AbstractSet[int]) -> int | None:
    """Return how many processes on the GPU are not of the server's tree; None when that cannot be told.

    NVML names processes by the driver's ids. In a container with ids of its own, none of them is one that we know, or
    NVML names none: then the server's cannot be told from another's, and silence would be a guess.
    """
    return len(on_gpu - own) if on_gpu & own else None
