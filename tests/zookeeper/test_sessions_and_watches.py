"""Arithmetic of expiry, and bells that ring once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_core.zookeeper.sessions import ExpiryQueue, SessionLimits
from broker_core.zookeeper.tree import Change
from broker_core.zookeeper.watches import WatchTable


def test_a_deadline_lies_on_the_next_tick_border_and_never_on_the_moment_itself() -> None:
    queue = ExpiryQueue(2000)
    queue.touch(1, 5000, 18000)
    assert queue.next_deadline() == 24000
    queue.touch(1, 6000, 18000)
    assert queue.next_deadline() == 26000


@given(st.integers(0, 10**7), st.integers(4000, 40000))
def test_a_session_lives_at_least_its_timeout_and_at_most_a_tick_longer(now: int, timeout: int) -> None:
    queue = ExpiryQueue(2000)
    queue.touch(1, now, timeout)
    deadline = queue.next_deadline()
    assert deadline is not None
    assert timeout < deadline - now <= timeout + 2000
    assert queue.expire(deadline - 1) == []
    assert queue.expire(deadline) == [1]


def test_sessions_of_one_bucket_expire_in_the_order_of_their_last_move() -> None:
    queue = ExpiryQueue(2000)
    for session in (3, 1, 2):
        queue.touch(session, 0, 4000)
    queue.touch(3, 1000, 4000)
    queue.touch(1, 2500, 4000)
    assert queue.expire(6000) == [3, 2]
    assert queue.next_deadline() == 8000


def test_a_timeout_is_moved_into_two_to_twenty_ticks() -> None:
    limits = SessionLimits(2000)
    assert [limits.negotiate(asked) for asked in (100, 18000, 90000)] == [4000, 18000, 40000]
    assert SessionLimits(2000, 1000, 60000).negotiate(500) == 1000


def test_a_watch_rings_once() -> None:
    table = WatchTable()
    table.watch_data("/x", "a")
    assert table.fire(Change("changed", "/x")) == [("a", "NodeDataChanged", "/x")]
    assert table.fire(Change("changed", "/x")) == []


def test_a_creation_rings_at_the_path_and_at_the_parent() -> None:
    table = WatchTable()
    table.watch_data("/p/x", "a")
    table.watch_children("/p", "b")
    assert table.fire(Change("created", "/p/x")) == [
        ("a", "NodeCreated", "/p/x"),
        ("b", "NodeChildrenChanged", "/p"),
    ]


def test_a_deletion_rings_once_for_who_watches_data_and_children() -> None:
    table = WatchTable()
    table.watch_data("/x", "a")
    table.watch_children("/x", "a")
    assert table.fire(Change("deleted", "/x")) == [("a", "NodeDeleted", "/x")]


def test_a_change_of_data_does_not_ring_for_who_watches_children() -> None:
    table = WatchTable()
    table.watch_children("/x", "a")
    table.watch_children("/", "b")
    assert table.fire(Change("changed", "/x")) == []


def test_watches_end_with_their_connection() -> None:
    table = WatchTable()
    table.watch_data("/x", "a")
    table.watch_data("/x", "b")
    table.forget("a")
    assert table.fire(Change("deleted", "/x")) == [("b", "NodeDeleted", "/x")]
