"""Receipts of directories, with what the brokers saw of outside clients; words of the grammar that lessons add."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from broker_core.kernel.problems import told
from lab.checkers.receipt import receipt_of
from lab.checkers.receipt_outside import KeptOutside
from lab.checkers.receipt_outside import outside as outside_of_rows
from lab.experiments.run import run_scenario
from lab.scenarios import grammar
from lab.scenarios.grammar import ScenarioError, parse

TP: dict[str, Any] = {"topic": "t", "partition": 0}


def _row(seq: int, node: str, code: str, **params: Any) -> list[Any]:
    return [seq, seq * 1000, node, code, 0, params]


def _produce(seq: int, node: str, correlation: int, offset: int, error: str = "NONE", source: str = "17") -> list[Any]:
    append = {**TP, "base_offset": offset, "last_offset": offset + 1, "role": "leader"}
    return [
        _row(seq, node, "request_received", api="Produce", correlation=correlation, source=source),
        _row(seq, node, "log_appended", **append),
        _row(seq + 1, node, "response_sent", api="Produce", correlation=correlation, to=source, error=error),
    ]


def _copy(seq: int, node: str, first: int, last: int) -> list[Any]:
    return _row(seq, node, "log_appended", **TP, base_offset=first, last_offset=last, role="follower")


def outside(rows: list[Any]) -> dict[str, Any]:
    """From all rows at once, and kept as they came."""
    kept = KeptOutside()
    for row in rows:
        kept.take(orjson.dumps(row) + b"\n")
    found = outside_of_rows(rows)
    assert kept.told() == found
    return found


START = [
    _row(1, "broker-1", "became_leader", **TP, leader_epoch=0, leo=0),
    _row(1, "broker-2", "became_follower", **TP, leader=1, leader_epoch=0, leo=0),
]
TAKEN_OVER = [_row(90, "broker-2", "became_leader", **TP, leader_epoch=1, leo=2)]


def test_an_outside_batch_that_the_next_leader_has_is_kept_and_another_is_lost() -> None:
    rows = [*START, *_produce(10, "broker-1", 1, 0), _copy(12, "broker-2", 0, 1), *_produce(20, "broker-1", 2, 2), *TAKEN_OVER]
    found = outside(rows)
    assert (found["batches"], found["records"], found["acked"], found["lost"]) == (2, 4, 2, 1)
    assert (found["acked_records"], found["lost_records"]) == (4, 2)
    assert found["places"] == [{**TP, "offset": 2, "last": 3}] and found["complete"] and "brokers see" in found["note"]


def test_batches_without_a_good_answer_and_those_of_the_lab_are_not_counted_as_acked() -> None:
    rows = [*START, *_produce(10, "broker-1", 1, 0, "NOT_ENOUGH_REPLICAS_AFTER_APPEND")]
    rows += [*_produce(20, "broker-1", 2, 2, source="producer-1"), *TAKEN_OVER]
    assert outside(rows)["batches"] == 1 and outside(rows)["acked_records"] == 0 and outside(rows)["acked"] == outside(rows)["lost"] == 0


def test_an_offset_that_was_given_out_twice_holds_another_batch() -> None:
    behind = _row(90, "broker-2", "became_leader", **TP, leader_epoch=1, leo=0)
    rows = [*START, *_produce(10, "broker-1", 1, 0), behind, *_produce(95, "broker-2", 1, 0)]
    rows.append(_row(99, "broker-1", "truncated", **TP, before=2, after=0))
    assert outside(rows)["acked"] == 2 and outside(rows)["lost"] == 1


def test_a_journal_that_was_summed_up_says_that_it_cannot_tell() -> None:
    assert not outside([_row(5, "world", "summed_up", counts={"log_appended": 7}, second=0)])["complete"]
    assert outside([*START, _row(9, "world", "topic_deleted", topic="t")])["batches"] == 0


def test_the_receipt_of_a_directory_is_that_of_its_run_and_tells_of_outside_clients(tmp_path: Path) -> None:
    result = run_scenario("retry-duplicates", out=tmp_path / "run")
    found = receipt_of(result.directory)
    assert {key: one for key, one in found.items() if key != "outside"} == result.receipt.to_dict()
    assert found["outside"]["batches"] == 0 and found["duplicated"] > 0
    with open(result.directory / "operations.jsonl", "ab") as file:
        file.write(b'{"t":1,"op":"se')
    assert receipt_of(result.directory)["acked"] == found["acked"]


LESSON = """\
cluster: {brokers: 3, preset: teaching}
topics: [{name: orders, partitions: 1}]
clients:
  - {name: producer-a, kind: producer, topic: orders}
steps:
  - {at: 1s, check: {isr_of: orders-0, is: 3}}
  - {at: 5s, do: kill, controller: any}
expect:
  leader_of.orders-0: "!= -1"
  unavailability.orders-0: "<= 4s"
  events.leader_elected[reason=unclean]: 0
  invariants.violations: 0
