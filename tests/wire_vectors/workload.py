"""Clients that speak many APIs in many versions; run through `capture.py`.

    workload.py PORT modern|old [ORACLE]

`modern` drives kcat, confluent-kafka, kafka-python and, when the path of the oracle's script is given, the
Apache command-line tools. `old` makes librdkafka speak as it did to brokers of 0.8.2 to 0.11, which Kafka up
to 3.9 understands. Failures of single steps are printed and do not stop the rest: error responses are
vectors, too.
"""

from __future__ import annotations

import importlib
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

Step = Callable[[str], Any]
BEFORE_1_0: list[tuple[int, ...]] = [(0, 8, 2), (0, 9), (0, 10, 0), (0, 10, 1), (0, 11)]
SINCE_1_0: list[tuple[int, ...]] = [(1, 0), (1, 1), (2, 0), (2, 1), (2, 3), (2, 5), (2, 8), (3, 4)]


def kcat(server: str, *arguments: str, text: str = "") -> None:
    command = ["timeout", "15", "kcat", "-b", server, "-X", "client.id=kcat", *arguments]
    subprocess.run(command, input=text, text=True, stdout=subprocess.DEVNULL, check=False)


def api_versions_of_the_future(server: str) -> None:
    """ApiVersions in a version that no broker knows, and in the first."""
    host, port = server.split(":")
    for version, rest in ((99, b"\0"), (0, b"")):
        with socket.create_connection((host, int(port)), 5) as connection:
            frame = struct.pack(">hhih", 18, version, 7, -1) + rest
            connection.sendall(struct.pack(">i", len(frame)) + frame)
            connection.recv(4096)


def kcat_everyday(server: str) -> None:
    kcat(server, "-L")
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        kcat(server, "-P", "-t", "kcat-topic", "-z", codec, "-K:", text="k1:v1\nk2:v2\n")
    kcat(server, "-C", "-t", "kcat-topic", "-o", "beginning", "-e")
    kcat(server, "-G", "kcat-group", "-c", "4", "-X", "auto.offset.reset=earliest", "kcat-topic")
    kcat(server, "-Q", "-t", "kcat-topic:0:-1")


def kcat_of_old(server: str) -> None:
    for version in ("0.8.2.1", "0.9.0.1", "0.10.0.1", "0.10.1.0", "0.11.0.0", "1.0.0"):
        old = ("-X", "api.version.request=false", "-X", f"broker.version.fallback={version}")
        kcat(server, "-L", *old)
        kcat(server, "-P", "-t", "old-topic", *old, text="one\ntwo\n")
        kcat(server, "-C", "-t", "old-topic", "-o", "beginning", "-e", *old)
        if not version.startswith("0.8"):  # groups came with 0.9
            kcat(server, "-G", f"old-{version}", "-c", "2", "-X", "auto.offset.reset=earliest", *old, "old-topic")


def confluent_produce_and_transact(server: str) -> None:
    rd: Any = importlib.import_module("confluent_kafka")

    producer = rd.Producer({"bootstrap.servers": server, "client.id": "rdkafka", "transactional.id": "tx-1"})
    producer.init_transactions(15)
    consumer = rd.Consumer(
        {"bootstrap.servers": server, "group.id": "rd-group", "client.id": "rdkafka", "auto.offset.reset": "earliest"}
    )
    for commit in (True, False):
        producer.begin_transaction()
        producer.produce("tx-topic", b"value", b"key", headers={"h": b"1"})
        producer.flush(10)
        offsets = [rd.TopicPartition("tx-topic", 0, 1, "metadata")]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 10)
        producer.commit_transaction(10) if commit else producer.abort_transaction(10)
    consumer.subscribe(["tx-topic"])
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline and not consumer.poll(0.5):
        pass
    consumer.commit(asynchronous=False)
    consumer.committed([rd.TopicPartition("tx-topic", 0)], 5)
    consumer.offsets_for_times([rd.TopicPartition("tx-topic", 0, 0)], 5)
    consumer.get_watermark_offsets(rd.TopicPartition("tx-topic", 0), 5)
    consumer.close()


def confluent_new_group_protocol(server: str) -> None:
    rd: Any = importlib.import_module("confluent_kafka")

    consumer = rd.Consumer(
        {"bootstrap.servers": server, "group.id": "kip848", "group.protocol": "consumer", "client.id": "rdkafka"}
    )
    consumer.subscribe(["tx-topic"])
    for _ in range(8):
        consumer.poll(0.3)
    consumer.close()


def wait_for(future: Any, _: str) -> None:
    future.result(10)


