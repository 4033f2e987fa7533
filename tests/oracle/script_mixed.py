"""Members of both protocols in one group, asked of Apache Kafka 4.3 and of a KRaft lab: each of Java's assignors in the classic
members, static members of both kinds, and the way there and back (KIP-848, "online migration")."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

from broker_core.groups.consumer_protocol import MalformedProtocol, assigned_partitions
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script
from tests.oracle.requests import make_topic
from tests.oracle.script_classic import REFUSED_AT_FIRST, Group
from tests.oracle.script_next_generation import Asking
from tests.oracle.subscriptions import metadata, share

MUST_JOIN = 27  # REBALANCE_IN_PROGRESS
PARTITIONS = 12  # nobody has one more than another, whose turn would be a hash map's to say
COOPERATIVE, EAGER = ("cooperative-sticky",), ("range",)


class Member:
    """A member of the classic protocol; `stays`: it is static."""

    def __init__(self, mixed: Mixed, name: str, assignors: tuple[str, ...], stays: str | None = None) -> None:
        self.mixed, self.name, self.assignors, self.stays = mixed, name, assignors, stays
        self.member, self.generation, self.chosen = "", -1, assignors[0]
        self.owned: dict[str, list[int]] = {}

    def joining(self, **more: Any) -> Any:
        j = m.JoinGroupRequest
        owned = self.owned if self.assignors in (COOPERATIVE, ("sticky",)) else {}
        topics = more.pop("topics", [self.mixed.topic])
        said = more.pop("metadata", None)
        told = [j.JoinGroupRequestProtocol(name=one, metadata=said or metadata(one, topics, owned)) for one in self.assignors]
        fields = {"session_timeout": 30_000, "rebalance_timeout": 60_000, "protocol_type": "consumer", "group_id": self.mixed.group, "protocols": told}
        return j(**{"member_id": self.member, "group_instance_id": self.stays, **fields, **more})

    def join(self, title: str, **more: Any) -> Any:
        answer = self.mixed.say(f"{self.name} {title}", ApiKey.JOIN_GROUP, 9, self.joining(**more), self)
        self.took(answer)
        if answer.error_code == REFUSED_AT_FIRST:
            self.member = answer.member_id
            while not "b" < self.member < "m":  # who gets what follows the order of ids, and this one is drawn
                self.member = self.mixed.k.ask(ApiKey.JOIN_GROUP, 9, Member(self.mixed, "", self.assignors).joining(**more)).member_id
            return self.join(f"{title}, with its id", **more)
        return answer

    def took(self, answer: Any) -> None:
        if not answer.error_code:
            self.member, self.generation, self.chosen = answer.member_id, answer.generation_id, answer.protocol_name

    def syncing(self, shares: dict[str, bytes] | None = None, **more: Any) -> Any:
        s = m.SyncGroupRequest
        told = [s.SyncGroupRequestAssignment(member_id=one, assignment=bytes_) for one, bytes_ in (shares or {}).items()]
        fields = {"group_id": self.mixed.group, "protocol_type": "consumer", "protocol_name": self.chosen, "generation_id": self.generation,
                  "member_id": self.member, "group_instance_id": self.stays, "assignments": told}  # fmt: skip
        return s(**{**fields, **more})

    def sync(self, title: str, shares: dict[str, bytes] | None = None, **more: Any) -> Any:
        answer = self.mixed.say(f"{self.name} {title}", ApiKey.SYNC_GROUP, 5, self.syncing(shares, **more))
        if not answer.error_code:
            try:
                self.owned = assigned_partitions(bytes(answer.assignment))
            except MalformedProtocol:
                self.owned = {}
        return answer

    def beat(self, title: str, **more: Any) -> int:
        fields = {"group_id": self.mixed.group, "generation_id": self.generation, "member_id": self.member, "group_instance_id": self.stays}
        answer = self.mixed.say(f"{self.name} {title}", ApiKey.HEARTBEAT, 4, m.HeartbeatRequest(**{**fields, **more}))
        return int(answer.error_code)

    def leave(self, title: str, **more: Any) -> None:
        who = m.LeaveGroupRequest.MemberIdentity
        one = who(**{"member_id": self.member, "group_instance_id": self.stays, "reason": "it was enough", **more})
        self.mixed.say(f"{self.name} {title}", ApiKey.LEAVE_GROUP, 5, m.LeaveGroupRequest(group_id=self.mixed.group, members=[one]))

    def turn(self, title: str) -> None:
        """A heartbeat, and what Java does when it is told to join."""
        if self.beat(f"{title}, heartbeat") == MUST_JOIN:
            if self.join(f"{title}, joins").error_code == 0:
                self.sync(f"{title}, syncs")

    def commit(self, title: str, **more: Any) -> None:
        o = m.OffsetCommitRequest
        part = o.OffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata="m")
        fields = {"group_id": self.mixed.group, "member_id": self.member, "generation_id_or_member_epoch": self.generation, "group_instance_id": self.stays}
        request = o(**{**fields, **more}, topics=[o.OffsetCommitRequestTopic(name=self.mixed.topic, partitions=[part])])
        self.mixed.say(f"{self.name} {title}", ApiKey.OFFSET_COMMIT, 9, request)


class Mixed:
    """A group, its topic, and what is asked about it."""

    def __init__(self, k: Script, group: str, partitions: int = PARTITIONS) -> None:
        self.k, self.group, self.topic = k, group, group
        Group(k, group, 9)  # waits until its coordinator is there
        self.topic_id = make_topic(k, group, partitions)
        change = m.IncrementalAlterConfigsRequest
        at_once = change.AlterableConfig(name="consumer.assignment.interval.ms", config_operation=0, value="0")
        told = change.AlterConfigsResource(resource_type=32, resource_name=group, configs=[at_once])
        assert not k.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change(resources=[told])).responses[0].error_code
        self.newcomers = Asking(k, group)
        self.known: dict[str, tuple[int, list[int]]] = {}
        self.ids: dict[str, str] = {}

    def say(self, title: str, key: ApiKey, version: int, request: Any, who: Member | None = None) -> Any:
        return self.note(f"{title} v{version}", self.k.ask(key, version, request), who)

    def note(self, title: str, answer: Any, who: Member | None = None) -> Any:
        """Write down with the members' names for their ids, and give back what was said."""
        if who is not None and len(answer.member_id) > 20:
            self.ids[answer.member_id] = who.name
        self.k.note(f"{self.group}: {title}", self.named(copy.deepcopy(answer)))
        return answer

    def named(self, value: Any) -> Any:
        if hasattr(value, "FIELDS"):
            for name in value.FIELDS:
                setattr(value, name, self.named(getattr(value, name)))
            return value
        if isinstance(value, list):
            return [self.named(one) for one in value]
        for member, name in self.ids.items() if isinstance(value, str) else ():
            value = value.replace(member, name)
        return value

    def described(self, title: str) -> None:
        answer = self.k.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, m.ConsumerGroupDescribeRequest(group_ids=[self.group]))
        self.note(f"{title}, described v1", answer)
        self.say(f"{title}, described as classic", ApiKey.DESCRIBE_GROUPS, 6, m.DescribeGroupsRequest(groups=[self.group]))
        answer = self.k.ask(ApiKey.LIST_GROUPS, 5, m.ListGroupsRequest())
        answer.groups = [one for one in answer.groups if one.group_id == self.group]
        self.note(f"{title}, listed v5", answer)

    def new(self, title: str, member: str, epoch: int | None = None, **more: Any) -> Any:
        """A heartbeat of a member of the new protocol: `epoch` 0 to join; else it goes on, and has what it was told to have."""
        now, owned = self.known.get(member, (0, []))
        said = now if epoch is None else epoch
        parts = [(self.topic_id, owned)] if said > 0 and owned else [] if said > 0 else None
        topics = [self.topic] if said == 0 else None
        request = self.newcomers.request(member, said, more.pop("topics", topics), parts, **more)
        answer = self.say(f"{member} {title}", ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
        if not answer.error_code and answer.member_epoch > 0:
            told = owned if answer.assignment is None else [one for part in answer.assignment.topic_partitions for one in part.partitions]
            self.known[member] = (answer.member_epoch, told)
        return answer

    def classic(self, title: str, *members: Member, drawn: bool = False) -> None:
        """All of them join at once; the first who is told that it leads shares out. A new group's first member is there before."""
        for one in members:
            if not one.stays and not one.member:
                answer = self.k.ask(ApiKey.JOIN_GROUP, 9, one.joining(), client=f"a {one.name}")
                assert answer.error_code == REFUSED_AT_FIRST, answer
                one.member = answer.member_id
        if not drawn:
            members[0].took(self.k.ask(ApiKey.JOIN_GROUP, 9, members[0].joining(), client=f"a {members[0].name}"))
        lines = [self.k.fresh() for _ in members]
        for line, one in reversed(list(zip(lines, members, strict=True))):
            line.send(ApiKey.JOIN_GROUP, 9, one.joining(), f"a {one.name}")
            time.sleep(0.05)
        answers = [line.read(ApiKey.JOIN_GROUP, 9) for line in lines]
        leader = next(one for one, answer in zip(members, answers, strict=True) if answer.members)
        for line, one, answer in zip(lines, members, answers, strict=True):
            one.took(answer)
            self.ids[one.member] = one.name
            line.close()
        for one, answer in zip(members, answers, strict=True):
            if drawn:  # who leads a group that was converted is for the order of a hash map to say
                answer.leader, answer.members = "somebody", []
            self.note(f"{title}, {one.name} joins v9", answer)
        each = PARTITIONS // len(members)
        shares = {one.member: share(self.topic, list(range(each * number, each * (number + 1)))) for number, one in enumerate(members)}
        self.k.ask(ApiKey.SYNC_GROUP, 5, leader.syncing(shares))
        for one in members:
            one.sync(f"{title}, its share")

    def rounds(self, title: str, members: Iterable[Member], *newcomers: str, count: int = 3) -> None:
        for number in range(count):
            for one in members:
                one.turn(f"{title}, round {number}")
            for name in newcomers:
                self.new(f"{title}, round {number}", name)


def there_and_back(k: Script, *, assignors: tuple[str, ...], static: bool, on_the_broker: str = "range") -> None:
    """Two classic members, a third of the new protocol, a fourth classic one; then the new one goes."""
    mixed = Mixed(k, f"mixed {'+'.join(assignors)}{' static' if static else ''}".replace(" ", "-").replace("+", "-"))
    one, two, three = (Member(mixed, name, assignors, f"i-{name}" if static else None) for name in ("one", "two", "three"))
    mixed.classic("at first", one, two)
    one.commit("commits")
    mixed.described("classic")
    mixed.new("joins", "new", 0, server_assignor=on_the_broker, **({"instance_id": "i-new"} if static else {}))
    mixed.described("upgraded")
    one.beat("of a wrong generation", generation_id=77)
    one.beat("of nobody", member_id="stranger")
    mixed.rounds("three", (one, two), "new")
    mixed.described("three")
    one.commit("commits in the mixed group")
    for generation in range(5):
        one.commit(f"commits what it has, in generation {generation}", generation_id_or_member_epoch=generation)
        two.commit(f"commits what it has not, in generation {generation}", generation_id_or_member_epoch=generation)
    two.sync("syncs in a wrong generation", generation_id=77)
    two.sync("syncs with another protocol", protocol_name="nonsense")
    if not static:
        three.join("joins the mixed group")
        three.sync("syncs in the mixed group")
        mixed.rounds("four", (one, two, three), "new")
        mixed.described("four")
        three.leave("leaves")
        mixed.described("three has left")
        one.sync("syncs once more when three has left")
        mixed.rounds("three again", (one, two), "new")
        mixed.described("three again")
    mixed.new("joins", "nix", 0)
    one.beat("when another has joined")
    mixed.rounds("with another", (one, two), "new", "nix")
    mixed.described("with another")
    mixed.new("leaves", "nix", -1)
    mixed.described("the other has left")
    two.beat("when the other has left")
    two.sync("syncs once more when the other has left")
    two.join("joins when the other has left")
    mixed.described("one who stays has joined")
    two.sync("syncs when the other has left")
    mixed.rounds("without the other", (one, two), "new")
    mixed.new("leaves", "new", -1)
    mixed.described("downgraded")
    for member in (one, two):
        member.beat("after the downgrade")
    mixed.classic("classic again", one, two, drawn=True)
    mixed.described("classic again")
    for member in (one, two):
        member.leave("leaves at the end")
    mixed.described("empty")


def names_that_stay(k: Script) -> None:
    """Static members change their protocol, one after the other, and back; who was replaced is fenced."""
    mixed = Mixed(k, "mixed-names")
    one, two, back = (Member(mixed, name, EAGER, f"i-{stays}") for name, stays in (("one", "one"), ("two", "two"), ("back", "one")))
    mixed.classic("at first", one, two)
    mixed.new("takes the name of one who is there", "new", 0, instance_id="i-one", server_assignor="range")
    mixed.described("one has another protocol")
    one.beat("when it is replaced")
    one.commit("when it is replaced")
    one.join("joins when it is replaced")
    Member(mixed, "nobody", EAGER, "i-nobody").join("under a name that nobody has", member_id="stranger")
    one.leave("when it is replaced")
    mixed.rounds("after the first", (two,), "new")
    mixed.described("after the first")
    mixed.new("takes another's name", "new", instance_id="i-two")
    two.beat("under another's name", group_instance_id="i-one")
    two.beat("without its name", group_instance_id=None)
    mixed.new("leaves for a while", "new", -2, instance_id="i-one")
    mixed.described("away")
    two.turn("while the other is away")
    mixed.new("comes back", "newer", 0, instance_id="i-one", server_assignor="range")
    mixed.described("back")
    back.join("takes the name of one of the new protocol")
    back.sync("has taken the name")
    mixed.described("one is classic again")
    mixed.new("when it is replaced", "newer", instance_id="i-one")
    for title in ("after the second", "later"):
        two.turn(title)
        back.turn(title)
    mixed.described("after the second")
    k("names: removed by name", ApiKey.LEAVE_GROUP, 5, m.LeaveGroupRequest(group_id=mixed.group, members=[
        m.LeaveGroupRequest.MemberIdentity(member_id="", group_instance_id=name, reason="removed") for name in ("i-one", "i-two", "i-nobody")]))
    mixed.described("all are removed")


def removed_by_name(k: Script) -> None:
    """LeaveGroup names members of the new protocol, too."""
    mixed = Mixed(k, "mixed-removed")
    one = Member(mixed, "one", EAGER, "i-one")
    mixed.classic("at first", one)
    mixed.new("joins", "new", 0, instance_id="i-new", server_assignor="range")
    mixed.new("joins", "nix", 0, server_assignor="range")
    mixed.rounds("three", (one,), "new", "nix")
    who = m.LeaveGroupRequest.MemberIdentity
    for title, some in (("nobody", []), ("unknown ones", [who(member_id="stranger"), who(member_id="new", group_instance_id="i-one")]),
                        ("by id", [who(member_id="nix")]), ("by name", [who(member_id="", group_instance_id="i-new")])):  # fmt: skip
        mixed.say(f"{title} leave", ApiKey.LEAVE_GROUP, 5, m.LeaveGroupRequest(group_id=mixed.group, members=some))
        mixed.described(f"{title} have left")
    one.beat("alone")


def wrongly(k: Script) -> None:
    """What a group of the new protocol does not take from a classic member, and what keeps a classic group from a change."""
    mixed = Mixed(k, "mixed-wrongly")
    mixed.new("joins", "new", 0, server_assignor="range")
    one = Member(mixed, "one", EAGER)
    for title, more in (
        ("another type", {"protocol_type": "connect"}), ("no protocols", {"protocols": []}), ("a short session", {"session_timeout": 5}),
        ("an unknown member", {"member_id": "stranger"}), ("not in Java's words", {"metadata": b"?"}),
        ("no topics", {"topics": []}), ("an unknown topic", {"topics": ["nowhere at all"]}),
        ("a name of the other protocol's member", {"member_id": "new"}), ("another type and an id", {"protocol_type": "connect", "member_id": "x"}),
        ("another assignor and an id", {"member_id": "x", "protocols": [m.JoinGroupRequest.JoinGroupRequestProtocol(name="own", metadata=b"?")]}),
    ):  # fmt: skip
        answer = mixed.say(f"joins with {title}", ApiKey.JOIN_GROUP, 9, one.joining(**{"member_id": "", **more}), one)
        one.member = ""
        if len(answer.member_id) == 22 and answer.error_code == REFUSED_AT_FIRST:
            answer = mixed.say(f"joins with {title}, with its id", ApiKey.JOIN_GROUP, 9, one.joining(**{**more, "member_id": answer.member_id}))
    one.assignors = ("range", "cooperative-sticky")
    one.join("joins")
    one.sync("syncs")
    two = Member(mixed, "two", ("roundrobin",))
    two.join("joins with an assignor that the other does not know")
    two.member, two.generation = "", -1
    two.assignors = ("cooperative-sticky", "roundrobin")
    two.join("joins with an assignor that the other knows")
    two.sync("syncs")
    one.sync("syncs with its second", protocol_name="cooperative-sticky")
    mixed.described("two")
    for title, data in (("own-words", b"own"), ("no-such-bytes", None)):
        other = Mixed(k, f"mixed-{title}")
        alone = Member(other, "alone", EAGER)
        other.classic("at first", alone)
        alone.sync("shares out", {alone.member: share(other.topic, [0, 1], data) if data else b"?"})
        other.new("joins", "new", 0)
        alone.join("again")
        alone.sync("shares out again", {alone.member: share(other.topic, [0, 1], data) if data else b"?"})
        other.new("joins again", "new", 0)
        other.described("refused")


def at_each_state(k: Script) -> None:
    """A member of the new protocol comes while the classic group is in each of its states."""
    for state in ("PreparingRebalance", "CompletingRebalance", "Empty", "Dead"):
        mixed = Mixed(k, f"mixed-{state}")
        one, two = Member(mixed, "one", EAGER), Member(mixed, "two", EAGER)
        if state != "Dead":
            mixed.classic("at first", one)
            one.commit("commits")
        line = k.fresh()
        if state == "PreparingRebalance":
            two.member = k.ask(ApiKey.JOIN_GROUP, 9, two.joining(), client="a two").member_id
            line.send(ApiKey.JOIN_GROUP, 9, two.joining(), "a two")
            time.sleep(0.3)
        elif state == "CompletingRebalance":
            one.join("joins again", topics=[mixed.topic, "nowhere"])
        elif state == "Empty":
            one.leave("leaves")
        if two.member:
            mixed.ids[two.member] = "two"
        mixed.described("before")
        mixed.new("joins", "new", 0, server_assignor="range")
        if state == "PreparingRebalance":
            answer = line.read(ApiKey.JOIN_GROUP, 9)
            two.took(answer)
            mixed.note("two joins v9", answer)
            two.sync("syncs")
        mixed.described("after")
        if state == "CompletingRebalance":
            one.sync("shares out", {one.member: share(mixed.topic, [0])})
        mixed.rounds("on", [some for some in (one, two) if some.generation > 0 and state in ("PreparingRebalance", "CompletingRebalance")], "new")
        mixed.described("on")
        mixed.new("leaves", "new", -1)
        mixed.described("left")
        line.close()


SCRIPTS = {
    **{f"both protocols, {'+'.join(some)}": partial(there_and_back, assignors=some, static=False)
       for some in (("sticky",), COOPERATIVE, ("range", "cooperative-sticky"))},
    "both protocols, names that stay": names_that_stay,
    "both protocols, removed by name": removed_by_name,
    "both protocols, wrongly": wrongly,
    "both protocols, in each state": at_each_state,
    "both protocols, static and cooperative": partial(there_and_back, assignors=COOPERATIVE, static=True),
}  # fmt: skip
