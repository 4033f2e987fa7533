"""Topic settings, and the broker settings that stand in for them.

A topic that does not set `retention.ms` takes the broker's `log.retention.ms`; where that is not set
either, `log.retention.minutes`, then `log.retention.hours`, turned into milliseconds.
"""

from __future__ import annotations

from broker_core.metadata.configs_checks import FormatVersion, OneOf, Range, RangeOr, ThrottledReplicas
from broker_core.metadata.configs_types import KRAFT, ZOOKEEPER, ConfigType, UpdateMode
from broker_core.metadata.configs_types import Setting as S

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
LONG = ConfigType.LONG
DOUBLE = ConfigType.DOUBLE
LIST = ConfigType.LIST
CLUSTER_WIDE = UpdateMode.CLUSTER_WIDE

TOPIC: tuple[S, ...] = (
    S("cleanup.policy", LIST, "delete", OneOf(("compact", "delete")), CLUSTER_WIDE,
      "What happens to old segments: `delete` them, `compact` them by key, or both."),
    S("retention.ms", LONG, "604800000", Range(-1), CLUSTER_WIDE,
      "How long a closed segment is kept after its newest record; -1 keeps it."),
    S("retention.bytes", LONG, "-1", None, CLUSTER_WIDE,
      "Size of one partition above which its oldest closed segments are deleted; -1 is no limit."),
    S("segment.bytes", INT, "1073741824", Range(14), CLUSTER_WIDE,
      "Size at which the active segment is closed and a new one begun.", kraft_check=Range(1048576)),
    S("segment.ms", LONG, "604800000", Range(1), CLUSTER_WIDE,
      "Age at which the active segment is closed even when it is small."),
    S("segment.jitter.ms", LONG, "0", Range(0), CLUSTER_WIDE,
      "Random part taken off `segment.ms`, so that segments do not all roll at once."),
    S("segment.index.bytes", INT, "10485760", Range(4), CLUSTER_WIDE,
      "Largest size of an offset index or time index; a full index rolls the segment."),
    S("index.interval.bytes", INT, "4096", Range(0), CLUSTER_WIDE,
      "Bytes of records between two entries of the offset index."),
    S("preallocate", BOOLEAN, "false", None, CLUSTER_WIDE,
      "Whether a new segment's file gets its full size at once."),
    S("file.delete.delay.ms", LONG, "60000", Range(0), CLUSTER_WIDE,
      "Time between a segment's renaming to `.deleted` and the end of its files."),
    S("flush.messages", LONG, "9223372036854775807", Range(1), CLUSTER_WIDE,
      "Records appended to a partition before it is flushed to disk."),
    S("flush.ms", LONG, "9223372036854775807", Range(0), CLUSTER_WIDE,
      "Longest time a record stays unflushed."),
    S("max.message.bytes", INT, "1048588", Range(0), CLUSTER_WIDE,
      "Largest record batch the topic takes, after compression."),
    S("min.insync.replicas", INT, "1", Range(1), CLUSTER_WIDE,
      "Replicas that must be in sync for a write with acks=all to be taken."),
    S("unclean.leader.election.enable", BOOLEAN, "false", None, CLUSTER_WIDE,
      "Whether a replica outside the ISR may lead when nobody else is left, at the price of lost records."),
    S("compression.type", STRING,
      "producer", OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")), CLUSTER_WIDE,
      "Codec of stored batches; `producer` keeps what the producer chose."),
    S("compression.gzip.level", INT, "-1", RangeOr(1, 9, -1), CLUSTER_WIDE,
      "Level used when the broker itself compresses with gzip."),
    S("compression.lz4.level", INT, "9", Range(1, 17), CLUSTER_WIDE,
      "Level used when the broker itself compresses with lz4."),
    S("compression.zstd.level", INT, "3", Range(-131072, 22), CLUSTER_WIDE,
      "Level used when the broker itself compresses with zstd."),
    S("min.cleanable.dirty.ratio", DOUBLE, "0.5", Range(0, 1), CLUSTER_WIDE,
      "Share of dirty bytes from which on a log is worth cleaning."),
    S("min.compaction.lag.ms", LONG, "0", Range(0), CLUSTER_WIDE,
      "Time a record is safe from compaction."),
    S("max.compaction.lag.ms", LONG, "9223372036854775807", Range(1), CLUSTER_WIDE,
      "Time after which a record must have been considered by compaction."),
    S("delete.retention.ms", LONG, "86400000", Range(0), CLUSTER_WIDE,
      "How long tombstones and transaction markers stay readable in a compacted log."),
    S("message.timestamp.type", STRING, "CreateTime", OneOf(("CreateTime", "LogAppendTime")), CLUSTER_WIDE,
      "Whose time a record carries: the producer's (CreateTime) or the broker's (LogAppendTime)."),
    S("message.timestamp.difference.max.ms", LONG, "9223372036854775807", Range(0), CLUSTER_WIDE,
      "Largest difference allowed between a record's time and the broker's, both ways.", era=ZOOKEEPER),
    S("message.timestamp.before.max.ms", LONG, "9223372036854775807", Range(0), CLUSTER_WIDE,
      "How far a record's time may lie behind the broker's."),
    S("message.timestamp.after.max.ms", LONG, "9223372036854775807", Range(0), CLUSTER_WIDE,
      "How far a record's time may lie ahead of the broker's.", kraft_default="3600000"),
    S("message.format.version", STRING, "3.0-IV1", FormatVersion(), CLUSTER_WIDE,
      "Release whose record format the log is written in; ignored from inter.broker.protocol.version 3.0 on.",
      era=ZOOKEEPER),
    S("message.downconversion.enable", BOOLEAN, "true", None, CLUSTER_WIDE,
      "Whether records are converted down for consumers that know only old formats.", era=ZOOKEEPER),
    S("leader.replication.throttled.replicas", LIST, "", ThrottledReplicas(), CLUSTER_WIDE,
      "Replicas whose leader side is throttled, as `partition:broker,...`, or `*`."),
    S("follower.replication.throttled.replicas", LIST, "", ThrottledReplicas(), CLUSTER_WIDE,
      "Replicas whose follower side is throttled, as `partition:broker,...`, or `*`."),
    S("remote.storage.enable", BOOLEAN, "false", None, CLUSTER_WIDE,
      "Whether closed segments of the topic go to remote storage (KIP-405)."),
    S("local.retention.ms", LONG, "-2", Range(-2), CLUSTER_WIDE,
      "How long a tiered partition's segments stay on local disks; -2 takes the total retention."),
    S("local.retention.bytes", LONG, "-2", Range(-2), CLUSTER_WIDE,
      "Size of a tiered partition on local disks; -2 takes the total retention size."),
    S("remote.log.copy.disable", BOOLEAN, "false", None, CLUSTER_WIDE,
      "Whether a tiered topic stops to copy more segments to the remote storage."),
    S("remote.log.delete.on.disable", BOOLEAN, "false", None, CLUSTER_WIDE,
      "Whether the remote segments go when tiering is switched off for the topic."),
    S("internal.segment.bytes", INT, None, None, CLUSTER_WIDE,
      "Segment size below the public limit of 1 MiB, for tests.", era=KRAFT, internal=True),
)

