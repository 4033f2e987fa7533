"""What becomes of a partition: elections, reassignments and eligible leader replicas as Kafka's controller decides."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from broker_core.controller.kraft.partition_change import Election, PartitionChange
from broker_core.metadata import records as r
from broker_core.metadata.registration import PartitionRegistration
from broker_core.metadata.replaying import changed_partition

T = uuid.UUID(int=7)


def partition(**values: Any) -> PartitionRegistration:
    changed = replace(PartitionRegistration([1, 2, 3], [1, 2, 3], 1, 5, 9), **values)
    return replace(changed, directories=directories(changed.replicas))


def directories(replicas: list[int]) -> list[uuid.UUID]:
    return [uuid.UUID(int=100 + one) for one in replicas]


def change(before: PartitionRegistration, alive: tuple[int, ...] = (1, 2, 3), min_isr: int = 1, elr: bool = True, **wanted: Any) -> Any:
    made = PartitionChange(before, T, 0, lambda broker: broker in alive, min_isr, elr)
    made.directory_of = lambda broker: uuid.UUID(int=100 + broker)
    for name, value in wanted.items():
        assert hasattr(made, name)
        setattr(made, name, value)
    return made.build()


def after(before: PartitionRegistration, *args: Any, **wanted: Any) -> PartitionRegistration:
    record = change(before, *args, **wanted)
    return before if record is None else changed_partition(before, record)


def test_nothing_to_change_makes_no_record():
    assert change(partition()) is None


def test_a_leader_that_is_gone_is_followed_by_the_first_replica_of_the_isr():
    found = after(partition(isr=[2, 3]), alive=(3,), isr=[3])
    assert (found.leader, found.isr, found.leader_epoch) == (3, [3], 6)
    found = after(partition(), alive=(2, 3), isr=[2, 3])
    assert (found.leader, found.isr) == (2, [2, 3])


def test_an_isr_that_shrinks_leaves_leader_and_leader_epoch():
    found = after(partition(), isr=[1, 3])
    assert (found.leader, found.leader_epoch, found.partition_epoch, found.isr) == (1, 5, 10, [1, 3])


def test_without_elr_the_last_of_the_isr_stays_and_the_partition_is_offline():
    found = after(partition(isr=[1]), alive=(2, 3), elr=False, isr=[])
    assert (found.leader, found.isr, found.elr) == (-1, [1], [])


def test_who_leaves_an_isr_below_the_minimum_stays_eligible():
    found = after(partition(isr=[1, 2]), alive=(1, 3), min_isr=2, isr=[1])
    assert (found.isr, found.elr, found.leader) == ([1], [2], 1)
    found = after(found, alive=(3,), min_isr=2, isr=[])
    assert (found.isr, found.elr, found.leader, found.last_known_elr) == ([], [1, 2], -1, [1])
    back = after(found, alive=(2,), min_isr=2)
    assert (back.leader, back.isr, back.elr, back.last_known_elr) == (2, [2], [1], [])
    whole = after(back, alive=(1, 2), min_isr=2, isr=[2, 1])
    assert (whole.isr, whole.elr) == ([2, 1], [])


def test_who_has_lost_its_disk_is_not_eligible():
    found = after(partition(isr=[1, 2]), alive=(1, 3), min_isr=2, isr=[1], unclean_shutdown=[2])
    assert (found.isr, found.elr) == ([1], [])


def test_the_last_leader_is_taken_when_nobody_is_eligible_and_it_returns():
    gone = partition(isr=[], elr=[], leader=-1, last_known_elr=[3])
    assert after(gone, alive=(1, 2)).leader == -1
    found = after(gone, alive=(1, 3))
    assert (found.leader, found.isr, found.leader_recovery_state, found.last_known_elr) == (3, [3], r.RECOVERING, [])


def test_who_led_last_is_remembered_when_nobody_leads_though_the_isr_is_not_empty():
    """Broker 2 is alone in the ISR, and the directory of its replica is offline: a move finds it unfit to lead. Then it
    starts again without what it had not written: it is the last leader still, and may lead when all others are gone."""
    found = after(partition(isr=[2], leader=2), alive=(1, 3), replicas=[2, 1, 3])
    assert (found.leader, found.isr, found.last_known_elr) == (-1, [2], [2])
    found = after(found, alive=(1, 3), isr=[], unclean_shutdown=[2])
    assert (found.leader, found.isr, found.elr, found.last_known_elr) == (-1, [], [], [2])
    assert after(found, alive=(1, 2, 3)).leader == 2


@pytest.mark.parametrize("elr", [True, False])
def test_an_unclean_election_takes_anybody_and_says_so(elr):
    before = partition(isr=[1], leader=-1, elr=[])
    assert after(before, alive=(2, 3), elr=elr).leader == -1
    found = after(before, alive=(2, 3), elr=elr, election=Election.UNCLEAN)
    assert (found.leader, found.isr, found.leader_recovery_state) == (2, [2], r.RECOVERING)
    assert after(before, alive=(), elr=elr, election=Election.UNCLEAN).leader == -1


def test_an_unclean_election_is_clean_when_somebody_of_the_isr_is_there():
    found = after(partition(), alive=(3,), isr=[3], election=Election.UNCLEAN)
    assert (found.leader, found.isr, found.leader_recovery_state) == (3, [3], r.RECOVERED)


def test_a_preferred_election_moves_the_leader_only_to_the_first_replica():
    found = after(partition(leader=2), election=Election.PREFERRED)
    assert (found.leader, found.leader_epoch) == (1, 6)
    assert change(partition(leader=2, isr=[2, 3]), election=Election.PREFERRED) is None
    assert change(partition(leader=2), alive=(2, 3), election=Election.PREFERRED) is None


def test_where_more_go_than_come_all_that_stay_must_be_in_the_isr():
    """KAFKA-15665: else [1, 2] in sync would become [2] alone."""
    moving = partition(replicas=[2, 3, 1], isr=[1, 2], removing_replicas=[1])
    assert after(moving, isr=[2, 1]).removing_replicas == [1]
    found = after(moving, isr=[1, 2, 3])
    assert (found.replicas, found.isr, found.removing_replicas) == ([2, 3], [2, 3], [])
    moving = partition(replicas=[4, 2, 1, 3], isr=[1, 2, 3], adding_replicas=[4], removing_replicas=[1, 3])
    assert after(moving, alive=(1, 3, 4), isr=[1, 3, 4]).adding_replicas == [4]
    assert after(moving, alive=(1, 2, 3, 4), isr=[1, 2, 3, 4]).replicas == [4, 2]


def test_as_many_may_come_as_go_while_one_that_stays_is_away():
    """KAFKA-19975: the ISR is no smaller for it."""
    moving = partition(replicas=[4, 2, 3, 1], isr=[1, 2], adding_replicas=[4], removing_replicas=[1])
    found = after(moving, alive=(1, 2, 4), isr=[1, 2, 4])
    assert (found.replicas, found.isr, found.removing_replicas) == ([4, 2, 3], [2, 4], [])


def test_a_reassignment_is_complete_when_all_new_ones_are_in_the_isr():
    moving = partition(replicas=[4, 1, 2, 3], isr=[1, 2, 3], adding_replicas=[4], removing_replicas=[1])
    assert after(moving, alive=(1, 2, 3, 4), isr=[1, 2]).adding_replicas == [4]
    found = after(moving, alive=(1, 2, 3, 4), isr=[1, 2, 3, 4])
    assert (found.replicas, found.isr, found.adding_replicas, found.removing_replicas) == ([4, 2, 3], [2, 3, 4], [], [])
    assert (found.leader, found.leader_epoch) == (4, 6), "the leader was one of those that go"
    assert found.directories == directories([4, 2, 3])


def test_replicas_that_go_raise_the_leader_epoch_even_when_the_leader_stays():
    found = after(partition(), replicas=[1, 2], isr=[1, 2])
    assert (found.leader, found.leader_epoch) == (1, 6)


def test_isr_and_elr_share_no_member_whatever_happens():
    from random import Random

    random = Random(1)
    found = partition()
    for _ in range(3000):
        alive = tuple(one for one in (1, 2, 3) if random.random() < 0.6)
        isr = [one for one in found.isr if one in alive]
        if found.has_leader and found.leader in alive:
            isr = [found.leader, *(one for one in (1, 2, 3) if one != found.leader and one in alive and random.random() < 0.7)]
        unclean = [one for one in (1, 2, 3) if one not in alive and random.random() < 0.2]
        found = after(found, alive=alive, min_isr=2, isr=isr, unclean_shutdown=unclean,
                      election=random.choice([Election.ONLINE, Election.ONLINE, Election.PREFERRED]))
        assert not set(found.isr) & set(found.elr)
        assert len(found.isr) < 2 or not found.elr
        assert found.leader == -1 or found.leader in found.isr
