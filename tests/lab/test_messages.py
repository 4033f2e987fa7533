"""Any message of a run as bytes with their fields: under way, of the past, from and to the outside."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from broker_core.kernel.errors import CommandError
from broker_core.kernel.storage import read_all
from broker_core.records.batch import encode_batch
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey, api_name
from broker_core.wire.codec import encode_request, encode_response
from lab.checkers.flights import NoMessage, Wanted, flights, look, wanted_of
from lab.checkers.message_bytes import describe, pieces_of
from lab.clusters.inspect import inspect
from lab.clusters.observe import partitions_of
from lab.clusters.spec import run_from_dict
from lab.experiments.run import RunResult, run_scenario
from lab.experiments.anew import execute_again
from lab.experiments.verify import verify
from lab.live import LiveLab
from lab.recall import Nobody, recall
from lab.reexecution import Reexecution
from lab.scenarios import grammar
from tests.conftest import free_ports

STORY = """\
scenario: messages
cluster: {brokers: 3, preset: teaching, link_delay_ms: 0.5}
seed: 3
topics: [{name: orders, partitions: 1, replication_factor: 3}]
clients: [{name: producer-a, kind: producer, topic: orders, rate: 20, settings: {acks: all}}]
steps:
  - {at: 2s, do: delay_link, between: [producer-a, "leader_of:orders-0"], delay_ms: 300, one_way: true}
  - {at: 2500ms, do: deliver_next, between: [producer-a, "leader_of:orders-0"]}
duration: 4s
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return run_scenario(grammar.parse(STORY, "messages.yaml"), out=tmp_path_factory.mktemp("run") / "run")


def rows(run: RunResult, code: str, api: str) -> list[Any]:
    read = [orjson.loads(line) for line in (run.directory / "journal.jsonl").read_bytes().splitlines()]
    return [row for row in read if row[3] == code and row[5].get("api") == api]


def commanded(run: RunResult, verb: str) -> int:
    """When a command was carried out."""
    read = [orjson.loads(line) for line in (run.directory / "journal.jsonl").read_bytes().splitlines()]
    at: int = next(row[1] for row in read if row[3] == "command" and row[5]["command"]["do"] == verb)
    return at


def covered(fields: list[dict[str, Any]], size: int) -> bool:
    at = 0
    for field in fields:
        if field["offset"] != at:
            return False
        at += field["size"]
    return at == size


def test_every_byte_of_every_message_in_every_version_belongs_to_a_field() -> None:
    checked = 0
    for key in ApiKey:
        for answer in (False, True):
            kind = getattr(m, api_name(key) + ("Response" if answer else "Request"), None)
            for version in kind.TYPE.versions if kind else ():
                data = read_all(encode_response(key, version, 5, kind()) if answer else encode_request(key, version, 5, "me", kind()))
                at = 0
                for start, end, *_ in pieces_of(key, version, answer, data):
                    assert start == at, (api_name(key), version, answer)
                    at = end
                assert at == len(data)
                checked += 1
    assert checked > 500


def test_the_records_of_a_produce_request_are_taken_apart() -> None:
    kind = m.ProduceRequest
    part = kind.PartitionProduceData(index=2, records=encode_batch([(1, b"k", b"v", [])]))
    body = kind(acks=-1, timeout=1000, topic_data=[kind.TopicProduceData(name="orders", partition_data=[part])])
    found = describe(0, 11, False, read_all(encode_request(0, 11, 7, "me", body)))
    values = {field["name"]: field["value"] for field in found["fields"]}
    assert values["apiKey"] == "0 Produce" and values["clientId"] == "me" and values["timeoutMs"] == 1000
    assert values["topicData[0].name"] == "orders" and values["topicData[0].partitionData[0].index"] == 2
    assert values["record 0 key"] == "k" and values["recordCount"] == 1
    assert covered(found["fields"], found["size"]) and all(field["ko"] for field in found["fields"] if field["en"])


def test_a_message_delivered_early_is_part_of_the_run_when_it_is_executed_again(run: RunResult) -> None:
    asked = commanded(run, "deliver_next")
    sent = {row[5]["correlation"]: row[1] for row in rows(run, "request_sent", "Produce")}
    took = {row[1]: row[1] - sent[row[5]["correlation"]] for row in rows(run, "request_received", "Produce")}
    assert took[asked] < 300_000 and next(one for at, one in took.items() if at > asked) == 300_000
    assert verify(run.directory).same


