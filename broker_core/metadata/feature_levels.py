"""Feature levels: what a cluster may do, raised by its operators when all its processes know it (KIP-584, KIP-1022).

    process      "I know metadata.version 7 to 30"        supported: in its registration
    cluster      metadata.version is 30                   finalized: a FeatureLevelRecord; 0 means "not used"

| feature | levels | of a new 4.3 cluster | what its newest level brings |
|---|---|---|---|
| metadata.version | 7 to 30 | 30 | records and requests of 4.3 |
| kraft.version | 0, 1 | 0, 1 with voters that can change | voters in the log (KIP-853) |
| transaction.version | 0 to 2 | 2 | a new epoch for every transaction (KIP-890) |
| group.version | 0, 1 | 1 | the next generation of consumer groups (KIP-848) |
| share.version | 0, 1 | 1 | share groups (KIP-932) |
| streams.version | 0, 1 | 1 | streams groups (KIP-1071) |
| eligible.leader.replicas.version | 0, 1 | 1 | eligible leader replicas (KIP-966) |

metadata.version has names: 30 is "4.3-IV0". A level that brought a new kind or version of record can not be left
again: what is written may need it.
Source: MetadataVersion, Feature, QuorumFeatures.
"""

from __future__ import annotations

from typing import NamedTuple

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELR_VERSION = "eligible.leader.replicas.version"
TRANSACTIONS = "transaction.version"
OLDEST, NEWEST = 7, 30

SUPPORTED: dict[str, tuple[int, int]] = {
    METADATA_VERSION: (OLDEST, NEWEST), KRAFT_VERSION: (0, 1), TRANSACTIONS: (0, 2), "group.version": (0, 1),
    ELR_VERSION: (0, 1), "share.version": (0, 1), "streams.version": (0, 1),
}  # fmt: skip
"""Least and highest level that this software knows."""

NEW_CLUSTER: dict[str, int] = {
    METADATA_VERSION: NEWEST, ELR_VERSION: 1, "group.version": 1, "share.version": 1, "streams.version": 1,
    TRANSACTIONS: 2,
}  # fmt: skip
"""Levels of a new cluster, in the order in which `kafka-storage format` writes them."""

DEPENDENCIES: dict[tuple[str, int], dict[str, int]] = {(ELR_VERSION, 1): {METADATA_VERSION: 23}}
"""Levels that another level needs."""


class Finalized(NamedTuple):
    """The levels that hold in a cluster, as one process knows them; `epoch`: the offset in the metadata log as of which
    it does, -1 while it has read nothing. A feature at level 0 is not in use, and not named."""

    levels: dict[str, int]
    epoch: int


_RELEASES = {"3.3": (3, 3), "3.4": (0, 0), "3.5": (0, 2), "3.6": (0, 2), "3.7": (0, 4), "3.8": (0, 0), "3.9": (0, 0),
             "4.0": (0, 3), "4.1": (0, 1), "4.2": (0, 1), "4.3": (0, 0)}  # fmt: skip
_NAMES = [f"{release}-IV{one}" for release, (first, last) in _RELEASES.items() for one in range(first, last + 1)]
_NEW_RECORDS = (7, 8, 11, 13, 14, 15, 17, 23, 30)
"""Levels that have brought records."""


def version_name(level: int) -> str:
    """`30` is "4.3-IV0"."""
    return _NAMES[level - OLDEST]


def loses_metadata(level: int, now: int) -> bool:
    """Whether going from `now` down to `level` could leave records that nobody understands."""
    return any(level < one <= now for one in _NEW_RECORDS)


def why_not_in(level: int, what: str, known: tuple[int, int] | None) -> str | None:
    """Why `what` does not know this level, in Kafka's words; None when it does. `known`: None for no such feature."""
    least, most = known or (0, 0)
    if least <= level <= most:
        return None
    if most == 0:
        return f"{what} does not support this feature."
    return f"{what} only supports versions {least if least == most else f'{least}-{most}'}"
