"""A log's directory gets another name, and its files stay open.

| when | `orders-0` becomes |
|---|---|
| another directory of `log.dirs` takes it over | the same name there |
| its topic is deleted | `orders-0.<unique>-delete`, whose files go `file.delete.delay.ms` later |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog

LONGEST_NAME = 255


def move_directory(log: PartitionLog, directory: str) -> None:
    """Rename the directory, and with it every path that is known here."""
    log.storage.rename(log.directory, directory)
    for segment in log.segments:
        segment.moved_to(directory)
    log.deleted_files = [(due, directory + path[len(log.directory) :]) for due, path in log.deleted_files]
    log.directory = directory
    log.leader_epochs.moved_to(log.epochs_path)


def rename_for_delete(log: PartitionLog, unique: str) -> None:
    """`<topic>-<partition>.<unique>-delete`, the topic cut so that it fits a file name."""
    parent = log.directory.rpartition("/")[0]
    suffix = f"-{log.partition}.{unique}-delete"
    name = log.topic[: LONGEST_NAME - len(suffix)] + suffix
    move_directory(log, f"{parent}/{name}" if parent else name)
