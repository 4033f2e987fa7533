"""Each protection off: the loss that it prevents. On: no loss. (Scenario numbers as in the lessons.)"""

from __future__ import annotations

import pytest

from broker_core.replication.protections import Protections
from tests.replication.harness import Cluster

BOTH = pytest.mark.parametrize("protected", [True, False], ids=["on", "off"])


def cut_off(cluster: Cluster, one: int, other: int, cut: bool = True) -> None:
    """Nothing passes between two brokers, in either direction."""
    for a, b in ((one, other), (other, one)):
        cluster.world.network.link(f"broker-{a}", f"broker-{b}").change(partitioned=cut)


@BOTH
def test_s1_a_follower_that_restarts_keeps_what_is_behind_its_late_high_watermark(protected):
    cluster = Cluster(2, Protections(truncate_by_leader_epoch=protected))
    a, b = 1, 2
    cluster.assign(b, 0, replicas=[a, b])
    cluster.produce(b, "m1")
    cluster.run(6000)
    assert cluster.produce(b, "m2").result.error_code == 0
    assert cluster.fetch(b, 1).values == ["m2"]
    cluster.world.crash("broker-1")
    cut_off(cluster, a, b)
    cluster.restart(a)
    cluster.assign(b, 1, replicas=[a, b])
    cluster.world.crash("broker-2")
    cluster.assign(a, 2, replicas=[a, b], isr=[a], to=[a])
    cut_off(cluster, a, b, cut=False)
    cluster.restart(b)
    cluster.assign(a, 3, replicas=[a, b], isr=[a])
    cluster.run(2000)
    expected = ["m1", "m2"] if protected else ["m1"]
    assert cluster.values(a) == cluster.values(b) == expected


@BOTH
def test_s1_after_a_power_loss_of_both_one_offset_never_has_two_values(protected):
    cluster = Cluster(2, Protections(truncate_by_leader_epoch=protected))
    a, b = 1, 2
    cluster.assign(b, 0, replicas=[a, b])
    cluster.produce(b, "m1")
    cluster.run(6000)
    cluster.log(b).flush()
    cluster.produce(b, "m2")
    cluster.run(6000)
    cluster.log(a).flush()
    cluster.world.power_loss("broker-1")
    cluster.world.power_loss("broker-2")
    cluster.restart(b)
    cluster.assign(b, 1, replicas=[a, b], isr=[b], to=[b])
    assert cluster.values(b) == ["m1"]
    cluster.produce(b, "m3")
    cluster.restart(a)
    cluster.assign(b, 2, replicas=[a, b], isr=[b])
    cluster.run(2000)
    assert cluster.values(b) == ["m1", "m3"]
    assert (cluster.values(a) == cluster.values(b)) is protected


@BOTH
def test_s2_two_leaders_in_quick_succession_leave_no_divergence(protected):
    cluster = Cluster(2, Protections(epoch_end_offset_of_largest_not_above=protected))
    cluster.assign(1, 0, replicas=[1, 2], to=[1])
    cluster.produce(1, "m0", acks=1)
    cluster.assign(2, 1, replicas=[1, 2], to=[2])
    cluster.produce(2, "m1", acks=1)
    cluster.assign(1, 2, replicas=[1, 2], to=[1])
    cluster.produce(1, "m2", acks=1)
    cluster.assign(1, 3, replicas=[1, 2], to=[2])
    cluster.assign(1, 4, replicas=[1, 2])
    cluster.run(3000)
    assert cluster.values(1) == ["m0", "m2"]
    assert cluster.log(1).high_watermark == 2
    assert cluster.values(2) == (["m0", "m2"] if protected else ["m1", "m2"])


