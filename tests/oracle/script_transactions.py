"""Transactions, asked of Apache Kafka 4.3 and of a KRaft lab: every version of the APIs of a transactional producer, of
brokers that verify and mark, and of whoever inspects."""

from __future__ import annotations

from functools import partial
from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E
from tests.oracle.asking import Script
from tests.oracle.requests import batch, fetch, list_offsets, make_topic, produce

COME_AGAIN = {E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.CONCURRENT_TRANSACTIONS}
MINUTE = 60_000
NOWHERE = "tx-nowhere"
Parts = dict[str, list[int]]


def errors(answer: Any) -> set[int]:
    """Every error code that stands anywhere in an answer."""
    if isinstance(answer, list):
        return set().union(*map(errors, answer)) if answer else set()
    if not hasattr(answer, "FIELDS"):
        return set()
    own = {getattr(answer, name) for name in answer.FIELDS if name in ("error_code", "partition_error_code")}
    return own.union(*(errors(getattr(answer, name)) for name in answer.FIELDS))


class Asking:
    """Requests of transactions; what is on its way is asked again until it has an end."""

    def __init__(self, k: Script, topic: str = "", partitions: int = 2) -> None:
        self.k = k
        self.topic = topic
        find = m.FindCoordinatorRequest(key_type=1, coordinator_keys=["anything"])
        k.until(ApiKey.FIND_COORDINATOR, 4, find, lambda answer: not answer.coordinators[0].error_code)
        if topic:
            make_topic(k, topic, partitions)
            anybody = m.InitProducerIdRequest(transactional_id=None, transaction_timeout=MINUTE)  # (id 0 is not to be one of ours)
            k.until(ApiKey.INIT_PRODUCER_ID, 0, anybody, lambda answer: not answer.error_code)

    def say(self, title: str, key: int, version: int, message: Any) -> Any:
        settled = self.k.until(key, version, message, lambda answer: isinstance(answer, str) or not errors(answer) & COME_AGAIN)
        return self.k.note(f"{title} v{version}", settled)

    def init(self, title: str, version: int, name: str | None, timeout: int = MINUTE, pid: int = -1, epoch: int = -1) -> Any:
        request = m.InitProducerIdRequest(transactional_id=name, transaction_timeout=timeout, producer_id=pid, producer_epoch=epoch)
        return self.say(title, ApiKey.INIT_PRODUCER_ID, version, request)

    def add(self, title: str, version: int, name: str, pid: int, epoch: int, parts: Parts, verify: bool = False) -> None:
        a = m.AddPartitionsToTxnRequest
        topics = [a.AddPartitionsToTxnTopic(name=topic, partitions=numbers) for topic, numbers in parts.items()]
        if version >= 4:
            one = a.AddPartitionsToTxnTransaction(transactional_id=name, producer_id=pid, producer_epoch=epoch, verify_only=verify, topics=topics)
            request = a(transactions=[one])
        else:
            request = a(
                v3_and_below_transactional_id=name, v3_and_below_producer_id=pid, v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=topics,
            )  # fmt: skip
        self.say(title, ApiKey.ADD_PARTITIONS_TO_TXN, version, request)

    def offsets(self, title: str, version: int, name: str, pid: int, epoch: int, group: str) -> None:
        request = m.AddOffsetsToTxnRequest(transactional_id=name, producer_id=pid, producer_epoch=epoch, group_id=group)
        self.say(title, ApiKey.ADD_OFFSETS_TO_TXN, version, request)

    def commit(self, title: str, version: int, name: str, pid: int, epoch: int, group: str, parts: dict[str, dict[int, int]], **more: Any) -> None:
        t = m.TxnOffsetCommitRequest
        topics = [
            t.TxnOffsetCommitRequestTopic(name=topic, partitions=[
                t.TxnOffsetCommitRequestPartition(partition_index=number, committed_offset=offset, committed_metadata="m") for number, offset in one.items()
            ]) for topic, one in parts.items()
        ]  # fmt: skip
        request = t(transactional_id=name, group_id=group, producer_id=pid, producer_epoch=epoch, topics=topics, **more)
        self.say(title, ApiKey.TXN_OFFSET_COMMIT, version, request)

    def end(self, title: str, version: int, name: str, pid: int, epoch: int, committed: bool = True) -> Any:
        request = m.EndTxnRequest(transactional_id=name, producer_id=pid, producer_epoch=epoch, committed=committed)
        return self.say(title, ApiKey.END_TXN, version, request)

    def write(self, title: str, version: int, name: str | None, pid: int, epoch: int, sequence: int, partition: int = 0) -> None:
        records = batch(b"v", producer_id=pid, producer_epoch=epoch, base_sequence=sequence, transactional=True)
        self.say(title, ApiKey.PRODUCE, version, produce(self.topic, records, -1, partition, transactional_id=name))

    def looks(self, title: str, name: str) -> None:
        """What a reader and an operator see."""
        for isolation in (0, 1):
            self.k(f"{title}: read at level {isolation}", ApiKey.FETCH, 12, fetch(self.topic, isolation_level=isolation))
            self.k(f"{title}: end at level {isolation}", ApiKey.LIST_OFFSETS, 7, list_offsets(self.topic, -1, isolation_level=isolation))
        self.k(f"{title}: described", ApiKey.DESCRIBE_TRANSACTIONS, 0, m.DescribeTransactionsRequest(transactional_ids=[name]))
        d = m.DescribeProducersRequest
        self.k(f"{title}: producers", ApiKey.DESCRIBE_PRODUCERS, 0, d(topics=[d.TopicRequest(name=self.topic, partition_indexes=[0])]))


