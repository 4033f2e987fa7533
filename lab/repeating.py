"""A fork repeats what was done in its parent behind the moment at which it begins.

    0001      ... | kill broker 2 at 12.0 s | restart it at 15.0 s | 20 s
    0001-1    forked at 10 s, with another setting: broker 2 is killed at 12.0 s there, too, and comes back at 15.0 s

Only commands are repeated, each at its own time of the cluster: what was done on purpose. What clients from outside
have sent belongs to connections that the fork does not have. With nothing else changed, and without such clients, the
fork does again what its parent did, byte for byte.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from broker_core.drivers.recording import Recording
from broker_core.kernel.inputs import Command

MOST = 10_000


def later_commands(inputs: Path, position: int) -> list[tuple[int, dict[str, Any]]]:
    """(time, command) from a place of a recording on, in their order; at most `MOST`."""
    found: list[tuple[int, dict[str, Any]]] = []
    for head, item in Recording(inputs, position):
        if isinstance(item, Command):
            found.append((head["t"], item.command))
            if len(found) == MOST:
                break
    return found
