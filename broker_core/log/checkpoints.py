"""Small text files: version, number of entries, one entry a line. Written atomically.

One that cannot be read (cut, other bytes, another version) raises CorruptCheckpoint. One without a byte has no entries:
a new broker of Kafka makes the file before it has anything to write down. What follows is Kafka's:

| file | a start |
|---|---|
| recovery points, log starts | takes it as empty: everything is scanned, logs start with their first segment |
| high watermarks, cleaner offsets, leader epochs, `partition.metadata` | the directory is offline |
| `meta.properties` | another version: offline; entries that are missing are written anew |
| `.kafka_cleanshutdown` | counts by being there |

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
import json
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
META_VERSIONS = ("0", "1")
SHOWN = 40
"""Characters of what a damaged file says that are told."""
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
NO_UUID = uuid.UUID(int=0)
NO_BROKER_EPOCH = -1


class CorruptCheckpoint(Exception):
    """A checkpoint file that does not read as one; `reason` without its path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def read_offsets(storage: Storage, path: str) -> dict[tuple[str, int], int]:
    """(topic, partition) -> offset; {} when the file is missing or empty. Raises CorruptCheckpoint."""
    offsets: dict[tuple[str, int], int] = {}
    for fields in _entries(storage, path, 3):
        offsets[fields[0], _number(fields[1], path)] = _number(fields[2], path)
    return offsets


def write_offsets(storage: Storage, path: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Entries in the order of topic and partition."""
    lines = [f"{topic} {partition} {offsets[topic, partition]}" for topic, partition in sorted(offsets)]
    storage.write_text(path, "\n".join(["0", str(len(lines)), *lines, ""]))


def read_epochs(storage: Storage, path: str) -> list[tuple[int, int]]:
    """[(epoch, start offset)]; [] when the file is missing or empty. Raises CorruptCheckpoint."""
    return [(_number(fields[0], path), _number(fields[1], path)) for fields in _entries(storage, path, 2)]


def write_epochs(storage: Storage, path: str, epochs: Sequence[tuple[int, int]]) -> None:
    lines = [f"{epoch} {start}" for epoch, start in epochs]
    storage.write_text(path, "\n".join(["0", str(len(lines)), *lines, ""]))


def _entries(storage: Storage, path: str, width: int) -> list[list[str]]:
    if not storage.exists(path):
        return []
    text = storage.read_text(path)
    if not text:
        return []
    lines = text.split("\n")
    if lines[0] != "0":
        raise CorruptCheckpoint(path, f"line 1: unknown version {lines[0][:SHOWN]!r}")
    rows = [line.split(" ") for line in lines[2:] if line]
    if _number(lines[1] if len(lines) > 1 else "", path) != len(rows):
        raise CorruptCheckpoint(path, f"line 2: expected {lines[1][:SHOWN]} entries, found {len(rows)}")
    for number, row in enumerate(rows, 3):
        if len(row) != width:
            raise CorruptCheckpoint(path, f"line {number}: expected {width} fields")
    return rows


def _number(text: str, path: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CorruptCheckpoint(path, f"not a number: {text[:SHOWN]!r}") from None


def read_clean_shutdown(storage: Storage, log_dir: str) -> int | None:
    """Epoch of the broker that has shut down cleanly (-1: none is known); None when nobody has.

    A KRaft broker tells it when it registers (`PreviousBrokerEpoch`, KIP-966): a controller that knows of a later one
    takes the broker out of every ISR, since it may have lost what it had acknowledged. Of the ZooKeeper generation
    nobody asks. A file of 3.6 or older is empty.
    """
    path = f"{log_dir}/{CLEAN_SHUTDOWN}"
    if not storage.exists(path):
        return None
    try:
        return int(json.loads(storage.read_text(path))["brokerEpoch"])
    except (ValueError, TypeError, KeyError):
        return NO_BROKER_EPOCH


def write_clean_shutdown(storage: Storage, log_dir: str, broker_epoch: int) -> None:
    storage.write_text(f"{log_dir}/{CLEAN_SHUTDOWN}", f'{{"version":0,"brokerEpoch":{broker_epoch}}}')


def read_topic_id(storage: Storage, path: str) -> uuid.UUID:
    """Topic id from `partition.metadata`; the nil UUID when the file is missing."""
    if not storage.exists(path):
        return NO_UUID
    lines = [line.partition(":") for line in storage.read_text(path).split("\n")]
    found = {name.strip(): value.strip() for name, _, value in lines}
    if found.get("version") != "0":
        raise CorruptCheckpoint(path, f"unknown version {found.get('version', '')[:SHOWN]!r}")
    try:
        return uuid.UUID(bytes=base64.urlsafe_b64decode(found["topic_id"] + "=="))
    except (KeyError, ValueError):
        raise CorruptCheckpoint(path, "no topic_id") from None


def write_topic_id(storage: Storage, path: str, topic_id: uuid.UUID) -> None:
    text = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    storage.write_text(path, f"version: 0\ntopic_id: {text}")


def keep_topic_id(storage: Storage, path: str, topic_id: uuid.UUID) -> None:
    """Write `partition.metadata` unless it says so already."""
    if read_topic_id(storage, path) != topic_id:
        write_topic_id(storage, path, topic_id)


def read_meta_properties(storage: Storage, log_dir: str) -> dict[str, str]:
    """`meta.properties` of a log directory; {} when there is none. Raises CorruptCheckpoint."""
    path = f"{log_dir}/{META_PROPERTIES}"
    if not storage.exists(path):
        return {}
    pairs = (line.partition("=") for line in storage.read_text(path).split("\n") if line and line[0] != "#")
    found = {name.strip(): value.strip() for name, _, value in pairs}
    if found.get("version", "0") not in META_VERSIONS:
        raise CorruptCheckpoint(path, f"unknown version {found['version'][:SHOWN]!r}")
    return found


def write_meta_properties(storage: Storage, log_dir: str, properties: Mapping[str, str]) -> None:
    """Java properties, sorted: `broker.id`, `cluster.id`, `version` (0: ZooKeeper, 1: KRaft)."""
    lines = [f"{name}={properties[name]}" for name in sorted(properties)]
    storage.write_text(f"{log_dir}/{META_PROPERTIES}", "\n".join(["#", *lines, ""]))
