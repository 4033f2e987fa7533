"""What has become of an acknowledged record: four words, defined here and nowhere else.

| word | exact test |
|---|---|
| lost | acked, and gone from the log that counts: none of the places where it stood is there any more |
| unread | acked, there, and nobody has read it yet |
| at risk | acked, there, and on fewer disks than its topic promises (the replication factor) |
| duplicated | a further place of a value that stands at one already |

A record is *lost* or it is *there*; what is there may be *unread*, *at risk*, or both. What a rule that somebody has
set takes away is neither: `removed`, acked and never read, was deleted by retention, by DeleteRecords, with its
topic, or compacted away. A promise that is kept until its time is over is not broken.

**The log that counts** is that of a partition's last leader (`lineage`): what only an old leader has, no consumer will
get. That somebody read a record before it went does not bring it back: it is lost all the same. Where a run has no
journal, the history itself has to do: what readers have passed without finding it is lost (`PASSED`).

With acks=0 nobody tells the producer where its records stand. Such a record is lost when one that the same producer
sent after it has been read in its partition, or when the whole log was read and it was not in it (`NEVER_THERE`).

How a record was lost is the `test` of its place:

| test | what is known |
|---|---|
| cut | a leader that came later does not have it, or the leader's disk has lost it |
| missing | the log was read from its beginning to its end, and the record was not in it |
| passed | readers have passed its place without finding it; the run has no journal |
| never-there | acks=0: later ones of its producer are there |
| unreadable | every copy of it is damaged |
"""

from __future__ import annotations

from enum import StrEnum


class Fate(StrEnum):
    """What an acknowledged record is: exactly one of them."""

    READ = "read"
    UNREAD = "unread"
    REMOVED = "removed"
    LOST = "lost"


class Test(StrEnum):
    """What shows that a record is lost."""

    CUT = "cut"
    MISSING = "missing"
    PASSED = "passed"
    NEVER_THERE = "never-there"
    UNREADABLE = "unreadable"


class Stand(StrEnum):
    """What the log that counts says of a place: the record is there, cut off, removed by a rule; or nobody knows."""

    THERE = "there"
    CUT = "cut"
    REMOVED = "removed"
    UNKNOWN = "unknown"
