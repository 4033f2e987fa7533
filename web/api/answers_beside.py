"""What one scenario in both generations of Kafka is answered with: two runs on one clock."""

from __future__ import annotations

from typing import Any, Literal

from web.api.answers import Belief
from web.api.answers_bytes import Closed


class Beliefs(Closed):
    """Who believed what from `t_us` on."""

    t_us: int
    rows: list[Belief]


class BesideFigures(Closed):
    """What can be held against each other. Microseconds: without a controller, without a leader of the partition, with
    a running broker that believes another leader than the truth, of the longest time without an acknowledgement, and of
    the time in which a new controller read `read_partitions` partitions. The rest are counts."""

    controller_us: int
    leader_us: int
    disagree_us: int
    outage_us: int
    controller_elections: int
    control_requests: int | None
    tree_writes: int | None
    watches: int | None
    votes: int | None
    metadata_records: int | None
    read_us: int | None
    read_partitions: int | None


class BesideRun(Closed):
    """One of the two. Spans are [from_us, until_us, id or null], events as in `labs/lab/events`."""

    run: str
    scenario: str
    variant: str
    generation: Literal["zookeeper", "kraft"]
    partition: str
    until_us: int
    processes: list[str]
    controller: list[list[int | None]]
    leader: list[list[int | None]]
    beliefs: list[Beliefs]
    figures: BesideFigures
    events: list[list[Any]]
    only: dict[str, list[str]]


class Beside(Closed):
    """ZooKeeper first, then KRaft."""

    scenario: str
    until_us: int
    runs: list[BesideRun]
