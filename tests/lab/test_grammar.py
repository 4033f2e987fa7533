"""The scenario grammar: what is right is read, what is wrong is told with file, line and key."""

from __future__ import annotations

import pytest

from lab.checkers.receipt import STEPS, Receipt
from lab.clusters.checks import SpecError
from lab.experiments.findings import Findings
from lab.scenarios import grammar
from lab.scenarios.conditions import comparison
from lab.scenarios.expectations import expectation
from lab.scenarios.grammar import ScenarioError, parse

GOOD = """\
scenario: demo
title: {en: Demo, ko: 시연}
cluster: {brokers: 3, preset: teaching}
seed: 5
topics:
  - {name: orders, partitions: 2}
clients:
  - {name: producer-a, kind: producer, topic: orders, settings: {acks: 1}}
steps:
  - at: 5s
    do: kill
    leader_of: orders-0
  - when: {isr_of: orders-0, is: "<= 2"}
    within: 30s
    do: restart
    broker: 1
  - {after: 500ms, do: partition_link, between: [1, "followers_of:orders-1"]}
duration: 1m
expect:
  receipt.lost: ">= 1"
  receipt.producers.producer-a.acked: "> 0"
"""


def test_a_good_file_is_read_with_its_times_and_conditions() -> None:
    scenario = parse(GOOD, "demo.yaml")
    assert (scenario.name, scenario.spec.seed, scenario.duration_us) == ("demo", 5, 60_000_000)
    assert [step.at_us for step in scenario.steps] == [5_000_000, None, None]
    assert scenario.steps[1].within_us == 30_000_000 and str(scenario.steps[1].when) == "isr_of orders-0 <= 2"
    assert scenario.steps[2].after_us == 500_000
    assert scenario.expect["receipt.lost"].holds(1) and not scenario.expect["receipt.lost"].holds(0)


