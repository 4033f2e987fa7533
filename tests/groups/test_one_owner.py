"""Whatever members and brokers do: in every epoch a partition has at most one owner, and in the end exactly one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from broker_core.wire.errors import ErrorCode as E
from tests.groups.next_generation import Player, heartbeat, settle, topic_id

NAMES = ["a", "b", "c", "d", "e"]


class Play:
    """Members that come, talk, fall silent, leave and change their minds, while the coordinator moves and fails."""

    def __init__(self, lab: Any, seed: int) -> None:
        self.lab = lab
        self.chance = random.Random(seed)
        self.players: dict[str, Player] = {}
        self.silent: set[str] = set()
        self.epoch = 0
        self.count = 0
        lab.topic.topics.set("orders", 5)
        lab.topic.topics.set("other", 3)

    def check(self) -> None:
        group = self.lab.coordinator().registry.consumer_groups.get("g")
        if group is None:
            return
        held = [(one, member.member_id) for member in group.members.values() for one in member.held]
        assert len({one for one, _ in held}) == len(held), held
        assert all(member.epoch <= group.assignment_epoch <= group.epoch for member in group.members.values())
        for player in self.players.values():
            member = group.members.get(player.name)
            if member is not None and player.epoch in (member.epoch, member.previous_epoch):
                assert player.owned <= set(member.held), f"{player.name} reads what is not its own"

    def join(self) -> None:
        self.count += 1
        topics = self.chance.choice((["orders"], ["orders", "other"], ["other"]))
        more: dict[str, Any] = self.chance.choice(({}, {"server_assignor": "range"}, {"subscribed_topic_regex": "o.*"}))
        name = f"{self.chance.choice(NAMES)}{self.count}"
        self.players[name] = Player(self.lab, name, topics, **more)

    def leave(self) -> None:
        if self.players:
            player = self.players.pop(self.chance.choice(sorted(self.players)))
            heartbeat(self.lab, player.name, -1)

    def fall_silent(self) -> None:
        if self.players:
            self.silent ^= {self.chance.choice(sorted(self.players))}

    def move(self) -> None:
        self.epoch += 1
        self.lab.lead("broker-2" if self.lab.topic.leader == "broker-1" else "broker-1", self.epoch)

    def grow(self) -> None:
        if self.lab.topic.topics.shapes["orders"].partitions < 9:
            self.lab.topic.topics.set("orders", self.lab.topic.topics.shapes["orders"].partitions + 1)

    def fail(self) -> None:
        self.lab.topic.failure = self.chance.choice((0, 0, E.NOT_ENOUGH_REPLICAS))

    def slow_down(self) -> None:
        self.lab.topic.commit_delay_ms = self.chance.choice((0, 0, 50, 4000))

    def talk(self) -> None:
        for name in self.chance.sample(sorted(self.players), len(self.players)):
            if name not in self.silent:
                self.players[name].say()

    def step(self) -> None:
        act = self.chance.choices(
            [self.talk, self.join, self.leave, self.fall_silent, self.move, self.grow, self.fail, self.slow_down],
            [20, 3, 1, 1, 1, 0.3, 1, 1],
        )[0]
        act()
        self.check()
        self.lab.run(self.chance.choice((0, 10, 1000, 5000, 20_000)))
        for player in self.players.values():
            player.hear()
        self.check()

    def calm_down(self) -> None:
        """Nothing fails any more; those who are silent are noticed, all others converge."""
        self.lab.topic.failure, self.lab.topic.commit_delay_ms = 0, 0
        self.lab.run(10_000)
        for name in self.silent & self.players.keys():
            del self.players[name]
        for _ in range(20):
            for player in self.players.values():
                player.hear()
                player.turn()
            self.lab.run(5000)
            self.check()
        settle(*self.players.values(), turns=12)


@pytest.mark.parametrize("seed", range(25))
def test_a_partition_never_has_two_owners_and_in_the_end_one(lab: Any, seed: int) -> None:
    play = Play(lab, seed)
    for _ in range(100):
        play.step()
    play.calm_down()
    owned = [one for player in play.players.values() for one in player.owned]
    topics = lab.topic.topics
    wanted = {(topic_id(name), number) for player in play.players.values()
              for name in (["orders", "other"] if "subscribed_topic_regex" in player.more else player.more["subscribed_topic_names"])
              for number in range(topics.shapes[name].partitions)}  # fmt: skip
    assert len(owned) == len(set(owned)) and set(owned) == wanted
    if play.players:
        assert lab.coordinator().registry.consumer_groups["g"].state == "Stable"
