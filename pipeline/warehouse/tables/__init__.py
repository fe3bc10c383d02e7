"""The star schema, by subject. Importing this module fills METADATA."""

from pipeline.warehouse.tables.derived import Speedup, Verdict
from pipeline.warehouse.tables.dimensions import Cell, Engine, Hardware, Method, Model, Workload
from pipeline.warehouse.tables.facts import Block, BlockModel, CellOutcome, ServerStart, Sweep
from pipeline.warehouse.tables.loads import Load, ValidationResult
from pipeline.warehouse.tables.measurements import AcceptancePosition, Measurement, Request, Telemetry
from pipeline.warehouse.tables.metadata import METADATA, Row
from pipeline.warehouse.tables.notes import Annotation, QuarantineDecision
from pipeline.warehouse.tables.results import AaPair, CellResult, SweepResult
from pipeline.warehouse.tables.staging import DOCUMENT, STAGED

__all__ = [
    "DOCUMENT",
    "METADATA",
    "STAGED",
    "AaPair",
    "AcceptancePosition",
    "Annotation",
    "Block",
    "BlockModel",
    "Cell",
    "CellOutcome",
    "CellResult",
    "Engine",
    "Hardware",
    "Load",
    "Measurement",
    "Method",
    "Model",
    "QuarantineDecision",
    "Request",
    "Row",
    "ServerStart",
    "Speedup",
    "Sweep",
    "SweepResult",
    "Telemetry",
    "ValidationResult",
    "Verdict",
    "Workload",
]