def beginnings(k: Script) -> None:
    """InitProducerId with a transactional id, in every version; who may be told what."""
    asking = Asking(k)
    for version in range(6):
        name = f"begin-{version}"
        pid = asking.init("first", version, name).producer_id
        asking.init("again", version, name)
        asking.init("another time-out", version, name, 7000)
        for timeout in (0, -1, 900_000, 900_001):
            asking.init(f"time-out {timeout}", version, f"other-{version}", timeout)
        asking.init("no name", version, "")
        asking.init("without", version, None, 0)
        if version >= 3:
            asking.init("as it is", version, name, pid=pid, epoch=2)
            asking.init("once more", version, name, pid=pid, epoch=2)
            asking.init("an old epoch", version, name, pid=pid, epoch=0)
            asking.init("a newer epoch", version, name, pid=pid, epoch=9)
            asking.init("another id", version, name, pid=pid + 1000, epoch=3)
            asking.init("an id and no epoch", version, name, pid=pid)
            asking.init("an epoch and no id", version, name, epoch=3)
            asking.init("unknown with an id", version, f"unknown-{version}", pid=pid, epoch=0)
        asking.k(f"found {version}", ApiKey.FIND_COORDINATOR, version + 1, m.FindCoordinatorRequest(key=name, key_type=1, coordinator_keys=[name] if version > 2 else []))


