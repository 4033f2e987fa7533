"""Kafka's own metrics, by their own names, read from the brokers of a world.

| kind | value | as JMX shows it |
|---|---|---|
| gauge | what is now | `Value` |
| meter | how often since the process started | `Count` (rates follow from two snapshots and the time between) |
| time | mean milliseconds of all requests of an API since the process started | `Mean` |

    metrics(world)["kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions"]  ->  {"1": 0, "2": 4, "3": 0}

A broker that does not run has no metrics. Values with a `topic`, `partition`, `request`, `delayedOperation` or
`group` in their name are there for each of those that is. Snapshots before and after a command are compared with
`difference`. Consumer lag is no metric of a broker: it stands here as the tools print it, under the group's
coordinator. Names: Kafka's documentation, section "Monitoring".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from broker_core.kernel.world import World
from broker_core.log.cleaner import LogCleaner
from broker_core.replication.partition import Partition
from broker_core.replication.quotas import ReplicationQuotas
from broker_core.wire import api_name
from lab.clusters.metrics_registry import REGISTRY, Metric
from lab.clusters.observe import brokers
from lab.truth import truth_of
from lab.truth.kraft import process_of

__all__ = ["REGISTRY", "Metric", "described", "difference", "metrics"]

Found = Iterator[tuple[str, float]]
Values = dict[str, dict[str, float]]
TIMES = ("RequestQueueTimeMs", "LocalTimeMs", "RemoteTimeMs", "ResponseQueueTimeMs", "TotalTimeMs")


@dataclass(slots=True)
class Change:
    """One metric of one broker in two snapshots."""

    name: str
    broker: str
    before: float
    after: float

    @property
    def delta(self) -> float:
        return round(self.after - self.before, 6)


def metrics(world: World) -> Values:
    """Full name -> broker id -> value."""
    found: Values = {}
    for broker, node in brokers(world):
        machine: Any = node.machine
        if machine is not None:
            for name, value in of_broker(world, machine):
                found.setdefault(name, {})[str(broker)] = value
    return found


def difference(before: Values, after: Values) -> list[Change]:
    """What has changed, in the order of the second snapshot; what is missing counts as 0."""
    changes = []
    for name in [*after, *(name for name in before if name not in after)]:
        old, new = before.get(name, {}), after.get(name, {})
        for broker in sorted({**old, **new}):
            change = Change(name, broker, old.get(broker, 0), new.get(broker, 0))
            if change.before != change.after:
                changes.append(change)
    return changes


def described(name: str) -> Metric | None:
    """The registry's entry for a full name: without topic, partition, request, operation, group."""
    head, _, tail = name.partition(":")
    kept = [part for part in tail.split(",") if part.partition("=")[0] in ("type", "name")]
    return REGISTRY.get(f"{head}:{','.join(kept)}")


def of_broker(world: World, machine: Any) -> Found:
    """All metrics of one broker."""
    partitions: list[Partition] = list(machine.partitions.values())
    yield from _replicas(partitions, machine.log_manager)
    yield from _producers(partitions, machine)
    yield from _cleaner(machine.cleaning.cleaner)
    yield from _meters(machine.replicas.meters)
    yield from _quotas(machine.replicas.quotas)
    yield from _controller(world, machine)
    yield from _metadata_log(machine)
    yield from _requests(machine)
    yield from _logs(partitions)
    yield from _lag(partitions, machine.replicas)
    yield from _groups(world, machine)


def _replicas(partitions: list[Partition], logs: Any) -> Found:
    led = [partition for partition in partitions if partition.is_leader]
    sizes = [(len(one.isr.committed), len(one.replicas), one.min_isr) for one in led]
    kind = "kafka.server:type=ReplicaManager,name="
    yield kind + "LeaderCount", len(led)
    yield kind + "PartitionCount", len(partitions)
    yield kind + "UnderReplicatedPartitions", sum(isr < replicas for isr, replicas, _ in sizes)
    yield kind + "UnderMinIsrPartitionCount", sum(isr < least for isr, _, least in sizes)
    yield kind + "AtMinIsrPartitionCount", sum(isr == least for isr, _, least in sizes)
    yield kind + "ReassigningPartitions", sum(1 for one in led if one.adding or one.removing)
    yield kind + "OfflineReplicaCount", sum(1 for one in partitions if one.role == "offline")
    yield "kafka.log:type=LogManager,name=OfflineLogDirectoryCount", len(logs.offline_dirs)