BAD = [
    ("do: kill", "do: kil", "demo.yaml:11: steps[0].do: unknown command 'kil', expected one of kill, "),
    ("seed: 5", "seed: five", "demo.yaml:4: seed: expected a whole number, found the text 'five'"),
    ("broker: 1", "broker: 9", "demo.yaml:16: steps[1].broker: there is no broker 9, expected one of 1, 2, 3"),
    ("at: 5s", "at: soon", "demo.yaml:10: steps[0].at: 'soon': expected a time, as in 500ms, 5s or 2m"),
    ("leader_of: orders-0\n", "leader: orders-0\n", "demo.yaml:12: steps[0].leader: unknown key 'leader'"),
    ("leader_of: orders-0\n", "leader_of: carts-0\n", "demo.yaml:12: steps[0].leader_of: 'carts': expected one"),
    ("acks: 1", "acks: 2", "demo.yaml:8: clients[0].settings.acks: acks: 2: expected one of all, -1, 0, 1"),
    ("acks: 1", "ack: 1", "demo.yaml:8: clients[0].settings.ack: unknown setting 'ack', did you mean 'acks'?"),
    ("preset: teaching", "preset: teach", "demo.yaml:3: cluster.preset: 'teach': expected one of default"),
    ("brokers: 3", "brokers: 0", "demo.yaml:3: cluster.brokers: 0 is below 1"),
    ("brokers: 3", "brokers: [{id: 1, settings: {broker.id: 7}}]",
     "demo.yaml:3: cluster.brokers[0].settings.broker.id: broker.id is not set here: a broker is named by its `id`"),
    ("partitions: 2", "replication_factor: 4", "demo.yaml:6: topics[0].replication_factor: 4 is above 3"),
    ("partitions: 2", "configs: {retention: 5}", "demo.yaml:6: topics[0].configs.retention: Unknown topic config name"),
    ("is: \"<= 2\"", "is: \"<= two\"", "demo.yaml:13: steps[1].when.is: '<= two': expected a number behind <="),
    ("{isr_of: orders-0, is", "{isr: orders-0, is", "demo.yaml:13: steps[1].when.isr: unknown key 'isr'"),
    ("    do: restart\n", "", "demo.yaml:13: steps[1]: key 'do' is missing"),
    ("after: 500ms, ", "", "demo.yaml:17: steps[2]: expected exactly one of at, after, when, found 0"),
    ("receipt.lost:", "receipt.losses:", "demo.yaml:20: expect.receipt.losses: 'losses': expected one of acked, read"),
    ("producers.producer-a", "producers.b", "demo.yaml:21: expect.receipt.producers.b.acked: 'b': expected one of"),
    ("seed: 5", "seed: 5\nseed: 6", "demo.yaml:5: seed: key 'seed' is there twice"),
    ("seed: 5", "seed: [5", "demo.yaml:"),
    ("seed: 5", "subject: durabilty", "demo.yaml:4: subject: 'durabilty': expected one of durability, replication, controller"),
    ("seed: 5", "subject: [storage]", "demo.yaml:4: subject: ['storage']: expected one of durability, "),
    ("duration: 1m", "duration: 1m\nvariants: {v: {subject: storage}}", "demo.yaml:19: variants.v.subject: unknown key 'subject'"),
    ("duration: 1m", "length: 1m", "demo.yaml:18: length: unknown key 'length', expected one of scenario, title"),
    ("name: producer-a", "name: sender-a", "demo.yaml:8: clients[0].name: 'sender-a': the name of a producer"),
    ("ko: 시연", "fr: Démo", "demo.yaml:2: title.fr: unknown key 'fr', expected one of en, ko"),
    ("    leader_of: orders-0\n", "", "demo.yaml:10: steps[0]: kill: expected exactly one of broker, node, leader_of"),
    ("name: orders, ", "", "demo.yaml:6: topics[0]: key 'name' is missing"),
    ("name: producer-a, ", "", "demo.yaml:8: clients[0]: key 'name' is missing"),
    (', between: [1, "followers_of:orders-1"]', "", "demo.yaml:17: steps[2]: key 'between' is missing"),
    ("brokers: 3", "brokers: [1, {rack: a}]", "demo.yaml:3: cluster.brokers[1]: key 'id' is missing"),
    ("duration: 1m", "duration: 1m\nfork:\n  title: {en: A, ko: 가}\n  steps: [{do: restart, broker: 1}]\n  see: {fr: A}",
     "demo.yaml:22: fork.see.fr: unknown key 'fr', expected one of en, ko"),
    ("duration: 1m", "duration: 1m\nfork:\n  title: {en: A, ko: 가}\n  steps:\n    - {do: restart, broker: 1}\n    - {do: kill}",
     "demo.yaml:23: fork.steps[1]: kill: expected exactly one of broker, node, leader_of"),
    ("duration: 1m", "duration: 1m\nvariants:\n  v:\n    steps:\n      - {at: 1s, do: kill}",
     "demo.yaml:22: variants.v.steps[0]: kill: expected exactly one of broker, node, leader_of"),
    ("duration: 1m", "duration: 1m\nvariants:\n  v:\n    clients:\n      - {kind: producer, topic: orders}",
     "demo.yaml:22: variants.v.clients[0]: key 'name' is missing"),
    ("between: [1, ", "between: [1, 2, ", "demo.yaml:17: steps[2].between: expected two ends"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_what_is_wrong_is_told_with_file_line_and_key(old: str, new: str, message: str) -> None:
    assert GOOD.count(old) >= 1
    with pytest.raises(ScenarioError) as error:
        parse(GOOD.replace(old, new, 1), "demo.yaml")
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("figure", [name for name, one in Receipt().to_dict().items() if isinstance(one, int)])
def test_a_run_can_be_judged_by_each_number_of_the_receipt(figure: str) -> None:
    key = f"receipt.{figure}"
    scenario = parse(GOOD.replace("receipt.lost:", f"{key}:"), "demo.yaml")
    found = Findings()
    assert not scenario.expect[key].holds(found.value(key)) and found.value(key) == 0
    if figure in (*STEPS, "stale"):
        found.receipt.steps["poll_skip" if figure == "stale" else figure] = 1
    else:
        setattr(found.receipt.total if figure in found.receipt.total.to_dict() else found.receipt, figure, 1)
    assert scenario.expect[key].holds(found.value(key))


@pytest.mark.parametrize("key", ["receipt.producers", "receipt.places", "receipt.steps", "receipt.Lost", "receipt."])
def test_what_is_no_number_of_the_receipt_is_refused_with_those_that_are(key: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse(GOOD.replace("receipt.lost:", f"{key}:"), "demo.yaml")
    assert all(name in error.value.reason for name in ("unread", "stale", "int_poll_skip", "nonmonotonic_send"))
    with pytest.raises(ScenarioError, match=r"producer-a\.stale: 'stale': expected one of acked, .*, removed"):
        parse(GOOD.replace("producer-a.acked", "producer-a.stale"), "demo.yaml")


ODD = ["", "- a\n", "12", "steps: 5", "cluster: [1]", "a: &a [*a]", "!!python/object:os.system x", "[" * 5000]


@pytest.mark.parametrize("source", ODD)
def test_any_other_text_is_refused_and_never_executed(source: str) -> None:
    if source == "":
        assert parse(source, "empty.yaml").steps == []
        return
    with pytest.raises(ScenarioError):
        parse(source, "odd.yaml")


@pytest.mark.parametrize(("own", "seen"), [("", "this"), ("  see: {en: that, ko: 저것}\n", "that")])
def test_what_is_seen_in_a_fork_is_told_by_the_fork_where_it_differs(own: str, seen: str) -> None:
    fork = f"fork:\n  title: {{en: A, ko: 가}}\n  steps: [{{do: restart, broker: 1}}]\n{own}"
    scenario = parse(f"{GOOD}see: {{en: this, ko: 이것}}\n{fork}variants: {{v: {{seed: 6}}}}\n", "demo.yaml")
    assert scenario.lesson.see["en"] == "this"
    assert [grammar.variant_of(scenario, name).lesson.see["en"] for name in ("v", "fork", "v/fork")] == ["this", seen, seen]


def test_a_name_that_is_not_there_says_which_are() -> None:
    with pytest.raises(ScenarioError, match="acks-0, acks-1, acks-all"):
        grammar.load("acks-2")


def test_every_scenario_of_the_lab_is_valid_and_told_in_both_languages() -> None:
    for name in grammar.names():
        scenario = grammar.load(name)
        assert scenario.name == name and scenario.teaches and scenario.expect
        assert set(scenario.title) == set(scenario.text) == {"en", "ko"}


def test_the_three_files_of_acks_differ_in_one_setting() -> None:
    documents = [dict(grammar.load(name).document) for name in ("acks-0", "acks-1", "acks-all")]
    for document in documents:
        for key in ("scenario", "title", "text", "expect", "stops", "fork", "see", "why", "generations"):
            del document[key]
        del document["clients"][0]["settings"]["acks"]
    assert documents[0] == documents[1] == documents[2]


def test_comparisons_know_numbers_words_and_signs() -> None:
    assert comparison(3, ()).holds(3) and comparison("!= 1", ()).holds(2) and comparison("running", ()).holds("running")
    assert not comparison("> 3", ()).holds(3) and not comparison(">= 0", ()).holds(None)


@pytest.mark.parametrize(("text", "inside", "outside"), [("50 ± 15", (35, 50, 65), (34, 66)), ("3+-1", (2, 4), (1, 5)), ("-1 ± 0", (-1,), (0,))])
def test_a_value_with_a_margin_holds_for_all_that_is_not_further_away(text: str, inside: tuple[int, ...], outside: tuple[int, ...]) -> None:
    compared = comparison(text, ())
    assert all(compared.holds(one) for one in inside) and not any(compared.holds(one) for one in (*outside, None))
    assert comparison(str(compared), ()) == compared


def test_a_margin_of_an_expected_time_has_its_unit_and_what_is_no_number_is_refused() -> None:
    spec = grammar.load("acks-all").spec
    found = expectation("unavailability.orders-0", "3s ± 500ms", (), spec)
    assert found.holds(2500) and found.holds(3500) and not found.holds(3501)
    for wrong in ("much ± 3", "3 ± some", "3s ± 1"):
        with pytest.raises(SpecError):
            expectation("receipt.lost", wrong, (), spec)


def test_a_lesson_that_is_asked_for_twice_is_read_once_and_nobody_shares_it() -> None:
    once, again = (grammar.load("acks-1", "fork", {"controller": "kraft"}) for _ in range(2))
    assert once == again and once.generation == "kraft"
    once.spec.seed, once.document["seed"] = 99, 99
    once.steps.clear()
    assert grammar.load("acks-1", "fork", {"controller": "kraft"}) == again
    assert grammar.load("acks-1", "fork") != again


def test_at_first_sight_a_lesson_is_what_it_is_when_all_of_it_is_checked() -> None:
    assert all(grammar.first_sight(name) == grammar.load(name) for name in grammar.names())
