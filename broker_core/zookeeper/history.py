"""What a server of an ensemble remembers: its promises of epochs, and the last transactions.

| file | says |
|---|---|
| version-2/acceptedEpoch | the newest epoch whose leader it has promised to obey |
| version-2/currentEpoch | the epoch whose leader's log it has taken over |

Of the committed transactions the last 500 are at hand, so that a follower that lacks a few gets just these:

| the follower's last zxid | the leader remembers 0x200000003 .. 0x200000009 | it gets |
|---|---|---|
| 0x200000005 | | Diff: 6, 7, 8, 9 |
| 0x20000000b | it has two that were never committed | Truncate to 0x200000009 |
| 0x100000042 | two of a leader that died with them, or many missing | Snapshot |

Source: LearnerHandler.syncFollower, FileTxnSnapLog; the Zab paper, section V ("Zab phases").
"""

from __future__ import annotations

from collections import deque

from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage import Storage
from broker_core.zookeeper.tree import Txn
from broker_core.zookeeper.txnlog import DIRECTORY, REMEMBERED

Entry = tuple[int, int, Txn]  # zxid, time, transaction


class Epochs:
    """The two promises, 0 before the first."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.accepted = self.current = 0

    def load(self) -> None:
        """Raises StorageError: who does not know what he has promised must not vote."""
        self.accepted = self._read("acceptedEpoch")
        self.current = self._read("currentEpoch")

    def accept(self, epoch: int) -> None:
        """Raises StorageError."""
        self.accepted = epoch
        self.storage.write_text(f"{DIRECTORY}/acceptedEpoch", f"{epoch}\n")

    def begin(self, epoch: int) -> None:
        """Raises StorageError."""
        self.current = epoch
        self.storage.write_text(f"{DIRECTORY}/currentEpoch", f"{epoch}\n")

    def _read(self, name: str) -> int:
        """Raises StorageError."""
        path = f"{DIRECTORY}/{name}"
        if not self.storage.exists(path):
            return 0
        text = self.storage.read_text(path).strip()
        if not text.isdigit():
            raise StorageError(path, "read", f"not an epoch: {text[:20]!r}")
        return int(text)


class History:
    """The last committed transactions. `base`: the one before the first of them."""

    def __init__(self, base: int, entries: deque[Entry]) -> None:
        self.base = base
        self.entries: deque[Entry] = deque(maxlen=REMEMBERED)
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        if len(self.entries) == REMEMBERED:
            self.base = self.entries[0][0]
        self.entries.append(entry)

    @property
    def last(self) -> int:
        return self.entries[-1][0] if self.entries else self.base

    def behind(self, zxid: int) -> tuple[int, tuple[Entry, ...]] | None:
        """(what to truncate to, what to send then) for a log that ends with `zxid`; None: it needs the whole tree."""
        if zxid < self.base:
            return None
        known = [self.base, *(entry[0] for entry in self.entries if entry[0] <= zxid)]
        return known[-1], tuple(entry for entry in self.entries if entry[0] > known[-1])
