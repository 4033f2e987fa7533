"""What members have in common whose group is assigned by the broker (KIP-848, KIP-932): heartbeats that carry it all.

    look for the coordinator --> heartbeat --> the answer says when the next one is due
             ^                       |
             +-- it has moved, is gone, does not answer

One heartbeat at most is under way. Joining, moving towards an assignment and leaving are what the heartbeats say; which
that is, and what an answer means, is each kind's own (`converging_member`, `share_member`).
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

from broker_core.clients.backoff import backoff_us
from broker_core.clients.connections import Connections, error_of
from broker_core.clients.metadata import Metadata
from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node, Timer
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import NONE, ErrorCode

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2
GROUP = 0  # FindCoordinator's key type
LOST = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
PASSING = (*LOST, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)
FIRST_INTERVAL_MS = 1000


class HeartbeatMember:
    """A member of a group, as its client sees it. `settings` has a `group_id`; kinds have `API`, `NAME`.

    - `epoch` 0: not a member, or not yet.
    - `gone`: it does not want to be one now.
    """

    API: ApiKey
    NAME: str

    def __init__(self, node: Node, settings: Any, connections: Connections, metadata: Metadata) -> None:
        self.node = node
        self.settings = settings
        self.connections = connections
        self.metadata = metadata
        self.member_id = urlsafe_b64encode(node.uuid().bytes).rstrip(b"=").decode()  # as Kafka writes a Uuid
        self.epoch = JOIN_EPOCH
        self.coordinator: str | None = None
        self.gone = True
        self._interval_ms = FIRST_INTERVAL_MS
        self._asking = False
        self._attempts = 0
        self._timer: Timer | None = None

    # -- what a kind says and hears ---------------------------------------------------------
    def _request(self, epoch: int) -> Any:
        """The heartbeat."""
        raise NotImplementedError

    def _heard(self, response: Any) -> None:
        """An answer without an error."""
        raise NotImplementedError

    def _refused(self, error: ErrorCode) -> None:
        """An answer with one; one that never came is COORDINATOR_NOT_AVAILABLE."""
        raise NotImplementedError

    def _coordinator_found(self) -> None:
        """Others may have waited for it."""

    # -- asking -----------------------------------------------------------------------------
    def _beat(self) -> None:
        self._timer = None
        if self.gone or self._asking:
            return
        if self.coordinator is None:
            self._find()
            return
        self._asking = True
        request = self._request(self.epoch)
        self.connections.call(self.coordinator, self.API, request, self._answered, self.epoch)

    def _find(self) -> None:
        dest = self.metadata.any_broker()
        if dest is None:
            self._later()
            return
        self._asking = True
        group = self.settings.group_id
        body = m.FindCoordinatorRequest(key_type=GROUP, key=group, coordinator_keys=[group])
        self.connections.call(dest, ApiKey.FIND_COORDINATOR, body, self._found, dest)

    def _found(self, dest: str, response: Any) -> None:
        self._asking = False
        if response is None:
            self.connections.failed(dest)
            self._later()
            return
        found = response.coordinators[0] if response.coordinators else response
        if found.error_code:
            self._later()
            return
        self.coordinator = broker_node(found.node_id)
        self._attempts = 0
        self._coordinator_found()
        self._beat()

    def lose_coordinator(self) -> None:
        """It has moved, or is gone."""
        if self.coordinator is not None:
            self.connections.failed(self.coordinator)
            self.coordinator = None
            self._later()
        elif self._timer is None and not self._asking:
            self._later()

    # -- time -------------------------------------------------------------------------------
    def _later(self) -> None:
        settings = self.settings
        wait = backoff_us(
            self._attempts, settings.retry_backoff_ms, settings.retry_backoff_max_ms, self.node.random("backoff")
        )
        self._attempts += 1
        self._again(wait)

    def _again(self, wait_us: int) -> None:
        self._stop()
        if not self.gone:
            self._timer = self.node.after(wait_us, self._beat)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- answers ----------------------------------------------------------------------------
    def _answered(self, epoch: int, response: Any) -> None:
        self._asking = False
        if self.gone:
            return
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if response is None else error_of(response.error_code)
        if error is not NONE:
            self._note(error)
            self._refused(error)
            return
        self._attempts = 0
        self.epoch, self._interval_ms = response.member_epoch, response.heartbeat_interval
        self._stop()
        self._heard(response)
        if self._timer is None:  # there may be something to say at once
            self._again(self._interval_ms * 1000)

    def _note(self, error: ErrorCode) -> None:
        if self.node.messages:
            reaction = "rejoin" if error in FENCED else "retry" if error in PASSING else "give up"
            self.node.emit(
                events.CLIENT_ERROR, api=self.NAME, error=error.name, reaction=reaction, topic=None, partition=None
            )


def unheard(context: None, response: Any) -> None:
    """Nothing depends on the answer to a goodbye."""
