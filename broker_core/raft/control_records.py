"""Control records of the metadata log and of its snapshots, and whole batches of them.

| type | where | what it says |
|---|---|---|
| LEADER_CHANGE | first record of each epoch | leader, voters, who voted for it |
| KRAFT_VERSION | log and snapshot | kraft.version: 0 static voters, 1 dynamic ones |
| KRAFT_VOTERS | log and snapshot | the voters from here on; they count when written, not when committed |
| SNAPSHOT_HEADER, SNAPSHOT_FOOTER | ends of a snapshot | time of the last record in it; that it is whole |

The key is `00 00` and the type, the value begins with its version: of leader 102 and voters 101 to 103,

    00 00 | 00 00 00 66 | 04 00 00 00 65 00 00 00 00 66 00 ... | 03 ... | 00
    ver     leader        voters (compact array, tagged fields)   granting voters

Source: ControlRecordUtils, LeaderChangeMessage.json, VotersRecord.json; KIP-595, KIP-630, KIP-853.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Any

from broker_core.raft.voters import Listener, ReplicaKey, VoterNode, VoterSet
from broker_core.records.batch import encode_batch
from broker_core.records.control import (
    KRAFT_VERSION,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    Control,
)
from broker_core.wire import messages as m
from broker_core.wire.compiled import write_message

_KEY = Struct(">hh")


def control_batch(
    controls: Sequence[Control], timestamp_ms: int, leader_epoch: int, base_offset: int = 0
) -> bytearray:
    """One control batch."""
    records = [(timestamp_ms, _KEY.pack(0, kind), _value(message), ()) for kind, message in controls]
    return encode_batch(records, base_offset, leader_epoch=leader_epoch, control=True)


def _value(message: Any) -> bytes:
    return b"".join(write_message(type(message), message.version, message, bytearray(), sized=False))


# -- what they say --------------------------------------------------------------------------------
def leader_change(leader: int, voters: Iterable[ReplicaKey], granting: Iterable[ReplicaKey]) -> Control:
    """Who leads from here on. Version 1 would name directories, too; Kafka 4.3 writes 0 with dynamic voters as well."""
    voter = m.LeaderChangeMessage.Voter
    message = m.LeaderChangeMessage(
        version=0, leader_id=leader, voters=[voter(voter_id=key.id) for key in voters],
        granting_voters=[voter(voter_id=key.id) for key in granting],
    )  # fmt: skip
    return LEADER_CHANGE, message


def kraft_version(level: int) -> Control:
    return KRAFT_VERSION, m.KRaftVersionRecord(version=0, k_raft_version=level)


def voters_record(voters: VoterSet) -> Control:
    kind = m.VotersRecord
    described = [
        kind.Voter(
            voter_id=node.key.id, voter_directory_id=node.key.directory,
            endpoints=[kind.Endpoint(name=one.name, host=one.host, port=one.port) for one in node.listeners],
            k_raft_version_feature=kind.KRaftVersionFeature(
                min_supported_version=node.min_version, max_supported_version=node.max_version
            ),
        )
        for node in voters
    ]  # fmt: skip
    return KRAFT_VOTERS, kind(version=0, voters=described)


def voters_of(message: Any) -> VoterSet:
    """The set that a VotersRecord describes."""
    return VoterSet(
        VoterNode(
            ReplicaKey(voter.voter_id, voter.voter_directory_id),
            tuple(Listener(one.name, one.host, one.port) for one in voter.endpoints),
            voter.k_raft_version_feature.min_supported_version,
            voter.k_raft_version_feature.max_supported_version,
        )
        for voter in message.voters
    )


def snapshot_header(last_timestamp_ms: int) -> Control:
    """`last_timestamp_ms`: of the newest batch that the snapshot stands for."""
    return SNAPSHOT_HEADER, m.SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_timestamp_ms)


def snapshot_footer() -> Control:
    return SNAPSHOT_FOOTER, m.SnapshotFooterRecord(version=0)