def test_messages_of_the_past_are_found_by_executing_the_run_again(run: RunResult) -> None:
    seq, _, node, _, _, params = rows(run, "request_sent", "Produce")[5]
    wanted = Wanted(seq, node, params["to"], "Produce", params["version"], params["correlation"], False)
    found = recall(run.directory, wanted)
    assert found["how"] == "encoded" and covered(found["fields"], found["size"])
    assert {"name", "offset"} <= found["fields"][0].keys()
    answer = next(row for row in rows(run, "response_sent", "Produce") if row[5]["correlation"] == params["correlation"])
    back = recall(run.directory, Wanted(answer[0], answer[2], node, "Produce", params["version"], params["correlation"], True))
    values = {field["name"]: field["value"] for field in back["fields"]}
    assert values["correlationId"] == params["correlation"]
    assert values["responses[0].partitionResponses[0].errorCode"] == "0 NONE"


def test_what_is_under_way_is_listed_with_its_arrival_and_can_be_looked_at(run: RunResult) -> None:
    world = execute_again(run.directory)
    work = Reexecution(world, run.directory / "inputs.bin", Nobody(), target_us=commanded(run, "deliver_next") - 1000)
    while not work.advance(1):
        pass
    listed = inspect(world, "flights", "")["found"]["flights"]
    found = [one for one in listed if one["kind"] == "request" and one["from"] == "producer-a" and one["api"] == "Produce"]
    assert len(found) > 2 and all(world.now_us < one["at"] <= world.now_us + 300_000 for one in found)
    one = found[0]
    wanted = Wanted(one["sent"], one["from"], one["to"], one["api"], one["version"], one["correlation"], False)
    assert look(world, wanted)["api"] == one["api"]  # type: ignore[index]
    assert look(world, Wanted(1, "producer-a", one["to"], "Produce", 11, 999_999, False)) is None
    assert {"request", "response"} >= {other["kind"] for other in flights(world) if "correlation" in other}


def test_an_answer_on_its_way_says_where_a_followers_log_will_end(run: RunResult) -> None:
    world = execute_again(run.directory)
    work = Reexecution(world, run.directory / "inputs.bin", Nobody(), target_us=commanded(run, "deliver_next"))
    while not work.advance(1):
        pass
    found = list[dict[str, Any]]()
    while not found:
        assert world.step(world.now_us + 1_000_000)
        found = [one for one in flights(world) if "brings" in one]
    one, (brought,) = found[0], found[0]["brings"]
    log = partitions_of(world.nodes[one["to"]])[brought["topic"], brought["partition"]].log
    assert one["api"] == "Fetch" and log.log_end_offset < brought["until"]
    world.run_until(one["at"])
    assert log.log_end_offset == brought["until"]


def test_a_question_that_names_no_message_is_refused(run: RunResult) -> None:
    given = {"seq": 1, "from": "a", "to": "b", "api": "Produce", "version": 11, "correlation": 1}
    assert not wanted_of(given).answer
    with pytest.raises(CommandError, match="version: expected a number"):
        wanted_of({**given, "version": "x"})
    with pytest.raises(CommandError, match="no request 'Nonsense'"):
        wanted_of({**given, "api": "Nonsense"})
    with pytest.raises(NoMessage, match="never was under way"):
        recall(run.directory, wanted_of({**given, "from": "broker-1", "to": "broker-2"}))


def test_what_an_outside_client_sent_and_was_answered_is_found(tmp_path: Path) -> None:
    lab = LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 4}), tmp_path / "lab")
    host, port = lab.start().kafka[0][1:]
    try:
        asyncio.run(_ask(host, port))
        branch = lab.branch()
        branch.ask(branch.files.flush, branch.world).result(10)
        received = rows_of(branch.files.path, "request_received", "Metadata")
        answered = rows_of(branch.files.path, "response_sent", "Metadata")
        seq, _, node, _, _, params = next(row for row in received if row[5]["correlation"] == 77)
        there = recall(branch.files.path, Wanted(seq, str(params["source"]), node, "Metadata", 9, 77, False))
        assert there["how"] == "recorded" and {f["name"]: f["value"] for f in there["fields"]}["clientId"] == "stranger"
        seq, _, node, _, _, params = next(row for row in answered if row[5]["correlation"] == 77)
        back = recall(branch.files.path, Wanted(seq, node, str(params["to"]), "Metadata", 9, 77, True))
        assert {f["name"]: f["value"] for f in back["fields"]}["correlationId"] == 77
    finally:
        lab.stop()


def rows_of(path: Path, code: str, api: str) -> list[Any]:
    read = [orjson.loads(line) for line in (path / "journal.jsonl").read_bytes().splitlines()]
    return [row for row in read if row[3] == code and row[5].get("api") == api]


async def _ask(host: str, port: int) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(read_all(encode_request(3, 9, 77, "stranger", m.MetadataRequest(topics=None))))
    size = int.from_bytes(await reader.readexactly(4), "big")
    await reader.readexactly(size)
    writer.close()
