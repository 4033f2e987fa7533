"""Where the program is, and where it puts what its users make.

| | in a checkout | installed (`pip install`) |
|---|---|---|
| packages | beside pyproject.toml | site-packages |
| static/, docs/, requirements/ | beside them | in web/shipped/ (pyproject.toml puts them into the wheel) |
| a lab's data without `--data` | brokerlab-data/ | $XDG_DATA_HOME/brokerlab, ~/.local/share/brokerlab without it |
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""What has to be on sys.path of a process of ours."""
INSTALLED = not (ROOT / "pyproject.toml").is_file()
FILES = ROOT / "web" / "shipped" if INSTALLED else ROOT
"""Where static/, docs/ and requirements/ are."""


def home() -> Path:
    """The directory of the lab of whoever says nothing else."""
    if not INSTALLED:
        return ROOT / "brokerlab-data"
    given = os.environ.get("XDG_DATA_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".local" / "share") / "brokerlab"
