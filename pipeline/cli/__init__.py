"""`specwatch`: the same steps for a person, one verb a stage."""

import os
import sys

from pipeline.cli.parser import make_parser
from pipeline.errors import EXIT_DONE, EXIT_ENVIRONMENT, SpecwatchError

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 2 user error, 3 environment, 4 gate failed."""
    arguments = make_parser().parse_args(argv)
    try:
        return _run(arguments.module, arguments)
    except SpecwatchError as error:
        from pipeline.logs import redact, secrets_of

        print(f"specwatch: {redact(str(error), secrets_of(os.environ))}", file=sys.stderr)  # noqa: T201 - the command line prints
        return error.exit_code
    except KeyboardInterrupt:
        print("specwatch: interrupted; run it again to continue", file=sys.stderr)  # noqa: T201 - the command line prints
        return EXIT_ENVIRONMENT
    except BrokenPipeError:  # `specwatch verdict | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE


def _run(module: str, arguments: object) -> int:
    from importlib import import_module

    from pipeline.logs import configure

    configure()
    code: int = import_module(f"pipeline.cli.{module}").run(arguments)
    return code
