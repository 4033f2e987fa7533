"""Topics are created, grown and deleted through the broker that is controller: CreateTopics (19),
CreatePartitions (37), DeleteTopics (20).

The broker checks the wish, writes znodes, and waits (`waiting`); the controller, though it lives in
the same process, learns of the new znodes by its watches like everything else it knows:

    /config/topics/orders and /brokers/topics/orders   created together: the topic exists
    /brokers/topics/orders                             rewritten with more partitions: it grows
    /admin/delete_topics/orders                        created: it is to go

Source: `ZkAdminManager`, `AdminZkClient`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker_core.controller.zk import znodes
from broker_core.controller.zk.controller import KafkaController
from broker_core.controller.topic_rules import growth_of, initial_assignment
from broker_core.cluster.zk.waiting import Done, MetadataWaits
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.metadata import topic_names
from broker_core.metadata.cache import NO_ID, MetadataCache
from broker_core.metadata.configs import BrokerConfig, ConfigError
from broker_core.metadata.configs_topics import check_topic_overrides, describe_topic
from broker_core.metadata.errors import RequestError
from broker_core.metadata.partition import ReplicaAssignment
from broker_core.controller.zk.znodes import TopicInfo
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.client import ZkClient
from broker_core.zookeeper.errors import Code


@dataclass(slots=True)
class _Growth:
    """A CreatePartitions request under way: what is said of each topic, and how many partitions have been written."""

    request: m.CreatePartitionsRequest
    done: Done
    caller: Any
    results: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


_Grown = tuple[Any, TopicInfo, dict[int, list[int]], int]
"""A topic of the request, what its znode is to hold, what is new in that, and the znode's version."""