def _producers(partitions: list[Partition], machine: Any) -> Found:
    now_ms, longest_ms = machine.node.wall_ms(), machine.config["transaction.max.timeout.ms"]
    late = sum(one.is_leader and one.log.producers.late_transaction(now_ms, longest_ms) for one in partitions)
    kind = "kafka.server:type=ReplicaManager,name="
    yield kind + "PartitionsWithLateTransactionsCount", late
    yield kind + "ProducerIdCount", sum(len(one.log.producers.entries) for one in partitions)


def _cleaner(cleaner: LogCleaner) -> Found:
    manager, threads = "kafka.log:type=LogCleanerManager,name=", "kafka.log:type=LogCleaner,name="
    yield manager + "max-dirty-percent", int(100 * cleaner.dirtiest)
    for log_dir in cleaner.manager.live_dirs():
        count = sum(cleaner.manager.dir_of(log) == log_dir for log in cleaner.uncleanable_logs())
        yield f'{manager}uncleanable-partitions-count,logDirectory="{log_dir}"', count
    stats = cleaner.last_stats
    yield threads + "cleaner-recopy-percent", int(100 * stats.bytes_after / max(1, stats.bytes_before))
    yield threads + "max-buffer-utilization-percent", 100 * stats.map_utilization


def _meters(meters: Any) -> Found:
    kind = "kafka.server:type=BrokerTopicMetrics,name="
    yield kind + "MessagesInPerSec", meters.messages_in
    yield kind + "BytesInPerSec", meters.bytes_in
    yield kind + "BytesOutPerSec", meters.bytes_out
    yield kind + "ReplicationBytesInPerSec", meters.replication_bytes_in
    yield kind + "ReplicationBytesOutPerSec", meters.replication_bytes_out
    yield kind + "ReassignmentBytesInPerSec", meters.reassignment_bytes_in
    yield kind + "ReassignmentBytesOutPerSec", meters.reassignment_bytes_out
    yield kind + "ProduceMessageConversionsPerSec", meters.produce_conversions
    yield kind + "FetchMessageConversionsPerSec", meters.fetch_conversions
    kind = "kafka.server:type=ReplicaManager,name="
    yield kind + "IsrShrinksPerSec", meters.isr_shrinks
    yield kind + "IsrExpandsPerSec", meters.isr_expands
    yield kind + "FailedIsrUpdatesPerSec", meters.failed_isr_updates


def _quotas(quotas: ReplicationQuotas) -> Found:
    for quota in quotas.all:
        yield f"kafka.server:type={quota.kind},name=byte-rate", round(quota.rate(), 3)


def _controller(world: World, machine: Any) -> Found:
    figures = truth_of(world).controller_figures(machine)
    kind = "kafka.controller:type=KafkaController,name="
    yield kind + "ActiveControllerCount", int(figures.active)
    yield kind + "OfflinePartitionsCount", figures.offline_partitions
    yield kind + "PreferredReplicaImbalanceCount", figures.preferred_imbalance
    yield kind + "GlobalTopicCount", figures.topics
    yield kind + "GlobalPartitionCount", figures.partitions
    if figures.active_brokers is not None and figures.fenced_brokers is not None:
        yield kind + "ActiveBrokerCount", figures.active_brokers
        yield kind + "FencedBrokerCount", figures.fenced_brokers
    kind = "kafka.controller:type=ControllerStats,name="
    if figures.leader_elections is not None:
        yield kind + "LeaderElectionRateAndTimeMs", figures.leader_elections
    yield kind + "UncleanLeaderElectionsPerSec", figures.unclean_leader_elections