def old_transactions(k: Script) -> None:
    """Clients before KIP-890's second part: each API in each version that they may use."""
    asking = Asking(k, "tx-old")
    group = "tx-group"
    k.until(ApiKey.FIND_COORDINATOR, 4, m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), lambda answer: not answer.coordinators[0].error_code)
    for version in range(5):
        name, add = f"old-{version}", min(version, 3)
        pid = asking.init("begins", min(version, 4), name).producer_id
        asking.end("commit of nothing", version, name, pid, 0)
        asking.end("abort of nothing", version, name, pid, 0, False)
        asking.add("add", add, name, pid, 0, {"tx-old": [0]}) if version < 4 else asking.add("by a broker", 4, name, pid, 0, {"tx-old": [0]})
        asking.add("add again", add, name, pid, 0, {"tx-old": [0, 1]}) if version < 4 else None
        for title, who, number, epoch in (("an old epoch", name, pid, -1), ("a newer epoch", name, pid, 5), ("another id", name, pid + 1000, 0),
                                          ("unknown", f"nobody-{version}", pid, 0), ("no name", "", pid, 0)):  # fmt: skip
            asking.add(f"add, {title}", version, who, number, epoch, {"tx-old": [0]})
            asking.offsets(f"offsets, {title}", version, who, number, epoch, group)
            asking.end(f"end, {title}", version, who, number, epoch)
            asking.commit(f"commit offsets, {title}", version, who, number, epoch, group, {"tx-old": {0: 1}})
        asking.add("add what is not there", version, name, pid, 0, {"tx-old": [0], NOWHERE: [0]})
        asking.write(f"{version}: write", 9, name, pid, 0, 0)
        asking.write(f"{version}: write to what was not added", 11, name, pid, 0, 0, 9)
        asking.write(f"{version}: write without a name", 11, None, pid, 0, 1)
        asking.write(f"{version}: write with an old epoch", 11, name, pid, -1, 1)
        asking.offsets("offsets of no group", version, name, pid, 0, "")
        asking.commit("offsets come", version, name, pid, 0, group, {"tx-old": {0: 5, 7: 1}, NOWHERE: {0: 1}})
        asking.offsets("offsets", version, name, pid, 0, group)
        asking.commit("offsets come again", version, name, pid, 0, group, {"tx-old": {0: 6}})
        if version >= 3:
            for title, more in (("unknown member", {"member_id": "m", "generation_id": 1}), ("no member", {"generation_id": 3}),
                                ("unknown instance", {"member_id": "m", "group_instance_id": "i", "generation_id": 1})):  # fmt: skip
                asking.commit(f"offsets, {title}", version, name, pid, 0, group, {"tx-old": {1: 6}}, **more)
        stable(k, f"stable offsets while it runs {version}", group)
        asking.looks(f"open {version}", name)
        committed = version % 2 == 0
        asking.end("end", version, name, pid, 0, committed)
        asking.end("end again", version, name, pid, 0, committed)
        asking.end("the other end", version, name, pid, 0, not committed)
        k.until(ApiKey.FETCH, 12, fetch("tx-old", isolation_level=1), caught_up)
        asking.looks(f"ended {version}", name)
        stable(k, f"stable offsets at the end {version}", group)
        asking.write(f"{version}: write into what has ended", 11, name, pid, 0, 1)


def caught_up(answer: Any) -> bool:
    part = answer.responses[0].partitions[0]
    return bool(part.last_stable_offset == part.high_watermark)


def stable(k: Script, title: str, group: str) -> None:
    o = m.OffsetFetchRequest
    for require in (False, True):
        asked = o(groups=[o.OffsetFetchRequestGroup(group_id=group, topics=None, member_epoch=-1)], require_stable=require)
        k(f"{title}, required: {require}", ApiKey.OFFSET_FETCH, 9, asked)


