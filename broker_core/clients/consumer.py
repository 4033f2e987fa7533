"""The built-in consumer: the poll loop of an application, with or without a group.

```
while True:
    records = consumer.poll()          heartbeats, rebalances and auto commits happen in here
    process(records)                   `process_us` a record; longer than max.poll.interval.ms => expelled
```
`commit` says when the application commits: `auto` (every `auto.commit.interval.ms`, at a poll), `after`
processing (at least once), `before` it (at most once), `none`. Without a `group.id` the consumer reads all
partitions of its topics from where `auto.offset.reset` says; `at_end` tells when it has read everything
up to the high watermarks: so the lab reads back what is in a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from broker_core.clients import history
from broker_core.clients.connections import Connections
from broker_core.clients.converging_member import ConvergingMember, names_and_pattern
from broker_core.clients.fetcher import Fetcher
from broker_core.clients.group_member import GroupMember
from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.offsets import Offsets
from broker_core.clients.positions import COMMITTED, FETCHING, RESET, Positions
from broker_core.clients.settings import CONSUMER, ConsumerSettings, parse
from broker_core.clients.validation import Validation
from broker_core.kernel.node import Node, Timer
from broker_core.records.record import Record
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import Response

DAMAGED = "damaged"  # what viewers call a consumer whose next batch is


@dataclass(slots=True)
class ConsumerLoad:
    """What the application does with what it reads."""

    topics: list[str] = field(default_factory=list)
    process_us: int = 0
    commit: str = "auto"


class ConsumerMachine:
    """A process with one consumer and an application thread that polls it."""

    kind = "consumer"

    def __init__(self, node: Node, load: ConsumerLoad, given: dict[str, Any], bootstrap: list[str]) -> None:
        self.node = node
        self.load = load
        self.given = given
        settings = self.settings = parse(ConsumerSettings, given)
        self.connections = Connections(node, settings, self._connection_changed, "/consumer")
        self.metadata = Metadata(node, self.connections, bootstrap, self._metadata_updated)
        self.metadata.allow_auto_creation = settings.allow_auto_create_topics
        self.positions = Positions(node, settings, self.connections, self.metadata, self._positions_changed)
        self.fetcher = Fetcher(node, settings, self.connections, self.metadata, self.positions, self._arrived)
        self.validation = Validation(
            node, settings, self.connections, self.metadata, self.positions, self._positions_changed
        )
        self.member: GroupMember | ConvergingMember | None = None
        self.offsets: Offsets | None = None
        if settings.group_id:
            # The coordinator has a connection of its own: a fetch that waits must not hold up a heartbeat.
            self.group_connections = Connections(node, settings, self._connection_changed, "/coordinator")
            kind = ConvergingMember if settings.group_protocol == CONSUMER else GroupMember
            self.member = kind(node, settings, self.group_connections, self.metadata, load.topics, self)
            self.offsets = Offsets(node, self.member, self.positions, self._positions_changed)
        self.in_poll = False
        self.read = 0
        self.closing = False
        self._closed = False
        self._revoking = False
        self._next_auto_commit_us = 0
        self._auto_timer: Timer | None = None
        self._expel: Timer | None = None
        self._again: Timer | None = None

    def start(self) -> None:
        for topic in names_and_pattern(self.load.topics)[0]:
            self.metadata.add_topic(topic)
        self._next_auto_commit_us = self.node.now_us() + self.settings.auto_commit_interval_ms * 1000
        self._poll()

    # -- the application's thread -----------------------------------------------------------
    def _poll(self) -> None:
        """poll() begins, or goes on because something has happened."""
        self._again = None
        if self.closing:
            self._close()
            return
        self.in_poll = True
        if self.member is not None:
            self._auto_commit()
            self.member.poll()
        found = [] if self._revoking else self.fetcher.collect(self.settings.max_poll_records)
        if found:
            self.in_poll = False
            self._got(found)
        else:
            self.fetcher.send()

    def _poll_soon(self) -> None:
        if self.in_poll and self._again is None:
            self._again = self.node.after(0, self._poll)

    def _got(self, found: list[tuple[TopicPartition, list[Record]]]) -> None:
        """poll() returns: the application deals with the records."""
        count = self._note(found)
        self.fetcher.send()
        if self.load.commit == "before" and self.offsets is not None:
            self.offsets.commit(self.positions.offsets(), partial(_then, self, count), self._deadline_us())
        else:
            self._process(count)

    def _note(self, found: list[tuple[TopicPartition, list[Record]]]) -> int:
        """For the history: what poll() gave; how many they are."""
        count = 0
        for (topic, partition_number), records in found:
            count += len(records)
            runs = history.runs_of([(record.offset, record.value) for record in records])
            self.node.operation("ok", "poll", topic=topic, partition=partition_number, runs=runs)
        self.read += count
        return count

    def _process(self, count: int) -> None:
        delay = count * self.load.process_us
        self._watch(delay)
        self.node.after(delay, self._processed)

    def _watch(self, delay_us: int) -> None:
        """Who is to work longer than `max.poll.interval.ms` is expelled meanwhile."""
        limit = self.settings.max_poll_interval_ms * 1000
        if self.member is not None and delay_us > limit:
            self._expel = self.node.after(limit, self._poll_interval_exceeded)

    def _end_watch(self) -> None:
        if self._expel is not None:
            self._expel.cancel()
            self._expel = None

    def _processed(self) -> None:
        self._end_watch()
        if self.load.commit == "after" and self.offsets is not None:
            self.offsets.commit(self.positions.offsets(), self._committed, self._deadline_us())
        else:
            self._poll()

    def _committed(self, ok: bool) -> None:
        self._poll()

    def _poll_interval_exceeded(self) -> None:
        self._expel = None
        if self.member is not None:
            self.member.leave("consumer poll timeout has expired.")

    def _deadline_us(self) -> int:
        return self.node.now_us() + self.settings.default_api_timeout_ms * 1000

    # -- auto commit ------------------------------------------------------------------------
    def _auto_commit(self) -> None:
        """In poll(), when the interval is over; the timer keeps a poll that waits from sleeping through it."""
        if self.offsets is None or self.load.commit != "auto" or not self.settings.enable_auto_commit:
            return
        now = self.node.now_us()
        if now >= self._next_auto_commit_us:
            self._next_auto_commit_us = now + self.settings.auto_commit_interval_ms * 1000
            behind = {tp: o for tp, o in self.positions.offsets().items() if self.offsets.committed.get(tp) != o}
            if behind:
                self.offsets.commit(behind, _ignore)
        if self._auto_timer is None:
            self._auto_timer = self.node.after(self._next_auto_commit_us - now, self._auto_commit_due)

    def _auto_commit_due(self) -> None:
        self._auto_timer = None
        self._poll_soon()

    # -- what the parts report --------------------------------------------------------------
    def revoked(self, done: Any) -> None:
        """A rebalance begins: commit what was read, give everything up; nothing is read meanwhile. A cooperative member
        keeps it and reads on, but who is out of the group has lost it (`onPartitionsLost`)."""
        keeps = self.member is not None and self.member.cooperative and self.member.generation >= 0
        self._revoking = not keeps
        offsets = self.positions.offsets()
        auto = self.load.commit == "auto" and self.settings.enable_auto_commit
        if self.offsets is not None and auto and offsets and self.member is not None and self.member.generation >= 0:
            until = self.node.now_us() + self.settings.request_timeout_ms * 1000
            self.offsets.commit(offsets, partial(_done, done) if keeps else partial(_revoke, self, done), until)
        elif keeps:
            done()
        else:
            self.give_up(done)

    def let_go(self, partitions: list[TopicPartition], done: Any) -> None:
        """A cooperative rebalance takes these away: commit how far they were read, then the others may have them."""
        offsets = {tp: offset for tp, offset in self.positions.offsets().items() if tp in partitions}
        self.node.operation("info", "revoke", partitions=[list(tp) for tp in partitions])
        if self.offsets is not None and offsets and self.load.commit == "auto" and self.settings.enable_auto_commit:
            until = self.node.now_us() + self.settings.request_timeout_ms * 1000
            self.offsets.commit(offsets, partial(_done, done), until)
        else:
            self.node.soon(done)

    def give_up(self, done: Any) -> None:
        """Nothing is assigned any more."""
        self._revoking = False
        self.positions.assign([], COMMITTED)
        self.fetcher.forget()
        done()

    def assigned(self, partitions: list[TopicPartition]) -> None:
        """The group has shared out."""
        self.node.operation("info", "assign", partitions=[list(tp) for tp in partitions])
        self.positions.assign(partitions, COMMITTED)
        self.fetcher.forget()
        if self.offsets is not None:
            self.offsets.fetch()

    def coordinator_found(self) -> None:
        """Positions may be waiting for it."""
        if self.offsets is not None:
            self.offsets.fetch()

    def is_refused(self, error: ErrorCode) -> None:
        """poll() throws: the application ends."""
        self.node.soon(self.node.exit)

    def _metadata_updated(self) -> None:
        if self.member is None:
            known = [
                (topic, number)
                for topic in self.load.topics
                for number in range(self.metadata.partition_count(topic))
            ]
            if known != list(self.positions.of):
                self.positions.assign(known, RESET)
        else:
            self.member.topics_changed()
        self._positions_changed()

    def _positions_changed(self) -> None:
        if self.validation.check():
            self.fetcher.forget()
        self.positions.find_offsets()
        self.fetcher.send()
        self._poll_soon()

    def _arrived(self) -> None:
        self._poll_soon()

    def _connection_changed(self, peer: str, is_ready: bool) -> None:
        if not is_ready and self.metadata.wanted:
            self.metadata.request_update()
        if self.member is not None and not is_ready and self.member.coordinator == peer:
            self.member.lose_coordinator()

    def at_end(self) -> bool:
        """Whether everything that can be read has been read, of every topic."""
        positions = self.positions.of
        if not all(self.metadata.partition_count(topic) for topic in self.load.topics):
            return False  # topics are asked for one after the other
        return bool(positions) and not self.fetcher.buffered and all(
            position.state == FETCHING and 0 <= position.end <= position.offset
            for position in positions.values()
        )

    # -- the process ------------------------------------------------------------------------
    def receive(self, source: str, message: Any) -> None:
        if isinstance(message, Response) and not self.connections.receive(source, message) and self.member is not None:
            self.group_connections.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.connections.peer_down(peer)
        if self.member is not None:
            self.group_connections.peer_down(peer)

    def shut_down(self) -> None:
        """Out of the loop: a poll that waits ends at once, records at hand are dealt with first, then `close()`."""
        self.closing = True
        if self.in_poll:
            self._close()

    def _close(self) -> None:
        """Commit, leave the group, end; only once."""
        if self._closed:
            return
        self._closed = True
        auto = self.load.commit == "auto" and self.settings.enable_auto_commit
        if self.offsets is not None and auto:
            self.offsets.commit(self.positions.offsets(), self._leave)
        else:
            self._leave(True)

    def _leave(self, ok: bool) -> None:
        if self.member is not None:
            self.member.leave("the consumer is being closed")
        self.node.soon(self.node.exit)

    def view(self) -> dict[str, Any]:
        """What viewers show."""
        positions = self.positions.of
        return {
            "kind": self.kind, "settings": dict(self.given), "acked": 0, "failed": 0, "read": self.read,
            "group": self.settings.group_id or None,
            "generation": self.member.generation if self.member is not None else None,
            "positions": [[topic, number, p.offset] for (topic, number), p in positions.items()],
            "reads_from": self.fetcher.read_replicas.view(), "over": DAMAGED if self.fetcher.is_stuck else None,
        }  # fmt: skip


def _ignore(ok: bool) -> None:
    """A commit in the background: the next one comes anyway."""


def _done(done: Any, ok: bool) -> None:
    done()


def _revoke(machine: ConsumerMachine, done: Any, ok: bool) -> None:
    machine.give_up(done)


def _then(machine: ConsumerMachine, count: int, ok: bool) -> None:
    machine._process(count)


def consumer_factory(load: ConsumerLoad, given: dict[str, Any], bootstrap: list[str]) -> Any:
    """A factory for `World.add_node`."""
    return partial(_make, load, given, bootstrap)


def _make(load: ConsumerLoad, given: dict[str, Any], bootstrap: list[str], node: Node) -> ConsumerMachine:
    return ConsumerMachine(node, load, given, bootstrap)
