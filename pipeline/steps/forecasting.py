"""What a plan knows beforehand: the accelerator, sizes of models, lengths of prompts, and what earlier runs took."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from pipeline.domain.block import Block
from pipeline.domain.hardware import Hardware
from pipeline.domain.model import Model, Shape
from pipeline.errors import EnvironmentFault, SpecwatchError
from pipeline.logs import log
from pipeline.matrix.expand import Expansion
from pipeline.models.resolve import locate
from pipeline.models.shapes import shape_of
from pipeline.plan.budget import History
from pipeline.plan.estimate import GIGA, Accelerator, Clock, Recorded
from pipeline.records.block import complete_repetitions, measured_cells, read_block, read_hosts, read_starts, read_sweep
from pipeline.records.layout import BLOCK_FILE, SWEEP_FILE
from pipeline.settings import Settings
from pipeline.telemetry.hardware import find_hardware

CHARACTERS_PER_TOKEN = 4
RECENT_SWEEPS = 5  # whose records an estimate rests on
TERA = 1e12
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Forecast:
    """Everything a plan rests on, and where each model lies (None: not on this machine yet)."""

    clock: Clock
    places: dict[Model, Path | None]

    def shape(self, model: Model) -> Shape | None:
        """Return the model's sizes, as far as they are known."""
        return self.clock.shapes.get(model.source)


def forecast(expansion: Expansion, *, settings: Settings) -> Forecast:
    """Gather it. Asks no network and writes nothing."""
    places = {model: locate(model, root=settings.models) for model in models_of(expansion)}
    shapes = {model.source: shape_of(model, directory=place) for model, place in places.items()}
    accelerator = accelerator_of(expansion)
    clock = Clock(
        accelerator=accelerator,
        shapes={source: shape for source, shape in shapes.items() if shape is not None},
        prompt_tokens={
            workload.workload_id: workload.prompt_tokens
            or round(
                fmean(sum(len(text) for _, text in prompt.messages) for prompt in workload.prompts)
                / CHARACTERS_PER_TOKEN
            )
            for workload in expansion.workloads
        },
        recorded=recorded(settings, accelerator=accelerator),
    )
    return Forecast(clock=clock, places=places)


def models_of(expansion: Expansion) -> list[Model]:
    """Return every target and draft once, in the order of the matrix."""
    found: dict[Model, None] = {}
    for group in expansion.groups:
        found.setdefault(group.target)
        for method, _ in group.arms:
            if method.draft:
                found.setdefault(method.draft)
    return list(found)


def accelerator_of(expansion: Expansion) -> Accelerator | None:
    """Return what the matrix states, or what this machine has; None where neither says it."""
    stated = expansion.hardware
    if stated:
        bandwidth, tflops = stated.memory_bandwidth_gb_per_s, stated.dense_tflops
        return Accelerator(
            name=stated.name,
            memory_bytes=int(stated.memory_gib * GIB),
            bandwidth_bytes_per_s=None if bandwidth is None else bandwidth * GIGA,
            dense_flops=None if tflops is None else tflops * TERA,
        )
    try:
        found = find_hardware(wanted=expansion.groups[0].engine.platform)
    except EnvironmentFault:
        return None
    return Accelerator(name=found.label, memory_bytes=found.memory_bytes)


def hardware_of(expansion: Expansion) -> Hardware | None:
    """Return the GPU that the registry is asked about: the stated one, or the one here; None where neither is."""
    stated = expansion.hardware
    if stated is None:
        try:
            return find_hardware(wanted=expansion.groups[0].engine.platform)
        except EnvironmentFault:
            return None
    return Hardware(
        kind="gpu",
        name=stated.name,
        architecture=None,
        compute_capability=stated.compute_capability,
        accelerators=1,
        memory_bytes=int(stated.memory_gib * GIB),
        driver_version=None,
        cuda_version=None,
        host_cpu="",
        logical_cpus=0,
    )


def recorded(settings: Settings, *, accelerator: Accelerator | None) -> Recorded:
    """Return what the newest sweeps on the same hardware took; medians."""
    windows: dict[str, list[float]] = {}
    starts: dict[tuple[str, str], list[float]] = {}
    for directory, block in _blocks(settings, newest=RECENT_SWEEPS):
        with suppress(SpecwatchError):  # what is damaged tells nothing
            if not any(_is_same(host.hardware, accelerator) for host in read_hosts(directory)):
                continue
            for series_id, took in _windows(directory, block):
                windows.setdefault(series_id, []).append(took)
            ready = [start.ready_s for start in read_starts(directory) if start.ready_s is not None]
            starts.setdefault((block.engine.platform, block.target.name), []).extend(ready)
    return Recorded(
        window_s={key: median(values) for key, values in windows.items()},
        start_s={key: median(values) for key, values in starts.items() if values},
    )


def _windows(directory: Path, block: Block) -> Iterator[tuple[str, float]]:
    series = {cell.cell_id: cell.series_id for start in block.starts for cell in start.cells}
    for _, manifest in complete_repetitions(directory):
        if manifest.cell_id in series:
            yield series[manifest.cell_id], manifest.ended_at_s - manifest.started_at_s


def history(settings: Settings) -> History | None:
    """Return what earlier nights measured and left undecided; None before the first. One file a block is read."""
    measured: dict[str, str] = {}
    engines = set()
    for directory, block in _blocks(settings, newest=None):
        with suppress(SpecwatchError):
            for cell_id, at in measured_cells(directory):
                engines.add(block.engine.engine_id)
                measured[cell_id] = max(at, measured.get(cell_id, ""))
    undecided = _undecided(settings)
    if not measured and not undecided:
        return None
    return History(engines=frozenset(engines), measured_at=measured, undecided=undecided)


def _undecided(settings: Settings) -> frozenset[str]:
    """Ask the warehouse of WAREHOUSE_URL; a plan does not wait for, start or fail with a database."""
    if not settings.warehouse_url:
        return frozenset()
    from pipeline.warehouse.database import open_warehouse
    from pipeline.warehouse.queries import undecided_cells

    try:
        return undecided_cells(open_warehouse(settings.warehouse_url))
    except SpecwatchError as error:
        log.warning(f"planned without earlier verdicts: {error}")
        return frozenset()


def _blocks(settings: Settings, *, newest: int | None) -> Iterator[tuple[Path, Block]]:
    """Yield the blocks of the newest sweeps (None: of all); a damaged one tells nothing and stops no plan."""
    files = settings.runs.glob(f"*/{SWEEP_FILE}")
    sweeps = sorted((path.parent for path in files), key=lambda path: path.stat().st_mtime, reverse=True)
    for sweep in sweeps[:newest]:
        try:
            names = read_sweep(sweep).blocks
            found = [(sweep / name, read_block(sweep / name)) for name in names if (sweep / name / BLOCK_FILE).exists()]
        except SpecwatchError:
            continue
        yield from found


def _is_same(hardware: Hardware, accelerator: Accelerator | None) -> bool:
    """A stated name such as `RTX PRO 6000 Blackwell` is part of the name that NVML gives."""
    return accelerator is not None and (hardware.label == accelerator.name or accelerator.name in hardware.name)
