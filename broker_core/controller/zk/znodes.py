"""The paths of a cluster in the coordination tree, and what stands in them: JSON, as Kafka 3.9 writes it.

| path | lives | content |
|---|---|---|
| /brokers/ids/1 | with the session | endpoints, host, port, rack, version 5; its czxid is the broker epoch |
| /brokers/topics/orders | until deleted | partitions -> replicas, topic id, version 3 |
| /brokers/topics/orders/partitions/0/state | until deleted | leader, ISR, epochs; its version is the partition epoch |
| /controller | with the session | broker id of the controller |
| /controller_epoch | always | a number |
| /config/topics/orders | until deleted | settings that differ from the defaults |
| /config/changes/config_change_0000000007 | 15 minutes | "look at topics/orders again" |
| /admin/delete_topics/orders | until done | a wish |
| /latest_producer_id_block | always | the last block of producer ids given away |
| /consumers/billing/offsets/orders/0 | always | a number, of clients that ask by version 0 |

Source: `kafka.zk.ZkData`.
"""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from broker_core.metadata.partition import LeaderAndIsr, ReplicaAssignment
from broker_core.metadata.registration import Endpoint

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKER_IDS = "/brokers/ids"
BROKER_SEQUENCE = "/brokers/seqid"
TOPICS = "/brokers/topics"
DELETE_TOPICS = "/admin/delete_topics"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
ISR_CHANGES = "/isr_change_notification"
LOG_DIR_EVENTS = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX = "/log_dir_event_notification/log_dir_event_"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = "/config/changes/config_change_"
CLUSTER_ID = "/cluster/id"
FEATURE = "/feature"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"

PERSISTENT_PATHS = (
    "/consumers",
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE,
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
)


def broker_path(broker: int) -> str:
    return f"{BROKER_IDS}/{broker}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{TOPICS}/{topic}/partitions"


def partition_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}"


def state_path(topic: str, partition: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


def config_path(entity_type: str, name: str) -> str:
    """entity_type: topics | brokers | clients | users | ips."""
    return f"/config/{entity_type}/{name}"


def consumer_offset_path(group: str, topic: str, partition: int) -> str:
    return f"/consumers/{group}/offsets/{topic}/{partition}"


def delete_topic_path(topic: str) -> str:
    return f"{DELETE_TOPICS}/{topic}"


def parents_of(path: str) -> list[str]:
    """/a/b/c -> [/a, /a/b]."""
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[: depth + 1]) for depth in range(len(parts))]


