"""`python -m lab.cli COMMAND`: what the start script runs."""

from __future__ import annotations

import sys

from lab.cli.parser import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
