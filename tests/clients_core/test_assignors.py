"""Assignors: the worked table of the module, few moves, and the bytes of the group protocol."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.clients.assignors import (
    ASSIGNORS,
    Assignment,
    Subscription,
    cooperative_sticky_assign,
    range_assign,
    round_robin_assign,
    sticky_assign,
)
from broker_core.clients.group_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    sticky_user_data,
)

TOPICS = {"t0": 4, "t1": 4}


def _members(*names: str) -> dict[str, Subscription]:
    return {name: Subscription(["t0", "t1"]) for name in names}


def _text(assignment: Assignment) -> dict[str, str]:
    return {member: " ".join(f"{t}-{p}" for t, p in owned) for member, owned in assignment.items()}


def test_range_cuts_each_topic_on_its_own() -> None:
    assert _text(range_assign(TOPICS, _members("C0", "C1", "C2"))) == {
        "C0": "t0-0 t0-1 t1-0 t1-1", "C1": "t0-2 t1-2", "C2": "t0-3 t1-3"}


def test_round_robin_deals_all_partitions_in_turn() -> None:
    assert _text(round_robin_assign(TOPICS, _members("C0", "C1", "C2"))) == {
        "C0": "t0-0 t0-3 t1-2", "C1": "t0-1 t1-0 t1-3", "C2": "t0-2 t1-1"}


def test_round_robin_skips_members_that_do_not_want_the_topic() -> None:
    members = {"C0": Subscription(["t0"]), "C1": Subscription(["t0", "t1"])}
    assert _text(round_robin_assign({"t0": 1, "t1": 2}, members)) == {"C0": "t0-0", "C1": "t1-0 t1-1"}


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
@pytest.mark.parametrize(("partitions", "consumers", "shares"), [(6, 3, [2, 2, 2]), (6, 7, [0, 1, 1, 1, 1, 1, 1])])
def test_six_partitions_over_three_and_over_seven_consumers(
    name: str, partitions: int, consumers: int, shares: list[int]
) -> None:
    members = {f"C{n}": Subscription(["t"]) for n in range(consumers)}
    assert sorted(len(owned) for owned in ASSIGNORS[name]({"t": partitions}, members).values()) == shares


def test_sticky_keeps_what_a_member_had_when_another_leaves() -> None:
    first = sticky_assign(TOPICS, _members("C0", "C1", "C2"))
    left = {m: Subscription(["t0", "t1"], first[m], 1) for m in ("C0", "C2")}
    second = sticky_assign(TOPICS, left)
    assert [len(second[m]) for m in ("C0", "C2")] == [4, 4]
    assert all(set(first[m]) <= set(second[m]) for m in ("C0", "C2"))


def test_sticky_gives_a_newcomer_its_share_and_moves_nothing_else() -> None:
    first = sticky_assign(TOPICS, _members("C0", "C1"))
    now = {m: Subscription(["t0", "t1"], first.get(m, []), 1) for m in ("C0", "C1", "C2")}
    second = sticky_assign(TOPICS, now)
    assert sorted(len(owned) for owned in second.values()) == [2, 3, 3]
    assert all(set(second[m]) <= set(first[m]) for m in ("C0", "C1"))


def test_a_claim_of_an_older_generation_gives_way() -> None:
    members = {"old": Subscription(["t"], [("t", 0)], 3), "new": Subscription(["t"], [("t", 0)], 4)}
    assert sticky_assign({"t": 2}, members)["new"] == [("t", 0)]


def test_cooperative_sticky_hands_out_what_moves_only_when_its_owner_has_let_go() -> None:
    first = cooperative_sticky_assign(TOPICS, _members("C0", "C1"))
    joined = {m: Subscription(["t0", "t1"], first.get(m, []), 1) for m in ("C0", "C1", "C2")}
    second = cooperative_sticky_assign(TOPICS, joined)
    assert second["C2"] == [] and all(set(second[m]) < set(first[m]) for m in ("C0", "C1"))
    again = {m: Subscription(["t0", "t1"], second[m], 2) for m in second}
    third = cooperative_sticky_assign(TOPICS, again)
    assert sorted(len(owned) for owned in third.values()) == [2, 3, 3]
    assert all(third[m] == second[m] for m in ("C0", "C1"))


def test_a_cooperative_members_four_bytes_of_user_data_are_its_generation() -> None:
    assert decode_subscription(encode_subscription(Subscription(["a"], [("a", 3)]), bytes.fromhex("00000007"))) == (
        Subscription(["a"], [("a", 3)], 7))
    assert decode_subscription(encode_subscription(Subscription(["a"]), bytes.fromhex("00000007"))).owned == []


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 7), min_size=1),
       st.lists(st.lists(st.sampled_from("abcd"), min_size=1, unique=True), min_size=1, max_size=6),
       st.sampled_from(sorted(ASSIGNORS)))
def test_every_wanted_partition_has_exactly_one_owner_who_wants_it(
    partitions: dict[str, int], wishes: list[list[str]], name: str
) -> None:
    members = {f"m{n}": Subscription(topics) for n, topics in enumerate(wishes)}
    result = ASSIGNORS[name](partitions, members)
    given_out = sorted(tp for owned in result.values() for tp in owned)
    wanted = {topic for topics in wishes for topic in topics}
    assert given_out == sorted((t, p) for t in wanted for p in range(partitions.get(t, 0)))
    assert all(t in members[m].topics for m, owned in result.items() for t, _ in owned)


def test_subscription_and_assignment_survive_their_bytes() -> None:
    wish = Subscription(["b", "a"], [("a", 1), ("a", 0)], 7)
    back = decode_subscription(encode_subscription(wish), "static-1")
    assert back == Subscription(["a", "b"], [("a", 0), ("a", 1)], 7, "static-1")
    assert decode_assignment(encode_assignment([("a", 2), ("b", 0)])) == [("a", 2), ("b", 0)]
    assert decode_assignment(b"") == []


def test_an_old_members_subscription_is_read_and_sticky_user_data_too() -> None:
    assert decode_subscription(bytes.fromhex("0000000000010001 61ffffffff")) == Subscription(["a"])
    data = encode_subscription(Subscription(["a"]), sticky_user_data([("a", 3)], 5))
    assert decode_subscription(data) == Subscription(["a"], [("a", 3)], 5)