def encode_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def encode_uuid(value: uuid.UUID) -> str:
    """Kafka writes ids as 22 characters of URL-safe base 64."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def decode_uuid(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))


@dataclass(slots=True)
class BrokerInfo:
    """A registered broker. `epoch` is the czxid of its znode, so each registration has another."""

    id: int
    endpoints: list[Endpoint]
    rack: str | None = None
    epoch: int = -1
    timestamp_ms: int = 0
    features: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> bytes:
        first = self.endpoints[0]
        value: dict[str, Any] = {
            "features": self.features,
            "listener_security_protocol_map": {each.listener: each.security_protocol for each in self.endpoints},
            "endpoints": [f"{each.listener}://{each.host}:{each.port}" for each in self.endpoints],
            "jmx_port": -1,
        }
        if self.rack is not None:
            value["rack"] = self.rack
        value |= {"port": first.port, "host": first.host, "version": 5, "timestamp": str(self.timestamp_ms)}
        return encode_json(value)

    @classmethod
    def decode(cls, broker: int, data: bytes, epoch: int) -> BrokerInfo:
        value = json.loads(data)
        protocols = value.get("listener_security_protocol_map", {})
        endpoints = [_endpoint(text, protocols) for text in value["endpoints"]]
        return cls(broker, endpoints, value.get("rack"), epoch, int(value["timestamp"]), value.get("features", {}))


def _endpoint(text: str, protocols: dict[str, str]) -> Endpoint:
    listener, _, address = text.partition("://")
    host, _, port = address.rpartition(":")
    return Endpoint(listener, host, int(port), protocols.get(listener, "PLAINTEXT"))


@dataclass(slots=True)
class TopicInfo:
    """/brokers/topics/T: where the replicas of every partition are."""

    topic_id: uuid.UUID
    partitions: dict[int, ReplicaAssignment]

    def encode(self) -> bytes:
        moving = {str(number): each for number, each in self.partitions.items() if each.being_reassigned}
        return encode_json(
            {
                "partitions": {str(number): each.replicas for number, each in self.partitions.items()},
                "topic_id": encode_uuid(self.topic_id),
                "adding_replicas": {number: each.adding for number, each in moving.items()},
                "removing_replicas": {number: each.removing for number, each in moving.items()},
                "version": 3,
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> TopicInfo:
        value = json.loads(data)
        adding, removing = value.get("adding_replicas", {}), value.get("removing_replicas", {})
        partitions = {
            int(number): ReplicaAssignment(replicas, adding.get(number, []), removing.get(number, []))
            for number, replicas in value["partitions"].items()
        }
        topic_id = decode_uuid(value["topic_id"]) if "topic_id" in value else uuid.UUID(int=0)
        return cls(topic_id, dict(sorted(partitions.items())))


def encode_state(state: LeaderAndIsr) -> bytes:
    """Partition state; the partition epoch is not written, it is the znode's version."""
    return encode_json(
        {
            "controller_epoch": state.controller_epoch,
            "leader": state.leader,
            "version": 1,
            "leader_epoch": state.leader_epoch,
            "isr": state.isr,
        }
    )


def decode_state(data: bytes, version: int) -> LeaderAndIsr:
    value = json.loads(data)
    return LeaderAndIsr(value["leader"], value["isr"], value["leader_epoch"], version, value["controller_epoch"])


def encode_controller(broker: int, timestamp_ms: int) -> bytes:
    return encode_json({"version": 2, "brokerid": broker, "timestamp": str(timestamp_ms), "kraftControllerEpoch": -1})


def decode_controller(data: bytes) -> int:
    return int(json.loads(data)["brokerid"])


def encode_log_dir_event(broker: int) -> bytes:
    """A log directory of this broker has failed (event 1, the only one)."""
    return encode_json({"version": 1, "broker": broker, "event": 1})


def encode_config(config: dict[str, str]) -> bytes:
    return encode_json({"version": 1, "config": config})


def decode_config(data: bytes) -> dict[str, str]:
    return dict(json.loads(data).get("config", {})) if data else {}


def encode_config_change(entity_type: str, name: str) -> bytes:
    return encode_json({"version": 2, "entity_path": f"{entity_type}/{name}"})


def decode_config_change(data: bytes) -> tuple[str, str]:
    """(entity type, name)."""
    entity_type, _, name = str(json.loads(data)["entity_path"]).partition("/")
    return entity_type, name


def encode_features() -> bytes:
    """No finalised features; status 1 = enabled (KIP-584)."""
    return encode_json({"features": {}, "version": 2, "status": 1})


def encode_cluster_id(cluster_id: str) -> bytes:
    return encode_json({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    return str(json.loads(data)["id"])


def encode_producer_block(broker: int, first: int, last: int) -> bytes:
    return encode_json({"version": 1, "broker": broker, "block_start": str(first), "block_end": str(last)})


def decode_producer_block(data: bytes) -> tuple[int, int, int]:
    """(broker, first id, last id)."""
    value = json.loads(data)
    return int(value["broker"]), int(value["block_start"]), int(value["block_end"])


def decode_partition_list(data: bytes) -> list[tuple[str, int]]:
    """What /admin/preferred_replica_election and /isr_change_notification hold."""
    return [(each["topic"], each["partition"]) for each in json.loads(data)["partitions"]]
