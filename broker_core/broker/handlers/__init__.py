"""Which handler answers which API, of those that a broker answers by itself.

What the cluster decides (topics, settings, elections, what its members say to each other) is answered behind the
port (`cluster.port.Cluster.apis`). What stands in neither is not advertised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext
from broker_core.broker.handlers import (
    api_versions,
    configs,
    coordinator,
    fetch,
    groups,
    log_dirs,
    metadata,
    produce,
    producers,
    security,
    share_offsets,
    share_state,
    sharing,
    topic_partitions,
    transactional,
    transactions,
)
from broker_core.wire.apis import ApiKey

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

Handler = Callable[["Broker", RequestContext], None]

HANDLERS: dict[int, Handler] = {
    ApiKey.PRODUCE: produce.handle,
    ApiKey.FETCH: fetch.fetch,
    ApiKey.LIST_OFFSETS: fetch.list_offsets,
    ApiKey.METADATA: metadata.handle,
    ApiKey.OFFSET_COMMIT: groups.commit_offsets,
    ApiKey.OFFSET_FETCH: groups.fetch_offsets,
    ApiKey.FIND_COORDINATOR: coordinator.handle,
    ApiKey.JOIN_GROUP: groups.join,
    ApiKey.HEARTBEAT: groups.heartbeat,
    ApiKey.LEAVE_GROUP: groups.leave,
    ApiKey.SYNC_GROUP: groups.sync,
    ApiKey.DESCRIBE_GROUPS: groups.describe,
    ApiKey.LIST_GROUPS: groups.list_groups,
    ApiKey.SASL_HANDSHAKE: security.sasl_handshake,
    ApiKey.API_VERSIONS: api_versions.handle,
    ApiKey.DELETE_RECORDS: fetch.delete_records,
    ApiKey.INIT_PRODUCER_ID: producers.init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: fetch.offset_for_leader_epoch,
    ApiKey.DESCRIBE_ACLS: security.describe_acls,
    ApiKey.CREATE_ACLS: security.create_acls,
    ApiKey.DELETE_ACLS: security.delete_acls,
    ApiKey.DESCRIBE_CONFIGS: configs.describe,
    ApiKey.LIST_CONFIG_RESOURCES: configs.list_resources,
    ApiKey.ALTER_REPLICA_LOG_DIRS: log_dirs.alter,
    ApiKey.DESCRIBE_LOG_DIRS: log_dirs.describe,
    ApiKey.SASL_AUTHENTICATE: security.sasl_authenticate,
    ApiKey.CREATE_DELEGATION_TOKEN: security.create_token,
    ApiKey.RENEW_DELEGATION_TOKEN: security.renew_token,
    ApiKey.EXPIRE_DELEGATION_TOKEN: security.expire_token,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: security.describe_tokens,
    ApiKey.DELETE_GROUPS: groups.delete,
    ApiKey.OFFSET_DELETE: groups.delete_offsets,
    ApiKey.DESCRIBE_CLUSTER: metadata.describe_cluster,
    ApiKey.DESCRIBE_PRODUCERS: producers.describe_producers,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: topic_partitions.handle,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: groups.next_generation_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: groups.next_generation_describe,
    ApiKey.SHARE_GROUP_HEARTBEAT: groups.share_heartbeat,
    ApiKey.SHARE_GROUP_DESCRIBE: groups.share_describe,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: share_offsets.describe,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: share_offsets.alter,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: share_offsets.delete,
    ApiKey.SHARE_FETCH: sharing.fetch,
    ApiKey.SHARE_ACKNOWLEDGE: sharing.acknowledge,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: share_state.initialize,
    ApiKey.READ_SHARE_GROUP_STATE: share_state.read,
    ApiKey.WRITE_SHARE_GROUP_STATE: share_state.write,
    ApiKey.DELETE_SHARE_GROUP_STATE: share_state.delete,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: share_state.summarize,
    ApiKey.ADD_PARTITIONS_TO_TXN: transactions.add_partitions,
    ApiKey.ADD_OFFSETS_TO_TXN: transactions.add_offsets,
    ApiKey.END_TXN: transactions.end,
    ApiKey.WRITE_TXN_MARKERS: transactions.write_markers,
    ApiKey.TXN_OFFSET_COMMIT: transactional.commit_offsets,
    ApiKey.DESCRIBE_TRANSACTIONS: transactions.describe,
    ApiKey.LIST_TRANSACTIONS: transactions.list_transactions,
}