# Topic setting -> broker settings with the factor that turns their unit into the topic's, finest unit first.
SYNONYMS: dict[str, tuple[tuple[str, int], ...]] = {
    "cleanup.policy": (("log.cleanup.policy", 1),),
    "retention.ms": (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
    "retention.bytes": (("log.retention.bytes", 1),),
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", 3_600_000)),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", 3_600_000)),
    "segment.index.bytes": (("log.index.size.max.bytes", 1),),
    "index.interval.bytes": (("log.index.interval.bytes", 1),),
    "preallocate": (("log.preallocate", 1),),
    "file.delete.delay.ms": (("log.segment.delete.delay.ms", 1),),
    "flush.messages": (("log.flush.interval.messages", 1),),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    "max.message.bytes": (("message.max.bytes", 1),),
    "min.insync.replicas": (("min.insync.replicas", 1),),
    "unclean.leader.election.enable": (("unclean.leader.election.enable", 1),),
    "compression.type": (("compression.type", 1),),
    "compression.gzip.level": (("compression.gzip.level", 1),),
    "compression.lz4.level": (("compression.lz4.level", 1),),
    "compression.zstd.level": (("compression.zstd.level", 1),),
    "min.cleanable.dirty.ratio": (("log.cleaner.min.cleanable.ratio", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 1),),
    "message.timestamp.type": (("log.message.timestamp.type", 1),),
    "message.timestamp.difference.max.ms": (("log.message.timestamp.difference.max.ms", 1),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "message.format.version": (("log.message.format.version", 1),),
    "message.downconversion.enable": (("log.message.downconversion.enable", 1),),
    "local.retention.ms": (("log.local.retention.ms", 1),),
    "local.retention.bytes": (("log.local.retention.bytes", 1),),
}