def _metadata_log(machine: Any) -> Found:
    """What a process of a KRaft cluster says of its copy of the metadata log (KIP-500, KIP-595)."""
    process = process_of(machine)
    if process is not None and process.is_open:
        raft = process.raft
        yield "kafka.server:type=broker-metadata-metrics,name=last-applied-record-offset", process.loader.offset
        yield "kafka.server:type=raft-metrics,name=current-epoch", raft.quorum.epoch
        yield "kafka.server:type=raft-metrics,name=log-end-offset", raft.log.end_offset
        mark = raft.high_watermark
        yield "kafka.server:type=raft-metrics,name=high-watermark", -1 if mark is None else mark


def _requests(machine: Any) -> Found:
    pipeline = machine.pipeline
    yield "kafka.network:type=RequestChannel,name=RequestQueueSize", len(pipeline.request_queue)
    for key, totals in sorted(pipeline.totals.items()):
        api, count = api_name(key), totals.requests
        parts = (totals.queue_us, totals.local_us, totals.remote_us, totals.response_us)
        yield _request("RequestsPerSec", api), count
        for name, spent_us in zip(TIMES, (*parts, sum(parts)), strict=True):
            yield _request(name, api), round(spent_us / 1000 / count, 3) if count else 0
    replicas = machine.replicas
    for purgatory in (
        replicas.produce_purgatory, replicas.fetch_purgatory, replicas.delete_records_purgatory,
        machine.groups.rebalancer.purgatory,
    ):  # fmt: skip
        kind = f"kafka.server:type=DelayedOperationPurgatory,delayedOperation={purgatory.name},name="
        yield kind + "PurgatorySize", purgatory.watched
        yield kind + "NumDelayedOperations", purgatory.delayed


def _request(name: str, api: str) -> str:
    return f"kafka.network:type=RequestMetrics,name={name},request={api}"


def _logs(partitions: Iterable[Partition]) -> Found:
    for one in partitions:
        of = f",topic={one.topic},partition={one.index}"
        log = one.log
        yield f"kafka.log:type=Log,name=LogEndOffset{of}", log.log_end_offset
        yield f"kafka.log:type=Log,name=LogStartOffset{of}", log.log_start_offset
        yield f"kafka.log:type=Log,name=Size{of}", log.size_bytes
        yield f"kafka.log:type=Log,name=NumLogSegments{of}", len(log.segments)


def _lag(partitions: list[Partition], replicas: Any) -> Found:
    """By how much followers here are behind their leaders' high watermarks, as the last answers told them."""
    largest = 0
    for one in partitions:
        state = replicas.fetchers.state_of(one)
        if state is not None and state.lag >= 0:
            largest = max(largest, state.lag)
            of = f",topic={one.topic},partition={one.index}"
            yield f"kafka.server:type=FetcherLagMetrics,name=ConsumerLag{of}", state.lag
    yield "kafka.server:type=ReplicaFetcherManager,name=MaxLag,clientId=Replica", largest


def _groups(world: World, machine: Any) -> Found:
    kind = "kafka.coordinator.group:type=GroupMetadataManager,name="
    groups = dict(machine.groups.registry.all_offsets())
    yield kind + "NumGroups", len(groups)
    yield kind + "NumOffsets", sum(len(offsets.committed) for offsets in groups.values())
    for name, offsets in sorted(groups.items()):
        for (topic, index), committed in sorted(offsets.committed.items()):
            mark = _high_watermark(world, topic, index)
            if mark is not None:
                lag = max(0, mark - committed.offset)
                yield f"kafka.consumer:type=consumer-groups,name=Lag,group={name},topic={topic},partition={index}", lag


def _high_watermark(world: World, topic: str, index: int) -> int | None:
    """Of the replica that leads in the newest epoch."""
    best, mark = -1, None
    for _, node in brokers(world):
        machine: Any = node.machine
        one = machine.partitions.get((topic, index)) if machine is not None else None
        if one is not None and one.is_leader and one.leader_epoch > best:
            best, mark = one.leader_epoch, one.log.high_watermark
    return mark
