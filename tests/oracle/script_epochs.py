"""Who goes on with which epoch, asked of Apache Kafka and of a lab: answers that were lost, transactions that took too long or were taken
over, epochs that run out.

Epoch 32766 cannot be waited for: records of `__transaction_state` with it are written as only brokers do (the client id of the admin client
may), where broker 2 leads; broker 1 loads them when the partition is moved to it. All else is coordinated and led by broker 1.
"""

from __future__ import annotations

import time

from broker_core.coordinators.partitioning import partition_for
from broker_core.metadata.topic_names import TRANSACTION_STATE_TOPIC as TRANSACTION_STATE
from broker_core.records import encode_batch
from broker_core.records.header import iterate_batches
from broker_core.transactions.states import EMPTY
from broker_core.transactions.transaction import LARGEST_EPOCH, NO_PRODUCER_ID, NO_TIME, Stored, encode_key, encode_value
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script
from tests.oracle.requests import controller_of, fetch, list_offsets, make_topic, produce
from tests.oracle.script_transactions import MINUTE, Asking, caught_up

HERE, ELSEWHERE = 1, 2
PARTITIONS, MOVED = 5, 4
TOPIC, GROUP = "tx-epochs", "tx-epochs-group"
LAST = LARGEST_EPOCH - 1
"""The last epoch that a producer gets."""
WRITER = "__admin_client"
SOON = 2000
"""Time-out of a transaction that is waited for, ms: within it its record has been written, also on a busy machine."""


def named(prefix: str, moved: bool) -> str:
    """A transactional id of the partition that is moved, or of another."""
    return next(name for number in range(99) if (partition_for(name := f"{prefix}-{number}", PARTITIONS) == MOVED) is moved)


class Epochs(Asking):
    """Requests about an id in all the ways that its epoch can be asked about."""

    def __init__(self, k: Script, newest: bool) -> None:
        self.newest = newest
        """4.3 is asked, with transactions of version 2; else 3.9."""
        self.last = 5 if newest else 4
        """The last version of EndTxn, and of InitProducerId."""
        make_topic(k, TRANSACTION_STATE, assigned=[(one, [ELSEWHERE if one == MOVED else HERE]) for one in range(PARTITIONS)], cleanup_policy="compact")
        make_topic(k, "__consumer_offsets", assigned=[(one, [HERE]) for one in range(PARTITIONS)], cleanup_policy="compact")
        make_topic(k, TOPIC, assigned=[(0, [HERE]), (1, [HERE])])
        super().__init__(k)
        self.topic = TOPIC
        anybody = m.InitProducerIdRequest(transactional_id=None, transaction_timeout=MINUTE)  # (id 0 is not to be one of ours)
        k.until(ApiKey.INIT_PRODUCER_ID, 0, anybody, lambda answer: not answer.error_code)
        k.until(ApiKey.FIND_COORDINATOR, 4, m.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]), lambda answer: not answer.coordinators[0].error_code)

    def opened(self, title: str, name: str, pid: int, epoch: int, new: bool, partition: int = 0) -> None:
        """A transaction with one record."""
        if not new:
            self.add(f"{title}: added", 3, name, pid, epoch, {TOPIC: [partition]})
        self.write(f"{title}: written", 12 if new else 11, name, pid, epoch, 0, partition)

    def ended_by(self, title: str, name: str, pid: int, epoch: int, last: int = 5) -> None:
        """EndTxn with these numbers, of every version up to `last`, both ends."""
        for version in range(min(last, self.last) + 1):
            for committed in (True, False):
                self.end(f"{title}: {'commit' if committed else 'abort'}", version, name, pid, epoch, committed)

    def used_by(self, title: str, name: str, pid: int, epoch: int) -> None:
        """All that a producer with these numbers may want beside an end; nothing of it begins a transaction."""
        self.add(f"{title}: add", 3, name, pid, epoch, {TOPIC: [0]})
        self.add(f"{title}: verify", 4, name, pid, epoch, {TOPIC: [0]}, True)
        self.offsets(f"{title}: offsets", 3, name, pid, epoch, GROUP)
        self.commit(f"{title}: commit offsets", self.last if self.newest else 3, name, pid, epoch, GROUP, {TOPIC: {0: 1}})
        self.write(f"{title}: write", 12 if self.newest else 11, name, pid, epoch, 5)

    def goes_on(self, title: str, name: str, pid: int, *epochs: int) -> None:
        """InitProducerId with each of these epochs, of every version that can say one."""
        for epoch in epochs:
            for version in range(3, self.last + 1):
                self.init(f"{title}: goes on with {epoch}", version, name, pid=pid, epoch=epoch)

    def described(self, title: str, name: str) -> None:
        self.k(f"{title}: described", ApiKey.DESCRIBE_TRANSACTIONS, 0, m.DescribeTransactionsRequest(transactional_ids=[name]))

    def settled(self, name: str, state: str) -> None:
        request = m.DescribeTransactionsRequest(transactional_ids=[name])
        self.k.until(ApiKey.DESCRIBE_TRANSACTIONS, 0, request, lambda answer: answer.transaction_states[0].transaction_state == state)

    def read(self, title: str) -> None:
        """What a careful reader gets, where its end is, and who has written."""
        for partition in (0, 1):
            self.k.until(ApiKey.FETCH, 11, fetch(TOPIC, partition=partition, isolation_level=1), caught_up)
            self.k(f"{title}: read {partition}", ApiKey.FETCH, 12, fetch(TOPIC, partition=partition, isolation_level=1))
            self.k(f"{title}: end {partition}", ApiKey.LIST_OFFSETS, 7, list_offsets(TOPIC, -1, partition, isolation_level=1))
        one = m.DescribeProducersRequest.TopicRequest(name=TOPIC, partition_indexes=[0, 1])
        self.k(f"{title}: producers", ApiKey.DESCRIBE_PRODUCERS, 0, m.DescribeProducersRequest(topics=[one]))


