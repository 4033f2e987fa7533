"""What a lab beside the server's own is built from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, frozen=True)
class Described:
    """`place` says the ports, `owner` whose it is ("" is whoever may do everything), `limits` what it may take
    (`lab.limits`)."""

    name: str
    place: int
    cluster: dict[str, Any]
    seed: int
    owner: str = ""
    limits: dict[str, int] = field(default_factory=dict)
