"""Which handler answers which API. What is not in this table is not advertised."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext
from broker_core.broker.handlers import (
    api_versions,
    configs,
    control,
    coordinator,
    fetch,
    groups,
    log_dirs,
    metadata,
    produce,
    producers,
    security,
    topics,
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
    ApiKey.LEADER_AND_ISR: control.leader_and_isr,
    ApiKey.STOP_REPLICA: control.stop_replica,
    ApiKey.UPDATE_METADATA: control.update_metadata,
    ApiKey.CONTROLLED_SHUTDOWN: control.controlled_shutdown,
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
    ApiKey.CREATE_TOPICS: topics.create,
    ApiKey.DELETE_TOPICS: topics.delete,
    ApiKey.DELETE_RECORDS: fetch.delete_records,
    ApiKey.INIT_PRODUCER_ID: producers.init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: fetch.offset_for_leader_epoch,
    ApiKey.DESCRIBE_ACLS: security.describe_acls,
    ApiKey.CREATE_ACLS: security.create_acls,
    ApiKey.DELETE_ACLS: security.delete_acls,
    ApiKey.DESCRIBE_CONFIGS: configs.describe,
    ApiKey.ALTER_CONFIGS: configs.alter,
    ApiKey.DESCRIBE_LOG_DIRS: log_dirs.describe,
    ApiKey.SASL_AUTHENTICATE: security.sasl_authenticate,
    ApiKey.CREATE_PARTITIONS: topics.create_partitions,
    ApiKey.CREATE_DELEGATION_TOKEN: security.create_token,
    ApiKey.RENEW_DELEGATION_TOKEN: security.renew_token,
    ApiKey.EXPIRE_DELEGATION_TOKEN: security.expire_token,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: security.describe_tokens,
    ApiKey.DELETE_GROUPS: groups.delete,
    ApiKey.ELECT_LEADERS: topics.elect_leaders,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: configs.alter_incrementally,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: topics.alter_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: topics.list_reassignments,
    ApiKey.OFFSET_DELETE: groups.delete_offsets,
    ApiKey.ALTER_PARTITION: control.alter_partition,
    ApiKey.DESCRIBE_CLUSTER: metadata.describe_cluster,
    ApiKey.DESCRIBE_PRODUCERS: producers.describe_producers,
    ApiKey.ALLOCATE_PRODUCER_IDS: control.allocate_producer_ids,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: groups.next_generation_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: groups.next_generation_describe,
}

IMPLEMENTED: frozenset[ApiKey] = frozenset(ApiKey(key) for key in HANDLERS)
