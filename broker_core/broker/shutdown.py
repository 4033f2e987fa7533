"""A controlled end of a broker (KAFKA-340): its leaders move away first.

    ControlledShutdown to the controller -> it moves the leaders -> answer: partitions that remain
      none remain, or tried `controlled.shutdown.max.retries` times -> stop replicas, close logs, leave

Three other ends are not this: crash (nothing is closed), pause (alive but silent), power loss (what
was not flushed is gone).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


class ControlledShutdown:
    """The steps of one broker's end."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.begun = False
        self._tries_left = 0

    def begin(self) -> None:
        """Asked to stop."""
        if self.begun:
            return
        self.begun = True
        config = self.broker.config
        if not self.broker.ready or not config["controlled.shutdown.enable"]:
            self._end()
            return
        self._tries_left = config["controlled.shutdown.max.retries"]
        self._ask()

    def _ask(self) -> None:
        self._tries_left -= 1
        self.broker.link.controlled_shutdown(self._answered, None)

    def _answered(self, context: None, response: Any) -> None:
        moved = response is not None and response.error_code == ErrorCode.NONE
        if (moved and not response.remaining_partitions) or self._tries_left <= 0:
            self._end()
        else:
            backoff_ms = self.broker.config["controlled.shutdown.retry.backoff.ms"]
            self.broker.node.after(backoff_ms * 1000, self._ask)

    def _end(self) -> None:
        broker = self.broker
        if broker.ready:
            broker.groups.shut_down()
            broker.replicas.stop()
            broker.log_manager.shut_down(broker.node.wall_ms())
        broker.zk.close()
        broker.node.exit()
