"""The controller's single thread: one event at a time, each a sequence of steps.

Kafka's controller is single-threaded and waits for ZooKeeper inside its methods. A machine of the
world cannot wait, so an event is written as *steps*. A step may call for further steps; they run in
the order of the calls, and before whatever was to follow the step that called for them, exactly as
nested method calls would:

    step broker_failed  calls  change(partitions, OFFLINE), elect(...), change(replicas, OFFLINE)
    step elect          calls  read states -> decide -> write states   (the thread waits twice)
    ... then change(replicas, OFFLINE)

Meanwhile other events wait in line: that is the `EventQueueTimeMs` of a busy controller. An event is
dropped in the middle (`abandon`) when the broker finds that it is no longer the controller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from broker_core.kernel.node import Node
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.client import ZkClient
from broker_core.zookeeper.errors import Code

Step = tuple[Callable[..., Any], tuple[Any, ...]]


class ControllerThread:
    """Events in line, and the steps of the one under way.

    Invariants
        - while the tree owes an answer no turn is scheduled; else one is, as long as something is left to do
    """

    def __init__(self, node: Node, zk: ZkClient, lost_session: Callable[[], None]) -> None:
        self.node = node
        self.zk = zk
        self.lost_session = lost_session
        self._events: deque[Step] = deque()
        self._steps: list[Step] = []  # the last one is next
        self._called: list[Step] = []  # by the step that is running
        self._waiting = False
        self._scheduled = False
        self._round = 0

    # --- events ----------------------------------------------------------------------------------

    def put(self, method: Callable[..., Any], *args: Any) -> None:
        """A new event, behind those that wait."""
        self._events.append((method, args))
        self._wake()

    def put_once(self, method: Callable[..., Any], *args: Any) -> None:
        """A new event, unless the same one waits already."""
        if (method, args) not in self._events:
            self.put(method, *args)

    def abandon(self, method: Callable[..., Any] | None = None, *args: Any) -> None:
        """Drop what is left of the event under way, and do `method` instead."""
        self._round += 1
        self._steps.clear()
        self._called.clear()
        self._waiting = False
        if method is not None:
            self._steps.append((method, args))
        self._wake()

    # --- inside an event -------------------------------------------------------------------------

    def call(self, method: Callable[..., Any], *args: Any) -> None:
        """Do this next, after what has been called for by the running step so far."""
        self._called.append((method, args))

    def request(self, ops: list[p.Operation], method: Callable[..., Any], *args: Any) -> None:
        """Send operations to the tree behind one another; when all are answered `method(*args, results)`."""
        self.call(self._send, ops, method, args)

    def _send(self, ops: list[p.Operation], method: Callable[..., Any], args: tuple[Any, ...]) -> None:
        if not ops:
            self.call(method, *args, [])
            return
        self._waiting = True
        self.zk.batch(ops, self._answered, (self._round, method, args))

    def _answered(self, context: tuple[int, Callable[..., Any], tuple[Any, ...]], results: list[p.Result]) -> None:
        sent_in, method, args = context
        if sent_in != self._round:
            return
        self._waiting = False
        if any(result.code is Code.SESSIONEXPIRED for result in results):
            self.abandon(self.lost_session)
            return
        self._steps.append((method, (*args, results)))
        self._wake()

    def _wake(self) -> None:
        if not self._scheduled and not self._waiting:
            self._scheduled = True
            self.node.soon(self._run)

    def _run(self) -> None:
        """Do steps until one waits for the tree, or nothing is left."""
        self._scheduled = False
        while not self._waiting and (self._steps or self._events):
            method, args = self._steps.pop() if self._steps else self._events.popleft()
            method(*args)
            self._steps.extend(reversed(self._called))
            self._called.clear()
