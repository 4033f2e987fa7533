"""A command that the cluster has to agree to is answered when it has, or says that the answer is to come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import free_ports

from broker_core.kernel.problems import told
from lab.branch import read_rows
from lab.clusters.spec import run_from_dict
from lab.experiments.directory import read_facts
from lab.live import LiveLab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveLab]:
    data = tmp_path_factory.mktemp("outcomes")
    found = LiveLab(run_from_dict({"cluster": {"brokers": 3, "preset": "teaching", "port": free_ports(3)}}), Path(data))
    found.start()
    yield found
    found.stop()


def do(lab: LiveLab, **command: Any) -> dict[str, Any]:
    return lab.submit(command).result(20)


def test_what_the_brokers_refuse_is_the_answer_and_stands_in_the_journal(lab: LiveLab) -> None:
    assert do(lab, do="create_topic", topic="orders", partitions=2)["ok"]
    twice = do(lab, do="create_topic", topic="orders", partitions=2)
    assert (twice["ok"], told(twice["problem"]), twice["code"]) == (False, "TOPIC_ALREADY_EXISTS: Topic 'orders' already exists.", "TOPIC_ALREADY_EXISTS")
    many = do(lab, do="create_topic", topic="many", replication_factor=5)
    assert many["code"] == "INVALID_REPLICATION_FACTOR"
    wrong = do(lab, do="alter_config", topic="orders", set={"retention.ms": "abc"})
    assert wrong["code"] == "INVALID_CONFIG" and "Not a number of type LONG" in told(wrong["problem"])
    assert do(lab, do="delete_topic", topic="nobody")["code"] == "UNKNOWN_TOPIC_OR_PARTITION"
    lab.main.ask(lab.main.files.flush, lab.main.world).result(10)
    rows, _ = read_rows(lab.main.files, 0, None)
    refused = [(row[2], row[5]["command"]["do"], told(row[5]["problem"])) for row in rows if row[3] == "command_refused"]
    assert [one[:2] for one in refused] == [
        ("operator", "create_topic"), ("operator", "create_topic"), ("operator", "alter_config"), ("operator", "delete_topic"),
    ]  # fmt: skip
    assert refused[0][2] == "TOPIC_ALREADY_EXISTS: Topic 'orders' already exists."


def test_a_record_by_hand_says_where_it_stands(lab: LiveLab) -> None:
    do(lab, do="create_topic", topic="hand", partitions=1)
    first, second = (do(lab, do="produce", topic="hand", value="same", acks="all") for _ in range(2))
    assert [(one["ok"], one["partition"], one["offset"]) for one in (first, second)] == [(True, 0, 0), (True, 0, 1)]
    silent = do(lab, do="produce", topic="hand", value="c", acks="0")
    assert silent["ok"] and "offset" not in silent and "pending" not in silent


@pytest.mark.parametrize("acks", ["2", -7])
def test_a_wrong_number_of_acks_is_sent_and_the_broker_refuses_it(lab: LiveLab, acks: str | int) -> None:
    do(lab, do="create_topic", topic=f"wrong{acks}", partitions=1)
    wrong = do(lab, do="produce", topic=f"wrong{acks}", value="x", acks=acks)
    assert (wrong["ok"], wrong["code"], wrong["place"]) == (False, "INVALID_REQUIRED_ACKS", "acks")


@pytest.mark.parametrize(
    ("wrong", "code"), [({"to": 3}, "NOT_LEADER_OR_FOLLOWER"), ({"damaged": True}, "CORRUPT_MESSAGE")],
)
def test_a_record_that_is_sent_wrongly_is_refused_once_and_is_in_no_log(lab: LiveLab, wrong: dict[str, Any], code: str) -> None:
    do(lab, do="create_topic", topic=code.lower(), assignment=[[1, 2, 3]])
    told = do(lab, do="produce", topic=code.lower(), value="x", partition=0, **wrong)
    assert (told["ok"], told["code"], told["place"]) == (False, code, next(iter(wrong)))
    right = do(lab, do="produce", topic=code.lower(), value="y", partition=0)
    assert (right["ok"], right["offset"]) == (True, 0)


def test_to_the_leader_itself_it_is_a_right_request_and_nobody_else_is_asked(lab: LiveLab) -> None:
    do(lab, do="create_topic", topic="astray", assignment=[[2, 1, 3]])
    assert do(lab, do="produce", topic="astray", value="x", to=2)["offset"] == 0
    assert do(lab, do="produce", topic="astray", value="x", to=9)["place"] == "broker"


def test_a_version_that_there_is_not_is_refused_and_any_other_is_answered(lab: LiveLab) -> None:
    told = do(lab, do="ask_versions", broker=1, version=99)
    assert (told["ok"], told["code"], told["place"]) == (False, "UNSUPPORTED_VERSION", "version")
    assert do(lab, do="ask_versions", broker=1, version=0)["ok"]
    assert do(lab, do="ask_versions", node="zookeeper", version=0)["place"] == "node"


def test_while_time_stands_and_when_nobody_answers_it_is_pending(lab: LiveLab) -> None:
    do(lab, do="create_topic", topic="strict", partitions=1, configs={"min.insync.replicas": "3"})
    do(lab, do="time", speed="pause")
    assert do(lab, do="create_topic", topic="later")["pending"] is True
    do(lab, do="time", speed="play")
    do(lab, do="kill", follower_of="strict-0")
    assert do(lab, do="produce", topic="strict", value="x", acks="all", partition=0)["pending"] is True


def test_a_setting_that_is_refused_changes_nothing(lab: LiveLab) -> None:
    do(lab, do="start_client", name="producer-a", kind="producer", topic="orders", rate=5, settings={"acks": "1"})
    assert do(lab, do="set_client", name="producer-a", set={"rate": 9, "acks": "7"})["ok"] is False
    client = lab.main.ask(lambda: dict(vars(lab.main.world.operator)["clients"])).result(10)["producer-a"]
    assert (client.rate, client.settings["acks"]) == (5, "1")
    assert do(lab, do="set_client", name="producer-a", set={"rate": 9})["ok"]


def test_what_an_older_program_wrote_as_sentences_is_told_as_it_stands(tmp_path):
    facts = {"format": 1, "unmet": ["lost: 3 wanted, 5 found"], "notes": [{"code": "leaderless", "params": {}}]}
    (tmp_path / "run.json").write_text(json.dumps(facts))
    found = read_facts(tmp_path)
    assert told(found["unmet"][0], "ko") == "lost: 3 wanted, 5 found"
    assert told(found["notes"][0]) != "leaderless"
