"""Quorums that a test drives: replicas on nodes of their own, each with a listener that keeps what it was told."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.raft import CommittedBatch, LeaderAndEpoch, QuorumSettings, RaftClient, ReplicaKey, VoterNode, VoterSet
from broker_core.raft.snapshots import SnapshotReader
from broker_core.raft.voters import Listener
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.rpc import Request, Response, RpcClient
from tests.worlds import Driven

CLUSTER = "oU6ajLSbSamiBLX2-fhyUA"


def directory_of(replica: int) -> uuid.UUID:
    return uuid.UUID(int=0xD000 + replica)


def described(replica: int) -> VoterNode:
    return VoterNode(ReplicaKey(replica, directory_of(replica)), (Listener("CONTROLLER", "127.0.0.1", 9000 + replica),))


class Names:
    def node_of(self, replica_id: int) -> str:
        return f"controller-{replica_id}"


class Server:
    """A machine with one replica of the metadata log and nothing else."""

    def __init__(self, node: Node, replica: int, quorum: Quorum) -> None:
        self.node = node
        self.values: list[bytes] = []
        self.leaders: list[LeaderAndEpoch] = []
        self.snapshots = 0
        self.next_offset = 0
        self.last_epoch = 0
        self.raft = RaftClient(
            node, described(replica), CLUSTER, "metadata", quorum.static, Names(), quorum.settings, quorum.bootstrap
        )

    def start(self) -> None:
        self.raft.register(self)
        self.raft.start()

    def receive(self, source: str, message: Any) -> None:
        if isinstance(message, Response):
            self.raft.receive(source, message)
        elif isinstance(message, Request) and message.api_key == ApiKey.API_VERSIONS:
            feature = m.ApiVersionsResponse.SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)
            self._reply((source, message), m.ApiVersionsResponse(supported_features=[feature]))
        elif isinstance(message, Request):
            self.raft.handle(message.api_key, message.body, self._reply, (source, message))

    def _reply(self, context: Any, body: Any) -> None:
        source, request = context
        self.node.send(source, Response(request.connection, request.correlation_id, body))

    def peer_down(self, peer: str) -> None:
        self.raft.peer_down(peer)

    def shut_down(self) -> None:
        self.raft.shut_down(self.node.exit)

    def handle_commit(self, batches: list[CommittedBatch]) -> None:
        for batch in batches:
            assert batch.base_offset == self.next_offset
            self.next_offset = batch.last_offset + 1
            self.last_epoch = batch.epoch
            self.values += batch.values

    def handle_load_snapshot(self, snapshot: SnapshotReader) -> None:
        self.snapshots += 1
        self.values = list(snapshot.values())
        self.next_offset = snapshot.id.end_offset

    def handle_leader_change(self, leader: LeaderAndEpoch) -> None:
        self.leaders.append(leader)


class Asker:
    """A machine that asks replicas something and keeps the answers."""

    def __init__(self, node: Node) -> None:
        self.rpc = RpcClient(node, "test", "test")
        self.answers: list[Any] = []

    def start(self) -> None: ...

    def shut_down(self) -> None: ...

    def receive(self, source: str, message: Any) -> None:
        self.rpc.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.rpc.peer_down(peer)

    def keep(self, context: Any, body: Any) -> None:
        self.answers.append(body)


class Quorum(Driven):
    """Replicas `ids`, of which `voters` vote (all of them by default)."""

    def __init__(
        self, ids: Iterable[int] = (1, 2, 3), voters: Iterable[int] | None = None, seed: int = 1, delay_us: int = 1000,
        dynamic: bool = False, **settings: int,
    ) -> None:
        self.world = World(seed, 1_700_000_000_000, "messages", delay_us)
        self.ids = list(ids)
        self.settings = QuorumSettings(**settings)
        first = list(voters) if voters is not None else self.ids
        self.static = VoterSet() if dynamic else VoterSet.of_ids(first)
        self.bootstrap = first
        for replica in self.ids:
            self.world.add_node(Names().node_of(replica), MemoryStorage(), self._factory(replica))
            if dynamic:
                self.format(replica, first)
        self.world.add_node("asker", MemoryStorage(), Asker)
        for name in self.world.nodes:
            self.world.start_node(name)

    def _factory(self, replica: int) -> Any:
        return lambda node: Server(node, replica, self)

    def format(self, replica: int, voters: list[int]) -> None:
        """What `kafka-storage format` leaves: a snapshot at offset 0 with kraft.version 1 and the voters."""
        from broker_core.raft.snapshots import BOOTSTRAP, RawSnapshot, SnapshotWriter

        storage = self.world.nodes[Names().node_of(replica)].storage
        raw = RawSnapshot(storage, "metadata/__cluster_metadata-0", BOOTSTRAP)
        SnapshotWriter(raw, 0, 0, 1, VoterSet(described(one) for one in voters)).freeze()

    def __getitem__(self, replica: int) -> Server:
        machine = self.world.nodes[Names().node_of(replica)].machine
        assert isinstance(machine, Server)
        return machine

    @property
    def alive(self) -> list[int]:
        return [one for one in self.ids if self.world.nodes[Names().node_of(one)].state == "running"]

    @property
    def leader(self) -> int | None:
        """The leader of the newest epoch, None when nobody is."""
        leading = [one for one in self.alive if self[one].raft.quorum.leader is not None]
        return max(leading, key=lambda one: self[one].raft.quorum.epoch, default=None)

    def wait_for_leader(self, seconds: float = 30) -> int:
        for _ in range(int(seconds * 10)):
            self.run(0.1)
            leader = self.leader
            if leader is not None and self[leader].raft.high_watermark is not None:
                return leader
        raise AssertionError("no leader")

    def append(self, *values: bytes) -> int:
        leader = self.leader
        assert leader is not None
        raft = self[leader].raft
        offset = raft.append(raft.quorum.epoch, values)
        return offset

    def node(self, replica: int) -> str:
        return Names().node_of(replica)

    def cut(self, a: int, b: int, partitioned: bool = True) -> None:
        for source, dest in ((a, b), (b, a)):
            self.world.change_link(self.node(source), self.node(dest), **({"partitioned": True} if partitioned else {}))

    def isolate(self, replica: int, partitioned: bool = True) -> None:
        for other in self.ids:
            if other != replica:
                self.cut(replica, other, partitioned)

    def ask(self, replica: int, api: ApiKey, version: int, body: Any, seconds: float = 0.1) -> Any:
        asker = self.world.nodes["asker"].machine
        assert isinstance(asker, Asker)
        count = len(asker.answers)
        asker.rpc.call(self.node(replica), api, version, body, 30_000_000, asker.keep)
        self.run(seconds)
        assert len(asker.answers) == count + 1, "no answer"
        return asker.answers[-1]

    def events(self, code: str) -> list[tuple[str, dict[str, Any]]]:
        return [(row[2], row[5]) for row in self.world.journal.tail if row[3] == code]
