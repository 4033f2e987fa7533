"""Which fetcher copies which partition: `num.replica.fetchers` [1] per leader broker.

A partition stays with fetcher abs(31 * hash(topic) + partition) % n, with Java's hash of the name, so
that the load spreads as in Kafka (AbstractFetcherManager). A fetcher without partitions is closed.
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.replication.fetcher import Fetcher
from broker_core.replication.follower_state import FollowerState
from broker_core.replication.leader_endpoint import FetcherHost, LeaderEndpoint
from broker_core.replication.partition import Partition
from broker_core.replication.truncation import Truncation
from broker_core.wire.rpc import RpcClient


def java_hash(text: str) -> int:
    """String.hashCode() as a signed 32-bit number (names of topics are ASCII)."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def fetcher_number(topic: str, partition: int, fetchers: int) -> int:
    """Which of a leader's fetchers copies the partition."""
    value = (31 * java_hash(topic) + partition) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return (0 if signed == -(1 << 31) else abs(signed)) % fetchers


class FetcherManager:
    """All fetchers of a broker, by (leader id, number)."""

    def __init__(
        self, host: FetcherHost, rpc: Callable[[str], RpcClient], node_name_of: Callable[[int], str], fetchers: int
    ) -> None:
        self.host = host
        self.rpc = rpc
        self.node_name_of = node_name_of
        self.count = fetchers
        self.fetchers: dict[tuple[int, int], Fetcher] = {}
        self.truncation = Truncation(host.node, host.protections)
        self._connections: dict[int, RpcClient] = {}
        self._owner: dict[Partition, tuple[int, int]] = {}
        self._changed: dict[tuple[int, int], None] = {}

    def follow(self, partition: Partition, check: bool) -> None:
        """Copy the partition from its leader; `check`: the logs may differ. `start_changed` sends."""
        place = (partition.leader_id, fetcher_number(partition.topic, partition.index, self.count))
        if self._owner.get(partition) != place:
            self.remove(partition)
        fetcher = self.fetchers.get(place)
        if fetcher is None:
            fetcher = self.fetchers[place] = self._open(*place)
        self._owner[partition] = place
        fetcher.remove((partition.topic, partition.index))
        fetcher.add(FollowerState(partition), check)
        self._changed[place] = None

    def _open(self, leader_id: int, number: int) -> Fetcher:
        rpc = self._connections.get(number)
        if rpc is None:
            rpc = self._connections[number] = self.rpc(f"replica-fetcher-{number}")
        return Fetcher(self.host, LeaderEndpoint(self.host, rpc, self.node_name_of(leader_id)), self.truncation)

    def remove(self, partition: Partition) -> None:
        """Do not copy it any longer."""
        place = self._owner.pop(partition, None)
        if place is None:
            return
        fetcher = self.fetchers[place]
        fetcher.remove((partition.topic, partition.index))
        self._changed[place] = None

    def start_changed(self) -> None:
        """Everything is assigned: fetchers with work begin, those without any are closed."""
        changed, self._changed = self._changed, {}
        for place in changed:
            fetcher = self.fetchers.get(place)
            if fetcher is None:
                continue
            if fetcher.states:
                fetcher.run()
            else:
                fetcher.close()
                del self.fetchers[place]

    def close(self) -> None:
        """The broker stops."""
        for fetcher in self.fetchers.values():
            fetcher.close()
        self.fetchers.clear()
        self._owner.clear()

    def state_of(self, partition: Partition) -> FollowerState | None:
        """Where the partition's copying stands, for observers."""
        place = self._owner.get(partition)
        fetcher = self.fetchers.get(place) if place is not None else None
        return fetcher.states.get((partition.topic, partition.index)) if fetcher is not None else None
