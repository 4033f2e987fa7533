"""What is told of a run before the events that a page loads: nothing loud is pushed out by what happens all the time."""

from __future__ import annotations

from broker_core.kernel.events import PROCESS_ENDED, SEGMENT_ROLLED
from broker_core.kernel.world import World
from lab.told import KEPT, Told


def test_a_death_is_told_behind_ten_thousand_segments_and_a_fork_knows_of_it() -> None:
    world = World(seed=1)
    told = Told(world)
    world.journal.record(7, 100, "broker-1", PROCESS_ENDED, 0, {"how": "crash"})
    for seq in range(8, 10_008):
        world.journal.record(seq, 100 * seq, "broker-2", SEGMENT_ROLLED, 0, {"topic": "orders", "partition": 0, "base": seq})
    rows = told.upto(10_007)
    assert [row[3] for row in rows] == ["process_ended"] + KEPT * ["segment_rolled"]
    assert rows[-1][0] == 10_007
    assert [row[0] for row in told.upto(7)] == [7]
    fork = Told(World(seed=1))
    fork.inherit(told.upto(10_000))
    assert [row[0] for row in fork.upto(10_007)][:2] == [7, 10_000 - (KEPT - 8)]
