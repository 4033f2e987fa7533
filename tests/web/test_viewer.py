"""One viewer's queue: coalescing and its bound."""

from __future__ import annotations

import json

from web.live.viewer import Viewer


def ready(limit: int = 1000) -> Viewer:
    viewer = Viewer(limit)
    viewer.caught_up()
    return viewer


def test_one_delta_leaves_as_it_came() -> None:
    viewer = ready()
    viewer.offer('{"k":"d"}')
    assert (viewer.take(), viewer.take()) == ('{"k":"d"}', None)


def test_what_waits_leaves_as_one_message() -> None:
    viewer = ready()
    for number in range(3):
        viewer.offer(json.dumps({"to": number}))
    assert [delta["to"] for delta in json.loads(viewer.take() or "")] == [0, 1, 2]
    assert viewer.size == 0


def test_more_than_the_limit_is_dropped_and_asks_for_a_resync() -> None:
    viewer = ready(limit=100)
    for _ in range(50):
        viewer.offer("x" * 30)
        assert viewer.size <= 100
    assert (viewer.behind, viewer.take(), viewer.cuts) == (True, None, 1)


def test_nothing_is_queued_before_the_first_snapshot() -> None:
    viewer = Viewer()
    viewer.offer("x")
    assert viewer.take() is None
