"""Commands about one partition go to the cluster as Kafka's admin requests, and its answer is the command's."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from tests.lab.test_stopped import REDUCE_JS, SCRIPT
from tests.worlds import Driven

from broker_core.clients.admin import AdminMachine
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.inspect import partition as inspect_partition
from lab.clusters.observe import observe, observe_marks
from lab.clusters.spec import run_from_dict
from lab.clusters.vocabulary import check_command
from lab.scenarios import grammar
from lab.scenarios.grammar import ScenarioError
from lab.truth import truth_of

S = 1_000_000
SPEC = run_from_dict({"cluster": {"preset": "teaching", "link_delay_ms": 1}, "seed": 3})


class Lab(Driven):
    """Three brokers and the topic orders: partition 0 on brokers 1 and 2 with five records, led by 1."""

    def __init__(self, **configs: str) -> None:
        self.world: World = build_world(SPEC)
        self.run(1)
        self.told(do="create_topic", topic="orders", assignment=[[1, 2]], configs=configs)
        for number in range(5):
            self.told(do="produce", topic="orders", partition=0, value=f"record {number}", acks="all")

    def told(self, seconds: float = 1, **command: Any) -> str:
        """The error that the cluster answers within that time: "" for none, "open" while there is no answer."""
        result = self.do(**command)
        self.run(seconds)
        machine = self.world.nodes["operator"].machine
        assert isinstance(machine, AdminMachine)
        found = machine.results.get(result.get("id", -1))
        return found["error"] if found else "open"

    @property
    def state(self) -> dict[str, Any]:
        found = truth_of(self.world).partition_state("orders", 0)
        assert found is not None
        return found

    def starts(self) -> dict[str, int]:
        """Where each replica's log starts."""
        return {broker: start for broker, (_, _, start) in observe_marks(self.world)["orders-0"].items()}


ABOUT: dict[str, Any] = {"topic": "orders", "partition": 0}


def test_records_are_deleted_on_all_replicas_and_never_beyond_what_is_committed() -> None:
    lab = Lab()
    assert lab.told(do="delete_records", before=3, **ABOUT) == ""
    assert lab.starts() == {"1": 3, "2": 3}
    assert lab.told(do="delete_records", before=6, **ABOUT) == "OFFSET_OUT_OF_RANGE"
    assert lab.told(do="delete_records", **ABOUT) == ""
    assert lab.starts() == {"1": 5, "2": 5}


def test_deleting_records_finds_the_new_leader() -> None:
    lab = Lab()
    assert lab.told(do="delete_records", before=1, **ABOUT) == ""
    lab.told(do="kill", broker=1)
    assert lab.told(8, do="delete_records", before=4, **ABOUT) == "", "broker 2 leads, broker 1 is dead: not waited for"
    assert lab.state["leader"] == 2 and lab.starts()["2"] == 4
    lab.told(8, do="restart", broker=1)
    assert lab.starts() == {"1": 4, "2": 4}


@pytest.mark.parametrize("where", [{"topic": "orders", "partition": 7}, {"topic": "carts", "partition": 0}])
def test_a_partition_that_does_not_exist_is_refused_soon_and_not_asked_about_for_ever(where: dict[str, Any]) -> None:
    lab = Lab()
    assert lab.told(3, do="delete_records", **where) == "UNKNOWN_TOPIC_OR_PARTITION"
    machine: Any = lab.world.nodes["operator"].machine
    assert not machine.metadata.wanted and not machine.metadata.errors and not machine.waiting
    asked: list[Any] = []
    lab.world.journal.watchers.append(lambda row: asked.append(row) if row[3] == "metadata_refreshed" else None)
    lab.run(30)
    assert not asked


def test_a_reassignment_moves_replicas_and_the_preferred_leader_is_elected() -> None:
    lab = Lab()
    assert lab.told(3, do="reassign", replicas=[3, 1], **ABOUT) == ""
    assert lab.state["replicas"] == [3, 1] and sorted(lab.state["isr"]) == [1, 3] and lab.state["leader"] == 1
    assert lab.told(do="elect_leaders", **ABOUT) == ""
    assert lab.state["leader"] == 3
    assert lab.told(do="elect_leaders", **ABOUT) == "ELECTION_NOT_NEEDED"
    assert lab.told(do="elect_leaders") == "", "of all: only those that need one"
    assert lab.told(do="reassign", replicas=[1, 9], **ABOUT) == "INVALID_REPLICA_ASSIGNMENT"
    assert lab.told(do="cancel_reassignment", **ABOUT) == "NO_REASSIGNMENT_IN_PROGRESS"


def test_a_move_to_a_broker_that_is_cut_off_can_be_seen_and_cancelled() -> None:
    lab = Lab()
    lab.told(do="partition_link", between=[1, 3])
    assert lab.told(do="reassign", replicas=[2, 3], **ABOUT) == ""
    assert inspect_partition(lab.world, "orders-0")["moving"] == {"adding": [3], "removing": [1]}
    shown = observe(lab.world, SPEC)["topics"]["orders"]["partitions"]["0"]
    assert (shown["adding"], shown["removing"]) == ([3], [1])
    assert lab.told(2, do="cancel_reassignment", **ABOUT) == ""
    assert inspect_partition(lab.world, "orders-0")["moving"] is None and sorted(lab.state["replicas"]) == [1, 2]