def lost_answers(asking: Epochs) -> None:
    """Ends and beginnings that are asked for again; what the epochs before are told, after each."""
    for new in (True, False) if asking.newest else (False,):
        kind = "new" if new else "old"
        name, version = named(f"lost-{kind}", False), asking.last if new else 4
        pid = asking.init(f"{kind} begins", version, name).producer_id
        for epoch, committed in ((0, True), (1, False)):
            title, now = f"{kind} {'commit' if committed else 'abort'}", epoch if new else 0
            asking.opened(title, name, pid, now, new)
            asking.end(title, version, name, pid, now, committed)
            asking.ended_by(f"{title}, again", name, pid, now, version)
            asking.ended_by(f"{title}, before it", name, pid, now - 1)
            asking.described(title, name)
        asking.used_by(f"{kind}, an old epoch", name, pid, now - 1)
        asking.goes_on(f"{kind} at the end", name, pid, now, now - 1, now + 1)
        asking.described(f"{kind} at the end", name)
        if new:
            asking.opened("mixed", name, pid, now + 1, False)
            asking.end("mixed", 5, name, pid, now + 1)
            asking.end("mixed, by an older version", 4, name, pid, now + 1)
            asking.goes_on("mixed", name, pid, now + 1)


def taken_over(asking: Epochs) -> None:
    """Another process comes while a transaction is open, or while none is."""
    for new in (True, False) if asking.newest else (False,):
        kind = "new" if new else "old"
        for state in ("open", "at rest"):
            title, name = f"{kind} taken over {state}", named(f"taken-{kind}-{state[:2]}", False)
            pid = asking.init(f"{title}: begins", asking.last, name).producer_id
            if state == "open":
                asking.opened(title, name, pid, 0, new)
            heir = asking.init(f"{title}: the heir", asking.last, name)
            asking.ended_by(title, name, pid, 0)
            asking.used_by(title, name, pid, 0)
            asking.goes_on(title, name, pid, *dict.fromkeys((heir.producer_epoch - 1, 0)))
            asking.described(title, name)


LATE = ("commit", "abort", "old commit", "old abort", "before it", "before it again", "a new one", "all else")


def too_long(asking: Epochs) -> None:
    """Transactions that the coordinator has aborted because their time was over, and what their producers are told then."""
    ids: list[tuple[str, str, int]] = []
    for new in (True, False) if asking.newest else (False,):
        for late in LATE:
            title = f"{'new' if new else 'old'} too long, {late}"
            name = named(title.replace(" ", "-"), False)
            pid = asking.init(f"{title}: begins", asking.last, name, SOON).producer_id
            asking.opened(title, name, pid, 0, new, 1)
            ids.append((title, name, pid))
    for _, name, _ in ids:
        asking.settled(name, "CompleteAbort")
    for title, name, pid in ids:
        late = title.partition(", ")[2]
        asking.described(title, name)
        if late in ("commit", "abort", "old commit", "old abort"):
            for again in ("", " again"):
                asking.end(f"{title}{again}", 3 if late.startswith("old") else asking.last, name, pid, 0, late.endswith("commit"))
            asking.goes_on(title, name, pid, 0)
        elif late == "before it":
            asking.goes_on(title, name, pid, 0, 1, 2)
        elif late == "before it again":
            asking.init(f"{title}: with the epoch now", asking.last, name, pid=pid, epoch=1)
            asking.goes_on(title, name, pid, 0, 1)
        elif late == "a new one":
            asking.init(f"{title}: the heir", asking.last, name)
            asking.goes_on(title, name, pid, 0, 1)
        else:
            asking.ended_by(title, name, pid, 0)
            asking.used_by(title, name, pid, 0)
    largest(asking)


def largest(asking: Epochs) -> None:
    """ListOffsets for the largest timestamp: of markers of one millisecond the first. Which those are, the clock decides."""
    answer = asking.k.ask(ApiKey.FETCH, 12, fetch(TOPIC, partition=1))
    stored = bytes(answer.responses[0].partitions[0].records)
    times = {one.header.base_offset: one.header.max_timestamp for one in iterate_batches(stored)}
    found = asking.k.ask(ApiKey.LIST_OFFSETS, 7, list_offsets(TOPIC, -3, 1)).topics[0].partitions[0]
    first = min(base for base, at in times.items() if at == max(times.values()))
    asking.k.note("the largest time is that of the first that has it", [found.error_code, found.offset == first, found.timestamp == times[first]])