variants:
  careful:
    title: {en: Careful, ko: 신중하게}
    clients:
      - {name: producer-a, settings: {acks: all}}
moment:
  event: process_ended
  step: 1
stops:
  - {event: process_ended, step: 1, say: {en: The controller dies., ko: 컨트롤러가 죽는다.}}
  - {event: leader_elected, step: 1}
predict:
  ask: {en: Who leads?, ko: 누가 리더인가?}
  broker: {of: leader_of.orders-0}
fork:
  before: 1
  title: {en: Pause it, ko: 멈춘다}
  steps:
    - {do: pause, controller: any}
"""
BAD = [
    ("is: 3}", "is: changed}", "x.yaml:6: steps[0].check.is: 'changed' has nothing to compare with"),
    ("leader_of.orders-0:", "leader_of:", "x.yaml:9: expect.leader_of: 'leader_of': expected leader_of.<which>"),
    ("leader_of.orders-0:", "leder_of.orders-0:", "x.yaml:9: expect.leder_of.orders-0: unknown expectation"),
    ('"<= 4s"', '"<= soon"', "x.yaml:10: expect.unavailability.orders-0: 'soon': expected a time"),
    ("[reason=unclean]", "[why=unclean]", "x.yaml:11: expect.events.leader_elected[why=unclean]: 'why': expected one"),
    ("events.leader_elected", "events.leader_erected", "x.yaml:11: expect.events.leader_erected[reason=unclean]: "),
    ("invariants.violations", "invariants.Nothing", "x.yaml:12: expect.invariants.Nothing: 'Nothing': expected one of"),
    ("acks: all", "acks: 7", "x.yaml:17: variants.careful.clients[0].settings.acks: acks: 7"),
    ("    title: {en: Careful, ko: 신중하게}\n    clients", "    titel: {en: a}\n    clients", "x.yaml:15: variants.careful.titel: unknown key"),
    ("  careful:", "  fork:", "x.yaml:14: variants.fork: this name is taken"),
    ("event: process_ended", "event: process_endet", "x.yaml:19: moment.event: 'process_endet': expected one of"),
    ("step: 1", "step: 5", "x.yaml:20: moment.step: 5 is above 1"),
    ("event: leader_elected, step: 1", "event: leader_elected, step: 3", "x.yaml:23: stops[1].step: 3 is above 1"),
    ("say: {en: The", "say: {fr: The", "x.yaml:22: stops[0].say.fr: unknown key"),
    ("of: leader_of.orders-0", "of: leader_of", "x.yaml:26: predict.broker.of: 'leader_of': expected leader_of.<which>"),
    ("broker: {of: leader_of.orders-0}", "number: {of: leader_of.orders-0, near: 101}", "x.yaml:26: predict.number.near: 101 is above 100"),
    ("  broker: {of: leader_of.orders-0}\n", "", "x.yaml:24: predict: expected one of choices, number or broker, found 0"),
    ("before: 1", "before: 9", "x.yaml:28: fork.before: 9 is above 1"),
    ("do: pause, controller: any", "do: pause, controller: 2", "x.yaml:31: fork.steps[0].controller: 2: expected one of any"),
    ("partitions: 1", "assignment: [[1, 9]]", "x.yaml:2: topics[0].assignment[0][1]: '9': expected one of 1, 2, 3"),
    ("cluster: {", "clusters: {", "x.yaml:1: clusters: expected a list"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_what_is_wrong_in_a_lesson_is_told_with_line_and_key(old: str, new: str, message: str) -> None:
    assert LESSON.count(old) >= 1
    with pytest.raises(ScenarioError) as error:
        parse(LESSON.replace(old, new, 1), "x.yaml")
    assert str(error.value).startswith(message)


def test_a_variant_changes_only_what_it_names_and_a_fork_keeps_what_was_before() -> None:
    scenario = parse(LESSON, "x.yaml")
    careful, fork = grammar.variant_of(scenario, "careful"), grammar.variant_of(scenario, "fork")
    assert careful.spec.clients[0].settings["acks"] == "all" and careful.spec.topics == scenario.spec.topics
    assert [step.command.get("do") for step in fork.steps] == [None, "pause"] and fork.steps[1].at_us == 5_000_000
    with pytest.raises(ScenarioError, match="'bold': expected one of careful, fork"):
        parse(LESSON, "x.yaml", "bold")


def test_one_cluster_may_be_written_as_a_list_of_one() -> None:
    assert parse(LESSON.replace("cluster: {", "clusters:\n  - {", 1), "x.yaml").spec.cluster.preset == "teaching"


def test_a_check_that_does_not_hold_fails_the_run(tmp_path: Path) -> None:
    source = LESSON.replace("is: 3}", "is: 2}").replace("at: 5s", "at: 2s") + "duration: 3s\n"
    result = run_scenario(parse(source, "x.yaml"), out=tmp_path / "run")
    assert not result.passed and told(result.unmet[0]) == "steps[0]: expected isr_of orders-0 == 2, found 3"