def test_an_unclean_election_by_hand_takes_a_replica_that_lacks_records() -> None:
    lab = Lab()
    lab.told(12, do="kill", broker=2)
    lab.told(do="produce", value="only on broker 1", acks="1", **ABOUT)
    lab.told(12, do="kill", broker=1)
    lab.told(8, do="restart", broker=2)
    assert lab.state["leader"] == -1
    assert lab.told(do="elect_leaders", **ABOUT) == "PREFERRED_LEADER_NOT_AVAILABLE"
    assert lab.told(do="elect_leaders", unclean=True, **ABOUT) == ""
    assert (lab.state["leader"], lab.state["isr"]) == (2, [2])


STEPS = """
topics: [{name: orders}]
steps:
  - {at: 1s, %s}
"""


@pytest.mark.parametrize(("step", "place"), [
    ("do: elect_leaders, topic: orders", "steps[0]"),
    ("do: elect_leaders, topic: carts, partition: 0", "steps[0].topic"),
    ("do: reassign, topic: orders, partition: 0, replicas: []", "steps[0].replicas"),
    ("do: reassign, topic: orders, partition: 0, replicas: [1, 1]", "steps[0].replicas[1]"),
    ("do: reassign, topic: orders, partition: 0, replicas: [1, 9]", "steps[0].replicas[1]"),
    ("do: move_replica, broker: 9, topic: orders, partition: 0, directory: b", "steps[0].broker"),
    ("do: move_replica, broker: 1, topic: orders, partition: 0", "steps[0]"),
    ("do: delete_records, topic: orders, partition: 0, before: -1", "steps[0].before"),
])  # fmt: skip
def test_a_step_that_cannot_be_is_refused_at_its_place(step: str, place: str) -> None:
    with pytest.raises(ScenarioError) as error:
        grammar.parse(STEPS % step, "x.yaml")
    assert error.value.place == place


def test_commands_keep_what_they_were_given() -> None:
    for command in ({"do": "elect_leaders"}, {"do": "elect_leaders", "unclean": True, **ABOUT}, {"do": "delete_records", **ABOUT}):
        assert check_command(command) == command


def test_the_journal_tells_each_step_of_a_move_and_the_page_comes_to_the_same_partition(require_program: Callable[[str], str]) -> None:
    node = require_program("node")
    lab = Lab()
    before = observe(lab.world, SPEC)
    rows: list[list[Any]] = []
    lab.world.journal.watchers.append(lambda row: rows.append([row[0], row[1], row[3], row[2], row[4], row[5]]))
    assert lab.told(3, do="reassign", replicas=[3, 1], **ABOUT) == ""
    steps = [row[5] for row in rows if row[2] == "assignment_changed"]
    assert [(sorted(one["replicas"]), one["adding"], one["removing"], one["moving"]) for one in steps] == [
        ([1, 2, 3], [3], [2], True), ([1, 3], [], [], False)]  # fmt: skip
    given = json.dumps({"state": before, "rows": rows})
    call = [node, "--input-type=module", "-e", SCRIPT, REDUCE_JS.as_uri()]
    reduced = json.loads(subprocess.run(call, input=given, capture_output=True, text=True, check=True).stdout)
    keys = ("leader", "leader_epoch", "isr", "replicas")
    shown, now = reduced["orders"]["partitions"]["0"], observe(lab.world, SPEC)["topics"]["orders"]["partitions"]["0"]
    assert [shown[key] for key in keys] == [now[key] for key in keys] and shown["replicas"] == [3, 1]
    assert set(shown["logs"]) == set(now["logs"]) == {"1", "3"}


@pytest.mark.parametrize(("ends", "least", "most"), [([1, 2], 2.0, 2.6), (["operator", 1], 2.0, 2.6), ([2, 3], 0, 0.1)])
def test_a_link_short_of_bandwidth_carries_records_as_fast_as_it_says(ends: list[Any], least: float, most: float) -> None:
    """20 kB over 10 kB/s: to the leader, or from there to the follower."""
    lab = Lab()
    lab.told(do="bandwidth_link", between=ends, bytes_per_s=10_000)
    begun = lab.world.now_us
    assert lab.told(0, do="produce", value="x" * 20_000, acks="all", **ABOUT) == "open"
    machine: Any = lab.world.nodes["operator"].machine
    number = max(machine.results) + 1
    while number not in machine.results:
        lab.run(0.01)
    assert least <= (lab.world.now_us - begun) / S <= most


def test_what_waits_on_a_slow_link_goes_on_when_the_link_is_well_again() -> None:
    lab = Lab()
    lab.told(do="bandwidth_link", between=[1, 2], bytes_per_s=100)
    lab.told(do="produce", value="x" * 20_000, acks="1", **ABOUT)
    lab.run(1)
    marks = observe_marks(lab.world)["orders-0"]
    assert (marks["1"][0], marks["2"][0]) == (6, 5), "200 s to go"
    lab.told(0.2, do="heal_link", between=[1, 2])
    assert observe_marks(lab.world)["orders-0"]["2"][0] == 6
