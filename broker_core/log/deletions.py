"""Directories that were deleted and wait for `file.delete.delay.ms` [60 s]; then they go, a slice at a time.

    orders-0.<unique>-delete    the replica was deleted
    the same                    found at a start: the delay begins anew

A topic of a thousand partitions is deleted in one event, so all of them are due in one millisecond. A slice removes so
many files (Kafka's thread `kafka-delete-logs` may take as long as it likes, as nobody waits for it):

    most = 64    a-0 .. a-9, of 6 files each  |  a-10 .. a-19  |  ...  |  b-0: 64 of 70 files  |  its last 6, b-1, ...
                 slice 1: 60, no room for 6      slice 2

A directory goes whole when there is room for it in a slice, otherwise file by file. Deleted files of logs that are
there (`retention`) come first. A crash between two slices leaves directories that are found at the next start.
"""

from __future__ import annotations

from broker_core.kernel.storage import Storage

AT_ONCE = -1 << 62
"""Due, whatever the broker's clock says."""


class Deletions:
    """Of one broker. `waiting`: from when on each may go, in ms of its clock, and the directory; oldest first."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.waiting: list[tuple[int, str]] = []

    def add(self, due_ms: int, directory: str) -> None:
        """It may go at `due_ms`."""
        self.waiting.append((due_ms, directory))

    @property
    def wait(self) -> bool:
        """Whether one waits for its delay."""
        return any(due != AT_ONCE for due, _ in self.waiting)

    def end_delay(self) -> None:
        """All of them may go now."""
        self.waiting = [(AT_ONCE, directory) for _, directory in self.waiting]

    def forget_below(self, log_dir: str) -> None:
        """Nothing can be deleted there any more."""
        self.waiting = [(due, path) for due, path in self.waiting if not path.startswith(f"{log_dir}/")]

    def remove(self, now_ms: int, most: int | None = None, done: int = 0) -> bool:
        """Remove what is due until the slice has removed `most` files (None: no limit), `done` of them already.

        True when nothing is left that is due. Raises StorageError.
        """
        for entry in [entry for entry in self.waiting if entry[0] <= now_ms]:
            directory = entry[1]
            if most is not None:
                names = self.storage.list(directory)
                if len(names) > most - done:
                    for name in names[:most] if not done else ():
                        self.storage.delete(f"{directory}/{name}")
                    return False
                done += max(1, len(names))
            self.storage.delete(directory)
            self.waiting.remove(entry)
        return True