def confluent_admin(server: str) -> None:
    rd: Any = importlib.import_module("confluent_kafka")
    admin: Any = importlib.import_module("confluent_kafka.admin")

    client = admin.AdminClient({"bootstrap.servers": server, "client.id": "rdkafka-admin"})

    def each(futures: dict[Any, Any]) -> None:
        for future in futures.values():
            attempt(partial(wait_for, future), server)

    each(client.create_topics([admin.NewTopic("made", 2, 1, config={"retention.ms": "1000"})]))
    each(client.create_topics([admin.NewTopic("made", 2, 1)]))
    each(client.create_partitions([admin.NewPartitions("made", 3)]))
    resource = admin.ConfigResource(admin.ConfigResource.Type.TOPIC, "made", set_config={"retention.ms": "5000"})
    each(client.alter_configs([resource]))
    entry = admin.ConfigEntry("retention.ms", "7000", incremental_operation=admin.AlterConfigOpType.SET)
    resource = admin.ConfigResource(admin.ConfigResource.Type.TOPIC, "made", incremental_configs=[entry])
    each(client.incremental_alter_configs([resource]))
    each(client.describe_configs([admin.ConfigResource(admin.ConfigResource.Type.TOPIC, "made")]))
    everyone = ("User:any", "*", admin.AclOperation.READ, admin.AclPermissionType.ALLOW)
    acl = admin.AclBinding(admin.ResourceType.TOPIC, "made", admin.ResourcePatternType.LITERAL, *everyone)
    each(client.create_acls([acl]))
    each(client.describe_consumer_groups(["rd-group"]))
    attempt(lambda _: client.list_consumer_groups().result(10), server)
    attempt(lambda _: client.describe_cluster(include_authorized_operations=True).result(10), server)
    each(client.list_offsets({rd.TopicPartition("tx-topic", 0): admin.OffsetSpec.latest()}))
    each(client.delete_records([rd.TopicPartition("tx-topic", 0, 1)]))
    each(client.list_consumer_group_offsets([rd.ConsumerGroupTopicPartitions("rd-group")]))
    each(client.describe_user_scram_credentials(["nobody"]))
    attempt(lambda _: client.elect_leaders(rd.ElectionType.PREFERRED).result(10), server)
    each(client.delete_consumer_groups(["kcat-group"]))
    each(client.delete_topics(["made"]))


def kafka_python(server: str, version: tuple[int, ...] | None = None) -> None:
    """`version`: speak as to a broker of that age, which gives the versions in between."""
    kafka: Any = importlib.import_module("kafka")

    settings: dict[str, Any] = {"bootstrap_servers": server, "client_id": "kafka-python", "api_version": version}
    producer = kafka.KafkaProducer(acks=1, enable_idempotence=False, **settings)
    producer.send("py-topic", b"value", key=b"key")
    producer.flush(10)
    producer.close()
    consumer = kafka.KafkaConsumer(
        "py-topic", group_id=f"py-group-{version}", auto_offset_reset="earliest", consumer_timeout_ms=1500, **settings
    )
    list(consumer)
    consumer.close()


def kafka_python_of_old(server: str, versions: list[tuple[int, ...]]) -> None:
    for version in versions:
        attempt(partial(kafka_python, version=version), server)


def apache_tools(server: str, oracle: list[str]) -> None:
    def tool(name: str, *arguments: str) -> None:
        command = [*oracle, "tool", name, "--bootstrap-server", server, *arguments]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    tools = "org.apache.kafka.tools."
    tool(tools + "TopicCommand", "--create", "--topic", "java-topic", "--partitions", "2")
    tool(tools + "TopicCommand", "--describe")
    tool(tools + "VerifiableProducer", "--topic", "java-topic", "--max-messages", "5")
    tool(
        tools + "VerifiableConsumer", "--topic", "java-topic", "--group-id", "java-group", "--max-messages", "5",
        "--reset-policy", "earliest",
    )  # fmt: skip
    tool(tools + "consumer.group.ConsumerGroupCommand", "--describe", "--all-groups")
    tool(tools + "LogDirsCommand", "--describe", "--topic-list", "java-topic")
    tool(tools + "TransactionsCommand", "list")
    tool(tools + "TransactionsCommand", "describe-producers", "--topic", "tx-topic", "--partition", "0")
    tool(tools + "TransactionsCommand", "describe", "--transactional-id", "tx-1")
    tool(tools + "TopicCommand", "--delete", "--topic", "java-topic")


def attempt(step: Step, server: str) -> None:
    try:
        step(server)
    except Exception:
        traceback.print_exc(limit=1)


def main(port: str, kind: str, *oracle: str) -> None:
    server = f"127.0.0.1:{port}"
    attempt(api_versions_of_the_future, server)
    attempt(kcat_everyday, server)
    if kind == "old":
        attempt(kcat_of_old, server)
        kafka_python_of_old(server, BEFORE_1_0)
    kafka_python_of_old(server, SINCE_1_0)
    for step in (confluent_produce_and_transact, confluent_new_group_protocol, confluent_admin, kafka_python):
        attempt(step, server)
    if oracle:
        attempt(lambda s: apache_tools(s, list(oracle)), server)


if __name__ == "__main__":
    main(*sys.argv[1:])
