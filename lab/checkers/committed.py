"""How far a partition is committed, for the snapshot: the cluster's truth.

It is what the high watermarks of its leaders have covered.

    broker 1  HW 2599, crashes, its disk remembers HW 2400       committed 2599
    broker 2  is elected, HW 2500 until its follower fetches     committed 2599

Only an unclean leader, whose log is what counts from then on, takes something back. The monitor of the invariants
remembers it anyway; what has been committed since its last look stands in the leader's own mark. `unclean`: the last
election was one, so that a page that is opened afterwards says what one that has seen it says.
"""

from __future__ import annotations

from typing import Any

from lab.checkers.invariants_view import View


def add_committed(topics: dict[str, Any], view: View) -> None:
    """Into the partitions of a snapshot's topics."""
    for topic, found in topics.items():
        for number, partition in found["partitions"].items():
            history = view.histories.get((topic, int(number)))
            known = 0 if history is None else history.committed.end
            leading = partition["logs"].get(str(partition["leader"]), {})
            partition["committed"] = max(0, known, leading.get("hw", 0))
            partition["unclean"] = history is not None and history.unclean
