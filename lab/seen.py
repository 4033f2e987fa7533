"""What viewers may ask of the past of a course, and no event of its journal carries.

    journal     --------------------------------------->      the same bytes, whoever looks on
    keyframes   |           |           |           |         the state, to go back to
    figures     | | | |   | | | | | |   | | |   | | | |       what clients had done by then
    stops            x                x                       what lay on a broker's disks when its process ended
    told           .  .  .   .. .  .                          of each kind of transition the last rows

An open run has it of itself. A fork has what its past has in common with its parent's, and a run that was made for a
page leaves all of it beside the world's last snapshot (`snapshots.ending`).

Keyframes. Viewers scrub back by themselves as far as they have seen events. For what was before they get the keyframe
before the moment that they want, and the events behind it. The next one is due when events have come for a few
seconds, and so many that they take more room than a state: what keyframes cost stays in proportion to what happens,
however large the cluster is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cramjam
import orjson

from broker_core.kernel.journal import Row
from broker_core.kernel.world import World
from lab.checkers.committed import add_committed
from lab.clusters.observe import observe
from lab.clusters.progress import observe_pipelines
from lab.clusters.spec import RunSpec
from lab.experiments.directory import RunDirectory
from lab.keyframes import Keyframe
from lab.snapshots.course import Course
from lab.stops import Stops
from lab.told import Told

KEYFRAME_US = 5_000_000
KEYFRAMES = 160
PAUSED: dict[str, Any] = {"speed": 1.0, "paused": True, "over": []}
"""The clock of a run that stands at its end."""


@dataclass(slots=True)
class Remembered:
    """All of it as plain values, for another branch or another process."""

    keyframes: list[Keyframe]
    figures: list[tuple[int, int, bytes]]
    stops: dict[tuple[int, str], Row]
    told: list[Row]


class Seen:
    """Everything on the world's thread; nothing changes in the world. `clock`: as the state shows it."""

    def __init__(
        self, world: World, spec: RunSpec, files: RunDirectory, course: Course, clock: Callable[[], dict[str, Any]]
    ) -> None:
        self.world = world
        self.spec = spec
        self.files = files
        self.monitor = course.monitor
        self.figures = course.figures
        self.clock = clock
        self.stops = Stops(world, spec)
        self.told = Told(world)
        self.keyframes: list[Keyframe] = []

    def look(self) -> None:
        """Note what no event of the journal carries."""
        self.stops.look()
        self.figures.look()

    def keep_keyframe(self) -> bool:
        """Note the state if something has happened for a while since the last time; False: nothing can be kept."""
        world = self.world
        if self.keyframes:
            last = self.keyframes[-1]
            if world.now_us - last.t_us < KEYFRAME_US or world.seq == last.seq:
                return True
            if self.files.journal_size() - last.offset < last.size:
                return True
        self.files.flush(world)
        if self.files.broken is not None:
            return False
        text = self.state_text().encode()
        packed = bytes(cramjam.zstd.compress(text, level=1))
        self.keyframes.append(Keyframe(world.seq, world.now_us, self.files.journal_size(), len(text), packed))
        if len(self.keyframes) > KEYFRAMES:
            del self.keyframes[1 : KEYFRAMES // 2 : 2]
        return True

    def keyframes_at(self, seq: int) -> tuple[Keyframe, Keyframe | None]:
        """The one at or before an event, and the one behind that."""
        index = max(0, bisect_right([frame.seq for frame in self.keyframes], seq) - 1)
        return self.keyframes[index], self.keyframes[index + 1] if index + 1 < len(self.keyframes) else None

    def state_text(self) -> str:
        """The state as JSON, between two events."""
        world = self.world
        state = observe(world, self.spec)
        self.figures.complete(state["clients"])
        add_committed(state["topics"], self.monitor.view)
        clock = self.clock()
        state["time"] = {"t_us": world.now_us, "clocks": world.wall.steps,
                         **{name: clock[name] for name in ("speed", "paused", "over")}}  # fmt: skip
        state["pipelines"] = observe_pipelines(world)
        state["invariants"] = self.monitor.lights()
        return orjson.dumps(state, option=orjson.OPT_NON_STR_KEYS).decode()

    # -- from one branch, or process, to another ----------------------------------------------
    def remembered(self) -> Remembered:
        figures = [(row[0], row[1], orjson.dumps(row[5])) for row in self.figures.rows]
        return Remembered(list(self.keyframes), figures, dict(self.stops.rows), self.told.upto(self.world.seq))

    def inherit(self, past: Remembered, seq: int, journal: int) -> None:
        """What was remembered up to event `seq`, when the journal had so many bytes."""
        self.keyframes = [frame for frame in past.keyframes if frame.offset <= journal and frame.seq <= seq]
        self.figures.inherit([row for row in past.figures if row[0] <= seq])
        self.stops.rows = {key: row for key, row in past.stops.items() if key[0] <= seq}
        self.told.inherit([row for row in past.told if row[0] <= seq])
