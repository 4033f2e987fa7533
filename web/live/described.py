"""What a lab beside the server's own is built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, frozen=True)
class Described:
    """`place` says the ports, `owner` whose it is ("" is whoever may do everything)."""

    name: str
    place: int
    cluster: dict[str, Any]
    seed: int
    owner: str = ""
