"""The metadata log; made by `lab.clusters.inspect_metadata`."""

from __future__ import annotations

from typing import Any

from web.api.answers_bytes import Closed


class About(Closed):
    """What a record changes: partition orders-0, topic orders, broker 2, controller 101, config topic:orders, feature,
    producer_ids."""

    kind: str
    name: str


class MetadataRecord(Closed):
    """One record; `data` with the names of Kafka's definitions. `control`: of the quorum itself. `t_us`: when it was
    written."""

    offset: int
    epoch: int
    t_us: int
    control: bool
    kind: str
    version: int | None
    data: dict[str, Any] | None
    about: About | None
    error: str | None


class MetadataSnapshot(Closed):
    """A snapshot in the directory of the log: all in front of offset `end`."""

    file: str
    end: int
    epoch: int
    size: int


class QuorumReplica(Closed):
    """A process with a copy of the log, or a voter that is `gone`: `lag` in records behind what is committed. Of
    a broker: `registered`, whether the controller knows it; `fenced`, `leaving`: null where it does not."""

    id: int
    node: str
    state: str
    epoch: int | None
    voter: bool
    leo: int | None
    applied: int | None
    lag: int | None
    caught_up_ms: int | None
    registered: bool | None
    fenced: bool | None
    leaving: bool | None


class MetadataView(Closed):
    """of=metadata: a page of the log of one process, or of a snapshot (`file`)."""

    node: str
    start: int
    end: int
    epoch: int
    applied: int
    committed: int | None
    snapshots: list[MetadataSnapshot]
    replicas: list[QuorumReplica]
    file: str | None
    records: list[MetadataRecord]
    before: int | None
    next: int | None


class FieldChange(Closed):
    """A field of the subject; null: it had, or has, none."""

    field: str
    before: Any
    after: Any


class MetadataRecordView(MetadataRecord):
    """of=metadata_record; `changes`: null when they cannot be told."""

    node: str
    file: str | None
    changes: list[FieldChange] | None
