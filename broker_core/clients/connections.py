"""Connections of a client to brokers, as Kafka's `NetworkClient` keeps them.

| state | a call | event => next state |
|---|---|---|
| disconnected | waits until the backoff is over | backoff over, somebody calls => connecting |
| connecting | waits | ApiVersions answered => ready; refused, or no answer in 10 s => disconnected, longer backoff |
| ready | is sent | closed by the peer, or a request timed out => disconnected |

A request goes out in the highest version that both sides know (ApiVersions, KIP-35). What waits when a
connection cannot be made fails, as what is in flight fails when it closes: `done(context, None)`.
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.backoff import backoff_us
from broker_core.clients.settings import ClientSettings
from broker_core.kernel.node import Node, Timer
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import Done, Response, RpcClient

DISCONNECTED, CONNECTING, READY = "disconnected", "connecting", "ready"
SETUP_TIMEOUT_US = 10_000_000  # default of socket.connection.setup.timeout.ms

# The newest version of each request that these clients speak.
NEWEST: dict[int, int] = {
    ApiKey.PRODUCE: 12, ApiKey.FETCH: 12, ApiKey.LIST_OFFSETS: 7, ApiKey.METADATA: 12,
    ApiKey.OFFSET_COMMIT: 9, ApiKey.OFFSET_FETCH: 9, ApiKey.FIND_COORDINATOR: 4, ApiKey.JOIN_GROUP: 9,
    ApiKey.HEARTBEAT: 4, ApiKey.LEAVE_GROUP: 5, ApiKey.SYNC_GROUP: 5, ApiKey.API_VERSIONS: 3,
    ApiKey.CREATE_TOPICS: 7, ApiKey.DELETE_TOPICS: 6, ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.ADD_PARTITIONS_TO_TXN: 3, ApiKey.ADD_OFFSETS_TO_TXN: 4, ApiKey.END_TXN: 5, ApiKey.TXN_OFFSET_COMMIT: 5,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 4, ApiKey.INCREMENTAL_ALTER_CONFIGS: 1, ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 1,
    ApiKey.SHARE_GROUP_HEARTBEAT: 1, ApiKey.SHARE_FETCH: 2, ApiKey.SHARE_ACKNOWLEDGE: 2,
}  # fmt: skip
NEWEST_FORWARDED: dict[int, int] = {
    ApiKey.ELECT_LEADERS: 2, ApiKey.DESCRIBE_QUORUM: 2, ApiKey.UPDATE_FEATURES: 1, ApiKey.ADD_RAFT_VOTER: 1,
    ApiKey.DESCRIBE_GROUPS: 6, ApiKey.SHARE_GROUP_DESCRIBE: 1, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: 1,
}  # fmt: skip
"""Of KRaft brokers, which are those that can describe a quorum: they forward the request's own bytes (KIP-590), and
version 0 has no room for "unclean", for directory ids, for the kind of an upgrade. From version 6 on DescribeGroups
says of what is no classic group that it is none."""

_BY_CODE = {code.value: code for code in ErrorCode}


def error_of(code: int) -> ErrorCode:
    """The error with this number; one that is not known counts as UNKNOWN_SERVER_ERROR."""
    return _BY_CODE.get(code, ErrorCode.UNKNOWN_SERVER_ERROR)


class _Peer:
    """One broker as seen from here."""

    __slots__ = ("name", "state", "failures", "blocked_until_us", "versions", "waiting", "timer")

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = DISCONNECTED
        self.failures = 0
        self.blocked_until_us = 0
        self.versions: dict[int, int] = {}
        self.waiting: list[tuple[int, Any, int, Done, Any, int | None]] = []
        self.timer: Timer | None = None

    def version(self, api_key: int, limit: int | None) -> int:
        """The highest that both sides know, at most `limit`."""
        found = self.versions.get(api_key, 0)
        return found if limit is None or found <= limit else limit


class Connections:
    """All connections of one client. `changed(peer, is_ready)` is told when one opens or closes."""

    def __init__(self, node: Node, settings: ClientSettings, changed: Any, purpose: str = "") -> None:
        self.node = node
        self.settings = settings
        self.changed = changed
        self.connection = f"{node.name}/{node.incarnation}{purpose}"
        self.rpc = RpcClient(node, self.connection, settings.client_id or node.name)
        self.peers: dict[str, _Peer] = {}
        self.features: dict[str, int] = {}  # of the cluster, as the brokers told them last
        self.features_epoch = -1
        self.quiet: set[str] = set()  # owe an answer for long: the last to be asked what any broker can answer

    def is_ready(self, dest: str) -> bool:
        """Whether a request can be sent now; if not, a connection is tried as soon as it may be."""
        peer = self.peers.get(dest)
        if peer is None:
            peer = self.peers[dest] = _Peer(dest)
        if peer.state == READY:
            return True
        self._connect_when_allowed(peer)
        return False

    def in_flight(self, dest: str) -> int:
        """Requests that `dest` has not answered yet."""
        return self.rpc.in_flight(dest)

    def call(
        self, dest: str, api_key: int, body: Any, done: Done, context: Any = None, timeout_ms: int | None = None,
        limit: int | None = None,
    ) -> None:  # fmt: skip
        """Send when the connection is ready; later `done(context, response or None)`, exactly once. `limit`: the
        highest version that may be spoken, where that is not the newest."""
        timeout_us = (self.settings.request_timeout_ms if timeout_ms is None else timeout_ms) * 1000
        if self.is_ready(dest):
            version = self.peers[dest].version(api_key, limit)
            self.rpc.call(dest, api_key, version, body, timeout_us, done, context)
        else:
            self.peers[dest].waiting.append((api_key, body, timeout_us, done, context, limit))

    def send_only(self, dest: str, api_key: int, body: Any, limit: int | None = None) -> None:
        """A request without an answer, on a connection that is ready."""
        self.rpc.send_only(dest, api_key, self.peers[dest].version(api_key, limit), body)

    def may_connect(self, name: str) -> bool:
        """Whether a connection is there, or may be tried now: no backoff after a failure is under way."""
        peer = self.peers.get(name)
        return peer is None or peer.state != DISCONNECTED or peer.blocked_until_us <= self.node.now_us()

    def least_loaded(self, names: list[str]) -> str | None:
        """Where a question that any broker can answer goes: the connected one with the least in flight."""
        if not names:
            return None
        start = self.node.random("least-loaded").randrange(len(names))
        order = names[start:] + names[:start]
        now = self.node.now_us()
        return min(order, key=lambda name: self._load(name, now))

    def _load(self, name: str, now: int) -> tuple[int, int]:
        if name in self.quiet:
            return (3, 0)
        peer = self.peers.get(name)
        if peer is None or (peer.state == DISCONNECTED and peer.blocked_until_us <= now):
            return (1, 0)
        if peer.state == READY:
            return (0, self.rpc.in_flight(name))
        return (2, peer.blocked_until_us)

    # -- opening and closing ----------------------------------------------------------------
    def _connect_when_allowed(self, peer: _Peer) -> None:
        if peer.state != DISCONNECTED or peer.timer is not None:
            return
        wait = peer.blocked_until_us - self.node.now_us()
        if wait > 0:
            peer.timer = self.node.after(wait, self._connect, peer)
        else:
            self._connect(peer)

    def _connect(self, peer: _Peer) -> None:
        peer.timer = None
        peer.state = CONNECTING
        body = m.ApiVersionsRequest(client_software_name="brokerlab", client_software_version="1")
        timeout_us = min(SETUP_TIMEOUT_US, self.settings.request_timeout_ms * 1000)
        self.rpc.call(peer.name, ApiKey.API_VERSIONS, 3, body, timeout_us, self._connected, peer)

    def _connected(self, peer: _Peer, response: Any) -> None:
        if response is None or response.error_code != ErrorCode.NONE:
            self._closed(peer)
            return
        peer.state = READY
        peer.failures = 0
        forwards = any(api.api_key == ApiKey.DESCRIBE_QUORUM for api in response.api_keys)
        newest = {**NEWEST, **NEWEST_FORWARDED} if forwards else NEWEST
        peer.versions = {
            api.api_key: min(api.max_version, newest[api.api_key]) for api in response.api_keys if api.api_key in newest
        }
        waiting, peer.waiting = peer.waiting, []
        if response.finalized_features_epoch > self.features_epoch:
            self.features_epoch = response.finalized_features_epoch
            self.features = {one.name: one.max_version_level for one in response.finalized_features}
        for api_key, body, timeout_us, done, context, limit in waiting:
            self.rpc.call(peer.name, api_key, peer.version(api_key, limit), body, timeout_us, done, context)
        self.changed(peer.name, True)

    def _closed(self, peer: _Peer) -> None:
        settings = self.settings
        wait = backoff_us(
            peer.failures, settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms, self.node.random("backoff")
        )
        peer.state = DISCONNECTED
        peer.failures += 1
        peer.blocked_until_us = self.node.now_us() + wait
        self._give_up_waiting(peer)
        self.changed(peer.name, False)

    def _give_up_waiting(self, peer: _Peer) -> None:
        waiting, peer.waiting = peer.waiting, []
        for _, _, _, done, context, _ in waiting:
            done(context, None)

    def failed(self, dest: str) -> None:
        """A call to `dest` got no answer: its connection is given up (the caller got None)."""
        peer = self.peers.get(dest)
        if peer is not None and peer.state == READY:
            self._closed(peer)

    def drop(self, dest: str) -> None:
        """Disconnect: what is in flight to `dest` or waits for its connection fails at once."""
        peer = self.peers.get(dest)
        if peer is not None and peer.state == DISCONNECTED:
            self._give_up_waiting(peer)
        self.peer_down(dest)

    def receive(self, source: str, response: Response) -> bool:
        """A response; False when nothing waits for it."""
        self.quiet.discard(source)
        return response.connection == self.connection and self.rpc.receive(source, response)

    def peer_down(self, name: str) -> None:
        """The peer has closed, or refused."""
        peer = self.peers.get(name)
        if peer is not None and peer.state == READY:
            self._closed(peer)
        self.rpc.peer_down(name)
