"""Broker settings of listeners, threads, queues, connections, quotas and metrics."""

from __future__ import annotations

from broker_core.metadata.configs_checks import OneOf, Range
from broker_core.metadata.configs_types import ZOOKEEPER, ConfigType, UpdateMode
from broker_core.metadata.configs_types import Setting as S

BOOLEAN = ConfigType.BOOLEAN
STRING = ConfigType.STRING
INT = ConfigType.INT
LONG = ConfigType.LONG
LIST = ConfigType.LIST
CLASS = ConfigType.CLASS
READ_ONLY = UpdateMode.READ_ONLY
PER_BROKER = UpdateMode.PER_BROKER
CLUSTER_WIDE = UpdateMode.CLUSTER_WIDE

NETWORK: tuple[S, ...] = (
    S("listeners", STRING, "PLAINTEXT://:9092", None, PER_BROKER,
      "Addresses the broker listens on, each `NAME://host:port`.", kraft_type=ConfigType.LIST),
    S("advertised.listeners", STRING, None, None, PER_BROKER,
      "Addresses that clients are told; unset takes `listeners`.",
      kraft_mode=READ_ONLY, kraft_type=ConfigType.LIST),
    S("listener.security.protocol.map", STRING,
      "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", None, PER_BROKER,
      "Which security protocol each listener name stands for."),
    S("inter.broker.listener.name", STRING, None, None, READ_ONLY,
      "Listener that brokers use among themselves; excludes `security.inter.broker.protocol`."),
    S("security.inter.broker.protocol", STRING,
      "PLAINTEXT", OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")), READ_ONLY,
      "Security protocol between brokers."),
    S("control.plane.listener.name", STRING, None, None, READ_ONLY,
      "Listener reserved for the controller's requests.", era=ZOOKEEPER),
    S("early.start.listeners", STRING, None, None, READ_ONLY,
      "Listeners that open before the authorizer is ready.", kraft_type=ConfigType.LIST),
    S("num.network.threads", INT, "3", Range(1), CLUSTER_WIDE,
      "Network threads per listener: they read requests and write answers."),
    S("num.io.threads", INT, "8", Range(1), CLUSTER_WIDE,
      "Request handler threads: they take requests from the queue and do the work."),
    S("queued.max.requests", INT, "500", Range(1), READ_ONLY,
      "Requests in the queue at which network threads stop reading."),
    S("queued.max.request.bytes", LONG, "-1", None, READ_ONLY,
      "Bytes in the queue at which network threads stop reading; -1 is no limit."),
    S("socket.send.buffer.bytes", INT, "102400", None, READ_ONLY,
      "Send buffer of a connection; -1 leaves it to the system."),
    S("socket.receive.buffer.bytes", INT, "102400", None, READ_ONLY,
      "Receive buffer of a connection; -1 leaves it to the system."),
    S("socket.request.max.bytes", INT, "104857600", Range(1), READ_ONLY,
      "Largest request a broker reads; a larger one closes the connection."),
    S("socket.listen.backlog.size", INT, "50", Range(1), READ_ONLY,
      "Connections that may wait to be accepted."),
    S("socket.connection.setup.timeout.ms", LONG, "10000", None, READ_ONLY,
      "Time allowed for a connection to be set up; grows with each failure."),
    S("socket.connection.setup.timeout.max.ms", LONG, "30000", None, READ_ONLY,
      "Limit of that growth."),
    S("connections.max.idle.ms", LONG, "600000", None, READ_ONLY,
      "Time without a request after which a connection is closed."),
    S("connection.failed.authentication.delay.ms", INT, "100", Range(0), READ_ONLY,
      "Delay before a connection that failed to authenticate is closed."),
    S("connections.max.reauth.ms", LONG, "0", None, READ_ONLY,
      "Longest life of an authenticated session before it must authenticate again; 0 is no limit."),
    S("max.connections", INT, "2147483647", Range(0), CLUSTER_WIDE,
      "Connections a broker takes in all."),
    S("max.connections.per.ip", INT, "2147483647", Range(0), CLUSTER_WIDE,
      "Connections a broker takes from one address."),
    S("max.connections.per.ip.overrides", STRING, "", None, CLUSTER_WIDE,
      "Other limits for named addresses, as `host:count`."),
    S("max.connection.creation.rate", INT, "2147483647", Range(0), CLUSTER_WIDE,
      "New connections a broker takes in a second."),
    S("max.request.partition.size.limit", INT, "2000", Range(1), READ_ONLY,
      "Partitions one DescribeTopicPartitions answer may hold."),
    S("request.timeout.ms", INT, "30000", None, READ_ONLY,
      "Time a request of the broker itself may take before it counts as failed."),
    S("client.quota.callback.class", CLASS, None, None, READ_ONLY,
      "Java class that computes client quotas."),
    S("quota.window.num", INT, "11", Range(1), READ_ONLY,
      "Samples kept for client quotas."),
    S("quota.window.size.seconds", INT, "1", Range(1), READ_ONLY,
      "Length of one sample of client quotas."),
    S("controller.quota.window.num", INT, "11", Range(1), READ_ONLY,
      "Samples kept for the quota on controller mutations."),
    S("controller.quota.window.size.seconds", INT, "1", Range(1), READ_ONLY,
      "Length of one sample of that quota."),
    S("metric.reporters", LIST, "", None, CLUSTER_WIDE,
      "Java classes that receive the metrics.", kraft_default="org.apache.kafka.common.metrics.JmxReporter"),
    S("metrics.num.samples", INT, "2", Range(1), READ_ONLY,
      "Samples kept for a metric."),
    S("metrics.sample.window.ms", LONG, "30000", Range(1), READ_ONLY,
      "Length of one sample of a metric."),
    S("metrics.recording.level", STRING, "INFO", None, READ_ONLY,
      "Finest level at which metrics are recorded."),
    S("auto.include.jmx.reporter", BOOLEAN, "true", None, READ_ONLY,
      "Whether JMX gets the metrics even when it is not listed.", era=ZOOKEEPER),
    S("kafka.metrics.reporters", LIST, "", None, READ_ONLY,
      "Java classes that receive the older (Yammer) metrics."),
    S("kafka.metrics.polling.interval.secs", INT, "10", Range(1), READ_ONLY,
      "How often these are asked."),
    S("telemetry.max.bytes", INT, "1048576", Range(1), READ_ONLY,
      "Largest set of metrics a client may push."),
)
