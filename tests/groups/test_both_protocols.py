"""Members of both protocols in one group, and groups that change theirs (KIP-848, online migration)."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from broker_core.wire.errors import ErrorCode as E
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.groups.conftest import assignment, subscription
from tests.groups.next_generation import Player, heartbeat, settle
from tests.groups.test_members import leave
from tests.groups.test_next_generation import JOIN, describe, epochs


def owning(topics: list[str], owned: list[int]) -> bytes:
    """A subscription of a cooperative member: version 3 with what it owns of "orders", a generation and a rack."""
    partitions = struct.pack(f">ih6si{len(owned)}i", 1, 6, b"orders", len(owned), *owned) if owned else struct.pack(">i", 0)
    return struct.pack(">h", 3) + subscription(*topics)[2:] + partitions + struct.pack(">ih", 1, 1) + b"r"


def numbers_of(assignment: bytes) -> list[int]:
    if len(assignment) <= 10:
        return []
    size = struct.unpack_from(">h", assignment, 6)[0]
    count = struct.unpack_from(">i", assignment, 8 + size)[0]
    return list(struct.unpack_from(f">{count}i", assignment, 12 + size))


def joined(lab: Any, *args: Any, **more: Any) -> Any:
    """A JoinGroup and its answer, which comes when what it changes is in the log."""
    answer = lab.join(*args, **more)
    lab.run(lab.topic.commit_delay_ms)
    return answer


class Classic:
    """A member of the classic protocol that does what it is told; cooperative, or eager: then it gives everything up first."""

    def __init__(self, lab: Any, member: str = "", generation: int = -1, cooperative: bool = False, owned: Any = ()) -> None:
        self.lab, self.member, self.generation, self.cooperative = lab, member, generation, cooperative
        self.owned: list[int] = list(owned)
        self.stopped = 0
        self.heard: list[int] = []

    @property
    def protocols(self) -> dict[str, bytes]:
        if self.cooperative:
            return {"cooperative-sticky": owning(["orders"], self.owned)}
        return {"range": subscription("orders")}

    def turn(self) -> None:
        if self.generation >= 0:
            error = self.lab.heartbeat(self.member, self.generation)
            self.heard.append(error)
            if error == 0:
                return
        self.join()

    def join(self) -> None:
        if not self.cooperative and self.owned:
            self.owned, self.stopped = [], self.stopped + 1
        answer = self.lab.join(self.member, protocols=self.protocols, version=9)
        self.lab.run(self.lab.topic.commit_delay_ms)
        if answer.error_code == E.MEMBER_ID_REQUIRED:
            self.member = answer.member_id
            answer = self.lab.join(self.member, protocols=self.protocols, version=9)
            self.lab.run(self.lab.topic.commit_delay_ms)
        assert answer.error_code == 0, answer.error_code
        self.member, self.generation = answer.member_id, answer.generation_id
        name = next(iter(self.protocols))
        assert (answer.protocol_type, answer.protocol_name, answer.leader, answer.members) == ("consumer", name, "", [])
        synced = self.lab.sync(self.member, self.generation, protocol=name, version=5)
        self.lab.run(self.lab.topic.commit_delay_ms)
        if synced.error_code == 0:
            self.owned = numbers_of(bytes(synced.assignment))


def all_settle(*members: Any, turns: int = 8) -> None:
    for _ in range(turns):
        for member in members:
            member.turn()


def mixed(lab: Any, cooperative: bool = False) -> tuple[Classic, Classic, Player]:
    """Two classic members, four partitions, and a third member that converts the group."""
    lab.topic.topics.set("orders", 4)
    kind = {"protocols": {"cooperative-sticky": owning(["orders"], [])}} if cooperative else {}
    ids, generation = lab.stable_group(2, **kind) if not cooperative else (_cooperative_group(lab, kind))
    one, two = (Classic(lab, one, generation, cooperative, [number]) for number, one in enumerate(ids))
    return one, two, Player(lab, "new")


def _cooperative_group(lab: Any, kind: dict[str, Any]) -> tuple[list[str], int]:
    ids = [lab.new_member_id(**kind) for _ in range(2)]
    joins = [lab.join(one, **kind) for one in ids]
    lab.run(6000)
    shares = {join.member_id: assignment("orders", [number]) for number, join in enumerate(joins)}
    for join in joins:
        lab.sync(join.member_id, join.generation_id, shares if join.leader == join.member_id else None, protocol="cooperative-sticky")
    lab.run(0)
    return ids, joins[0].generation_id


@pytest.mark.parametrize("cooperative", [False, True])
def test_a_group_is_upgraded_while_its_members_stay(make_lab: Any, cooperative: bool) -> None:
    lab = make_lab()
    one, two, new = mixed(lab, cooperative)
    generation = one.generation
    lab.commit({("orders", 0): 7}, one.member, generation)
    lab.run(0)
    new.turn()
    assert lab.journal("group_converted")[-1] == {
        "group": "g", "before": "classic", "after": "consumer", "generation": generation, "members": 2,
    }  # fmt: skip
    assert epochs(lab) == ("Reconciling", generation + 1, generation + 1)
    assert [one.owned, two.owned, new.numbers] == [[0], [1], []] or new.numbers
    all_settle(one, two, new)
    shares = [one.owned, two.owned, new.numbers]
    assert sorted(number for share in shares for number in share) == [0, 1, 2, 3] and max(map(len, shares)) == 2
    assert epochs(lab)[0] == "Stable" and lab.committed() == {("orders", 0): (7, "")}
    assert E.REBALANCE_IN_PROGRESS in one.heard and one.heard[-1] == 0
    kinds = {member.member_id: member.member_type for member in describe(lab).members}
    assert kinds == {one.member: 0, two.member: 0, "new": 1}
    assert lab.describe().group_state == "Dead"
    if cooperative:
        assert one.stopped == two.stopped == 0


def test_the_last_one_of_the_new_protocol_goes_and_the_group_is_classic_again(lab: Any) -> None:
    one, two, new = mixed(lab)
    all_settle(one, two, new)
    lab.commit({("orders", 0): 7}, one.member, one.generation)
    epoch = describe(lab).group_epoch
    heartbeat(lab, "new", -1)
    lab.run(0)
    assert lab.journal("group_converted")[-1]["after"] == "classic"
    described = lab.describe()
    assert described.group_state == "PreparingRebalance" and {one.member_id for one in described.members} == {one.member, two.member}
    assert lab.heartbeat(one.member, epoch) == E.REBALANCE_IN_PROGRESS
    joins = [lab.join(one.member), lab.join(two.member)]
    lab.run(0)
    assert [join.generation_id for join in joins] == [epoch + 1] * 2
    lab.settle(joins)
    lab.lead("broker-2", 1)
    assert (lab.describe().group_state, lab.committed()) == ("Stable", {("orders", 0): (7, "")})
    assert describe(lab).error_code == E.GROUP_ID_NOT_FOUND


def test_silence_of_the_last_one_downgrades_too(lab: Any) -> None:
    one, two, new = mixed(lab)
    all_settle(one, two, new)
    for _ in range(9):
        lab.run(5000)
        lab.heartbeat(one.member, one.generation), lab.heartbeat(two.member, two.generation)
    assert lab.describe().group_state == "PreparingRebalance"
    assert lab.journal("member_left")[-1] == {"group": "g", "member": "new", "reason": "session timeout"}


@pytest.mark.parametrize(("policy", "upgrade", "downgrade"), [
    ("upgrade", True, False), ("downgrade", False, True), ("DISABLED", False, False), ("Bidirectional", True, True),
])  # fmt: skip
def test_the_policy_says_which_way(make_lab: Any, policy: str, upgrade: bool, downgrade: bool) -> None:
    lab = make_lab(group_consumer_migration_policy=policy)
    lab.topic.topics.set("orders", 4)
    lab.stable_group()
    answer = heartbeat(lab, "new", 0, **JOIN)
    if not upgrade:
        words = "Cannot upgrade classic group g to consumer group because online upgrade is disabled."
        assert (answer.error_code, answer.error_message) == (E.GROUP_ID_NOT_FOUND, words)
    else:
        assert answer.error_code == 0
    player = Player(lab, "p", group="h")
    settle(player)
    assert joined(lab, lab.new_member_id(group="h"), group="h").error_code == 0
    heartbeat(lab, "p", -1, group="h")
    lab.run(0)
    assert (lab.describe("h").group_state == "PreparingRebalance") is downgrade


def test_what_is_no_group_of_consumers_stays_what_it_is(lab: Any) -> None:
    lab.topic.topics.set("orders", 4)
    member = lab.new_member_id(kind="connect", protocols={"range": b"x"})
    join = lab.join(member, kind="connect", protocols={"range": b"x"})
    lab.run(3000)
    assert join.error_code == 0
    answer = heartbeat(lab, "new", 0, **JOIN)
    assert answer.error_message == (
        "Cannot upgrade classic group g to consumer group because the group does not use the consumer embedded protocol."
    )


def test_a_group_in_the_middle_of_a_rebalance_is_converted_and_who_waited_joins_again(lab: Any) -> None:
    lab.topic.topics.set("orders", 4)
    (first,), _ = lab.stable_group()
    waiting = lab.join(lab.new_member_id())
    assert not waiting
    lab.topic.commit_delay_ms = 50
    new = Player(lab, "new")
    new.say()
    assert waiting.error_code == E.REBALANCE_IN_PROGRESS
    early = lab.join(first)  # behind the records of the conversion
    lab.run(50)
    new.hear()
    lab.run(50)
    assert early.error_code == 0 and early.leader == ""
    assert {one.member_id for one in describe(lab).members} == {first, waiting.member_id, "new"}


def test_a_conversion_that_is_not_written_has_not_happened(lab: Any) -> None:
    one, two, new = mixed(lab)
    lab.topic.failure = int(E.NOT_LEADER_OR_FOLLOWER)
    assert new.turn() == E.NOT_COORDINATOR
    lab.topic.failure = 0
    assert lab.describe().group_state == "Stable" and lab.heartbeat(one.member, one.generation) == 0
    all_settle(new, one, two)
    assert epochs(lab)[0] == "Stable"


def test_generations_fence_and_only_classic_members_have_some(lab: Any) -> None:
    one, two, new = mixed(lab)
    all_settle(one, two, new)
    assert lab.heartbeat(one.member, one.generation - 1) == E.ILLEGAL_GENERATION
    assert lab.heartbeat("new", new.epoch) == E.UNKNOWN_MEMBER_ID
    assert lab.heartbeat("nobody", 1) == E.UNKNOWN_MEMBER_ID
    assert lab.sync(one.member, one.generation, protocol="sticky", version=5).error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert lab.sync("new", new.epoch, version=5).error_code == E.UNKNOWN_MEMBER_ID
    assert lab.join(lab.new_member_id(), protocols={"sticky": subscription("orders")}).error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert lab.join(kind="connect").error_code == E.INCONSISTENT_GROUP_PROTOCOL
    said = [(0, one.generation), (0, one.generation - 1), (two.owned[0], one.generation - 1), (0, one.generation + 1)]
    commits = [lab.commit({("orders", number): 1}, one.member, generation, version=7) for number, generation in said]
    lab.run(0)
    told = [commit.topics[0].partitions[0].error_code for commit in commits]
    assert told == [0, 0, E.ILLEGAL_GENERATION, E.ILLEGAL_GENERATION], "an older one, for what it had by then (KIP-1251)"


def test_who_stays_is_told_to_join_when_there_is_a_new_target(lab: Any) -> None:
    one, two, new = mixed(lab)
    all_settle(one, two, new)
    epoch = describe(lab).group_epoch
    leave(lab, (two.member, None))
    lab.run(0)
    assert (describe(lab).group_epoch, describe(lab).assignment_epoch) == (epoch + 1, epoch)
    assert lab.heartbeat(one.member, one.generation) == 0
    lab.run(1000)
    new.turn()
    assert describe(lab).assignment_epoch == epoch + 1
    assert lab.heartbeat(one.member, one.generation) == E.REBALANCE_IN_PROGRESS


def test_who_does_not_join_or_sync_in_time_is_out(make_lab: Any) -> None:
    lab = make_lab()
    one, two, new = mixed(lab)
    new.turn()
    assert lab.heartbeat(one.member, one.generation) == E.REBALANCE_IN_PROGRESS
    two.turn()
    for _ in range(13):
        lab.run(5000)
        lab.heartbeat(one.member, one.generation)
        two.turn(), new.turn()
    assert {member.member_id for member in describe(lab).members} == {two.member, "new"}
    assert lab.journal("member_left")[-1]["reason"] == "rebalance timeout"
    joined(lab, two.member)  # and no sync
    for _ in range(13):
        lab.run(5000)
        lab.heartbeat(two.member, two.generation), new.turn()
    assert {member.member_id for member in describe(lab).members} == {"new"}


def test_a_static_member_changes_its_protocol_and_keeps_its_place(lab: Any) -> None:
    lab.topic.topics.set("orders", 4)
    other, old = Player(lab, "other"), Player(lab, "old", instance_id="i")
    settle(other, old)
    had = old.numbers
    answer = joined(lab, instance="i")
    assert (answer.error_code, answer.generation_id) == (0, old.epoch)
    synced = lab.sync(answer.member_id, answer.generation_id, instance="i", version=5)
    assert numbers_of(bytes(synced.assignment)) == had
    heartbeat(lab, "other", -1)
    lab.run(0)
    assert lab.journal("group_converted")[-1]["after"] == "classic"
    assert lab.describe().members[0].group_instance_id == "i"


def test_the_last_static_member_of_the_new_protocol_comes_back_with_the_old_one(lab: Any) -> None:
    lab.topic.topics.set("orders", 4)
    old = Player(lab, "old", instance_id="i")
    settle(old)
    answer = joined(lab, instance="i")
    assert (answer.error_code, answer.generation_id) == (0, old.epoch)
    described = lab.describe()
    assert (described.group_state, described.members[0].member_id) == ("Stable", answer.member_id)
    synced = lab.sync(answer.member_id, answer.generation_id, instance="i", version=5)
    assert numbers_of(bytes(synced.assignment)) == [0, 1, 2, 3]
    lab.lead("broker-2", 1)
    assert lab.describe().members[0].group_instance_id == "i" and describe(lab).error_code == E.GROUP_ID_NOT_FOUND


def test_a_mixed_group_outlives_its_coordinator(lab: Any) -> None:
    one, two, new = mixed(lab)
    all_settle(one, two, new)
    before = describe(lab)
    lab.lead("broker-2", 1)
    assert describe(lab) == before
    all_settle(one, two, new)
    assert [one.owned, two.owned, new.numbers] == [one.owned, two.owned, new.numbers] and one.heard[-1] == 0


def test_a_tool_takes_members_of_either_kind_out(lab: Any) -> None:
    one, two, new = mixed(lab)
    all_settle(one, two, new)
    identity = m.LeaveGroupRequest.MemberIdentity
    answer = lab.send(ApiKey.LEAVE_GROUP, 5, m.LeaveGroupRequest(
        group_id="g", members=[identity(member_id="new"), identity(member_id=two.member), identity(member_id="who")],
    ))  # fmt: skip
    lab.run(0)
    assert [member.error_code for member in answer.members] == [0, 0, E.UNKNOWN_MEMBER_ID]
    assert [member.member_id for member in lab.describe().members] == [one.member]