@BOTH
def test_s3_a_fetch_in_an_old_epoch_commits_nothing(protected):
    cluster = Cluster(3, Protections(fence_fetch_by_leader_epoch=protected))
    r0, r1, r2 = 1, 2, 3
    cluster.assign(r0, 0)
    cluster.assign(r1, 1, to=[r0, r1])
    cluster.assign(r0, 3, isr=[r0, r2], to=[r0])
    answer = cluster.produce(r0, "m0")
    cluster.run(3000)
    acked = not answer.waiting
    assert acked is not protected
    cluster.assign(r1, 1, to=[r2], isr=[r0, r1, r2])
    cluster.run(3000)
    assert cluster.values(r2) == []
    lost = acked and "m0" not in cluster.values(r2)
    assert lost is not protected
    cluster.assign(r0, 4, isr=[r0, r2], to=[r0, r2])
    cluster.run(3000)
    assert cluster.values(r2) == ["m0"]


@BOTH
def test_s4_a_follower_joins_the_isr_only_past_the_start_of_the_epoch(protected):
    cluster = Cluster(3, Protections(isr_expansion_waits_for_epoch_start=protected), link_delay_us=10_000)
    r0, r1, r2 = 1, 2, 3
    cluster.assign(r1, 1, isr=[r1, r2], to=[r1, r2])
    cluster.run(100)
    cluster.produce(r1, "m0")
    cluster.run(100)
    assert cluster.log(r1).high_watermark == 1
    assert cluster.log(r2).high_watermark == 0
    cluster.assign(r2, 2, isr=[r1, r2], to=[r2, r0])
    while sorted(cluster.truth["orders", 0]["isr"]) != [r0, r1, r2]:
        cluster.run(1)
    assert cluster.values(r0) == (["m0"] if protected else [])


@BOTH
def test_s5_a_leader_that_is_behind_commits_nothing_by_a_fetch_of_a_newer_epoch(protected):
    cluster = Cluster(3, Protections(diverging_epoch_in_fetch=False, fence_follower_of_newer_epoch=protected))
    r0, r1, r2 = 1, 2, 3
    cluster.assign(r1, 1, isr=[r1, r2], to=[r1])
    answer = cluster.produce(r1, "x")
    cluster.assign(r2, 2, isr=[r1, r2], to=[r2, r0])
    cluster.run(100)
    assert sorted(cluster.truth["orders", 0]["isr"]) == [r0, r1, r2]
    cluster.assign(r1, 3, isr=[r0, r1, r2], to=[r2])
    cluster.run(3000)
    acked = not answer.waiting
    assert acked is not protected
    cluster.world.crash("broker-2")
    cluster.assign(r0, 4, isr=[r0, r2], to=[r0, r2])
    cluster.run(3000)
    lost = acked and cluster.values(r0) == []
    assert lost is not protected


def test_before_kip_595_a_follower_asks_for_epoch_ends_until_both_logs_agree():
    cluster = Cluster(2, Protections(diverging_epoch_in_fetch=False))
    for epoch in range(6):
        leader = 1 + epoch % 2
        cluster.assign(leader, epoch, replicas=[1, 2], to=[leader])
        cluster.produce(leader, f"{epoch}-x", f"{epoch}-y", acks=1)
    cluster.assign(2, 7, replicas=[1, 2], isr=[2])
    cluster.run(5000)
    assert cluster.values(1) == cluster.values(2) == [f"{epoch}-{part}" for epoch in (1, 3, 5) for part in "xy"]


@BOTH
def test_s6_a_follower_checks_its_log_in_every_new_epoch_even_of_the_same_leader(protected):
    cluster = Cluster(3, Protections(truncate_on_every_new_epoch=protected))
    r1, r2, r3 = 1, 2, 3
    cluster.assign(r1, 0, to=[r1, r3])
    cluster.produce(r1, "x", acks=1)
    assert cluster.values(r3) == ["x"]
    cluster.assign(r2, 1, to=[r1, r2])
    cluster.run(10)
    assert cluster.values(r1) == []
    cluster.assign(r1, 2, to=[r1, r2])
    cluster.produce(r1, "y", acks=1)
    cluster.assign(r1, 3, to=[r3])
    cluster.assign(r1, 4)
    cluster.run(3000)
    assert cluster.produce(r1, "z").result.error_code == 0
    assert cluster.values(r1) == ["y", "z"]
    assert cluster.values(r3) == (["y", "z"] if protected else ["x", "z"])


