"""The project's own files, as the rules of the house look at them."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PRODUCT = ("broker_core", "lab", "web", "cli")


@cache
def files(*suffixes: str) -> tuple[Path, ...]:
    """All files of the project with these suffixes that git knows or would add, without generated ones."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=CHECKOUT,
                            capture_output=True, text=True, check=True).stdout.split("\n")
    found = [CHECKOUT / name for name in sorted(set(listed)) if name.endswith(suffixes)]
    return tuple(path for path in found if path.is_file())


def product() -> list[Path]:
    """Python files of the product itself."""
    return [path for path in files(".py") if path.relative_to(CHECKOUT).parts[0] in PRODUCT]


def core() -> list[Path]:
    """Python files of the broker core that stay away from real input and output."""
    return [path for path in product() if path.relative_to(CHECKOUT).parts[:2] != ("broker_core", "drivers")
            and path.relative_to(CHECKOUT).parts[0] == "broker_core"]


def name(path: Path) -> str:
    return str(path.relative_to(CHECKOUT))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))
