"""Which partition of its internal topic a key belongs to; that partition's leader coordinates it.

    partition = abs(hash(key)) % partitions of the topic           Java's String.hashCode; abs(-2^31) is 0
    "my-group" -> hashCode -1906497762 -> 1906497762 -> % 50 = 12

So every client finds the same broker, keys spread over all brokers, and when the leader of a partition moves, its keys
move with it. Source: GroupMetadataManager.partitionFor, TransactionStateManager.partitionFor, Utils.abs.
"""

from __future__ import annotations


def java_string_hash(text: str) -> int:
    """Java's String.hashCode: h = 31 h + unit over the UTF-16 units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for position in range(0, len(units), 2):
        value = (31 * value + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def partition_for(key: str, partitions: int) -> int:
    """The partition whose leader coordinates the key (a group's or a transactional id)."""
    code = java_string_hash(key)
    return 0 if code == -(1 << 31) else abs(code) % partitions