def new_transactions(k: Script) -> None:
    """An epoch for each transaction, partitions that are added by being written to (KIP-890, part 2)."""
    asking = Asking(k, "tx-new")
    name, group = "new", "tx-group"
    k.until(ApiKey.FIND_COORDINATOR, 4, m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), lambda answer: not answer.coordinators[0].error_code)
    pid = asking.init("begins", 5, name).producer_id
    asking.end("commit of nothing", 5, name, pid, 0)
    epoch = asking.end("abort of nothing", 5, name, pid, 0, False).producer_epoch
    asking.end("abort of nothing again", 5, name, pid, 0, False)
    for title, who, number, other in (("an old epoch", name, pid, -1), ("a newer epoch", name, pid, 7), ("another id", name, pid + 1000, epoch),
                                      ("unknown", "nobody-new", pid, 0), ("no name", "", pid, 0)):  # fmt: skip
        asking.add(f"verified, {title}", 5, who, number, other, {"tx-new": [0]}, True)
        asking.add(f"added by a broker, {title}", 5, who, number, other, {"tx-new": [0]})
        asking.end(f"end, {title}", 5, who, number, other)
        asking.commit(f"commit offsets, {title}", 5, who, number, other, group, {"tx-new": {0: 1}})
        asking.write(f"write, {title}", 12, who, number, other, 0)
    asking.add("verified before it begins", 5, name, pid, epoch, {"tx-new": [0]}, True)
    asking.write("write adds", 12, name, pid, epoch, 0)
    asking.write("write on", 12, name, pid, epoch, 1)
    asking.write("a gap", 12, name, pid, epoch, 7)
    asking.add("verified", 5, name, pid, epoch, {"tx-new": [0]}, True)
    asking.add("verified elsewhere", 5, name, pid, epoch, {"tx-new": [0, 1], NOWHERE: [0]}, True)
    asking.commit("offsets add", 5, name, pid, epoch, group, {"tx-new": {0: 7}})
    asking.looks("open", name)
    ended = asking.end("commit", 5, name, pid, epoch)
    asking.end("commit again", 5, name, pid, epoch)
    asking.end("the other end", 5, name, pid, epoch, False)
    k.until(ApiKey.FETCH, 12, fetch("tx-new", isolation_level=1), caught_up)
    asking.looks("ended", name)
    asking.write("a late one", 12, name, pid, epoch, 2)
    asking.write("a late one of nobody", 12, "nobody", pid, epoch, 2)
    asking.write("a late one of nobody, where none was", 12, "nobody", pid, epoch, 2, 1)
    asking.write("the next one", 12, name, pid, ended.producer_epoch, 0)
    taken = asking.init("taken over while open", 5, name)
    asking.write("the one before", 12, name, pid, ended.producer_epoch, 1)
    asking.end("the end of the one before", 5, name, pid, ended.producer_epoch)
    asking.write("the heir", 12, name, taken.producer_id, taken.producer_epoch, 0)
    asking.end("the heir ends", 5, name, taken.producer_id, taken.producer_epoch, False)
    k.until(ApiKey.FETCH, 12, fetch("tx-new", isolation_level=1), caught_up)
    asking.looks("at the end", name)


