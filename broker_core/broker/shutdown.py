"""A controlled end of a broker (KAFKA-340): its leaders move away first.

    the controller is asked (ControlledShutdown; with KRaft a heartbeat) -> it moves the leaders -> answer: what remains
      nothing remains, or tried `controlled.shutdown.max.retries` times -> stop replicas, close logs, leave

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
        # With KRaft the controller says when, and nobody asks twice.
        self._tries_left = config["controlled.shutdown.max.retries"] if self.broker.mode == "zookeeper" else 1
        self._ask()

    def _ask(self) -> None:
        self._tries_left -= 1
        self.broker.cluster.controlled_shutdown(self._answered, None)

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
            for coordinator in broker.coordinators.values():
                coordinator.shut_down()
            broker.replicas.stop()
            broker.log_manager.shut_down(broker.cluster.epoch_of_clean_end())
        broker.cluster.leave(broker.node.exit)