def used_up(asking: Epochs) -> None:
    """The last epochs of a producer id: who goes on with another one, and what the one before is told."""
    kinds = ["rest", "again", "old end", "open", *(["commit", "abort", "abort of nothing"] if asking.newest else [])]
    ids = {kind: (named(f"used-{kind.replace(' ', '-')}", True), 9000 + number) for number, kind in enumerate(kinds)}
    planted(asking.k, [(name, pid, LAST - 1 if kind in ("commit", "abort") else LAST, SOON if kind == "open" else MINUTE) for kind, (name, pid) in ids.items()])
    for kind, (name, pid) in ids.items():
        asking.described(f"used up, {kind}", name)
        if kind == "rest":
            asking.init("used up, rest: another process", asking.last, name)
            asking.goes_on("used up, rest", name, pid, LAST, LAST - 1)
        elif kind == "again":
            asking.goes_on("used up, again", name, pid, LAST, LARGEST_EPOCH)
        elif kind == "old end":
            asking.opened("used up, old end", name, pid, LAST, False)
            asking.end("used up, old end", 4, name, pid, LAST)
            asking.goes_on("used up, old end", name, pid, LAST)
        elif kind == "open":
            overtaken(asking, name, pid)
        else:
            ends(asking, kind, name, pid)
    asking.read("used up")


def overtaken(asking: Epochs, name: str, pid: int) -> None:
    """With the last epoch of all, which only its coordinator uses, an open transaction is aborted."""
    asking.opened("used up, open", name, pid, LAST, asking.newest)
    asking.settled(name, "CompleteAbort")
    asking.described("used up, too long", name)
    asking.end("used up, too long", asking.last, name, pid, LAST, False)
    asking.goes_on("used up, too long", name, pid, LAST, LARGEST_EPOCH)
    asking.init("used up, too long: another process", asking.last, name)


def ends(asking: Epochs, kind: str, name: str, pid: int) -> None:
    """Version 2: the end tells the next producer id. Asked for again, by whoever has the numbers before or the new ones."""
    title, committed = f"used up, {kind}", kind == "commit"
    if kind != "abort of nothing":
        asking.opened(f"{title}, next to last", name, pid, LAST - 1, True)
        asking.end(f"{title}, next to last", 5, name, pid, LAST - 1, committed)
        asking.end(f"{title}, next to last again", 5, name, pid, LAST - 1, committed)
        asking.goes_on(f"{title}, next to last", name, pid, LAST - 1)
        asking.opened(title, name, pid, LAST, True)
    heir = asking.end(title, 5, name, pid, LAST, committed)
    asking.settled(name, "CompleteCommit" if committed else "CompleteAbort")
    asking.ended_by(f"{title}, again", name, pid, LAST)
    asking.used_by(f"{title}, the id before", name, pid, LAST)
    asking.described(f"{title}, then", name)
    asking.goes_on(title, name, pid, LAST, LAST - 1)
    asking.opened(f"{title}, the next id", name, heir.producer_id, heir.producer_epoch, True)
    asking.end(f"{title}, the next id", 5, name, heir.producer_id, heir.producer_epoch)
    asking.settled(name, "CompleteCommit")
    asking.described(f"{title}, the next id", name)


def planted(k: Script, ids: list[tuple[str, int, int, int]]) -> None:
    """(name, producer id, epoch, time-out): at rest with these, as if it had been so for long; broker 1 loads them."""
    now_ms = time.time_ns() // 1_000_000
    records = [
        (now_ms, encode_key(name), encode_value(Stored(pid, NO_PRODUCER_ID, NO_PRODUCER_ID, epoch, -1, timeout, EMPTY, (), NO_TIME, now_ms), 0), ())
        for name, pid, epoch, timeout in ids
    ]
    answer = k.ask(ApiKey.PRODUCE, 9, produce(TRANSACTION_STATE, encode_batch(records), -1, MOVED), ELSEWHERE, WRITER)
    assert answer.responses[0].partition_responses[0].error_code == 0, answer
    a = m.AlterPartitionReassignmentsRequest
    part = a.ReassignablePartition(partition_index=MOVED, replicas=[HERE])
    moved = k.ask(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, a(timeout=MINUTE, topics=[
        a.ReassignableTopic(name=TRANSACTION_STATE, partitions=[part])]), controller_of(k))  # fmt: skip
    assert moved.responses[0].partitions[0].error_code == 0, moved
    name = ids[0][0]
    k.until(ApiKey.DESCRIBE_TRANSACTIONS, 0, m.DescribeTransactionsRequest(transactional_ids=[name]), lambda answer: not answer.transaction_states[0].error_code)


def epochs(k: Script, newest: bool) -> None:
    asking = Epochs(k, newest)
    lost_answers(asking)
    taken_over(asking)
    asking.read("until now")
    too_long(asking)
    used_up(asking)
