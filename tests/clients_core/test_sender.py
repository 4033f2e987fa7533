"""What the producer does about errors, lost answers and time: against a broker that answers by script."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path
from types import ModuleType

import pytest

from broker_core.wire.errors import ErrorCode


def _load() -> ModuleType:
    """The scripted broker beside this file (tests are no package)."""
    import sys

    if "clients_core_scripted" in sys.modules:
        return sys.modules["clients_core_scripted"]
    path = Path(__file__).with_name("scripted.py")
    spec = importlib.util.spec_from_file_location("clients_core_scripted", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["clients_core_scripted"] = module
    spec.loader.exec_module(module)
    return module


Lab = _load().Lab
ONE = {"rate": 100.0, "count": 1}
PLAIN = {"enable.idempotence": "false"}


def test_records_arrive_in_order_and_are_acked_once() -> None:
    lab = Lab({"rate": 1000.0, "count": 500}, {})
    lab.run(5)
    assert lab.numbers() == list(range(500)) and lab.producer.acked == 500
    assert lab.producer.producer.accumulator.used == 0


def test_the_load_keeps_its_rate() -> None:
    lab = Lab({"rate": 250.0}, {})
    lab.run(10)
    assert 2490 <= lab.producer.acked <= 2501


def test_linger_gathers_records_and_a_full_batch_does_not_wait() -> None:
    lab = Lab({"rate": 1000.0, "count": 100, "size": 100}, {"linger.ms": 20})
    lab.run(2)
    assert 5 <= len(lab.cluster.produced) <= 8
    full = Lab({"rate": 1000.0, "count": 100, "size": 100}, {"linger.ms": 60_000, "batch.size": 1000,
                                                            "delivery.timeout.ms": 120_000})
    full.run(2)
    assert len(full.numbers()) >= 90


def test_a_retriable_error_is_tried_again_with_growing_pauses() -> None:
    lab = Lab(ONE, PLAIN)
    lab.cluster.answers = [ErrorCode.NOT_ENOUGH_REPLICAS] * 4
    lab.run(5)
    times = [time for time, _, _ in lab.cluster.produced]
    pauses = [(b - a) / 1e6 for a, b in zip(times, times[1:], strict=False)]
    assert len(times) == 5 and lab.numbers() == [0] and lab.producer.acked == 1
    wanted = (0.1, 0.2, 0.4, 0.8)
    assert all(0.8 * about <= pause <= 1.25 * about for pause, about in zip(pauses, wanted, strict=True))


def test_an_error_that_will_not_pass_fails_at_once_and_certainly() -> None:
    lab = Lab(ONE, PLAIN)
    lab.cluster.answers = [ErrorCode.INVALID_RECORD]
    lab.run(2)
    assert lab.ended() == [("fail", [[0, 1]])] and len(lab.cluster.produced) == 1


def test_a_lost_answer_makes_a_duplicate_without_idempotence_and_none_with_it() -> None:
    for settings, log in ((PLAIN, [0, 0]), ({}, [0])):
        lab = Lab(ONE, {**settings, "request.timeout.ms": 1000})
        lab.cluster.answers = ["lost"]
        lab.run(10)
        assert lab.numbers() == log and lab.ended() == [("ok", [[0, 1]])]


@pytest.mark.parametrize(
    ("settings", "in_order"),
    [(PLAIN, False), ({**PLAIN, "max.in.flight.requests.per.connection": 1}, True), ({}, True)],
)
def test_a_retry_overtakes_unless_one_in_flight_or_idempotence_keep_the_order(settings: dict, in_order: bool) -> None:
    lab = Lab({"rate": 200.0, "count": 40}, settings)
    lab.cluster.delay_us = 20_000
    lab.cluster.answers = [None] * 5 + [ErrorCode.NOT_ENOUGH_REPLICAS]
    if not in_order or not settings:
        lab.cluster.answers += [None if settings else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER] * (0 if settings else 3)
    lab.run(5)
    assert sorted(lab.numbers()) == list(range(40)) and lab.producer.acked == 40
    assert (lab.numbers() == sorted(lab.numbers())) is in_order


def test_delivery_timeout_ends_in_fail_when_never_sent_and_in_info_when_the_answer_is_missing() -> None:
    limits = {**PLAIN, "request.timeout.ms": 1000, "delivery.timeout.ms": 3000}
    unknown = Lab(ONE, limits)
    unknown.cluster.answers = ["silent"] * 20
    unknown.run(10)
    assert unknown.ended() == [("info", [[0, 1]])] and unknown.producer.unknown == 1
    refused = Lab(ONE, limits)
    refused.cluster.answers = [ErrorCode.NOT_ENOUGH_REPLICAS] * 50
    refused.run(10)
    assert refused.ended() == [("fail", [[0, 1]])]


def test_a_new_leader_is_found_through_metadata() -> None:
    lab = Lab({"rate": 100.0}, {}, brokers=2)
    lab.run(1)
    lab.cluster.leaders[0] = (2, 1)
    lab.run(2)
    assert lab.cluster.produced[-1][1] == 2
    assert lab.numbers() == sorted(set(lab.numbers())) and len(lab.numbers()) > 290


def test_a_dead_leader_costs_only_the_time_until_the_next_one() -> None:
    lab = Lab({"rate": 100.0}, {}, brokers=2)
    lab.run(1)
    lab.world.crash("broker-1")
    lab.run(1)
    lab.cluster.leaders[0] = (2, 1)
    lab.run(3)
    assert lab.numbers() == list(range(len(lab.numbers()))) and len(lab.numbers()) > 480


def test_an_older_leader_epoch_is_not_believed() -> None:
    lab = Lab({"rate": 100.0}, {}, brokers=2)
    lab.cluster.leaders[0] = (2, 5)
    lab.run(1)
    lab.cluster.leaders[0] = (1, 4)
    lab.producer.producer.metadata.request_update()
    lab.run(0.5)
    assert lab.producer.producer.metadata.leader("t", 0) == 2


def test_with_acks_0_nobody_is_waited_for() -> None:
    lab = Lab({"rate": 100.0, "count": 10}, {"acks": 0})
    lab.run(1)
    assert lab.producer.acked == 10 and lab.ended()[0] == ("ok", [[0, 1]])


def test_memory_that_is_used_up_stops_the_application_and_max_block_fails_one_record() -> None:
    lab = Lab({"rate": 1000.0, "size": 1000},
              {"buffer.memory": 32_768, "max.block.ms": 1000, "request.timeout.ms": 20_000, **PLAIN})
    lab.cluster.answers = ["silent"] * 1000
    lab.run(3.5)
    failed = [values for kind, values in lab.ended() if kind == "fail"]
    assert len(failed) == 3 and lab.producer.producer.accumulator.used <= 32_768


def test_a_topic_that_is_not_there_yet_is_asked_for_again_and_again() -> None:
    lab = Lab({"rate": 100.0, "count": 5}, {})
    lab.cluster.known_topics = False
    lab.run(3)
    assert lab.numbers() == []
    lab.cluster.known_topics = True
    lab.run(3)
    assert lab.numbers() == list(range(5))


def test_a_batch_that_is_too_large_is_cut_in_two() -> None:
    lab = Lab({"rate": 100_000.0, "count": 50}, {**PLAIN, "linger.ms": 5})
    lab.cluster.answers = [ErrorCode.MESSAGE_TOO_LARGE]
    lab.run(2)
    assert lab.numbers() == list(range(50)) and len(lab.cluster.produced) >= 3


def test_a_gap_that_nothing_fills_starts_a_new_epoch() -> None:
    lab = Lab({"rate": 10.0, "count": 30}, {})
    lab.cluster.answers = [None] * 5 + [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    lab.run(6)
    assert lab.numbers() == list(range(30))
    epochs = [epoch for epoch, _, _ in lab.cluster.sequences]
    assert epochs[:6] == [0] * 5 + [1] and set(epochs[6:]) == {1} and lab.cluster.sequences[5][1] == 0


def test_closing_sends_what_waits_and_then_ends() -> None:
    lab = Lab({"rate": 100.0}, {"linger.ms": 10_000, "delivery.timeout.ms": 60_000})
    lab.run(1)
    lab.world.stop("producer")
    lab.run(1)
    assert lab.world.nodes["producer"].state == "stopped" and len(lab.numbers()) >= 99


def test_a_world_with_a_producer_can_be_pickled_and_goes_on_the_same_way() -> None:
    lab = Lab({"rate": 300.0}, {}, partitions=3)
    lab.run(0.5015)
    copy = pickle.loads(pickle.dumps(lab))
    for each in (lab, copy):
        each.run(2)
    assert [copy.numbers(p) for p in range(3)] == [lab.numbers(p) for p in range(3)]
    assert copy.world.seq == lab.world.seq
