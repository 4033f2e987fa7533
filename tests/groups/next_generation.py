"""Members of next-generation groups, as tests play them: what they own, what they say, what they do when fenced."""

from __future__ import annotations

import uuid
from typing import Any

from broker_core.groups.consumer.member import Partition
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E

LOST = (E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID, E.GROUP_ID_NOT_FOUND, E.UNRELEASED_INSTANCE_ID)


def topic_id(name: str) -> uuid.UUID:
    return uuid.UUID(int=int.from_bytes(name.encode(), "big"))


def heartbeat(lab: Any, member: str, epoch: int, group: str = "g", version: int = 1, owned: Any = None, **more: Any) -> Any:
    """One heartbeat that says only what is given; its answer is there when records are committed at once."""
    kind = m.ConsumerGroupHeartbeatRequest
    topics: dict[uuid.UUID, list[int]] = {}
    for topic, number in sorted(owned or ()):
        topics.setdefault(topic, []).append(number)
    said = None if owned is None else [kind.TopicPartitions(topic_id=one, partitions=all_) for one, all_ in topics.items()]
    request = kind(group_id=group, member_id=member, member_epoch=epoch, topic_partitions=said, **more)
    answer = lab.send(ApiKey.CONSUMER_GROUP_HEARTBEAT, version, request)
    lab.run(0)
    return answer


class Player:
    """A member that follows the protocol: it gives back what it is not assigned, and says so with its next heartbeat; after an
    error, which may hide an answer, it says everything."""

    def __init__(self, lab: Any, name: str, topics: list[str] | None = None, group: str = "g", **more: Any) -> None:
        self.lab = lab
        self.name = name
        self.group = group
        self.more = {"subscribed_topic_names": ["orders"] if topics is None else topics, "rebalance_timeout": 60_000, **more}
        self.epoch = 0
        self.owned: set[Partition] = set()
        self.waiting: Any = None
        self.tell = False
        self.missed = False

    def say(self) -> None:
        """Sends a heartbeat, unless one is not answered yet."""
        if self.waiting is None:
            if self.epoch == 0:
                self.owned = set()
                self.waiting = heartbeat(self.lab, self.name, 0, self.group, owned=[], **self.more)
            else:
                said = self.more if self.missed else {}
                self.waiting = heartbeat(
                    self.lab, self.name, self.epoch, self.group, owned=self.owned if self.tell or said else None, **said
                )
            self.tell = False

    def hear(self) -> int | None:
        """Takes the answer in, when it has come; its error code."""
        if self.waiting is None or not self.waiting:
            return None
        answer, self.waiting = self.waiting.body, None
        self.missed = answer.error_code != 0
        if answer.error_code in LOST:
            self.epoch, self.owned = 0, set()
        elif answer.error_code == 0:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.owned = {(one.topic_id, number) for one in answer.assignment.topic_partitions for number in one.partitions}
                self.tell = True
        return int(answer.error_code)

    def turn(self) -> int | None:
        """A heartbeat and its answer."""
        self.say()
        self.lab.run(self.lab.topic.commit_delay_ms)
        return self.hear()

    @property
    def numbers(self) -> list[int]:
        return sorted(number for _, number in self.owned)


def settle(*players: Player, turns: int = 8) -> None:
    """Everybody talks until nothing changes any more."""
    for _ in range(turns):
        for player in players:
            player.turn()