class TopicAdmin:
    """One in every broker; it serves while the controller beside it is active."""

    def __init__(
        self, node: Node, zk: ZkClient, cache: MetadataCache, config: BrokerConfig, controller: KafkaController
    ) -> None:
        self.node = node
        self.zk = zk
        self.cache = cache
        self.config = config
        self.controller = controller
        self.waits = MetadataWaits(node, cache)

    def metadata_updated(self) -> None:
        """The broker has applied an UpdateMetadata request."""
        self.waits.metadata_updated()

    # --- CreateTopics ----------------------------------------------------------------------------

    def create_topics(self, request: m.CreateTopicsRequest, done: Done, context: Any = None) -> None:
        """`done(context, CreateTopicsResponse)` when the topics can be used, or cannot be created."""
        names = [topic.name for topic in request.topics]
        results: dict[str, Any] = {}
        infos: dict[str, tuple[TopicInfo, dict[str, str]]] = {}
        for topic in request.topics:
            try:
                self._expect_active()
                if names.count(topic.name) > 1:
                    raise RequestError(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
                # Topics are created one after the other: one may be in the way of the next.
                before: Iterable[str] = () if request.validate_only else infos
                infos[topic.name] = self._planned(topic, before)
                results[topic.name] = self._created_result(topic.name, *infos[topic.name], request.validate_only)
            except RequestError as error:
                results[topic.name] = _create_error(topic.name, error)
        response = m.CreateTopicsResponse(topics=list(results.values()))
        if request.validate_only or not infos:
            done(context, response)
            return
        ops: list[p.Operation] = [_creation(name, info, configs) for name, (info, configs) in infos.items()]
        self.zk.batch(ops, self._topics_written, (infos, results, request.timeout, response, done, context))

    def _expect_active(self) -> None:
        if not self.controller.is_active:
            raise RequestError(ErrorCode.NOT_CONTROLLER)

    def _planned(self, topic: Any, before: Iterable[str]) -> tuple[TopicInfo, dict[str, str]]:
        """Assignment and settings of a topic that may be created beside those there are and those `before` it in its
        request. One that waits for its deletion has gone from the caches; its name is taken. Raises RequestError."""
        known = self.controller.context
        going = [name for name in known.deleting if name not in self.cache.topics]
        existing = [
            *before,
            *self.cache.topics,
            *(name for name in known.assignments if name not in self.cache.topics and name not in going),
        ]
        topic_names.validate_new(topic.name, existing)
        assignment = initial_assignment(topic, self.cache.racks(), self.config, self.node.random("assignment"))
        configs = _config_texts(topic.configs)
        try:
            check_topic_overrides(configs, self.config)
        except ConfigError as error:
            raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from None
        if topic.name in going:
            raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' is marked for deletion.")
        partitions = {number: ReplicaAssignment(replicas) for number, replicas in sorted(assignment.items())}
        return TopicInfo(self._new_topic_id(), partitions), configs

    def _new_topic_id(self) -> uuid.UUID:
        """One that no topic has: a node that starts again with the same seed draws the same numbers again, and two
        topics of one id would share the positions of their fetch sessions (KIP-516)."""
        taken = set(self.controller.context.topic_ids.values())
        found = self.node.uuid()
        while found in taken:
            found = self.node.uuid()
        return found

    def _created_result(self, name: str, info: TopicInfo, configs: dict[str, str], validate_only: bool) -> Any:
        described = [
            m.CreateTopicsResponse.CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
                is_sensitive=entry.sensitive,
            )
            for entry in describe_topic(configs, self.config)
        ]
        return m.CreateTopicsResponse.CreatableTopicResult(
            name=name,
            topic_id=NO_ID if validate_only else info.topic_id,
            error_message=None,
            num_partitions=len(info.partitions),
            replication_factor=len(info.partitions[0].replicas),
            configs=described,
        )

    def _topics_written(self, context: Any, written: list[p.Result]) -> None:
        infos, results, timeout_ms, response, done, caller = context
        again = [name for name, result in zip(infos, written, strict=True) if _left_over_config(result)]
        if again:
            retried = {name: infos.pop(name) for name in again}
            ops: list[p.Operation] = [
                _creation(name, info, configs, config_exists=True) for name, (info, configs) in retried.items()
            ]
            self.zk.batch(ops, self._leftovers_written, (retried, [*written], context))
        self._finish_creation(infos, results, [each for each in written if not _left_over_config(each)])
        if not again:
            self._await_creation(infos, results, timeout_ms, response, done, caller)

    def _leftovers_written(self, context: Any, written: list[p.Result]) -> None:
        retried, _, (infos, results, timeout_ms, response, done, caller) = context
        self._finish_creation(retried, results, written)
        infos.update(retried)
        self._await_creation(infos, results, timeout_ms, response, done, caller)

    def _finish_creation(
        self, infos: dict[str, tuple[TopicInfo, dict[str, str]]], results: dict[str, Any], written: list[p.Result]
    ) -> None:
        for (name, (info, configs)), result in zip(list(infos.items()), written, strict=True):
            if result.ok:
                assignment = {number: list(each.replicas) for number, each in info.partitions.items()}
                self.node.emit(
                    events.TOPIC_CREATED,
                    topic=name,
                    partitions=len(assignment),
                    configs=dict(configs),
                    replication_factor=len(assignment[0]),
                    assignment=assignment,
                    topic_id=str(info.topic_id),
                )
            else:
                del infos[name]
                _make_error(results[name], _write_error(name, result))

    def _await_creation(
        self,
        infos: dict[str, tuple[TopicInfo, dict[str, str]]],
        results: dict[str, Any],
        timeout_ms: int,
        response: Any,
        done: Done,
        caller: Any,
    ) -> None:
        counts = {name: len(info.partitions) for name, (info, _) in infos.items()}
        self.waits.answer(counts, results, timeout_ms, response, done, caller)

    # --- CreatePartitions ------------------------------------------------------------------------

    def create_partitions(self, request: m.CreatePartitionsRequest, done: Done, context: Any = None) -> None:
        """`done(context, CreatePartitionsResponse)` when the new partitions can be used."""
        self._read(_Growth(request, done, context), request.topics)

    def _read(self, growth: _Growth, topics: Sequence[Any]) -> None:
        ops: list[p.Operation] = [p.GetData(znodes.topic_path(topic.name)) for topic in topics]
        self.zk.batch(ops, self._grow, (growth, topics))

    def _grow(self, context: tuple[_Growth, Sequence[Any]], found: list[p.Result]) -> None:
        growth, topics = context
        names = [topic.name for topic in growth.request.topics]
        grown: list[_Grown] = []
        for topic, result in zip(topics, found, strict=True):
            answer = growth.results[topic.name] = m.CreatePartitionsResponse.CreatePartitionsTopicResult(
                name=topic.name, error_message=None
            )
            try:
                self._expect_active()
                if names.count(topic.name) > 1:
                    raise RequestError(ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")
                grown.append((topic, *self._grown(topic, result)))
            except RequestError as error:
                answer.error_code, answer.error_message = error.code, error.message
        if growth.request.validate_only or not grown:
            self._answer_growth(growth)
            return
        ops: list[p.Operation] = [
            p.SetData(znodes.topic_path(topic.name), info.encode(), version) for topic, info, _, version in grown
        ]
        self.zk.batch(ops, self._growth_written, (growth, grown))

    def _grown(self, topic: Any, found: p.Result) -> tuple[TopicInfo, dict[int, list[int]], int]:
        if found.code is Code.SESSIONEXPIRED:  # the tree has not been asked: whoever is controller now will
            raise RequestError(ErrorCode.NOT_CONTROLLER)
        if found.stat is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic.name}' does not exist.")
        if topic.name in self.controller.context.deleting:
            raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion.")
        info = TopicInfo.decode(found.data)
        added = growth_of(topic, info.partitions, self.cache.racks())
        info.partitions.update({number: ReplicaAssignment(replicas) for number, replicas in added.items()})
        return info, added, found.stat.version

    def _growth_written(self, context: tuple[_Growth, list[_Grown]], written: list[p.Result]) -> None:
        """What somebody else has written meanwhile (a move to other brokers) is read, and grown, once more."""
        growth, grown = context
        again = []
        for (topic, info, added, _), result in zip(grown, written, strict=True):
            if result.ok:
                growth.counts[topic.name] = len(info.partitions)
                self.node.emit(events.TOPIC_GROWN, topic=topic.name, partitions=len(info.partitions), assignment=added)
            elif result.code is Code.BADVERSION:
                again.append(topic)
            else:
                error, answer = _write_error(topic.name, result), growth.results[topic.name]
                answer.error_code, answer.error_message = error.code, error.message
        if again:
            self._read(growth, again)
        else:
            self._answer_growth(growth)

    def _answer_growth(self, growth: _Growth) -> None:
        response = m.CreatePartitionsResponse(results=list(growth.results.values()))
        timeout_ms = growth.request.timeout
        self.waits.answer(growth.counts, growth.results, timeout_ms, response, growth.done, growth.caller)

    # --- DeleteTopics ----------------------------------------------------------------------------

    def delete_topics(self, request: m.DeleteTopicsRequest, done: Done, context: Any = None) -> None:
        """`done(context, DeleteTopicsResponse)` when this broker's cache has forgotten the topics."""
        asked = [(each.name, each.topic_id) for each in request.topics] or [
            (name, NO_ID) for name in request.topic_names
        ]
        answers: list[Any] = []
        results: dict[str, Any] = {}
        for name, topic_id in asked:
            known = name if name is not None else self._name_of(topic_id)
            answer = m.DeleteTopicsResponse.DeletableTopicResult(name=known, topic_id=topic_id, error_message=None)
            answers.append(answer)
            try:
                if name is not None and topic_id != NO_ID:
                    raise RequestError(ErrorCode.INVALID_REQUEST)
                self._check_deletion(known)
                results[str(known)] = answer
            except RequestError as error:
                answer.error_code, answer.error_message = error.code, error.message
        response = m.DeleteTopicsResponse(responses=answers)
        ops: list[p.Operation] = [p.Create(znodes.delete_topic_path(name)) for name in results]
        self.zk.batch(ops, self._deletion_written, (results, request.timeout, response, done, context))

    def _name_of(self, topic_id: uuid.UUID) -> str | None:
        """The controller knows the id of a topic as long as any znode of it is left."""
        return next((name for name, each in self.controller.context.topic_ids.items() if each == topic_id), None)

    def _check_deletion(self, name: str | None) -> None:
        self._expect_active()
        if not self.config["delete.topic.enable"]:
            raise RequestError(ErrorCode.TOPIC_DELETION_DISABLED, ErrorCode.TOPIC_DELETION_DISABLED.message)
        if name is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_ID)
        if not self.cache.contains(name):  # never was, or is being deleted
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _deletion_written(self, context: Any, written: list[p.Result]) -> None:
        results, timeout_ms, response, done, caller = context
        counts: dict[str, int] = {}
        for name, result in zip(results, written, strict=True):
            if result.ok or result.code is Code.NODEEXISTS:
                counts[name] = 0
            else:
                error = _write_error(name, result)
                results[name].error_code, results[name].error_message = error.code, error.message
        self.waits.answer(counts, results, timeout_ms, response, done, caller)


