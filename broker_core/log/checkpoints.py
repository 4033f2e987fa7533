"""Small text files: version, number of entries, one entry a line. Written atomically.

    0                     version
    2                     entries
    orders 0 56           topic, partition, offset
    orders 1 40

`recovery-point-offset-checkpoint`, `replication-offset-checkpoint` (high watermarks),
`log-start-offset-checkpoint` and `cleaner-offset-checkpoint` (first dirty offsets) stand in each log
directory; `leader-epoch-checkpoint` (lines `epoch start-offset`) and `partition.metadata` in each
partition's; `meta.properties` names the owner of a log directory.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping, Sequence

from broker_core.kernel.storage import Storage

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
NO_UUID = uuid.UUID(int=0)


class CorruptCheckpoint(Exception):
    """A checkpoint file that does not read as one."""


def read_offsets(storage: Storage, path: str) -> dict[tuple[str, int], int]:
    """(topic, partition) -> offset; {} when the file is missing. Raises CorruptCheckpoint."""
    offsets: dict[tuple[str, int], int] = {}
    for fields in _entries(storage, path, 3):
        offsets[fields[0], _number(fields[1], path)] = _number(fields[2], path)
    return offsets


def write_offsets(storage: Storage, path: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Entries in the order of topic and partition."""
    lines = [f"{topic} {partition} {offsets[topic, partition]}" for topic, partition in sorted(offsets)]
    storage.write_text(path, "\n".join(["0", str(len(lines)), *lines, ""]))


def read_epochs(storage: Storage, path: str) -> list[tuple[int, int]]:
    """[(epoch, start offset)]; [] when the file is missing. Raises CorruptCheckpoint."""
    return [(_number(fields[0], path), _number(fields[1], path)) for fields in _entries(storage, path, 2)]


def write_epochs(storage: Storage, path: str, epochs: Sequence[tuple[int, int]]) -> None:
    lines = [f"{epoch} {start}" for epoch, start in epochs]
    storage.write_text(path, "\n".join(["0", str(len(lines)), *lines, ""]))


def _entries(storage: Storage, path: str, width: int) -> list[list[str]]:
    if not storage.exists(path):
        return []
    lines = storage.read_text(path).split("\n")
    if lines[0] != "0":
        raise CorruptCheckpoint(f"{path} line 1: unknown version {lines[0]!r}")
    rows = [line.split(" ") for line in lines[2:] if line]
    if _number(lines[1] if len(lines) > 1 else "", path) != len(rows):
        raise CorruptCheckpoint(f"{path} line 2: expected {lines[1]} entries, found {len(rows)}")
    for number, row in enumerate(rows, 3):
        if len(row) != width:
            raise CorruptCheckpoint(f"{path} line {number}: expected {width} fields")
    return rows


def _number(text: str, path: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CorruptCheckpoint(f"{path}: not a number: {text!r}") from None


def read_topic_id(storage: Storage, path: str) -> uuid.UUID:
    """Topic id from `partition.metadata`; the nil UUID when the file is missing."""
    if not storage.exists(path):
        return NO_UUID
    for line in storage.read_text(path).split("\n"):
        name, _, value = line.partition(":")
        if name == "topic_id":
            return uuid.UUID(bytes=base64.urlsafe_b64decode(value.strip() + "=="))
    raise CorruptCheckpoint(f"{path}: no topic_id")


def write_topic_id(storage: Storage, path: str, topic_id: uuid.UUID) -> None:
    text = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    storage.write_text(path, f"version: 0\ntopic_id: {text}")


def read_meta_properties(storage: Storage, log_dir: str) -> dict[str, str]:
    """`meta.properties` of a log directory; {} when there is none."""
    path = f"{log_dir}/{META_PROPERTIES}"
    if not storage.exists(path):
        return {}
    pairs = (line.partition("=") for line in storage.read_text(path).split("\n") if line and line[0] != "#")
    return {name.strip(): value.strip() for name, _, value in pairs}


def write_meta_properties(storage: Storage, log_dir: str, properties: Mapping[str, str]) -> None:
    """Java properties, sorted: `broker.id`, `cluster.id`, `version` (0: ZooKeeper, 1: KRaft)."""
    lines = [f"{name}={properties[name]}" for name in sorted(properties)]
    storage.write_text(f"{log_dir}/{META_PROPERTIES}", "\n".join(["#", *lines, ""]))
