"""A process that only follows the metadata log writes snapshots of it, too, so that its copy does not grow for ever.

Voters write theirs from the controller's image; here it is the loader's. Source: SnapshotGenerator (KIP-630).
"""

from __future__ import annotations

from broker_core.cluster.kraft.loader import MetadataLoader
from broker_core.kernel.node import Node
from broker_core.metadata import records as r
from broker_core.metadata.configs import BrokerConfig
from broker_core.raft.client import RaftClient
from broker_core.raft.listeners import CommittedBatch, LeaderAndEpoch
from broker_core.raft.snapshot_schedule import SnapshotSchedule
from broker_core.raft.snapshots import SnapshotId, SnapshotReader


class ObserverSnapshots:
    """A listener of the quorum, registered behind the loader: what it is told stands in the image already."""

    def __init__(self, node: Node, raft: RaftClient, loader: MetadataLoader, config: BrokerConfig) -> None:
        self.node = node
        self.raft = raft
        self.loader = loader
        self._schedule = SnapshotSchedule(
            config["metadata.log.max.record.bytes.between.snapshots"], config["metadata.log.max.snapshot.interval.ms"],
            self._now_ms,
        )  # fmt: skip

    @property
    def _now_ms(self) -> int:
        return self.node.now_us() // 1000

    def handle_load_snapshot(self, snapshot: SnapshotReader) -> None:
        """There is one."""
        self._schedule.begin(self._now_ms)

    def handle_commit(self, batches: list[CommittedBatch]) -> None:
        """Write one when it is time, unless a transaction is open: the image is older than the log then."""
        self._schedule.count(batches)
        if self._schedule.is_due(self._now_ms) and self.loader.offset == batches[-1].last_offset:
            self._write()

    def _write(self) -> None:
        loader = self.loader
        writer = self.raft.create_snapshot(SnapshotId(loader.offset + 1, loader.epoch), loader.time_ms)
        if writer is not None:
            writer.append([r.encode(record, version) for record, version in loader.image.records()])
            writer.freeze()
            self.raft.snapshot_written(writer)
        self._schedule.begin(self._now_ms)

    def handle_leader_change(self, leader: LeaderAndEpoch) -> None:
        """Who leads makes no difference to what is committed."""
