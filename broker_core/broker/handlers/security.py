"""Access rules (29-31), SASL (17, 36) and delegation tokens (38-41) of a broker that has none of them.

This is Apache Kafka without `authorizer.class.name` on a PLAINTEXT listener: the requests are offered and
understood, and the answer says what was not configured.

| asked | answer |
|---|---|
| describe, create or delete access rules (KIP-11, KIP-140) | SECURITY_DISABLED: no authorizer |
| a SASL handshake | ILLEGAL_SASL_STATE: this listener asks nobody who he is |
| anything about delegation tokens (KIP-48) | DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: nobody proved who he is |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

NO_AUTHORIZER = "No Authorizer is configured"
ANYBODY = ("User", "ANONYMOUS")
REFUSED: dict[str, Any] = {"error_code": ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED}


def describe_acls(broker: Broker, context: RequestContext) -> None:
    message = f"{NO_AUTHORIZER} on the broker"
    context.respond(m.DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=message))


def create_acls(broker: Broker, context: RequestContext) -> None:
    """One refusal for each rule."""
    one, error = m.CreateAclsResponse.AclCreationResult, ErrorCode.SECURITY_DISABLED
    results = [one(error_code=error, error_message=f"{NO_AUTHORIZER}.") for _ in context.body.creations]
    context.respond(m.CreateAclsResponse(results=results))


def delete_acls(broker: Broker, context: RequestContext) -> None:
    """One refusal for each filter."""
    one, error = m.DeleteAclsResponse.DeleteAclsFilterResult, ErrorCode.SECURITY_DISABLED
    results = [one(error_code=error, error_message=f"{NO_AUTHORIZER}.") for _ in context.body.filters]
    context.respond(m.DeleteAclsResponse(filter_results=results))


def sasl_handshake(broker: Broker, context: RequestContext) -> None:
    context.respond(m.SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE))


def sasl_authenticate(broker: Broker, context: RequestContext) -> None:
    message = "SaslAuthenticate request received after successful authentication"
    context.respond(m.SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=message))


def create_token(broker: Broker, context: RequestContext) -> None:
    """Owner and requester are the one who is not known."""
    kind, name = ANYBODY
    context.respond(
        m.CreateDelegationTokenResponse(
            principal_type=kind, principal_name=name, token_requester_principal_type=kind,
            token_requester_principal_name=name, issue_timestamp=-1, expiry_timestamp=-1, max_timestamp=-1, **REFUSED,
        )
    )  # fmt: skip


def renew_token(broker: Broker, context: RequestContext) -> None:
    context.respond(m.RenewDelegationTokenResponse(expiry_timestamp=-1, **REFUSED))


def expire_token(broker: Broker, context: RequestContext) -> None:
    context.respond(m.ExpireDelegationTokenResponse(expiry_timestamp=-1, **REFUSED))


def describe_tokens(broker: Broker, context: RequestContext) -> None:
    context.respond(m.DescribeDelegationTokenResponse(tokens=[], **REFUSED))
