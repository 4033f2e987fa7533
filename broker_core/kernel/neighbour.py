"""A neighbour: another cluster in the same world, on the same ensemble, apart from everything else.

It shares with the world's own cluster the clock, the network and the servers of the coordination tree; its chroot there
is the only border. Its processes are called `payments/broker-1` (`kernel.names`) and tell what they do in a journal of
their own:

| | the world's own cluster | a neighbour |
|---|---|---|
| `world.nodes`, clients from outside | yes | no |
| state transitions | the world's journal | its own journal |
| messages and details | by the run's record level | not recorded |
| what its clients did | the world's operations | counted only |
| what it asks of the tree | told by the servers, in the world's journal | the same: the servers tell it |

So whoever reads the world's journal (receipt, checkers, tables, story) reads of one cluster, and of the neighbours what
the ensemble knows of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.kernel.events import LEVEL_NAMES, TRANSITION
from broker_core.kernel.journal import Journal, OperationLog

if TYPE_CHECKING:
    from broker_core.kernel.node import Node


class Neighbour:
    """One of them: its processes by their whole names, and what is recorded of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: dict[str, Node] = {}
        self.journal = Journal(LEVEL_NAMES[TRANSITION])
        self.operations = OperationLog()
        self.operations.keep = False
