"""Every code of a problem: the registry with all that is declared in it."""

from __future__ import annotations

from broker_core.kernel.problems import (
    codes_of_commands, codes_of_core, codes_of_exercises, codes_of_lab, codes_of_neighbours, codes_of_people,
)  # fmt: skip
from broker_core.kernel.problems.registry import REGISTRY

__all__ = [
    "REGISTRY", "codes_of_commands", "codes_of_core", "codes_of_exercises", "codes_of_lab", "codes_of_neighbours",
    "codes_of_people",
]
