"""A group follows its partition of `__consumer_offsets` from broker to broker."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from broker_core.coordinators.partitioning import java_string_hash, partition_for
from broker_core.groups.states import VALID_PREVIOUS_STATES, GroupState, IllegalTransition, check_transition
from broker_core.records.batch import encode_batch
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E


@pytest.mark.parametrize(
    ("group", "code", "partition"),
    [
        ("my-group", -1906497762, 12),
        ("billing", -109829509, 9),
        ("console-consumer-1", 35782224, 24),
        ("grüße", 98768023, 23),
        ("𝄞", 1772394, 44),
        ("", 0, 0),
    ],
)
def test_a_groups_partition_is_what_java_computes(group: str, code: int, partition: int) -> None:
    assert java_string_hash(group) == code
    assert partition_for(group, 50) == partition


def test_members_and_offsets_survive_the_coordinator(lab: Any) -> None:
    (first, second), generation = lab.stable_group(2)
    lab.commit({("orders", 0): 42}, first, generation, metadata="here")
    lab.run(0)
    lab.lead("broker-2", 1)
    assert lab.heartbeat(first, generation) == lab.heartbeat(second, generation) == 0
    assert lab.committed() == {("orders", 0): (42, "here")}
    assert lab.sync(second, generation).assignment[-8:-4] == b"\0\0\0\1"
    observed = lab.coordinator().groups()["g"]
    assert [member["assignment"] for member in observed["members"]] == [{"orders": [0]}, {"orders": [1]}]
    assert observed["offsets"] == {"orders": {"0": 42}} and observed["coordinator"] == 2
    assert lab.journal("group_partition_loaded")[-1] is not None
    again = lab.join(first)
    assert lab.heartbeat(second, generation) == E.REBALANCE_IN_PROGRESS
    assert lab.join(second).generation_id == again.generation_id == generation + 1


def test_members_that_do_not_find_the_new_coordinator_expire_there(lab: Any) -> None:
    lab.stable_group()
    lab.lead("broker-2", 1)
    lab.run(9999)
    assert lab.describe().group_state == "Stable"
    lab.run(1)
    assert lab.describe().group_state == "Empty"


def test_a_static_instance_keeps_its_member_id_at_the_new_coordinator(lab: Any) -> None:
    join = lab.join(instance="a")
    lab.run(3000)
    lab.settle([join])
    back = lab.join(instance="a")
    lab.run(0)
    lab.lead("broker-2", 1)
    assert lab.heartbeat(join.member_id, 1, instance="a") == E.FENCED_INSTANCE_ID
    assert lab.heartbeat(back.member_id, 1, instance="a") == 0


def test_parked_joins_and_syncs_are_sent_to_the_new_coordinator(lab: Any) -> None:
    (first,), _ = lab.stable_group()
    join = lab.join(lab.new_member_id())
    joins = [lab.join(group="h", version=3), lab.join(group="h", version=3)]
    lab.run(6000)
    sync = lab.sync(joins[1].member_id, 1, group="h")
    lab.lead("broker-2", 1)
    assert join.error_code == sync.error_code == E.NOT_COORDINATOR
    old = m.HeartbeatRequest(group_id="g", member_id=first, generation_id=1)
    assert lab.send(ApiKey.HEARTBEAT, 4, old, broker="broker-1").error_code == E.NOT_COORDINATOR
    lab.run(100_000)  # nothing of the old one wakes up any more
    assert lab.coordinator("broker-1").groups() == {}


def test_while_a_partition_is_read_its_groups_say_so(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    for number in range(1500):
        lab.commit({("orders", number % 7): number}, member, generation)
    lab.run(0)
    partition = lab.coordinator().partition_for("g")
    lab.topic.leader = "broker-2"
    lab.coordinator("broker-1").on_resignation(partition, 1)
    lab.coordinator().on_election(partition, 1)
    assert lab.heartbeat(member, generation) == 0
    assert lab.join(member).error_code == E.COORDINATOR_LOAD_IN_PROGRESS
    assert lab.sync(member, generation).error_code == E.COORDINATOR_LOAD_IN_PROGRESS
    listed = lab.send(ApiKey.LIST_GROUPS, 5, m.ListGroupsRequest())
    assert (listed.error_code, listed.groups) == (E.COORDINATOR_LOAD_IN_PROGRESS, []), "4.3; 3.9 lists what it knows, and syncs are to rebalance"
    assert lab.describe().error_code == E.COORDINATOR_LOAD_IN_PROGRESS
    lab.world.step()  # a slice of 1000 records is not all
    assert lab.describe().error_code == E.COORDINATOR_LOAD_IN_PROGRESS
    lab.run(0)
    assert lab.describe().group_state == "Stable"
    assert len(lab.committed()) == 7


def test_a_record_that_nobody_can_read_does_not_hide_the_others(lab: Any) -> None:
    lab.commit({("orders", 0): 1})
    lab.run(0)
    partition = lab.coordinator().partition_for("g")
    lab.topic.append(partition, encode_batch([(0, b"\0\1\0", b"", ()), (0, b"\0\2\0\1g", b"\0\7", ())]), 0)
    lab.commit({("orders", 1): 2})
    lab.run(0)
    lab.lead("broker-2", 1)
    assert lab.committed() == {("orders", 0): (1, ""), ("orders", 1): (2, "")}
    assert [refused["offset"] for refused in lab.journal("group_record_refused")] == [1, 2]


def test_news_of_an_older_epoch_are_ignored(lab: Any) -> None:
    lab.commit({("orders", 0): 1})
    lab.run(0)
    partition = lab.coordinator().partition_for("g")
    lab.coordinator().on_election(partition, 5)
    lab.coordinator().on_resignation(partition, 4)
    assert lab.committed() == {("orders", 0): (1, "")}
    lab.coordinator().on_resignation(partition, None)
    assert lab.describe().error_code == E.NOT_COORDINATOR


def test_a_commit_in_flight_when_the_coordinator_moves_is_not_lost_when_it_was_written(lab: Any) -> None:
    lab.topic.commit_delay_ms = 10
    answer = lab.commit({("orders", 0): 7})
    lab.lead("broker-2", 1)
    lab.run(10)
    assert answer.topics[0].partitions[0].error_code == 0
    assert lab.committed() == {("orders", 0): (7, "")}
    assert lab.coordinator("broker-1").groups() == {}


def test_a_coordinator_with_parked_members_and_running_timers_can_be_pickled(lab: Any) -> None:
    (first,), generation = lab.stable_group()
    lab.join(lab.new_member_id())
    lab.new_member_id()
    lab.commit({("orders", 0): 1}, first, generation)
    world = pickle.loads(pickle.dumps(lab.world))
    for one in (world, lab.world):
        one.run_until(lab.world.now_us + 100_000_000)
    later = list(world.journal.tail)
    assert later == list(lab.world.journal.tail)[-len(later) :] and len(later) > 5


def test_every_step_that_the_table_does_not_have_is_a_bug() -> None:
    for after, sources in VALID_PREVIOUS_STATES.items():
        for before in GroupState:
            if before in sources:
                check_transition(before, after)
            else:
                with pytest.raises(IllegalTransition):
                    check_transition(before, after)
