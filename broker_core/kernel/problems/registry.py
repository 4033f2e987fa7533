"""Every code of a problem: one documented registry.

A code says what is wrong, its parameters with what; the sentence stands in the catalogues. Codes are grouped by the
packages that find them, which a test compares with the code of these packages. What a parameter means stands in
`parameters`, the codes in `codes_of_core`, `codes_of_lab`, `codes_of_exercises`, `codes_of_neighbours` and
`codes_of_commands`. Whatever may become longer, or is written by a person, is a parameter and never a part of the code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broker_core.kernel.problems.parameters import PARAMETERS


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of problem: its parameters in the order of the English sentence, and the packages that find it."""

    name: str
    params: tuple[str, ...]
    packages: tuple[str, ...]
    sorted_params: tuple[str, ...]


REGISTRY: dict[str, Code] = {}


def found_in(*packages: str) -> Callable[..., None]:
    """Declares codes of these packages: name="its parameters, with a space between them"."""

    def declare(**codes: str) -> None:
        for name, params in codes.items():
            if name in REGISTRY:
                raise ValueError(f"problem {name} is declared twice")
            names = tuple(params.split())
            if not PARAMETERS.keys() >= set(names):
                raise ValueError(f"problem {name} has a parameter that is not described: {params}")
            REGISTRY[name] = Code(name, names, packages, tuple(sorted(names)))

    return declare
