"""The controller listener of a process: what voters, observers and brokers ask of the quorum and of its controller.

| request | answered by |
|---|---|
| Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot, DescribeQuorum, *RaftVoter | the quorum (`raft`) |
| BrokerRegistration, BrokerHeartbeat, AlterPartition, ... | the controller, if it is the active one |
| Envelope | what is in it, a client's request that a broker has forwarded (KIP-590) |
| ApiVersions | what is offered here, and feature levels as of the last change of one |
| DescribeCluster | the controllers that have registered (KIP-919) |
| DescribeConfigs | the settings of this controller, and of topics, as the image has them (KIP-919) |
| IncrementalAlterConfigs of loggers | this process, be its controller the active one or not |

A request in an envelope is a whole request in bytes, header and all, and so is its answer:

    Envelope(request_data = 0013 0007 0000002a ... CreateTopics)  ->  Envelope(response_data = 0000002a ..., error 0)

Only the active controller opens it. Error 41, NOT_CONTROLLER, on the envelope itself says that nobody has looked.
Source: ControllerApis, EnvelopeUtils.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from broker_core.cluster.kraft.loader import MetadataLoader
from broker_core.controller.kraft import APIS, QuorumController
from broker_core.kernel.node import Node
from broker_core.kernel.storage import read_all
from broker_core.metadata import describing
from broker_core.metadata.configs import BrokerConfig, ConfigError
from broker_core.metadata.errors import RequestError
from broker_core.metadata.feature_levels import Finalized
from broker_core.metadata.loggers import LOGGER, Loggers
from broker_core.metadata.offered import (
    CLUSTER_OPERATIONS,
    CONTROLLERS,
    NOT_ASKED,
    is_well_named,
    offered,
    wrong_endpoint,
)
from broker_core.raft.client import RaftClient
from broker_core.wire import messages as m
from broker_core.wire.apis import API_NAMES, ApiKey, advertised
from broker_core.wire.codec import decode_request, decode_request_header, encode_response
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import Request, Response

QUORUM_APIS = frozenset((
    ApiKey.FETCH, ApiKey.VOTE, ApiKey.BEGIN_QUORUM_EPOCH, ApiKey.END_QUORUM_EPOCH, ApiKey.FETCH_SNAPSHOT,
    ApiKey.DESCRIBE_QUORUM, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER, ApiKey.UPDATE_RAFT_VOTER,
))  # fmt: skip
OFFERED = frozenset((
    *QUORUM_APIS, *map(ApiKey, APIS), ApiKey.API_VERSIONS, ApiKey.ENVELOPE, ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_CONFIGS,
))  # fmt: skip
"""What is answered here."""
ALTERING = (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
Reply = Callable[[Any, Any], None]


class Process(Protocol):
    """The process that listens."""

    node: Node
    id: int
    config: BrokerConfig
    raft: RaftClient
    controller: QuorumController | None
    loader: MetadataLoader
    loggers: Loggers

    def features(self, epoch: int) -> Finalized:
        """The levels that hold, as of an offset."""
        ...


class ControllerListener:
    """Of one process; `controller` is None where it only follows the log."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.node = process.node
        self.raft = process.raft
        self.controller = process.controller

    def receive(self, source: str, request: Request) -> None:
        """A request of a process of the cluster."""
        self.serve(request.api_key, request.api_version, request.body, self._reply, (source, request))

    def serve(self, key: int, version: int, body: Any, reply: Reply, context: Any) -> None:
        """`reply(context, answer)`, now or later; None: what became of the request is not known here."""
        if key == ApiKey.API_VERSIONS:
            reply(context, self._offered(body, version))
        elif key == ApiKey.DESCRIBE_CLUSTER:
            reply(context, self._cluster(body, version))
        elif key == ApiKey.DESCRIBE_CONFIGS:
            reply(context, self._configs(body))
        elif key == ApiKey.ENVELOPE:
            self._open(body, reply, context)
        else:
            self._serve(key, body, reply, context)

    def _offered(self, body: Any, version: int) -> Any:
        if not is_well_named(body, version):
            return m.ApiVersionsResponse(error_code=int(ErrorCode.INVALID_REQUEST))
        features = self.process.features(self.process.loader.features_offset)
        return offered(advertised("controller", OFFERED), features, version)

    def _cluster(self, body: Any, version: int) -> Any:
        """The controllers that have registered, and who of them is the active one (KIP-919)."""
        kind = m.DescribeClusterResponse
        if body.endpoint_type != CONTROLLERS:
            return wrong_endpoint(body.endpoint_type, CONTROLLERS, version)
        controllers = self.process.loader.image.controllers.values()
        leader = self.raft.leader_and_epoch.leader_id
        return kind(
            endpoint_type=CONTROLLERS, cluster_id=self.raft.cluster_id, controller_id=-1 if leader is None else leader,
            brokers=[
                kind.DescribeClusterBroker(broker_id=one.id, host=place.host, port=place.port, rack=None)
                for one in controllers for place in one.listeners.values()
            ],
            cluster_authorized_operations=CLUSTER_OPERATIONS
            if body.include_cluster_authorized_operations else NOT_ASKED,
        )  # fmt: skip

    def _configs(self, body: Any) -> Any:
        """Of this process as it was started, with what is set dynamically for it and for all."""
        image, own = self.process.loader.image, self.process.config.copy()
        for name in ("", str(self.process.id)):
            for key, value in image.configs.get((describing.BROKER, name), {}).items():
                with contextlib.suppress(ConfigError):  # one that this process cannot have does not hold here
                    own.set_dynamic(key, value, all_brokers=not name, running=False)
        loggers = self.process.loggers
        owner = describing.Described(self.process.id, own, self._topic_settings, self._group_settings, loggers)
        return m.DescribeConfigsResponse(results=[describing.describe(owner, one, body) for one in body.resources])

    def _topic_settings(self, topic: str) -> Mapping[str, str] | None:
        image = self.process.loader.image
        return image.configs.get((describing.TOPIC, topic), {}) if topic in image.topic_ids else None

    def _group_settings(self, group: str) -> Mapping[str, str]:
        return self.process.loader.image.configs.get((describing.GROUP, group), {})

    def _serve(self, key: int, body: Any, reply: Reply, context: Any) -> None:
        if key == ApiKey.DESCRIBE_QUORUM:
            self.raft.handle(key, body, self._with_addresses, (reply, context))
        elif key in QUORUM_APIS:
            self.raft.handle(key, body, reply, context)
        elif key in ALTERING and any(one.resource_type == LOGGER for one in body.resources):
            self._alter_loggers(key, body, reply, context)
        elif self.controller is not None and key in APIS:
            self.controller.handle(key, body, reply, context)
        else:
            reply(context, None)

    def _alter_loggers(self, key: int, body: Any, reply: Reply, context: Any) -> None:
        """Here; the other resources of the request go on to the controller, and their answers stand first."""
        incremental, done = key == ApiKey.INCREMENTAL_ALTER_CONFIGS, []
        kind = m.IncrementalAlterConfigsResponse if incremental else m.AlterConfigsResponse
        for one in [each for each in body.resources if each.resource_type == LOGGER]:
            answer = kind.AlterConfigsResourceResponse(
                resource_type=LOGGER, resource_name=one.resource_name, error_message=None)
            try:
                if not incremental:
                    raise RequestError(ErrorCode.INVALID_REQUEST, "Unexpected resource type BROKER_LOGGER.")
                self.process.loggers.alter(one, body.validate_only)
            except RequestError as error:
                answer.error_code, answer.error_message = int(error.code), error.message or error.code.message
            done.append(answer)
        rest = [one for one in body.resources if one.resource_type != LOGGER]
        if rest and self.controller is not None:
            left = type(body)(resources=rest, validate_only=body.validate_only)
            self.controller.handle(key, left, self._with_loggers, (reply, context, done))
        else:
            reply(context, kind(responses=done))

    def _with_loggers(self, state: tuple[Reply, Any, list[Any]], answer: Any) -> None:
        reply, context, done = state
        reply(context, None if answer is None else type(answer)(responses=[*answer.responses, *done]))

    def _with_addresses(self, state: tuple[Reply, Any], answer: Any) -> None:
        """Static voters have none in the log; where they listen they have said when they registered."""
        reply, context = state
        for node in answer.nodes:
            known = self.process.loader.image.controllers.get(node.node_id)
            if not node.listeners and known is not None:
                node.listeners = [
                    m.DescribeQuorumResponse.Listener(name=one.listener, host=one.host, port=one.port)
                    for one in known.listeners.values()
                ]
        reply(context, answer)

    def _reply(self, context: tuple[str, Request], answer: Any) -> None:
        """None: what became of the request is not known here; another controller may know."""
        source, request = context
        if answer is None:
            answer = getattr(m, f"{API_NAMES[request.api_key]}Response")(error_code=int(ErrorCode.NOT_CONTROLLER))
        self.node.send(source, Response(request.connection, request.correlation_id, answer))

    # -- envelopes ------------------------------------------------------------------------------
    def _open(self, envelope: Any, reply: Reply, context: Any) -> None:
        if self.controller is None or not self.controller.is_active:
            reply(context, m.EnvelopeResponse(error_code=int(ErrorCode.NOT_CONTROLLER)))
            return
        header = decode_request_header(memoryview(envelope.request_data))
        body = decode_request(header.api_key, header.api_version, header.body)
        inside = (reply, context, header.api_key, header.api_version, header.correlation_id)
        self._serve(header.api_key, body, self._seal, inside)

    def _seal(self, inside: tuple[Reply, Any, int, int, int], answer: Any) -> None:
        reply, context, key, version, correlation_id = inside
        if answer is not None:
            data = read_all(encode_response(key, version, correlation_id, answer))[4:]
            reply(context, m.EnvelopeResponse(response_data=bytes(data), error_code=0))
        else:
            reply(context, m.EnvelopeResponse(error_code=int(ErrorCode.NOT_CONTROLLER)))
