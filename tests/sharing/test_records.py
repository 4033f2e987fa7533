"""Apache Kafka's DumpLogSegments reads what the share coordinator writes; names of share-partitions."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log.config import LogConfig
from broker_core.log.partition_log import PartitionLog
from broker_core.records.batch import encode_batch
from broker_core.sharing.batches import ACKNOWLEDGED, AVAILABLE, StateBatch
from broker_core.sharing.records import ShareKey, decoded, encoded
from broker_core.sharing.state import ShareState, snapshot_record, tombstone, update_record

NOW = 1_700_000_000_000
KEY = ShareKey("g:1", uuid.UUID(int=5), 3)
STATE = ShareState(1, 2, 3, 10, 4, (StateBatch(10, 11, AVAILABLE, 2),), NOW, NOW + 1)
RECORDS = [
    snapshot_record(KEY, STATE), update_record(KEY, STATE, 3, -1, 5, (StateBatch(11, 11, ACKNOWLEDGED, 2),)), tombstone(KEY),
]  # fmt: skip


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_survives_its_bytes(record: object) -> None:
    assert decoded(*encoded(record)) == record  # type: ignore[arg-type]


def test_a_share_partition_is_looked_for_by_its_name() -> None:
    assert KEY.name == "g:1:AAAAAAAAAAAAAAAAAAAABQ:3"
    assert ShareKey.parse(KEY.name) == KEY
    for wrong in ("x", "a:b", ":AAAAAAAAAAAAAAAAAAAABQ:3", "g:AAAAAAAAAAAAAAAAAAAABQ:z", "g:AA:1"):
        with pytest.raises(ValueError):
            ShareKey.parse(wrong)


def test_apaches_decoder_reads_what_we_write(require_oracle: Path, tmp_path: Path) -> None:
    storage = MemoryStorage()
    log = PartitionLog(storage, "s", "__share_group_state", 0, LogConfig(), NOW)
    for record in RECORDS:
        key, value = encoded(record)
        log.append_as_leader(encode_batch([(NOW, key, value, ())]), 0, NOW)
    segment = tmp_path / "00000000000000000000.log"
    name = next(one for one in storage.files if one.endswith(".log"))
    segment.write_bytes(bytes(storage.files[name].read(0, storage.files[name].size)))
    tool = ["--newest", "tool", "org.apache.kafka.tools.DumpLogSegments", "--share-group-state-decoder", "--files", str(segment)]
    command = [sys.executable, str(require_oracle), *tool]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
    shown = [line.split(" payload: ") for line in lines if " key: " in line]
    keys = [json.loads(before.split(" key: ")[1]) for before, _ in shown]
    values = [after for _, after in shown]
    about = {"groupId": "g:1", "topicId": "AAAAAAAAAAAAAAAAAAAABQ", "partition": 3}
    assert [(one["type"], one["data"]) for one in keys] == [("0", about), ("1", about), ("0", about)]
    assert json.loads(values[0])["data"] == {
        "snapshotEpoch": 1, "stateEpoch": 2, "leaderEpoch": 3, "startOffset": 10, "deliveryCompleteCount": 4,
        "createTimestamp": NOW, "writeTimestamp": NOW + 1,
        "stateBatches": [{"firstOffset": 10, "lastOffset": 11, "deliveryState": 0, "deliveryCount": 2}],
    }  # fmt: skip
    assert json.loads(values[1])["data"] == {
        "snapshotEpoch": 1, "leaderEpoch": 3, "startOffset": -1, "deliveryCompleteCount": 5,
        "stateBatches": [{"firstOffset": 11, "lastOffset": 11, "deliveryState": 2, "deliveryCount": 2}],
    }  # fmt: skip
    assert values[2] == "<DELETE>"
