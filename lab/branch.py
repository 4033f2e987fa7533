"""A branch: one course that a world has taken, with the clock that drives it and what viewers see of it.

    0001      live: sockets, real files, follows the wall clock
    0001-1    forked from it at 12.4 s: memory only, goes on with other settings; 0001 stays as it is
    0007      a finished run that was opened: executed again to its end, and paused there

Every branch leaves a run directory that is complete in itself: the inputs of its past, then its own.

What viewers may ask of its past beside the journal is what it has `seen`.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from broker_core.drivers.pump import LivePump
from broker_core.kernel.errors import Refusal
from broker_core.kernel.journal import Row
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from lab.checkers.bytes import NothingThere, look_up
from lab.checkers.copies import copies_of
from lab.clusters.metrics import metrics
from lab.clusters.inspect import inspect
from lab.clusters.observe import observe_marks
from lab.clusters.spec import RunSpec
from lab.disk_room import DiskRoom
from lab.experiments.directory import RunDirectory
from lab.feed import JournalFeed, Subscriber, rows_text
from lab.keyframes import snapshot_of
from lab.outcomes import Outcomes
from lab.receipts import Receipts
from lab.seen import Seen
from lab.snapshots.course import Course
from lab.snapshots.keeper import Keeper
from lab.waiting import Waits, Wanted

if TYPE_CHECKING:
    from lab.holding import Holding

FLUSH_S, SLOW_FLUSH_S, UNSEEN_FLUSH_S = 0.05, 0.016, 0.25
"""With somebody who looks on; while the clock goes slowly; with nobody: each wakes the machine up once more."""
HISTORY_ROWS = 20_000
_log = logging.getLogger("brokerlab.lab")
T = TypeVar("T")


class BranchError(Refusal):
    """What was asked of a branch cannot be done."""


class Branch:
    """One world and its clock. Methods that return a future may be called from any thread."""

    def __init__(
        self, run_id: str, spec: RunSpec, world: World, files: RunDirectory, loop: asyncio.AbstractEventLoop,
        after_pass: Callable[[], None] | None = None, parent: str | None = None, course: Course | None = None,
    ) -> None:  # fmt: skip
        self.run_id = run_id
        self.epoch = 1
        self.spec = spec
        self.world = world
        self.files = files
        self.loop = loop
        self.parent = parent
        self.live = after_pass is not None
        self.ended = False
        self.forked_at_us = 0
        self.rest: tuple[Path, int] | None = None  # of a fork: where its parent's recording goes on
        self.recorded_until_us: int | None = None  # when the disk took no more
        self.room: DiskRoom | None = None
        self.holding: Holding | None = None
        self.outcomes = Outcomes(world, loop)
        self.receipts = Receipts(world, spec, files) if course is None else None
        course = course or Course.begin(world)
        self.monitor = course.monitor
        self.seen = Seen(world, spec, files, course, self.clock)
        self.feed = JournalFeed(
            world.journal, self._marks, self.monitor.changed, self.seen.figures.now, self.seen.stops.among
        )
        self.pump = LivePump(world, files.recorder, self._after_pass)
        self.waits = Waits(world, loop, self.pump.stand)
        self.keeper = Keeper(files, world, loop)
        self._first_after_pass = after_pass
        self._flushing: asyncio.TimerHandle | None = None
        self._tokens = threading.Lock()
        self._last_token = 0

    # -- the world's thread -----------------------------------------------------------------
    def _marks(self) -> dict[str, Any]:
        return observe_marks(self.world)

    def _after_pass(self) -> None:
        self.seen.stops.look()
        if self.outcomes.waiting:
            self.outcomes.look(self.pump.paused)
        if self.waits.open:
            self.waits.look()
        if self._first_after_pass is not None:
            self._first_after_pass()
        if self._flushing is None and not self.ended:
            self._flushing = self.loop.call_later(self._flush_s(), self._flush)

    def _flush_s(self) -> float:
        if self.pump.speed <= 1 and not self.feed.watched:
            return UNSEEN_FLUSH_S
        return SLOW_FLUSH_S if self.pump.speed < 1 else FLUSH_S

    def _flush(self) -> None:
        self._flushing = None
        if not self.ended:
            self.keep_keyframe()
            self.seen.look()
            self.feed.flush(self.world.seq, self.world.now_us)
            self.keeper.look()

    def keep_keyframe(self) -> None:
        """Note the state when it is time to."""
        if not self.seen.keep_keyframe():
            self._tell_broken()

    def _tell_broken(self) -> None:
        """Once: nothing more of this run can be kept."""
        if self.recorded_until_us is None:
            self.recorded_until_us = self.world.now_us
            _log.warning("%s: %s; the run goes on, but is recorded up to %.1f s only", self.files.path,
                         self.files.broken, self.world.now_us / 1_000_000)  # fmt: skip

    def snapshot_text(self) -> str:
        """The state as JSON, between two events."""
        return snapshot_of(self.run_id, self.epoch, self.world.now_us, self.seen.state_text())

    def end(self) -> None:
        """No more events: close the run's files."""
        if not self.ended:
            self.ended = True
            self.pump.stop()
            if self.holding is not None:
                self.holding.stand()
            self.keeper.end()
            self.outcomes.look(stands=True)
            self.waits.end()
            self.seen.stops.look()
            self.feed.flush(self.world.seq, self.world.now_us)
            self.files.describe(invariants=self.monitor.to_dict())
            self.tell_disks()
            self.files.close(self.world)

    # -- while nobody looks -----------------------------------------------------------------
    def needed(self) -> bool:
        """Whether somebody watches, or waits for an answer, or part of its files is still to come."""
        past = self.files.past
        return (self.feed.watched or bool(self.outcomes.waiting) or bool(self.waits.open) or self.keeper.at_work
                or (past is not None and not past.in_place))  # fmt: skip

    def stand(self) -> None:
        """The world stands, and no call of the loop is due."""
        self.pump.stop()
        if self._flushing is not None:
            self._flushing.cancel()
            self._flush()
        for looking in (self.room, self.holding):
            if looking is not None:
                looking.stand()

    def go_on(self) -> None:
        """From where it stood."""
        self.pump.start(self.loop)
        for looking in (self.room, self.holding):
            if looking is not None:
                looking.go_on()

    def give_up(self) -> None:
        """It was asked for and is not wanted any more: as if it had never been."""
        if self.files.past is not None:
            self.files.past.stop()
        self.end()
        shutil.rmtree(self.files.path, ignore_errors=True)

    def tell_disks(self) -> None:
        """Files up to date, and in run.json on which disks the records stand: what a receipt of now needs."""
        self.files.flush(self.world)
        self.files.describe(copies=copies_of(self.world, self.spec))

    def receipt(self) -> dict[str, Any] | None:
        """Of now, at any age in a moment; None when it has to be judged from the files: a branch that began at a
        snapshot does not know its past, and what is very odd is not kept."""
        self.world.journal.flush()
        return self.receipts.now() if self.receipts is not None else None

    def view(self) -> dict[str, Any]:
        """What a list of branches shows."""
        world = self.world
        return {
            "run": self.run_id, "epoch": self.epoch, "parent": self.parent, "forked_at_us": self.forked_at_us,
            "live": self.live, "ended": self.ended, "seed": self.spec.seed, "directory": self.files.path.name,
            **self.clock(), "events": world.journal.count, "recorded_until_us": self.recorded_until_us,
            "inputs_until_us": self.files.recorder.bounded_at_us,
            **(self.room.view() if self.room is not None else {"disk_full": [], "room_again": False}),
        }  # fmt: skip

    # -- from any thread --------------------------------------------------------------------
    def ask(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Call a function on the world's thread, between two events."""
        answer: Future[T] = Future()
        if self.ended:
            answer.set_exception(BranchError(problem("run_ended", run=self.run_id)))
            return answer
        self.loop.call_soon_threadsafe(settle, answer, function, arguments)
        return answer

    def submit(self, command: dict[str, Any]) -> Future[dict[str, Any]]:
        """Carry out a command; its result says `ok`, or `error` and `place`.

        What the cluster has to agree to (topics, their settings, records by hand) is answered when it has, with
        `partition` and `offset` of a record. While the clock stands, or when it takes longer than
        `outcomes.PATIENCE_S`, the answer is `pending`: the journal tells how it ended.
        """
        answer: Future[dict[str, Any]] = Future()
        if self.ended:
            answer.set_exception(BranchError(problem("run_ended", run=self.run_id)))
        else:
            self.loop.call_soon_threadsafe(self._submit, answer, command)
        return answer

    def _submit(self, answer: Future[dict[str, Any]], command: dict[str, Any]) -> None:
        """On the world's thread."""
        try:
            self.outcomes.add(answer, command, self.pump.command(command), self.pump.paused)
        except Exception as error:
            answer.set_exception(error)

    def repeat(self, later: list[tuple[int, dict[str, Any]]]) -> Future[None]:
        """Carry these commands out at their times (`lab.repeating`)."""
        return self.ask(self.pump.agenda.extend, later)

    def wait(self, wanted: Wanted) -> Future[dict[str, Any]]:
        """How a wait for a condition has ended (`lab.waiting`); fails with TooManyWaits."""
        answer: Future[dict[str, Any]] = Future()
        self.ask(self.waits.add, answer, wanted).add_done_callback(partial(_failed, answer))
        return answer

    def snapshot(self) -> Future[tuple[int, str]]:
        """(sequence number, JSON text) of the state between two events."""
        return self.ask(self._snapshot)

    def _snapshot(self) -> tuple[int, str]:
        self.seen.stops.look()
        self.feed.flush(self.world.seq, self.world.now_us)
        return self.world.seq, self.snapshot_text()

    def metrics(self) -> Future[dict[str, dict[str, float]]]:
        """Kafka's metrics now: full name -> broker id -> value (`clusters.metrics.difference` compares two)."""
        return self.ask(metrics, self.world)

    def bytes(self, topic: str, partition: int, offset: int, broker: int) -> Future[dict[str, Any]]:
        """The batch that holds an offset, field by field, and how it was found; fails with BranchError."""
        return self.ask(self._bytes, topic, partition, offset, broker)

    def _bytes(self, topic: str, partition: int, offset: int, broker: int) -> dict[str, Any]:
        try:
            return look_up(self.world, topic, partition, offset, broker)
        except NothingThere as error:
            raise BranchError(error.problem) from None

    def clock(self) -> dict[str, Any]:
        """Where the world's time stands and how fast it runs; read without asking the world's thread."""
        pump, world = self.pump, self.world
        over = self.holding.over if self.holding is not None else []
        return {"seq": world.seq, "t": pump.shown_us(), "speed": pump.speed, "paused": pump.paused, "over": over}

    def subscribe(self, subscriber: Subscriber) -> int:
        """Batches of events from now on, called on the world's thread; the token ends it."""
        with self._tokens:
            self._last_token += 1
            token = self._last_token
        self.ask(self.feed.subscribe, token, subscriber)
        return token

    def unsubscribe(self, token: int) -> None:
        self.ask(self.feed.unsubscribe, token)

    def inspect(self, what: str, name: str) -> Future[dict[str, Any]]:
        """One object looked at closely; see `lab.clusters.inspect`."""
        return self.ask(inspect, self.world, what, name)

    def events_since(self, seq: int) -> Future[str | None]:
        """Rows behind `seq` as JSON text, None when they are no longer in memory."""
        return self.ask(self.feed.since, seq)

    def story(self, seq: int) -> Future[str]:
        return self.ask(lambda: rows_text(self.seen.told.upto(seq), 0))

    def history(self, seq: int, after: int = 0) -> Future[dict[str, Any]]:
        """The keyframe at or before `seq` and the rows behind it (figures among them), up to the next keyframe:
        {"seq", "t", "snap": JSON text, "ev": JSON text of rows with absolute times, "last": seq of the last row,
        "whole"}. At most `HISTORY_ROWS` come at once: while not `whole`, ask for those behind `after` = `last`."""
        return self.ask(self._history, seq, after)

    def _history(self, seq: int, after: int) -> dict[str, Any]:
        if not self.seen.keyframes:
            self.keep_keyframe()
        frame, following = self.seen.keyframes_at(seq)
        self.files.flush(self.world)
        rows, whole = read_rows(self.files, frame.offset, following.offset if following else None, after)
        last = rows[-1][0] if rows else max(frame.seq, after)
        upto = following.seq if whole and following else last
        rows = self.seen.figures.among(self.seen.stops.among(rows), max(frame.seq, after), upto)
        snap = frame.text(self.run_id, self.epoch) if after <= frame.seq else "null"
        return {"seq": frame.seq, "t": frame.t_us, "snap": snap, "ev": rows_text(rows, 0), "last": last, "whole": whole}


def read_rows(files: RunDirectory, start: int, end: int | None, after: int = 0) -> tuple[list[Row], bool]:
    """Rows of the journal file between two offsets, those behind event `after`; whether these are all.

    About `HISTORY_ROWS` at most: the rows of one event stay together, so that `after` can go on behind them.
    """
    rows: list[Row] = []
    position = start
    for line in files.journal_lines(start):
        if (end is not None and position >= end) or not line.endswith(b"\n"):  # a full disk has taken no more
            break
        position += len(line)
        if after and int(line[1 : line.index(b",")]) <= after:
            continue
        row: Row = tuple(orjson.loads(line))
        if len(rows) >= HISTORY_ROWS and row[0] != rows[-1][0]:
            return rows, False
        rows.append(row)
    return rows, True


def _failed(answer: Future[Any], asked: Future[Any]) -> None:
    """What could not be asked is not answered later."""
    error = asked.exception()
    if error is not None:
        answer.set_exception(error)


def settle(answer: Future[T], function: Callable[..., T], arguments: tuple[Any, ...]) -> None:
    """Fill a future with what a function returns or raises."""
    try:
        answer.set_result(function(*arguments))
    except Exception as error:
        answer.set_exception(error)