def _creation(name: str, info: TopicInfo, configs: dict[str, str], config_exists: bool = False) -> p.Multi:
    """Both znodes of a topic, or neither."""
    path, data = znodes.config_path("topics", name), znodes.encode_config(configs)
    config: p.WriteOp = p.SetData(path, data) if config_exists else p.Create(path, data)
    return p.Multi([config, p.Create(znodes.topic_path(name), info.encode())])


def _left_over_config(result: p.Result) -> bool:
    """Settings of a former topic of that name are in the way."""
    return len(result.results) == 2 and result.results[0].code is Code.NODEEXISTS


def _config_texts(configs: list[Any]) -> dict[str, str]:
    missing = [each.name for each in configs if each.value is None]
    if missing:
        raise RequestError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(missing)}")
    return {each.name: each.value for each in configs}


def _create_error(name: str, error: RequestError) -> Any:
    answer = m.CreateTopicsResponse.CreatableTopicResult(name=name)
    _make_error(answer, error)
    return answer


def _make_error(answer: Any, error: RequestError) -> None:
    """Turn a topic's part of the answer into a refusal. NOT_CONTROLLER has an empty sentence, not none, as in Kafka."""
    message = "" if error.code is ErrorCode.NOT_CONTROLLER else error.message
    answer.error_code, answer.error_message = error.code, message
    answer.topic_id, answer.num_partitions, answer.replication_factor, answer.configs = NO_ID, -1, -1, []


def _write_error(name: str, result: p.Result) -> RequestError:
    codes = [result.code, *(part.code for part in result.results)]
    if Code.NODEEXISTS in codes:
        return RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if Code.SESSIONEXPIRED in codes:
        return RequestError(ErrorCode.NOT_CONTROLLER)
    return RequestError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{result.code.name} for topic '{name}'")
