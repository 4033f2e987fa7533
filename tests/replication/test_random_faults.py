"""Crashes, pauses, cut links and elections at random: what was acknowledged with acks=all stays.

The controller here is a dozen lines: it takes dead brokers out of the ISR, but never the last one,
and elects the first live member of it in assignment order.
"""

from __future__ import annotations

import random

import pytest

from tests.replication.harness import Answers, Cluster

REPLICAS = [1, 2, 3]


class Chaos:
    def __init__(self, seed: int, steps: int) -> None:
        self.rng = random.Random(seed)
        self.cluster = Cluster(link_delay_us=self.rng.choice([0, 2000]), replica_lag_time_max_ms=4000)
        self.steps = steps
        self.epoch = 0
        self.alive = dict.fromkeys(REPLICAS, True)
        self.paused = dict.fromkeys(REPLICAS, False)
        self.sent: dict[str, Answers] = {}
        self.seen: dict[int, str] = {}
        self.elect()

    @property
    def truth(self) -> dict:
        return self.cluster.truth["orders", 0]

    def elect(self) -> None:
        """A new epoch: dead brokers leave the ISR, a live member of it leads; some brokers hear late or never."""
        isr = self.truth["isr"] if self.cluster.truth else REPLICAS
        live = [broker for broker in isr if self.alive[broker]]
        leader = next((broker for broker in self.rng.sample(REPLICAS, 3) if broker in live), -1)
        told = [broker for broker in REPLICAS if self.alive[broker] and (broker == leader or self.rng.random() < 0.8)]
        self.epoch += 1
        self.cluster.assign(leader, self.epoch, isr=live or isr[:1], to=told)

    def step(self, number: int) -> None:
        broker = self.rng.choice(REPLICAS)
        name = f"broker-{broker}"
        world = self.cluster.world
        action = self.rng.random()
        if action < 0.5:
            self.produce(number)
        elif action < 0.58 and self.alive[broker]:
            if self.paused[broker]:
                world.resume(name)
            else:
                world.pause(name)
            self.paused[broker] = not self.paused[broker]
        elif action < 0.64 and not self.paused[broker]:
            if self.alive[broker]:
                world.crash(name)
                self.alive[broker] = False
            else:
                self.cluster.restart(broker)
                self.alive[broker] = True
            self.elect()
        elif action < 0.72:
            self.elect()
        elif action < 0.8:
            other = self.rng.choice([one for one in REPLICAS if one != broker])
            world.network.link(name, f"broker-{other}").change(partitioned=self.rng.random() < 0.5)
        self.cluster.run(self.rng.choice([0, 1, 30, 600, 5000]))
        self.read()

    def produce(self, number: int) -> None:
        """To whoever believes that he leads: a deposed leader, too."""
        believers = [broker for broker in REPLICAS if self.alive[broker] and not self.paused[broker]]
        for broker in self.rng.sample(believers, len(believers)):
            partition = self.cluster.partition(broker)
            if partition is not None and partition.is_leader:
                acks = self.rng.choice([-1, -1, 1])
                answers = self.cluster.produce(broker, str(number), acks=acks, timeout_ms=3000)
                if acks == -1:
                    self.sent[str(number)] = answers
                return

    def read(self) -> None:
        """What is below a leader's high watermark never changes."""
        leader = self.truth["leader"]
        if leader > 0 and self.alive[leader] and self.cluster.partition(leader).leader_epoch == self.epoch:
            log = self.cluster.log(leader)
            for record in log.records(log.log_start_offset, log.high_watermark):
                value = record.value.decode()
                assert self.seen.setdefault(record.offset, value) == value, f"offset {record.offset} has changed"

    def heal(self) -> None:
        world = self.cluster.world
        for link in world.network.links.values():
            link.reset()
        for broker in REPLICAS:
            if not self.alive[broker]:
                self.cluster.restart(broker)
                self.alive[broker] = True
            elif self.paused[broker]:
                world.resume(f"broker-{broker}")
        self.epoch += 1
        leader = self.truth["isr"][0]
        self.cluster.assign(leader, self.epoch, isr=self.truth["isr"])
        self.cluster.run(45_000)  # replica.socket.timeout.ms: a request that was lost is given up after 30 s


@pytest.mark.parametrize("seed", range(12))
def test_no_acknowledged_record_is_lost_and_all_logs_end_equal(seed):
    chaos = Chaos(seed, steps=80)
    for number in range(chaos.steps):
        chaos.step(number)
    chaos.heal()
    cluster = chaos.cluster
    assert sorted(chaos.truth["isr"]) == REPLICAS
    logs = [cluster.values(broker) for broker in REPLICAS]
    assert logs[0] == logs[1] == logs[2]
    acked = [value for value, answers in chaos.sent.items() if not answers.waiting and not answers.result.error_code]
    assert [value for value in acked if value not in logs[0]] == []
    assert {cluster.log(broker).high_watermark for broker in REPLICAS} == {len(logs[0])}
    assert not cluster.produce(chaos.truth["leader"], "end").waiting or cluster.world.network.delay_us