@BOTH
def test_s8_a_replica_that_may_be_in_the_isr_already_must_have_a_record_before_it_is_committed(protected):
    cluster = Cluster(3, Protections(maximal_isr=protected))
    cluster.assign(1, 0, isr=[1, 2], to=[1, 2])
    cluster.controller_answers = False
    cluster.assign(1, 0, isr=[1, 2], to=[3])
    cluster.run(2000)
    partition = cluster.partition(1)
    assert partition.isr.proposed == [1, 2, 3]
    cluster.world.pause("broker-3")
    cluster.run(40_000)
    answer = cluster.produce(1, "m0", timeout_ms=100_000)
    cluster.run(31_000)
    answer_2 = cluster.produce(1, "m1")
    acked = not answer.waiting and not answer_2.waiting
    assert acked is not protected


@BOTH
def test_s10_a_follower_truncates_before_it_takes_over_the_high_watermark(protected):
    cluster = Cluster(3, Protections(truncate_before_high_watermark=protected))
    cluster.assign(2, 0)
    cluster.produce(2, "a")
    cluster.run(600)
    cut_off(cluster, 1, 2)
    cut_off(cluster, 2, 3)
    cluster.produce(2, "b", acks=1)
    cluster.assign(1, 1, isr=[1, 3], to=[1, 3])
    cluster.produce(1, "c")
    cluster.run(600)
    reader = cluster.fetch(2, 1, max_wait=60_000)
    cut_off(cluster, 1, 2, cut=False)
    cluster.assign(1, 2, isr=[1, 3], to=[2, 1, 3])
    cluster.run(3000)
    assert cluster.values(2) == ["a", "c"]
    assert reader.all[0].responses[0].partitions[0].error_code == 0
    assert bool([event for event in cluster.events("high_watermark") if event["after"] == 2])
    raised_before_cut = _order(cluster, "high_watermark", "truncated")
    assert raised_before_cut is not protected


def _order(cluster: Cluster, first: str, second: str) -> bool:
    """Whether broker 2 took over mark 2 before it cut its log."""
    rows = [row for row in cluster.world.journal.tail if row[2] == "broker-2"]
    codes = [row[3] for row in rows if row[3] == second or (row[3] == first and row[5]["after"] == 2)]
    return codes.index(first) < codes.index(second)


@BOTH
def test_s11_empty_epochs_do_not_keep_a_follower_truncating_for_ever(protected):
    cluster = Cluster(2, Protections(empty_epochs_truncate=protected))
    cluster.assign(1, 0, replicas=[1, 2])
    cluster.produce(1, "a")
    cluster.run(600)
    cluster.assign(2, 2, replicas=[1, 2], to=[2])
    cluster.assign(1, 3, replicas=[1, 2])
    answer = cluster.produce(1, "b")
    cluster.run(20_000)
    assert answer.waiting is not protected


@BOTH
def test_s12_the_position_of_a_diverging_follower_does_not_count(protected):
    cluster = Cluster(2, Protections(ignore_diverged_fetch_state=protected), link_delay_us=10_000)
    cluster.assign(2, 0, replicas=[1, 2])
    cluster.run(100)
    cluster.produce(2, "a")
    cluster.run(1000)
    cut_off(cluster, 1, 2)
    cluster.run(100)
    cluster.produce(2, "b", acks=1)
    cluster.assign(1, 1, replicas=[1, 2], to=[1])
    answer = cluster.produce(1, "c")
    cut_off(cluster, 1, 2, cut=False)
    cluster.assign(1, 2, replicas=[1, 2])
    while answer.waiting:
        cluster.run(1)
    assert ("c" in cluster.values(2)) is protected
