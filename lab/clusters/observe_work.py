"""Transactions and share groups of a snapshot, in the shape that the browser's reducers keep.

    topics.T.partitions.P.transactions    [[producer id, first offset, marker or null, "commit", "abort" or null], ...]
    transactions.ID                       {state, producer_id, epoch, partitions, timeout_ms, since_us, started_us}
    shares.GROUP.orders-0                 {start, records: {offset: [state, deliveries, client, its lock's end in us]}}

The first are of the leader's log: all that are open, and the last that ended; then what the coordinators know, and what
the leaders of share-partitions do. Who coordinates an id is not told: it is the leader of its partition of
`__transaction_state`.
"""

from __future__ import annotations

from typing import Any

from broker_core.broker.broker import Broker
from broker_core.broker.share_partitions import NAMES, Shared
from broker_core.kernel.names import broker_of, is_broker
from broker_core.kernel.world import World
from broker_core.log.partition_log import PartitionLog
from broker_core.sharing.partition import DONE

Line = list[Any]
MS = 1000


def _machines(world: World) -> dict[int, Broker]:
    """The brokers that run."""
    found: dict[int, Any] = {broker_of(name): node.machine for name, node in world.nodes.items() if is_broker(name)}
    return {broker: machine for broker, machine in found.items() if machine is not None}


# -- transactions ---------------------------------------------------------------------------
def log_transactions(log: PartitionLog) -> list[Line]:
    """Those of one log, by first offset."""
    transactions = log.producers.transactions
    ended: list[Line] = [
        [one.producer_id, one.first_offset, one.last_offset, "abort" if one.aborted else "commit"]
        for one in transactions.recent if one.last_offset >= log.log_start_offset
    ]  # fmt: skip
    opened: list[Line] = [[producer_id, first, None, None] for first, producer_id in transactions.open.items()]
    return sorted(ended + opened, key=lambda line: line[1])


def add_log_transactions(topics: dict[str, Any], logs: dict[tuple[str, int, str], Any]) -> None:
    """Into a snapshot's partitions; `logs`: by (topic, partition, broker). Without a leader nobody can tell."""
    for topic, found in topics.items():
        for number, partition in found["partitions"].items():
            log = logs.get((topic, int(number), str(partition["leader"])))
            if isinstance(log, PartitionLog) and (lines := log_transactions(log)):
                partition["transactions"] = lines


def observe_transactions(world: World) -> dict[str, Any]:
    """Transactional ids as their coordinators know them."""
    found: dict[str, Any] = {}
    for machine in _machines(world).values():
        for one in machine.transactions.registry.all():
            stored = one.stored
            found[one.transactional_id] = {
                "state": stored.state.value, "producer_id": stored.producer_id, "epoch": stored.producer_epoch,
                "partitions": [f"{topic}-{number}" for topic, number in stored.partitions],
                "timeout_ms": stored.timeout_ms, "since_us": world.wall.time_us(stored.updated_ms),
                "started_us": world.wall.time_us(stored.started_ms) if stored.started_ms > 0 else None,
            }  # fmt: skip
    return dict(sorted(found.items()))


# -- share groups ---------------------------------------------------------------------------
def observe_shares(world: World) -> dict[str, Any]:
    """Share-partitions as their leaders know them."""
    found: dict[str, Any] = {}
    for machine in _machines(world).values():
        for key, entry in machine.share_fetching.partitions.entries.items():
            if entry.share is not None and entry.led:
                found.setdefault(key.group_id, {})[f"{entry.topic}-{key.partition}"] = _share(entry)
    _name_members(found, {name: client for one in _machines(world).values() for name, client in _clients(one).items()})
    return {group: dict(sorted(one.items())) for group, one in sorted(found.items())}


def _share(entry: Shared) -> dict[str, Any]:
    share = entry.share
    assert share is not None
    records: dict[str, Line] = {}
    for offset, one in sorted(share.records.items()):
        state, member = (one.state, one.member) if one.before is None else one.before
        if one.before is None or state not in DONE:
            records[str(offset)] = [NAMES[state], one.count, member, one.deadline_us if member else 0]
    return {"start": share.start, "records": records}


def _name_members(found: dict[str, Any], clients: dict[str, str]) -> None:
    """Members have a client's name once the group's coordinator, another broker perhaps, has been asked."""
    for partitions in found.values():
        for partition in partitions.values():
            for line in partition["records"].values():
                line[2] = clients.get(line[2], line[2])


def _clients(machine: Broker) -> dict[str, str]:
    """Member id -> client id, of the share groups that a broker coordinates."""
    share = machine.groups.share
    if share is None:
        return {}
    return {member.member_id: member.client_id for group in share.groups.values() for member in group.members.values()}
