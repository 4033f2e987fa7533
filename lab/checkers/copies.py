"""On how many disks each record stands: the replicas of every partition, as they are now.

```
{"topic": "orders", "partition": 0, "promised": 3, "brokers": {
    "1": {"start": 0, "end": 100, "epochs": [[0, 0], [2, 60]], "damaged": [[20, 21]]},
    "2": {"start": 0, "end": 100, "epochs": [[0, 0], [2, 60]], "damaged": []},
    "3": {"start": 0, "end": 80, "epochs": [[0, 0], [1, 60]], "damaged": []}}}
```
Record 20 is whole on two disks of three, record 70 as epoch 2 wrote it on two (broker 3 has another one there), record
90 on two. What is promised is the replication factor: so many disks somebody has asked for, however few are in sync.
A copy counts that is in the page cache of a running broker only: what a power loss may still take is told on the page
of the disk, not here.

Of brokers that do not run, their disks are read. `damaged` are stretches of offsets whose batches fail their CRC: told
when every byte is read (`checksums`, at the end of a simulated run), [] otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage_faults import Unfaulted
from broker_core.kernel.world import World
from broker_core.log.partition_log import PartitionLog
from broker_core.log.scan import headers_from
from broker_core.records.errors import RecordsError
from broker_core.records.header import Batch, is_valid
from lab.checkers.lineage import Epochs, Partition, owner_of
from lab.clusters import observe
from lab.clusters.spec import RunSpec
from lab.clusters.stopped import DiskLog
from lab.truth import truth_of

Told = dict[str, Any]
NO_EPOCH = -1


def copies_of(world: World, spec: RunSpec, checksums: bool = False) -> list[Told]:
    """Every partition that is not internal."""
    logs = observe.logs(world, spec)
    found = []
    with Unfaulted([node.storage for _, node in observe.brokers(world)]):
        for topic, partitions in truth_of(world).topics().items():
            for number, state in partitions.items() if not topic.startswith("__") else ():
                held = {str(broker): logs.get((topic, number, str(broker))) for broker in state["replicas"]}
                brokers = {broker: _told(log, checksums) for broker, log in held.items() if log is not None}
                found.append({"topic": topic, "partition": number, "promised": len(held), "brokers": brokers})
    return found


def _told(log: PartitionLog | DiskLog, checksums: bool) -> Told:
    if isinstance(log, DiskLog):
        return {"start": log.start, "end": log.leo, "epochs": [[*one] for one in log.epochs], "damaged": []}
    return {
        "start": log.log_start_offset, "end": log.log_end_offset,
        "epochs": [[*one] for one in log.leader_epochs.entries],
        "damaged": list(_damaged(log)) if checksums else [],
    }  # fmt: skip


def _damaged(log: PartitionLog) -> Iterator[list[int]]:
    """Stretches [first, behind the last] of batches that cannot be trusted."""
    for segment in log.segments:
        at = segment.base_offset
        try:
            for place, header in headers_from(segment.log, 0, segment.log.size):
                first = header.base_offset if header.magic >= 2 else at  # a wrapper names its last message
                at = header.next_offset
                if not is_valid(Batch(header, segment.log.peek(place, header.size), place)):
                    yield [first, at]
        except (RecordsError, StorageError):
            yield [at, segment.next_offset()]


class Copies:
    """What `copies_of` told, to be asked about single records."""

    def __init__(self, told: Sequence[Told]) -> None:
        self._brokers: dict[Partition, list[tuple[int, int, Epochs, list[list[int]]]]] = {}
        self._promised: dict[Partition, int] = {}
        for one in told:
            place = (one["topic"], one["partition"])
            self._promised[place] = one["promised"]
            self._brokers[place] = [
                (copy["start"], copy["end"], tuple((epoch, start) for epoch, start in copy["epochs"]), copy["damaged"])
                for copy in one["brokers"].values()
            ]

    def knows(self, partition: Partition) -> bool:
        return partition in self._promised

    def promised(self, partition: Partition) -> int:
        """How many disks there should be."""
        return self._promised[partition]

    def partitions(self) -> list[Partition]:
        """Those that are told of."""
        return list(self._promised)

    def edges(self, partition: Partition) -> list[int]:
        """Offsets at which the number of whole copies may change, from 0 on, going up."""
        found = {0: None}
        for start, end, epochs, damaged in self._brokers[partition]:
            for offset in (start, end, *(first for _, first in epochs), *(edge for pair in damaged for edge in pair)):
                found[offset] = None
        return sorted(found)

    def whole(self, partition: Partition, offset: int, epoch: int) -> int:
        """How many disks have what this epoch wrote at the offset, undamaged. Messages of magic 0 and 1 have no epoch:
        of these what is there counts."""
        return sum(
            start <= offset < end
            and owner_of(epochs, offset, NO_EPOCH) in (epoch, NO_EPOCH)
            and not _within(offset, damaged)
            for start, end, epochs, damaged in self._brokers[partition]
        )

    def damaged(self, partition: Partition) -> list[list[int]]:
        """Stretches [first, behind the last] where somebody's copy cannot be trusted."""
        return [pair for *_, damaged in self._brokers[partition] for pair in damaged]

    def is_damaged(self, partition: Partition, offset: int) -> bool:
        """Whether this is one of them."""
        return partition in self._brokers and _within(offset, self.damaged(partition))


def _within(offset: int, stretches: list[list[int]]) -> bool:
    return any(first <= offset < end for first, end in stretches)
