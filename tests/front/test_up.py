"""`up` as a user starts it: addresses first, a second instance refused, stopped cleanly, what was written stays."""

from __future__ import annotations

import signal
import urllib.request

import pytest

from tests.conftest import start_lab
from tests.front.test_commands import brokerlab

pytestmark = pytest.mark.slow


def test_addresses_come_first_and_a_signal_ends_it_with_exit_code_0(run_lab):
    lab = run_lab(web=True)
    assert lab.lines[0].startswith("Page: http://127.0.0.1:")
    assert lab.lines[1].startswith("Kafka: 127.0.0.1:")
    assert lab.lines[1].count(",") == 2
    with urllib.request.urlopen(lab.page, timeout=20) as answer:
        assert answer.status == 200
    assert lab.stop() == 0


def test_control_c_ends_it_with_exit_code_0(run_lab):
    lab = run_lab()
    lab.process.send_signal(signal.SIGINT)
    assert lab.process.wait(30) == 0


def test_a_second_instance_on_the_same_directory_is_refused_in_one_line(run_lab):
    lab = run_lab()
    done = brokerlab("up", "--no-web", "--data", str(lab.data), "--kafka-port", "0")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert str(lab.data) in done.stderr


def test_brokers_have_the_ids_that_were_asked_for(run_lab):
    confluent_kafka = pytest.importorskip("confluent_kafka.admin")
    lab = run_lab("--set", "1:broker.id=7", "--set", "2:broker.rack=west", brokers=2)
    admin = confluent_kafka.AdminClient({"bootstrap.servers": lab.bootstrap})
    assert sorted(admin.list_topics(timeout=20).brokers) == [2, 7]


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
        read = [message.value() for message in consumer.consume(100, timeout=60)]
        consumer.close()
    finally:
        second.stop()
    assert sorted(read) == sorted(value for error, value in acked if error is None)
    assert len(read) == 100
