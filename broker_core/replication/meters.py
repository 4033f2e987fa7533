"""What a broker counts: the meters behind Kafka's BrokerTopicMetrics and ReplicaManager.

Each counts from the start of the process, and is lost with it, as the attribute `Count` of a JMX meter is.
"""

from __future__ import annotations


class Meters:
    """Bytes and records that came in and went out, and changes of ISRs.

    `bytes_in`, `messages_in`: from clients; `bytes_out`: to consumers; what followers copy counts apart, and in that
    what goes to replicas that are being added (`reassignment_bytes_in`, `reassignment_bytes_out`; KIP-352).
    `produce_conversions`, `fetch_conversions`: records that clients of an old format have written, or read.
    """

    __slots__ = (
        "messages_in", "bytes_in", "bytes_out", "replication_bytes_in", "replication_bytes_out",
        "reassignment_bytes_in", "reassignment_bytes_out", "isr_shrinks", "isr_expands", "failed_isr_updates",
        "produce_conversions", "fetch_conversions",
    )  # fmt: skip

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.replication_bytes_in = 0
        self.replication_bytes_out = 0
        self.reassignment_bytes_in = 0
        self.reassignment_bytes_out = 0
        self.isr_shrinks = 0
        self.isr_expands = 0
        self.failed_isr_updates = 0
        self.produce_conversions = 0
        self.fetch_conversions = 0

    def copied_in(self, size: int, is_added: bool) -> None:
        """A follower here has copied so many bytes."""
        self.replication_bytes_in += size
        if is_added:
            self.reassignment_bytes_in += size
