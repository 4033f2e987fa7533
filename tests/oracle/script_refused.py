"""What a broker offers and refuses: access rules without an authorizer, tokens and SASL on a plain listener, KIP-848."""

from __future__ import annotations

from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script
from tests.oracle.requests import make_topic


def refused(k: Script) -> None:
    """Each API in each version that Kafka 3.9 offers."""
    _access_rules(k)
    _tokens(k)
    _handshakes(k)
    _next_generation(k)
    make_topic(k, "written")
    one = m.DescribeProducersRequest.TopicRequest(name="written", partition_indexes=[0, 1])
    k("producers", ApiKey.DESCRIBE_PRODUCERS, 0, m.DescribeProducersRequest(topics=[one]))


def _access_rules(k: Script) -> None:
    creation = m.CreateAclsRequest.AclCreation(
        resource_type=2, resource_name="t", resource_pattern_type=3, principal="User:a", host="*", operation=3,
        permission_type=3,
    )  # fmt: skip
    matching = m.DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=2, resource_name_filter="t", pattern_type_filter=3, principal_filter=None, host_filter=None,
        operation=1, permission_type=1,
    )  # fmt: skip
    wanted: dict[str, Any] = {
        "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "principal_filter": None,
        "host_filter": None, "operation": 1, "permission_type": 1,
    }  # fmt: skip
    for version in range(0, 4):
        if version == 0:  # knows literal names only
            wanted["pattern_type_filter"] = 3
        k("describe rules", ApiKey.DESCRIBE_ACLS, version, m.DescribeAclsRequest(**wanted))
        k("create rules", ApiKey.CREATE_ACLS, version, m.CreateAclsRequest(creations=[creation, creation]))
        k("create no rules", ApiKey.CREATE_ACLS, version, m.CreateAclsRequest(creations=[]))
        k("delete rules", ApiKey.DELETE_ACLS, version, m.DeleteAclsRequest(filters=[matching]))


def _tokens(k: Script) -> None:
    renewer = m.CreateDelegationTokenRequest.CreatableRenewers(principal_type="User", principal_name="a")
    for version in range(0, 4):
        k("create token", ApiKey.CREATE_DELEGATION_TOKEN, version, m.CreateDelegationTokenRequest(
            renewers=[renewer], max_lifetime=1000, owner_principal_type=None, owner_principal_name=None))  # fmt: skip
        k("describe tokens", ApiKey.DESCRIBE_DELEGATION_TOKEN, version, m.DescribeDelegationTokenRequest(owners=None))
    for version in range(0, 3):
        k("renew token", ApiKey.RENEW_DELEGATION_TOKEN, version, m.RenewDelegationTokenRequest(hmac=b"x", renew_period=1))
        k("expire token", ApiKey.EXPIRE_DELEGATION_TOKEN, version,
          m.ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period=1))


def _handshakes(k: Script) -> None:
    for version in range(0, 2):
        k("handshake", ApiKey.SASL_HANDSHAKE, version, m.SaslHandshakeRequest(mechanism="PLAIN"))
    for version in range(0, 3):
        k("authenticate", ApiKey.SASL_AUTHENTICATE, version, m.SaslAuthenticateRequest(auth_bytes=b"\0u\0p"))


def _next_generation(k: Script) -> None:
    k("heartbeat", ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, m.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="", member_epoch=0, instance_id=None, rack_id=None, rebalance_timeout=1000,
        subscribed_topic_names=["t"], server_assignor=None, topic_partitions=[]))  # fmt: skip
    for asked in (["g", "h"], []):
        k(f"describe {len(asked)}", ApiKey.CONSUMER_GROUP_DESCRIBE, 0, m.ConsumerGroupDescribeRequest(group_ids=asked))
