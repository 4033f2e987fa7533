"""Prints what reading and writing costs: `python tests/wire/measure_codec.py`, microseconds, best of five."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any

from broker_core.wire import codec
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.plain import PlainReader


def measure(name: str, call: Callable[[], Any], times: int = 20000) -> None:
    best = min(timeit.repeat(call, number=times, repeat=5)) / times * 1e6
    print(f"{name:50}{best:8.2f}")


def frame_of(parts: list[Any]) -> memoryview:
    return memoryview(bytearray(b"".join(map(bytes, parts))))[4:]


def produce(version: int) -> None:
    kind = m.ProduceRequest
    part = kind.PartitionProduceData(index=3, records=bytes(1000))
    request = kind(acks=-1, topic_data=[kind.TopicProduceData(name="orders", partition_data=[part])])
    frame = frame_of(codec.encode_request(ApiKey.PRODUCE, version, 7, "client", request))
    body = codec.decode_request_header(frame).body
    measure(f"Produce v{version}: header", lambda: codec.decode_request_header(frame))
    measure(f"Produce v{version}: request of one partition", lambda: codec.decode_request(0, version, body))
    schema = kind.TYPE.at(version)
    measure(f"Produce v{version}: the same, plainly", lambda: PlainReader("", body, kind.CLASSES).message(schema), 2000)
    answer = m.ProduceResponse.PartitionProduceResponse(index=3, base_offset=77)
    topic = m.ProduceResponse.TopicProduceResponse(name="orders", partition_responses=[answer])
    response = m.ProduceResponse(responses=[topic])
    measure(f"Produce v{version}: response", lambda: codec.encode_response(0, version, 7, response))


def fetch(version: int) -> None:
    kind, answer = m.FetchRequest, m.FetchResponse
    asked = kind.FetchTopic(topic="orders", partitions=[kind.FetchPartition(partition=i) for i in range(3)])
    body = codec.decode_request_header(
        frame_of(codec.encode_request(ApiKey.FETCH, version, 7, "client", kind(topics=[asked])))
    ).body
    measure(f"Fetch v{version}: request of three partitions", lambda: codec.decode_request(1, version, body))
    parts = [answer.PartitionData(partition_index=i, records=[bytes(1000)]) for i in range(3)]
    response = answer(responses=[answer.FetchableTopicResponse(topic="orders", partitions=parts)])
    measure(f"Fetch v{version}: response with three batches", lambda: codec.encode_response(1, version, 7, response))


def metadata(version: int) -> None:
    kind = m.MetadataResponse
    parts = [
        kind.MetadataResponsePartition(partition_index=i, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3])
        for i in range(6)
    ]
    topics = [kind.MetadataResponseTopic(name=f"topic-{i}", partitions=parts) for i in range(10)]
    response = kind(topics=topics)
    measure(f"Metadata v{version}: response 10 x 6", lambda: codec.encode_response(3, version, 7, response), 1000)


if __name__ == "__main__":
    for produce_version in (3, 9, 12):
        produce(produce_version)
    for fetch_version in (4, 11, 12, 17):
        fetch(fetch_version)
    metadata(12)
