"""The built-in share consumer, a worker: the loop of an application that takes work from a queue (KIP-932).

```
while True:
    for record in consumer.poll():                 acquired: for the time of a lock nobody else gets it
        handle(record)                             takes `process_us`; may fail
        consumer.acknowledge(record, ACCEPT)       explicit mode; on a failure RELEASE or REJECT
    consumer.commitSync()                          `commit: sync`; else it goes with the next poll
```
In implicit mode the next poll accepts all that the last one gave. `fails`: each record whose value has this text in it
fails, every time; `fail_share` of the others fail, as one draws. What then, says `on_failure`:

| on_failure | then |
|---|---|
| release | available again: somebody tries once more, until the limit of deliveries archives it |
| reject  | archived at once |
| crash   | the process dies; its session's end releases what it had, or a lock that runs out |

With `renews` half a lock before the end the locks of what is still to be done begin anew (KIP-1222).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from broker_core.clients import history
from broker_core.clients.connections import Connections
from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.settings import EXPLICIT, ShareConsumerSettings, parse
from broker_core.clients.share_fetcher import ACCEPT, REJECT, RELEASE, RENEW, TYPES, Said, ShareFetcher
from broker_core.clients.share_member import ShareMember
from broker_core.kernel.node import Node, Timer
from broker_core.records.record import Record
from broker_core.wire.errors import NONE, ErrorCode
from broker_core.wire.rpc import Response

CRASH = "crash"
ON_FAILURE = {"release": RELEASE, "reject": REJECT, CRASH: RELEASE}
Held = tuple[TopicPartition, str, Record]
"""A record at hand: its partition, where it was acquired."""


@dataclass(slots=True)
class WorkerLoad:
    """What the application does with what it gets."""

    topics: list[str] = field(default_factory=list)
    process_us: int = 0
    commit: str = "poll"
    fails: str = ""
    fail_share: float = 0.0
    on_failure: str = "release"
    renews: bool = False


class WorkerMachine:
    """A process with one share consumer and an application thread that polls it."""

    kind = "worker"

    def __init__(self, node: Node, load: WorkerLoad, given: dict[str, Any], bootstrap: list[str]) -> None:
        self.node = node
        self.load = load
        self.given = given
        settings = self.settings = parse(ShareConsumerSettings, given)
        self.connections = Connections(node, settings, self._connection_changed, "/consumer")
        self.group_connections = Connections(node, settings, self._connection_changed, "/coordinator")
        self.metadata = Metadata(node, self.connections, bootstrap, self._metadata_updated)
        self.metadata.allow_auto_creation = settings.allow_auto_create_topics
        self.fetcher = ShareFetcher(node, settings, self.connections, self.metadata, self)
        self.member = ShareMember(node, settings, self.group_connections, self.metadata, load.topics, self)
        self.fetcher.member_id = self.member.member_id
        self.counts = {"accept": 0, "release": 0, "reject": 0, "refused": 0}
        self.read = self.again = 0
        self.closing = False
        self._closed = False
        self._in_poll = False
        self._poll_soon: Timer | None = None
        self._todo: deque[Held] = deque()
        self._dealt: list[Held] = []  # implicit mode: the next poll accepts them
        self._busy: Timer | None = None
        self._renewal: Timer | None = None
        self._expel: Timer | None = None
        self._syncing = False

    def start(self) -> None:
        for topic in self.load.topics:
            self.metadata.add_topic(topic)
        self._poll()

    # -- the application's thread -----------------------------------------------------------
    def _poll(self) -> None:
        """poll() begins, or goes on because something has happened."""
        self._poll_soon = None
        if self.closing:
            self._close()
            return
        self._in_poll = True
        self.member.join()
        for tp, dest, record in self._dealt:
            self._acknowledge(tp, dest, record.offset, ACCEPT)
        self._dealt = []
        if self.fetcher.buffered:
            self._in_poll = False
            self.fetcher.acknowledge()
            self._got()
        else:
            self.fetcher.fetch()

    def wake(self) -> None:
        """A poll that waits looks again; who waits for acknowledgements hears whether all is said."""
        if self._syncing and not self.fetcher.busy:
            self._syncing = False
            self.node.soon(self._poll)
        elif self._closed:
            self._maybe_leave()
        elif self._in_poll and self._poll_soon is None:
            self._poll_soon = self.node.after(0, self._poll)
        elif self._syncing:
            self.fetcher.acknowledge()

    arrived = wake

    def _got(self) -> None:
        """poll() returns what one fetch has brought of one partition."""
        found = self.fetcher.buffered.popleft()
        topic, number = found.tp
        for record in found.records:
            self._todo.append((found.tp, found.dest, record))
        for delivery in sorted(set(found.counts.values())):
            values = [(one.offset, one.value) for one in found.records if found.counts[one.offset] == delivery]
            runs = history.runs_of(values)
            self.node.operation("ok", "poll", topic=topic, partition=number, runs=runs, delivery=delivery)
            self.again += len(values) if delivery > 1 else 0
        self.read += len(found.records)
        self._watch(len(found.records) * self.load.process_us)
        self._arm_renewal()
        self._busy = self.node.after(self.load.process_us, self._work_on)

    def _work_on(self) -> None:
        """The next record is done, well or not."""
        self._busy = None
        while self._todo:
            held = self._todo.popleft()
            if not self._handled(held):
                return
            if self._todo and self.load.process_us:
                self._busy = self.node.after(self.load.process_us, self._work_on)
                return
        self._all_done()

    def _handled(self, held: Held) -> bool:
        """Handle a record and say how it went; False: that was the end of the process."""
        tp, dest, record = held
        load = self.load
        failed = bool(load.fails) and load.fails.encode() in bytes(record.value or b"")
        if not failed and load.fail_share:
            failed = self.node.random("failures").random() < load.fail_share
        if failed and load.on_failure == CRASH:
            self.node.halt()
            return False
        if self.settings.share_acknowledgement_mode == EXPLICIT:
            self._acknowledge(tp, dest, record.offset, ON_FAILURE[load.on_failure] if failed else ACCEPT)
        else:
            self._dealt.append(held)
        return True

    def _all_done(self) -> None:
        for timer in (self._renewal, self._expel):
            if timer is not None:
                timer.cancel()
        self._renewal = self._expel = None
        if self.load.commit == "sync":
            for tp, dest, record in self._dealt:
                self._acknowledge(tp, dest, record.offset, ACCEPT)
            self._dealt = []
            self.fetcher.acknowledge()
            self._syncing = self.fetcher.busy
        if not self._syncing:
            self._poll()

    def _acknowledge(self, tp: TopicPartition, dest: str, offset: int, kind: int) -> None:
        self.fetcher.say(dest, tp, offset, kind)

    def acknowledged(self, tp: TopicPartition, said: dict[int, int], error: ErrorCode) -> None:
        """For the history: what became of acknowledgements."""
        runs: list[list[Any]] = []
        for offset, kind in sorted(said.items()):
            name = TYPES[kind]
            if runs and runs[-1][0] + runs[-1][1] == offset and runs[-1][2] == name:
                runs[-1][1] += 1
            else:
                runs.append([offset, 1, name])
            if error is not NONE:
                self.counts["refused"] += 1
            elif name in self.counts:
                self.counts[name] += 1
        told = {} if error is NONE else {"error": error.name}
        kind_of = "ok" if error is NONE else "info" if error is ErrorCode.NETWORK_EXCEPTION else "fail"
        self.node.operation(kind_of, "acknowledge", topic=tp[0], partition=tp[1], runs=runs, **told)

    # -- time that runs ---------------------------------------------------------------------
    def _watch(self, delay_us: int) -> None:
        """Who works longer than `max.poll.interval.ms` leaves the group meanwhile."""
        limit = self.settings.max_poll_interval_ms * 1000
        if delay_us > limit:
            self._expel = self.node.after(limit, self.member.leave)

    def _arm_renewal(self) -> None:
        if self.load.renews and self.fetcher.lock_ms:
            self._renewal = self.node.after(self.fetcher.lock_ms * 500, self._renew)

    def _renew(self) -> None:
        held: dict[str, Said] = {}
        for tp, dest, record in (*self._todo, *self._dealt):
            held.setdefault(dest, {}).setdefault(tp, {})[record.offset] = RENEW
        self.fetcher.renew(held)
        self._arm_renewal()

    # -- what the parts report --------------------------------------------------------------
    def assigned(self, partitions: list[TopicPartition]) -> None:
        """The group's coordinator has assigned these."""
        if partitions != self.fetcher.partitions:
            self.node.operation("info", "assign", partitions=[list(tp) for tp in partitions])
            self.fetcher.partitions = partitions
            self.wake()

    def failed(self, error: ErrorCode) -> None:
        """poll() throws: the application ends."""
        self.node.soon(self.node.exit)

    def _metadata_updated(self) -> None:
        self.member.named()
        self.wake()

    def _connection_changed(self, peer: str, is_ready: bool) -> None:
        if not is_ready and self.metadata.wanted:
            self.metadata.request_update()

    # -- the process ------------------------------------------------------------------------
    def receive(self, source: str, message: Any) -> None:
        if isinstance(message, Response) and not self.connections.receive(source, message):
            self.group_connections.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.connections.peer_down(peer)
        self.group_connections.peer_down(peer)
        if self.member.coordinator == peer:
            self.member.lose_coordinator()

    def shut_down(self) -> None:
        """Out of the loop: what is at hand is dealt with first, then `close()`."""
        self.closing = True
        if self._in_poll:
            self._close()

    def _close(self) -> None:
        """Say what is to be said, end the sessions, leave; once."""
        if not self._closed:
            self._closed = True
            self._in_poll = False
            self._maybe_leave()

    def _maybe_leave(self) -> None:
        """Sessions end one after the other, as their requests are answered."""
        self.fetcher.end()
        if not self.fetcher.busy and not self.fetcher.sessions:
            self.member.leave()
            self.node.soon(self.node.exit)

    def view(self) -> dict[str, Any]:
        """What viewers show."""
        return {
            "kind": self.kind, "settings": dict(self.given), "acked": 0, "failed": 0, "read": self.read,
            "group": self.settings.group_id, "topics": list(self.load.topics), "again": self.again,
            "acknowledged": dict(self.counts), "in_hand": len(self._todo),
        }  # fmt: skip


def worker_factory(load: WorkerLoad, given: dict[str, Any], bootstrap: list[str]) -> Any:
    """A factory for `World.add_node`."""
    return partial(_make, load, given, bootstrap)


def _make(load: WorkerLoad, given: dict[str, Any], bootstrap: list[str], node: Node) -> WorkerMachine:
    return WorkerMachine(node, load, given, bootstrap)
