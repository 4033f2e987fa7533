"""A broker's place in a KRaft cluster: the port of `cluster.port`, composed.

    open the metadata log -> register -> caught up: `admitted`, the broker opens its logs and listens
      -> `take_part`: lead and follow as the image says; the next heartbeat asks to be unfenced

A broker decides nothing here. What it knows it has read in the metadata log (`publishing`), what it wants it asks of
the active controller: for itself through `channel`, and for its clients in envelopes.

| who asks | goes |
|---|---|
| a client: topics, settings, elections, moves, the quorum | Envelope: the client's own request, whole (KIP-590) |
| a client: settings that this broker cannot have (`config_admin`) | nowhere: they are refused here |
| a client: levels of this broker's loggers | nowhere: they are set here |
| a client that names a topic that is to be created | the same, in the broker's name |
| a leader: AlterPartition; the broker: AllocateProducerIds | as it is |

Source: BrokerServer, RaftSupport, ForwardingManager.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.cluster.kraft.channel import RETRY_US, ControllerChannel
from broker_core.cluster.kraft.config_admin import Refusals, refusals_of, together, without
from broker_core.cluster.kraft.controller_clients import ControllerClients
from broker_core.cluster.kraft.controller_listener import QUORUM_APIS
from broker_core.cluster.kraft.directories import DirectoryAssignments
from broker_core.cluster.kraft.lifecycle import NO_EPOCH, BrokerLifecycle
from broker_core.cluster.kraft.process import (
    CONNECTIONS,
    FORWARDING,
    HEARTBEATS,
    TO_CONTROLLER,
    MetadataProcess,
)
from broker_core.cluster.kraft.publishing import BrokerPublisher
from broker_core.cluster.port import Asked, Done, Member
from broker_core.controller.kraft import APIS
from broker_core.kernel.storage import read_all
from broker_core.metadata.feature_levels import Finalized
from broker_core.metadata.loggers import Loggers
from broker_core.raft import VoterSet
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey, Mode
from broker_core.wire.codec import decode_response, decode_response_header, encode_request

FORWARDED = frozenset((
    ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS, ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.UNREGISTER_BROKER, ApiKey.UPDATE_FEATURES, ApiKey.DESCRIBE_QUORUM,
    ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER,
))  # fmt: skip
"""What clients may ask any broker and the active controller answers."""
CREATE_TOPICS_VERSION, ALTER_PARTITION_VERSION, PRODUCER_IDS_VERSION = 7, 3, 0


@dataclass(frozen=True, slots=True)
class KRaftJoin:
    """How a broker joins the cluster of this id, which `kafka-storage format` would be told; `initial`: its
    controllers, where they are dynamic from the start."""

    cluster_id: str
    initial: VoterSet | None = None

    def __call__(self, member: Member) -> KRaftCluster:
        return KRaftCluster(member, self.cluster_id, self.initial)


class KRaftCluster:
    """See `cluster.port.Cluster`."""

    mode: Mode = "kraft"
    apis = FORWARDED & {*APIS, *QUORUM_APIS}
    connections = CONNECTIONS
    lifecycle: BrokerLifecycle
    _directories: dict[str, uuid.UUID]
    _assignments: DirectoryAssignments
    _forwarding: ControllerChannel
    _channel: ControllerChannel

    def __init__(self, member: Member, cluster_id: str, initial: VoterSet | None = None) -> None:
        self.member = member
        self.cluster_id = cluster_id
        self.process = MetadataProcess(member.node, member.config, cluster_id, member.log_dirs, initial)
        self.loggers: Loggers | None = self.process.loggers
        self.publisher = BrokerPublisher(member)
        self._correlation = 0

    @property
    def outside(self) -> ControllerClients | None:
        return self.process.clients

    # -- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        """Without its metadata log, or on somebody else's disks, a broker gives up."""
        member, process = self.member, self.process
        if not process.open():
            member.node.halt()
            return
        timeout_ms = member.config["controller.socket.timeout.ms"]
        session_ms = member.config["broker.session.timeout.ms"]
        self._channel = self._to_controller(TO_CONTROLLER, timeout_ms)
        self._forwarding = self._to_controller(FORWARDING, timeout_ms)
        logs, self._directories = member.replicas.log_manager, process.directories()
        for log_dir in logs.live_dirs():
            if log_dir not in self._directories:
                logs.fail_directory(log_dir, "it cannot be told which directory of the cluster this is")
        self.lifecycle = BrokerLifecycle(
            member, process, self._to_controller(HEARTBEATS, session_ms), list(self._directories.values()),
            logs.read_previous_epoch(), member.admitted,
        )  # fmt: skip
        self._assignments = DirectoryAssignments(member, self.lifecycle, self._channel, self._directories)
        self.publisher.applied = self._assignments.check
        self.publisher.directories = self._directories
        process.loader.publishers.append(self.publisher)
        process.start()
        self.lifecycle.start()

    def _to_controller(self, name: str, timeout_ms: int) -> ControllerChannel:
        return ControllerChannel(self.member.node, self.member.rpc(name), self.process.raft, timeout_ms)

    def claim_disks(self) -> bool:
        """They were claimed when the log was opened."""
        return True

    def take_part(self) -> None:
        self.publisher.begin(self.process.loader.image, self.lifecycle.unfence)

    def leave(self, done: Callable[[], None]) -> None:
        if self.process.is_open:
            self.process.raft.shut_down(done)
        else:
            done()

    def broker_epoch(self) -> int:
        return self.lifecycle.epoch if self.process.is_open else NO_EPOCH

    def epoch_of_clean_end(self) -> int:
        return self.broker_epoch()

    def features(self) -> Finalized:
        return self.process.features(self.process.loader.offset)

    # -- messages -----------------------------------------------------------------------------
    def receive(self, source: str, message: Any) -> None:
        self.process.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.process.peer_down(peer)

    def answer(self, request: Asked, done: Done) -> None:
        if request.api_key in (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS):
            self._alter_configs(request, done)
            return
        self._forward(request.api_key, request.api_version, request.client_id, request.body, done, request)

    def _alter_configs(self, request: Asked, done: Done) -> None:
        """What this broker itself refuses does not reach the controller."""
        refusals = refusals_of(request.body, self.member.broker_id, self.member.config, self.process.loggers)
        left = without(request.body, refusals)
        if not left.resources:
            done(request, together(request.body, refusals, None))
            return
        asked = (request, refusals, done)
        self._forward(request.api_key, request.api_version, request.client_id, left, self._configs_altered, asked)

    def _configs_altered(self, asked: tuple[Asked, Refusals, Done], answer: Any) -> None:
        request, refusals, done = asked
        done(request, None if answer is None else together(request.body, refusals, answer))

    def _forward(
        self, api_key: int, version: int, client_id: str | None, body: Any, done: Done, context: Any
    ) -> None:
        self._correlation += 1
        data = read_all(encode_request(api_key, version, self._correlation, client_id, body))[4:]
        envelope = m.EnvelopeRequest(request_data=data, request_principal=None, client_host_address=b"\x7f\0\0\1")
        patience_us = self.member.config["request.timeout.ms"] * 1000
        self._forwarding.call(
            ApiKey.ENVELOPE, 0, envelope, self._opened, (api_key, version, done, context), patience_us
        )

    def _opened(self, state: tuple[int, int, Done, Any], envelope: Any) -> None:
        """What the controller said, as it said it; nobody: the client hears nothing and asks again."""
        api_key, version, done, context = state
        if envelope is None or envelope.error_code or envelope.response_data is None:
            done(context, None)
            return
        header = decode_response_header(api_key, version, memoryview(envelope.response_data))
        done(context, decode_response(api_key, version, header.body))

    # -- what the broker asks -----------------------------------------------------------------
    def read_topic_settings(self, topics: Sequence[str], done: Callable[[Any], None], context: Any) -> None:
        """What there is of them has been told."""
        done(context)

    def alter_partition(self, request: Any, done: Done, context: Any) -> None:
        self._channel.call(ApiKey.ALTER_PARTITION, ALTER_PARTITION_VERSION, request, done, context)

    def allocate_producer_ids(self, done: Done, context: Any) -> None:
        if self.broker_epoch() == NO_EPOCH:
            self.member.node.after(RETRY_US, done, context, None)
            return
        request = m.AllocateProducerIdsRequest(broker_id=self.member.broker_id, broker_epoch=self.broker_epoch())
        self._channel.call(ApiKey.ALLOCATE_PRODUCER_IDS, PRODUCER_IDS_VERSION, request, done, context)

    def create_topics(self, request: Any, done: Done, context: Any) -> None:
        self._forward(ApiKey.CREATE_TOPICS, CREATE_TOPICS_VERSION, None, request, done, context)

    def controlled_shutdown(self, done: Done, context: Any) -> None:
        self.lifecycle.shut_down(_ShutDown(done, context).may_stop)

    def directory_failed(self, log_dir: str) -> None:
        """The controller elects others; a broker whose metadata directory it is ends."""
        if log_dir == self.process.metadata_dir:
            self.member.node.soon(self.member.node.halt)
            return
        directory = self._directories.get(log_dir)
        if directory is not None:
            self.lifecycle.directory_failed(directory)

    def assign_directory(
        self, topic_id: uuid.UUID, partition: int, log_dir: str, done: Callable[[Any], None] | None, context: Any
    ) -> bool:
        self._assignments.promise((topic_id, partition), log_dir, done, context)
        return True


@dataclass(slots=True)
class _ShutDown:
    """The controller agrees: no partition remains."""

    done: Done
    context: Any

    def may_stop(self) -> None:
        self.done(self.context, m.ControlledShutdownResponse(error_code=0, remaining_partitions=[]))
