"""`quorum-state`: what a voter must not forget. Written before anything is promised.

    {"leaderId":102,"leaderEpoch":3,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}

Version 0 (kraft.version 0) also names the voters and no directory. A voter that forgot its vote could vote twice in
one epoch, and the epoch could have two leaders. Source: FileQuorumStateStore, QuorumStateData.json.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from broker_core.kernel.storage import Storage
from broker_core.log.checkpoints import CorruptCheckpoint
from broker_core.raft.voters import NO_DIRECTORY, ReplicaKey

FILE = "quorum-state"
NOBODY = -1


class CorruptQuorumState(CorruptCheckpoint):
    """A `quorum-state` that does not read as one: the replica cannot know what it has promised."""


class ElectionState(NamedTuple):
    """Epoch, leader and vote as they are stored."""

    epoch: int
    leader_id: int | None = None
    voted: ReplicaKey | None = None


class QuorumStateFile:
    """The file in the directory of the metadata log."""

    def __init__(self, storage: Storage, directory: str) -> None:
        self.storage = storage
        self.path = f"{directory}/{FILE}"

    def read(self) -> ElectionState | None:
        """None when there is none. Raises CorruptQuorumState."""
        if not self.storage.exists(self.path):
            return None
        try:
            found = json.loads(self.storage.read_text(self.path))
            if found["data_version"] not in (0, 1):
                raise CorruptQuorumState(self.path, f"unknown data_version {found['data_version']!r}")
            leader, voted = int(found["leaderId"]), int(found["votedId"])
            directory = _uuid(found["votedDirectoryId"]) if found["data_version"] == 1 else NO_DIRECTORY
            epoch = int(found["leaderEpoch"])
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptQuorumState(self.path, str(error)) from None
        return ElectionState(
            epoch, leader if leader >= 0 else None, ReplicaKey(voted, directory) if voted >= 0 else None
        )

    def write(self, state: ElectionState, kraft_version: int, voters: Sequence[int]) -> None:
        """Atomically, and to stable storage. Raises StorageError."""
        leader = NOBODY if state.leader_id is None else state.leader_id
        voted = NOBODY if state.voted is None else state.voted.id
        content: dict[str, object]
        if kraft_version == 0:
            content = {
                "clusterId": "", "leaderId": leader, "leaderEpoch": state.epoch, "votedId": voted, "appliedOffset": 0,
                "currentVoters": [{"voterId": voter} for voter in voters], "data_version": 0,
            }  # fmt: skip
        else:
            directory = state.voted.directory if state.voted is not None else NO_DIRECTORY
            content = {
                "leaderId": leader, "leaderEpoch": state.epoch, "votedId": voted, "votedDirectoryId": _text(directory),
                "data_version": 1,
            }  # fmt: skip
        self.storage.write_text(self.path, json.dumps(content, separators=(",", ":")))


def _text(directory: uuid.UUID) -> str:
    return base64.urlsafe_b64encode(directory.bytes).decode().rstrip("=")


def _uuid(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
