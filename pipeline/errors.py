"""One base for every error that a person meets, and the exit code each kind maps to.

A message names what (which cell, file or key), what happened, and what to do next. The cause is kept with `from`.
"""

EXIT_DONE = 0
EXIT_BUG = 1
EXIT_USER = 2
EXIT_ENVIRONMENT = 3
EXIT_GATE = 4


class SpecwatchError(Exception):
    """Base of every error the product raises on purpose; `exit_code` is what the command line returns."""

    exit_code = EXIT_BUG


class UserError(SpecwatchError):
    """Something the person wrote cannot be done as written: a matrix, a flag, a path."""

    exit_code = EXIT_USER


class EnvironmentFault(SpecwatchError):
    """The machine cannot do it now: no disk, no database, a port taken, an engine that does not install."""

    exit_code = EXIT_ENVIRONMENT


class GateFailed(SpecwatchError):
    """Data was measured and refused: a cell failed, or a validation did not hold."""

    exit_code = EXIT_GATE
