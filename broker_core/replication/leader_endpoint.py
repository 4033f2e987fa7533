"""The leader as a follower sees it: three questions over one connection (Kafka: RemoteLeaderEndPoint)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node
from broker_core.replication.fetcher_session import FetcherSession
from broker_core.replication.follower_state import FollowerState
from broker_core.replication.offsets import EARLIEST, LATEST
from broker_core.replication.partition import Partition
from broker_core.replication.protections import Protections
from broker_core.replication.quotas import ReplicationQuotas
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.rpc import RpcClient

FETCH = int(ApiKey.FETCH)
FETCH_VERSION, LIST_OFFSETS_VERSION, EPOCH_END_VERSION = 17, 8, 4
Answer = Callable[[FollowerState, Any], None]


class FetcherHost(Protocol):
    """What fetchers need of their broker. Sizes in bytes."""

    node: Node
    broker_id: int
    protections: Protections
    quotas: ReplicationQuotas
    broker_epoch: Callable[[], int]
    backoff_us: int
    socket_timeout_us: int
    fetch_wait_max_ms: int
    fetch_min_bytes: int
    fetch_max_bytes: int
    fetch_response_max_bytes: int

    def storage_failed(self, partition: Partition | None, error: StorageError) -> None: ...


class LeaderEndpoint:
    """One leader broker, over one named connection."""

    def __init__(self, host: FetcherHost, rpc: RpcClient, dest: str) -> None:
        self.host = host
        self.rpc = rpc
        self.dest = dest
        self._me: Any = None  # who asks: the same object as long as the registration stands

    def _call(self, api: ApiKey, version: int, body: Any, done: Callable[[Any, Any], None], context: Any) -> None:
        self.rpc.call(self.dest, api, version, body, self.host.socket_timeout_us, done, context)

    def fetch(self, session: FetcherSession, done: Callable[[Any, Any], None]) -> None:
        """The session's next Fetch; later `done(None, FetchResponse or None)`."""
        host = self.host
        topics, forgotten = session.next_request(host.fetch_max_bytes)
        me = self._me
        if me is None or me.replica_epoch != host.broker_epoch():
            me = self._me = m.FetchRequest.ReplicaState(replica_id=host.broker_id, replica_epoch=host.broker_epoch())
        request = m.FetchRequest.make(
            replica_id=host.broker_id,
            replica_state=me,
            max_wait=host.fetch_wait_max_ms,
            min_bytes=host.fetch_min_bytes,
            max_bytes=host.fetch_response_max_bytes,
            session_id=session.id,
            session_epoch=session.epoch,
            topics=topics,
            forgotten_topics_data=forgotten,
        )
        self.rpc.call(self.dest, FETCH, FETCH_VERSION, request, host.socket_timeout_us, done, None)

    def ask_epoch_end(self, state: FollowerState, answer: Answer) -> None:
        """The leader's end offset of our latest epoch; later `answer(state, EpochEndOffset or None)`."""
        partition = state.partition
        asked = m.OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
            partition=partition.index,
            current_leader_epoch=state.leader_epoch,
            leader_epoch=partition.log.leader_epochs.latest_epoch,
        )
        topic = m.OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=partition.topic, partitions=[asked])
        request = m.OffsetForLeaderEpochRequest(replica_id=self.host.broker_id, topics=[topic])
        self._call(
            ApiKey.OFFSET_FOR_LEADER_EPOCH, EPOCH_END_VERSION, request, self._single_answer, (state, answer)
        )

    def ask_end(self, state: FollowerState, answer: Answer) -> None:
        """The leader's log end; later `answer(state, ListOffsetsPartitionResponse or None)`."""
        self._ask_offset(state, LATEST, answer)

    def ask_start(self, state: FollowerState, answer: Answer) -> None:
        """The leader's log start, likewise."""
        self._ask_offset(state, EARLIEST, answer)

    def _ask_offset(self, state: FollowerState, timestamp: int, answer: Answer) -> None:
        partition = state.partition
        asked = m.ListOffsetsRequest.ListOffsetsPartition(
            partition_index=partition.index, current_leader_epoch=state.leader_epoch, timestamp=timestamp
        )
        topic = m.ListOffsetsRequest.ListOffsetsTopic(name=partition.topic, partitions=[asked])
        request = m.ListOffsetsRequest(replica_id=self.host.broker_id, topics=[topic])
        self._call(ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION, request, self._single_answer, (state, answer))

    def _single_answer(self, context: tuple[FollowerState, Answer], response: Any) -> None:
        state, answer = context
        answer(state, response.topics[0].partitions[0] if response is not None and response.topics else None)
