"""Broker settings of tiered storage (KIP-405)."""

from __future__ import annotations

from broker_core.metadata.configs_checks import NonEmpty, Range
from broker_core.metadata.configs_types import KRAFT, ConfigType, UpdateMode
from broker_core.metadata.configs_types import Setting as S

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
LONG = ConfigType.LONG
DOUBLE = ConfigType.DOUBLE
READ_ONLY = UpdateMode.READ_ONLY
CLUSTER_WIDE = UpdateMode.CLUSTER_WIDE

TIERED: tuple[S, ...] = (
    S("remote.log.storage.system.enable", BOOLEAN, "false", None, READ_ONLY,
      "Whether the broker may keep closed segments in remote storage (KIP-405)."),
    S("remote.log.storage.manager.class.name", STRING, None, NonEmpty(), READ_ONLY,
      "Java class that stores segments remotely."),
    S("remote.log.storage.manager.class.path", STRING, None, None, READ_ONLY,
      "Class path of that class."),
    S("remote.log.storage.manager.impl.prefix", STRING, "rsm.config.", NonEmpty(), READ_ONLY,
      "Prefix of the settings that are handed to it."),
    S("remote.log.metadata.manager.class.name", STRING,
      "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", NonEmpty(), READ_ONLY,
      "Java class that remembers which segments are remote."),
    S("remote.log.metadata.manager.class.path", STRING, None, None, READ_ONLY,
      "Class path of that class."),
    S("remote.log.metadata.manager.impl.prefix", STRING, "rlmm.config.", NonEmpty(), READ_ONLY,
      "Prefix of the settings that are handed to it."),
    S("remote.log.metadata.manager.listener.name", STRING, None, NonEmpty(), READ_ONLY,
      "Listener through which it reaches its own topic."),
    S("remote.log.metadata.custom.metadata.max.bytes", INT, "128", Range(0), READ_ONLY,
      "Bytes that a storage may remember per segment."),
    S("remote.log.index.file.cache.total.size.bytes", LONG, "1073741824", Range(1), CLUSTER_WIDE,
      "Disk space for the indexes of remote segments."),
    S("remote.log.manager.thread.pool.size", INT, "10", Range(1), READ_ONLY,
      "Threads for copying, deleting and finding remote segments.", kraft_default="2"),
    S("remote.log.manager.copier.thread.pool.size", INT, "-1", Range(-1), READ_ONLY,
      "Threads that copy segments to the remote storage.", kraft_default="10", kraft_check=Range(1),
      kraft_mode=CLUSTER_WIDE),
    S("remote.log.manager.expiration.thread.pool.size", INT, "-1", Range(-1), READ_ONLY,
      "Threads that delete expired remote segments.", kraft_default="10", kraft_check=Range(1),
      kraft_mode=CLUSTER_WIDE),
    S("remote.log.manager.follower.thread.pool.size", INT, "2", Range(1), CLUSTER_WIDE,
      "Threads that ask for followers how far the remote storage reaches.", era=KRAFT),
    S("remote.log.manager.task.interval.ms", LONG, "30000", Range(1), READ_ONLY,
      "How often these tasks run."),
    S("remote.log.manager.task.retry.backoff.ms", LONG, "500", Range(1), READ_ONLY,
      "First pause after a failed task.", internal=True),
    S("remote.log.manager.task.retry.backoff.max.ms", LONG, "30000", Range(1), READ_ONLY,
      "Longest pause after failed tasks.", internal=True),
    S("remote.log.manager.task.retry.jitter", DOUBLE, "0.2", Range(0, 0.5), READ_ONLY,
      "Random part of that pause.", internal=True),
    S("remote.log.manager.copy.max.bytes.per.second", LONG, "9223372036854775807", Range(1), CLUSTER_WIDE,
      "Limit for copying to the remote storage."),
    S("remote.log.manager.copy.quota.window.num", INT, "11", Range(1), READ_ONLY,
      "Samples kept for that limit."),
    S("remote.log.manager.copy.quota.window.size.seconds", INT, "1", Range(1), READ_ONLY,
      "Length of one sample of that limit."),
    S("remote.log.manager.fetch.max.bytes.per.second", LONG, "9223372036854775807", Range(1), CLUSTER_WIDE,
      "Limit for reading from the remote storage."),
    S("remote.log.manager.fetch.quota.window.num", INT, "11", Range(1), READ_ONLY,
      "Samples kept for that limit."),
    S("remote.log.manager.fetch.quota.window.size.seconds", INT, "1", Range(1), READ_ONLY,
      "Length of one sample of that limit."),
    S("remote.log.reader.threads", INT, "10", Range(1), READ_ONLY,
      "Threads that read remote segments for consumers.", kraft_mode=CLUSTER_WIDE),
    S("remote.log.reader.max.pending.tasks", INT, "100", Range(1), READ_ONLY,
      "Remote reads that may wait for a thread."),
    S("remote.fetch.max.wait.ms", INT, "500", Range(1), CLUSTER_WIDE,
      "How long a fetch waits for remote data."),
    S("remote.list.offsets.request.timeout.ms", LONG, "30000", Range(1), CLUSTER_WIDE,
      "How long a ListOffsets request waits for remote data.", era=KRAFT),
)
