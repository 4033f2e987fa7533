"""Commands of the admin client that move replicas: `kafka-reassign-partitions` with --execute, --cancel and --verify.

A command without a throttle is one request. With one it takes several, as does what takes the throttle away again
(`throttled_moves`).
"""

from __future__ import annotations

from typing import Any

from broker_core.clients import admin_requests as requests
from broker_core.clients.admin_questions import Admin
from broker_core.clients.admin_requests import CONTROLLER, AdminCall, Target
from broker_core.clients.throttled_moves import ThrottledMove, ThrottledReassignment, Verification
from broker_core.wire.apis import ApiKey


class MoveCommands(Admin):
    """What an admin client can do about where replicas are. Each method returns the number of its command."""

    def reassign(
        self, topic: str, partition: int, replicas: list[int] | None, throttle: int | None = None
    ) -> int:
        """Other replicas, the first one preferred as leader; None cancels a move that is under way. `throttle`: bytes
        per second, for this move and all that are under way; the same replicas again set another one."""
        body = requests.reassign(topic, partition, replicas, self.settings.request_timeout_ms)
        do = "cancel_reassignment" if replicas is None else "reassign"
        what = {"do": do, "topic": topic, "partition": partition}
        if replicas is None or throttle is None:
            return self._begin(ApiKey.ALTER_PARTITION_REASSIGNMENTS, body, CONTROLLER, what)
        call = self._new(ApiKey.ALTER_PARTITION_REASSIGNMENTS, body, (topic, partition), what)
        ThrottledReassignment(self, call, (topic, partition), replicas, throttle).start()
        return int(call.what["id"])

    def move_replica(
        self, broker: int, topic: str, partition: int, directory: str, throttle: int | None = None
    ) -> int:
        """To another log directory of its broker; a replica that comes later will lie there. `throttle`: bytes per
        second, for all that moves between directories of this broker."""
        body = requests.move_replica(topic, partition, directory)
        what = {"do": "move_replica", "broker": broker, "topic": topic, "partition": partition, "directory": directory}
        if throttle is None:
            return self._begin(ApiKey.ALTER_REPLICA_LOG_DIRS, body, broker, what)
        call = self._new(ApiKey.ALTER_REPLICA_LOG_DIRS, body, broker, what)
        ThrottledMove(self, call, broker, throttle).start()
        return int(call.what["id"])

    def verify_reassignment(self, topic: str) -> int:
        """When nothing of the topic moves any more, and no replica of the cluster to another broker, the throttles of
        all brokers and of the topic go."""
        call = self._new(
            ApiKey.INCREMENTAL_ALTER_CONFIGS, None, (topic, 0), {"do": "verify_reassignment", "topic": topic}
        )
        Verification(self, call, topic).start()
        return int(call.what["id"])

    def _begin(self, api: int, body: Any, target: Target, what: dict[str, Any]) -> int:
        raise NotImplementedError

    def _new(self, api: int, body: Any, target: Target, what: dict[str, Any]) -> AdminCall:
        raise NotImplementedError
