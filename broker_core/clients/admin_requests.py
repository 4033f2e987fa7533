"""What the admin client asks: calls, bodies of requests, and the verdict of their answers.

An answer has an error for the whole request, for each of its items, or for each partition of them; `verdict` is the
first that is not NONE. Source: Kafka's `Admin` interface; KIP-107 (DeleteRecords), KIP-455 (reassignments), KIP-460
(elections).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from broker_core.clients.connections import error_of
from broker_core.kernel.node import Timer
from broker_core.kernel.problems import Problem, problem
from broker_core.metadata.configs_broker import BROKER_SETTINGS
from broker_core.metadata.configs_types import UpdateMode
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

TOPIC, BROKER, GROUP = 2, 4, 32  # ConfigResource.Type
SET, DELETE = 0, 1  # AlterConfigOp
UPGRADE, SAFE_DOWNGRADE = 1, 2
PREFERRED, UNCLEAN = 0, 1  # ElectionType
HIGH_WATERMARK = -1  # DeleteRecords: all that is committed
CONTROLLER, ANY = -1, -2
Target = int | tuple[str, int]
MOVE_ON_MS = 3_000
"""So long what any broker can answer waits for one of them."""

# The lists that answers hold their items in, from the outside to the inside.
_LISTS = ("results", "replica_election_results", "responses", "topics"), ("partition_result", "partitions")


class AdminCall:
    """One admin request and where it goes: a broker id, CONTROLLER, ANY, or the leader of a (topic, partition).

    `dest` is the broker that has it now; `unanswered`: an earlier try may have been carried out, nobody knows.
    """

    __slots__ = ("api", "body", "target", "deadline_us", "what", "dest", "unanswered", "timer")

    def __init__(self, api: int, body: Any, target: Target, deadline_us: int, what: dict[str, Any]) -> None:
        self.api = api
        self.body = body
        self.target = target
        self.deadline_us = deadline_us
        self.what = what
        self.dest = ""
        self.unanswered = False
        self.timer: Timer | None = None  # until its controller is doubted


def create_topic(
    topic: str, partitions: int, replication_factor: int, configs: dict[str, str], assignment: list[list[int]],
    timeout_ms: int,
) -> Any:  # fmt: skip
    """CreateTopics; with an assignment both counts are -1."""
    kind = m.CreateTopicsRequest
    given = [
        kind.CreatableReplicaAssignment(partition_index=number, broker_ids=replicas)
        for number, replicas in enumerate(assignment)
    ]
    asked = kind.CreatableTopic(
        name=topic, num_partitions=-1 if given else partitions, replication_factor=-1 if given else replication_factor,
        assignments=given, configs=[kind.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )  # fmt: skip
    return kind(topics=[asked], timeout=timeout_ms)


def delete_topic(topic: str, timeout_ms: int) -> Any:
    """DeleteTopics."""
    state = m.DeleteTopicsRequest.DeleteTopicState(name=topic)
    return m.DeleteTopicsRequest(topics=[state], topic_names=[topic], timeout=timeout_ms)


def add_partitions(topic: str, partitions: int, timeout_ms: int) -> Any:
    """CreatePartitions; `partitions` is the new total."""
    asked = m.CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=partitions, assignments=None)
    return m.CreatePartitionsRequest(topics=[asked], timeout=timeout_ms)


def alter_config(
    topic: str | None, broker: int | None, changes: dict[str, str | None], group: str | None = None
) -> Any:
    """IncrementalAlterConfigs of a topic, a broker or a group; None takes a setting back."""
    kind = m.IncrementalAlterConfigsRequest
    configs = [
        kind.AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
        for key, value in changes.items()
    ]
    what, name = (GROUP, group) if group is not None else (TOPIC, topic) if topic is not None else (BROKER, str(broker))
    resource = kind.AlterConfigsResource(resource_type=what, resource_name=name, configs=configs)
    return kind(resources=[resource])


def altered(topic: str | None, broker: int | None, group: str | None) -> dict[str, str]:
    """The command, as its result names it."""
    named = {"group": group, "topic": topic, "broker": None if broker is None else str(broker)}
    return {"do": "alter_config"} | {name: one for name, one in named.items() if one is not None}


def elect_leaders(where: tuple[str, int] | None, unclean: bool, timeout_ms: int) -> Any:
    """ElectLeaders of one partition, or of all (None)."""
    kind = m.ElectLeadersRequest
    chosen = None if where is None else [kind.TopicPartitions(topic=where[0], partitions=[where[1]])]
    return kind(election_type=UNCLEAN if unclean else PREFERRED, topic_partitions=chosen, timeout=timeout_ms)


def reassign(topic: str, partition: int, replicas: list[int] | None, timeout_ms: int) -> Any:
    """AlterPartitionReassignments; None cancels what is under way."""
    kind = m.AlterPartitionReassignmentsRequest
    wanted = kind.ReassignablePartition(partition_index=partition, replicas=replicas)
    return kind(topics=[kind.ReassignableTopic(name=topic, partitions=[wanted])], timeout=timeout_ms)


def move_replica(topic: str, partition: int, directory: str) -> Any:
    """AlterReplicaLogDirs; a directory is named by its absolute path."""
    kind = m.AlterReplicaLogDirsRequest
    wanted = kind.AlterReplicaLogDirTopic(name=topic, partitions=[partition])
    return kind(dirs=[kind.AlterReplicaLogDir(path=f"/{directory.strip('/')}", topics=[wanted])])


def delete_records(topic: str, partition: int, before: int, timeout_ms: int) -> Any:
    """DeleteRecords below `before`, or below HIGH_WATERMARK."""
    kind = m.DeleteRecordsRequest
    wanted = kind.DeleteRecordsPartition(partition_index=partition, offset=before)
    return kind(topics=[kind.DeleteRecordsTopic(name=topic, partitions=[wanted])], timeout=timeout_ms)


def update_feature(feature: str, level: int, downgrade: bool, timeout_ms: int) -> Any:
    """UpdateFeatures; a downgrade that would lose metadata is refused."""
    kind = m.UpdateFeaturesRequest
    update = kind.FeatureUpdateKey(
        feature=feature, max_version_level=level, allow_downgrade=downgrade,
        upgrade_type=SAFE_DOWNGRADE if downgrade else UPGRADE,
    )  # fmt: skip
    return kind(timeout=timeout_ms, feature_updates=[update], validate_only=False)


def ask_versions() -> Any:
    """ApiVersions, as clients open a connection with it."""
    return m.ApiVersionsRequest(client_software_name="brokerlab", client_software_version="1")


def verdict(response: Any) -> tuple[ErrorCode, str]:
    """The first error of an answer and the broker's own words for it."""
    for one in _parts(response):
        error = error_of(getattr(one, "error_code", 0) or 0)
        if error != ErrorCode.NONE:
            return error, getattr(one, "error_message", None) or ""
    return ErrorCode.NONE, ""


def _parts(response: Any) -> Iterator[Any]:
    """The answer, its items, and their partitions."""
    outer, inner = _LISTS
    yield response
    for item in _listed(response, outer):
        yield item
        yield from _listed(item, inner)


def _listed(part: Any, names: tuple[str, ...]) -> list[Any]:
    return next((getattr(part, name) for name in names if hasattr(part, name)), None) or []


def refused_with(error: str, message: str, what: dict[str, Any]) -> Problem | None:
    """A broker's refusal of a command: Kafka's error, and the broker's own words where it has some."""
    if not error:
        return None
    if error == ErrorCode.INVALID_REQUEST.name and "broker" in what and "set" in what:
        known = [BROKER_SETTINGS[name] for name in what["set"] if name in BROKER_SETTINGS]
        fixed = [setting.name for setting in known if setting.mode is UpdateMode.READ_ONLY]
        if fixed:
            return problem("read_only_setting", name=fixed[0])
    return problem("kafka_says", error=error, words=message) if message else problem("kafka_error", error=error)
