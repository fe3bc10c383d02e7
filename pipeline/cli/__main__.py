"""`python -m pipeline.cli`: the command where no script of its name is installed."""

import sys

from pipeline.cli import main

sys.exit(main())