def inspection(k: Script, newest: bool = True) -> None:
    """ListTransactions, DescribeTransactions, DescribeProducers, and the markers of brokers; `newest`: 4.3 is asked, and not 3.9."""
    asking = Asking(k, "tx-look", 1)
    pid = asking.init("begins", 5, "look-1").producer_id
    other = asking.init("begins too", 5, "look-2").producer_id
    if not newest:
        asking.add("add", 3, "look-1", pid, 0, {"tx-look": [0]})
        for version in (4, 5):
            asking.add("verified", version, "look-1", pid, 0, {"tx-look": [0], NOWHERE: [0]}, True)
            asking.add("added by a broker", version, "look-2", other, 0, {"tx-look": [0]})
    asking.write("write", 12 if newest else 11, "look-1", pid, 0, 0)
    listing = m.ListTransactionsRequest
    for version in range(3 if newest else 2):
        for title, more in (("all", {}), ("ongoing", {"state_filters": ["Ongoing"]}), ("no such state", {"state_filters": ["Ongoing", "Sleeping"]}),
                            ("by id", {"producer_id_filters": [pid]}), ("by nobody's id", {"producer_id_filters": [pid + 1000]})):  # fmt: skip
            listed(k, f"list {title}", version, listing(**more))
    for title, version, more in (("old ones", 1, {"duration_filter": MINUTE}), ("any age", 1, {"duration_filter": 0}),
                                 ("by pattern", 2, {"transactional_id_pattern": "look-[12]"}), ("by no pattern", 2, {"transactional_id_pattern": ""}),
                                 ("by a bad pattern", 2, {"transactional_id_pattern": "(ab"}),
                                 ("by part of a name", 2, {"transactional_id_pattern": "look-"}),
                                 ("by two names", 2, {"transactional_id_pattern": "look-1|look-2"}),
                                 ("by a class", 2, {"transactional_id_pattern": "look-[[:digit:]]"}),
                                 ("by a look ahead", 2, {"transactional_id_pattern": "look-(?=1)1"}),
                                 ("by a reference", 2, {"transactional_id_pattern": r"(look)-\1"}),
                                 ("by pattern and state", 2, {"transactional_id_pattern": "look-.*", "state_filters": ["Empty"]}),
                                 ("by pattern and id", 2, {"transactional_id_pattern": "look-.*", "producer_id_filters": [other]}),
                                 ("by pattern and age", 2, {"transactional_id_pattern": "look-.*", "duration_filter": -5})):  # fmt: skip
        if version == 1 or newest:
            listed(k, f"list {title}", version, listing(**more))
    for names in (["look-1"], ["look-2", "nobody"], [""], []):
        k(f"describe {names}", ApiKey.DESCRIBE_TRANSACTIONS, 0, m.DescribeTransactionsRequest(transactional_ids=names))
    d = m.DescribeProducersRequest
    for title, parts in (("known", {"tx-look": [0]}), ("unknown", {"tx-look": [3], NOWHERE: [0]}), ("no name", {"": [0]}), ("nothing", {})):
        asked = [d.TopicRequest(name=topic, partition_indexes=numbers) for topic, numbers in parts.items()]
        k(f"producers, {title}", ApiKey.DESCRIBE_PRODUCERS, 0, d(topics=asked))
    w = m.WriteTxnMarkersRequest

    def mark(title: str, version: int, epoch: int, commit: bool, coordinator: int, parts: Parts, **more: Any) -> None:
        topics = [w.WritableTxnMarkerTopic(name=topic, partition_indexes=numbers) for topic, numbers in parts.items()]
        one = w.WritableTxnMarker(producer_id=pid, producer_epoch=epoch, transaction_result=commit, topics=topics, coordinator_epoch=coordinator, **more)
        k(title, ApiKey.WRITE_TXN_MARKERS, version, w(markers=[one]))

    for version in (1, 2) if newest else (0, 1):
        mark("nothing is marked", version, 0, True, 0, {})
        mark("mark what is not there", version, 0, True, 0, {NOWHERE: [0], "tx-look": [5]})
    if newest:
        mark("mark by version 2 with the same epoch", 2, 0, False, 0, {"tx-look": [0]}, transaction_version=2)
    mark("mark", 1, 0, False, 3, {"tx-look": [0]})
    mark("mark by an old coordinator", 1, 0, False, 2, {"tx-look": [0]})
    mark("mark again", 1, 0, False, 3, {"tx-look": [0]})
    if newest:
        mark("mark by version 2", 2, 1, False, 3, {"tx-look": [0]}, transaction_version=2)
    asked = d(topics=[d.TopicRequest(name="tx-look", partition_indexes=[0])])
    k("producers after the marks", ApiKey.DESCRIBE_PRODUCERS, 0, asked)
    asking.end("the end comes late", 5 if newest else 4, "look-1", pid, 0)


def listed(k: Script, title: str, version: int, request: Any) -> None:
    """Of all that there are, these of this script."""
    answer = k.ask(ApiKey.LIST_TRANSACTIONS, version, request)
    answer.transaction_states = [one for one in answer.transaction_states if one.transactional_id.startswith("look-")]
    k.note(f"{title} v{version}", answer)


SCRIPTS = {
    "transactions begin": beginnings, "old transactions": old_transactions, "new transactions": new_transactions,
    "transactions inspected": inspection,
}
OF_3_9 = {
    "transactions begin": beginnings, "old transactions": old_transactions,
    "transactions inspected": partial(inspection, newest=False),
}
