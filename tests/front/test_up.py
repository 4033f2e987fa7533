"""`up` as a user starts it: addresses first, a second instance refused, stopped cleanly, what was written stays."""

from __future__ import annotations

import http.client
import json
import signal
import urllib.request
from urllib.parse import urlsplit

import pytest

from tests.conftest import PATIENCE_S, start_lab
from tests.front.test_commands import brokerlab

pytestmark = pytest.mark.slow
KEEPER = "Metadata: KRaft, a quorum of 101, 102, 103 (--controller zookeeper on another --data has Kafka 3.9)"


def test_addresses_come_first_and_a_signal_ends_it_with_exit_code_0(run_lab):
    lab = run_lab(web=True)
    assert lab.lines[0].startswith("Page: http://127.0.0.1:")
    assert lab.lines[1].startswith("Kafka: 127.0.0.1:")
    assert lab.lines[1].count(",") == 2
    with urllib.request.urlopen(lab.page, timeout=PATIENCE_S) as answer:
        assert answer.status == 200
    assert lab.stop() == 0


def test_other_machines_are_let_in_with_a_link_that_is_printed(run_lab):
    lab = run_lab("--host", "0.0.0.0", web=True, brokers=1)
    invitation, for_a_class = (lab.process.stdout.readline().strip() for _ in range(2))
    assert invitation.startswith("From elsewhere: http://") and for_a_class.startswith("For a class, to look only: http://")
    link = "/" + invitation.rpartition("/")[2]
    for path, status in (("/", 401), (link, 303), (link + "x", 401)):
        connection = http.client.HTTPConnection(urlsplit(lab.page).netloc, timeout=PATIENCE_S)
        connection.request("GET", path, headers={"X-Forwarded-For": "198.51.100.7"})
        assert connection.getresponse().status == status
        connection.close()


def test_an_address_that_is_not_of_this_machine_is_told_in_one_line(tmp_path):
    done = brokerlab("up", "--host", "203.0.113.9", "--data", str(tmp_path), "--kafka-port", "0", "--port", "0")
    assert (done.returncode, done.stderr) == (
        1, "brokerlab: page: 203.0.113.9 is no address of this machine; name one with --host\n")
    done = brokerlab("up", "--kafka-host", "0.0.0.0", "--data", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_clients_are_told_the_advertised_address_of_a_broker_that_listens_everywhere(run_lab):
    admin = pytest.importorskip("confluent_kafka.admin")
    lab = run_lab("--kafka-host", "0.0.0.0", "--set", "1:advertised.listeners=PLAINTEXT://localhost:40001",
                  "--set", "2:advertised.listeners=PLAINTEXT://tunnel.example:40002", brokers=2, web=True)
    told = admin.AdminClient({"bootstrap.servers": lab.bootstrap}).list_topics(timeout=PATIENCE_S).brokers
    assert {id: (one.host, one.port) for id, one in told.items()} == {1: ("localhost", 40001), 2: ("tunnel.example", 40002)}
    with urllib.request.urlopen(f"{lab.page}api/labs/lab", timeout=PATIENCE_S) as answer:
        assert json.loads(answer.read())["bootstrap"] == "localhost:40001,tunnel.example:40002"


def test_what_was_acked_is_there_after_a_kill_9_and_the_journal_tells_of_the_recovery(tmp_path):
    kafka = pytest.importorskip("confluent_kafka")
    first = start_lab(tmp_path / "lab", "--preset", "teaching")
    producer = kafka.Producer({"bootstrap.servers": first.bootstrap, "acks": "all"})
    for number in range(100):
        producer.produce("orders", str(number))
    assert producer.flush(60) == 0
    first.process.kill()
    first.process.wait(PATIENCE_S)
    second = start_lab(tmp_path / "lab", "--preset", "teaching")
    try:
        consumer = kafka.Consumer({"bootstrap.servers": second.bootstrap, "group.id": "readers",
                                   "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        assert len({message.value() for message in consumer.consume(100, timeout=PATIENCE_S)}) == 100
        consumer.close()
    finally:
        second.stop()
    journal = (tmp_path / "lab" / "runs" / "0002" / "journal.jsonl").read_text()
    assert '"session_expired"' in journal and '"log_loaded"' in journal


def test_control_c_ends_it_with_exit_code_0(run_lab):
    lab = run_lab()
    lab.process.send_signal(signal.SIGINT)
    assert lab.process.wait(PATIENCE_S) == 0


def test_a_second_instance_on_the_same_directory_is_refused_in_one_line(run_lab):
    lab = run_lab()
    done = brokerlab("up", "--no-web", "--data", str(lab.data), "--kafka-port", "0")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert str(lab.data) in done.stderr


def test_brokers_have_the_ids_that_were_asked_for(run_lab):
    confluent_kafka = pytest.importorskip("confluent_kafka.admin")
    lab = run_lab("--set", "1:broker.id=7", "--set", "2:broker.rack=west", brokers=2)
    admin = confluent_kafka.AdminClient({"bootstrap.servers": lab.bootstrap})
    assert sorted(admin.list_topics(timeout=PATIENCE_S).brokers) == [2, 7]


def test_what_was_written_is_there_at_the_next_start(tmp_path):
    kafka = pytest.importorskip("confluent_kafka")
    first = start_lab(tmp_path / "lab")
    producer = kafka.Producer({"bootstrap.servers": first.bootstrap, "acks": "all"})
    acked = []

    def delivered(error, message):
        acked.append((error, message.value()))

    for number in range(100):
        producer.produce("orders", str(number), on_delivery=delivered)
    assert producer.flush(60) == 0
    assert first.stop() == 0
    second = start_lab(tmp_path / "lab")
    try:
        consumer = kafka.Consumer({"bootstrap.servers": second.bootstrap, "group.id": "readers",
                                   "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        read = [message.value() for message in consumer.consume(100, timeout=PATIENCE_S)]
        consumer.close()
    finally:
        second.stop()
    assert sorted(read) == sorted(value for error, value in acked if error is None)
    assert len(read) == 100


def test_a_directory_goes_on_with_its_own_generation_and_is_refused_to_the_other(tmp_path):
    first = start_lab(tmp_path / "lab", "--controller", "kraft", "--controllers", "3", brokers=1)
    first.stop()
    assert KEEPER in first.lines
    again = start_lab(tmp_path / "lab", brokers=1, generation=None)
    again.stop()
    assert KEEPER in again.lines
    done = brokerlab("up", "--no-web", "--brokers", "1", "--data", str(tmp_path / "lab"), "--kafka-port", "0", "--controller", "zookeeper")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "--controller kraft" in done.stderr
