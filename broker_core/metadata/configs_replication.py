"""Broker settings of replication: followers, the ISR, leadership, controlled shutdown, the purgatory."""

from __future__ import annotations

from broker_core.metadata.configs_checks import OneOf, Range
from broker_core.metadata.configs_types import KRAFT, ZOOKEEPER, ConfigType, UpdateMode
from broker_core.metadata.configs_types import Setting as S

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
LONG = ConfigType.LONG
READ_ONLY = UpdateMode.READ_ONLY
CLUSTER_WIDE = UpdateMode.CLUSTER_WIDE
LEADER_SELECTOR = "org.apache.kafka.common.replica.LeaderSelector"
RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

REPLICATION: tuple[S, ...] = (
    S("broker.rack", STRING, None, None, READ_ONLY,
      "Rack of this broker, for rack-aware placement and for reading from the nearest replica."),
    S("default.replication.factor", INT, "1", None, READ_ONLY,
      "Replication factor of a topic that was created without one."),
    S("min.insync.replicas", INT, "1", Range(1), CLUSTER_WIDE,
      "Replicas that must be in sync for a write with acks=all to be taken."),
    S("unclean.leader.election.enable", BOOLEAN, "false", None, CLUSTER_WIDE,
      "Whether a replica outside the ISR may lead when nobody else is left, at the price of lost records."),
    S("unclean.leader.election.interval.ms", LONG, "300000", Range(1), READ_ONLY,
      "How often the controller looks for partitions that an unclean election would bring back.", internal=True),
    S("eligible.leader.replicas.enable", BOOLEAN, "false", None, READ_ONLY,
      "Whether the controller keeps replicas that left a too small ISR eligible as leaders (KIP-966).",
      era=ZOOKEEPER),
    S("auto.leader.rebalance.enable", BOOLEAN, "true", None, READ_ONLY,
      "Whether the controller gives leadership back to preferred leaders by itself."),
    S("leader.imbalance.check.interval.seconds", LONG, "300", Range(1), READ_ONLY,
      "How often the controller compares leaders with preferred leaders."),
    S("leader.imbalance.per.broker.percentage", INT, "10", None, READ_ONLY,
      "Share of partitions a broker may not lead though it is preferred, before leaders are moved.", era=ZOOKEEPER),
    S("replica.lag.time.max.ms", LONG, "30000", None, READ_ONLY,
      "Time after which a follower that has not reached the leader's end leaves the ISR."),
    S("follower.fetch.last.tiered.offset.enable", BOOLEAN, "false", None, CLUSTER_WIDE,
      "Whether an empty follower begins behind what is in remote storage.", era=KRAFT),
    S("replica.fetch.wait.max.ms", INT, "500", None, READ_ONLY,
      "How long a leader may keep a follower's fetch waiting; keep it below `replica.lag.time.max.ms`."),
    S("replica.fetch.min.bytes", INT, "1", None, READ_ONLY,
      "Bytes a follower waits for, within `replica.fetch.wait.max.ms`."),
    S("replica.fetch.max.bytes", INT, "1048576", Range(0), READ_ONLY,
      "Bytes a follower asks for per partition; one larger batch is still returned."),
    S("replica.fetch.response.max.bytes", INT, "10485760", Range(0), READ_ONLY,
      "Bytes a follower asks for in one answer; one larger batch is still returned."),
    S("replica.fetch.backoff.ms", INT, "1000", Range(0), READ_ONLY,
      "Pause of a fetcher after an error on a partition."),
    S("replica.socket.timeout.ms", INT, "30000", None, READ_ONLY,
      "Time after which a follower gives up on a request; at least `replica.fetch.wait.max.ms`."),
    S("replica.socket.receive.buffer.bytes", INT, "65536", None, READ_ONLY,
      "Receive buffer of a follower's connection to its leader."),
    S("replica.high.watermark.checkpoint.interval.ms", LONG, "5000", None, READ_ONLY,
      "How often high watermarks are written to `replication-offset-checkpoint`."),
    S("replica.selector.class", STRING, None, OneOf((LEADER_SELECTOR, RACK_AWARE_SELECTOR)), READ_ONLY,
      "Class that picks the replica a consumer should read from (KIP-392); unset is the leader. Here Kafka's own two."),
    S("num.replica.fetchers", INT, "1", None, CLUSTER_WIDE,
      "Fetcher threads per leader that a broker follows."),
    S("controlled.shutdown.enable", BOOLEAN, "true", None, READ_ONLY,
      "Whether a broker that stops moves its leaderships away first."),
    S("controlled.shutdown.max.retries", INT, "3", None, READ_ONLY,
      "How often a broker asks the controller again when leaderships could not be moved.", era=ZOOKEEPER),
    S("controlled.shutdown.retry.backoff.ms", LONG, "5000", None, READ_ONLY,
      "Pause between two of these attempts.", era=ZOOKEEPER),
    S("background.threads", INT, "10", Range(1), CLUSTER_WIDE,
      "Threads for periodic work in the background."),
    S("fetch.max.bytes", INT, "57671680", Range(1024), READ_ONLY,
      "Most bytes a broker returns for one fetch; at least 1024."),
    S("fetch.purgatory.purge.interval.requests", INT, "1000", None, READ_ONLY,
      "Fetches that may be complete in the purgatory before it is purged."),
    S("producer.purgatory.purge.interval.requests", INT, "1000", None, READ_ONLY,
      "Produce requests that may be complete in the purgatory before it is purged."),
    S("delete.records.purgatory.purge.interval.requests", INT, "1", None, READ_ONLY,
      "DeleteRecords requests that may be complete in the purgatory before it is purged."),
    S("share.fetch.purgatory.purge.interval.requests", INT, "1000", None, READ_ONLY,
      "Share fetches that may be complete in the purgatory before it is purged.", era=KRAFT),
    S("max.incremental.fetch.session.cache.slots", INT, "1000", Range(0), READ_ONLY,
      "Incremental fetch sessions a broker keeps; above, the least used one is evicted."),
    S("replication.quota.window.num", INT, "11", Range(1), READ_ONLY,
      "Samples kept for replication quotas."),
    S("replication.quota.window.size.seconds", INT, "1", Range(1), READ_ONLY,
      "Length of one sample of replication quotas."),
    S("alter.log.dirs.replication.quota.window.num", INT, "11", Range(1), READ_ONLY,
      "Samples kept for the quota on moves between directories."),
    S("alter.log.dirs.replication.quota.window.size.seconds", INT, "1", Range(1), READ_ONLY,
      "Length of one sample of that quota."),
)

# Set only while a broker runs, and shown only while set: limits of throttled moves (KIP-73, KIP-113).
DYNAMIC_ONLY: dict[str, S] = {setting.name: setting for setting in (
    S("leader.replication.throttled.rate", LONG, None, Range(0), CLUSTER_WIDE,
      "Bytes per second that a leader sends to throttled followers."),
    S("follower.replication.throttled.rate", LONG, None, Range(0), CLUSTER_WIDE,
      "Bytes per second that throttled followers fetch."),
    S("replica.alter.log.dirs.io.max.bytes.per.second", LONG, None, Range(0), CLUSTER_WIDE,
      "Bytes per second that replicas are moved between directories."),
)}  # fmt: skip
