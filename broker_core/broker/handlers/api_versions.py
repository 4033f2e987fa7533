"""ApiVersions (18): what this broker speaks, the first question of every client (KIP-35, KIP-511)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext
from broker_core.kernel import events
from broker_core.wire import messages as m
from broker_core.wire.apis import advertised
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(broker: Broker, context: RequestContext) -> None:
    """Answer with the ranges; from v3 the client also says what software it is."""
    request = context.body
    if context.api_version >= 3:
        name, version = request.client_software_name, request.client_software_version
        if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
            context.respond(m.ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST))
            return
        context.connection.software = f"{name} {version}"
        if context.connection.number >= 0:
            broker.node.emit(
                events.CLIENT_SOFTWARE, connection=context.connection.number,
                software=context.connection.software, client_id=context.client_id,
            )  # fmt: skip
    context.respond(answer(broker))


def answer(broker: Broker) -> m.ApiVersionsResponse:
    """The ranges of every API that is implemented in this mode."""
    keys = [
        m.ApiVersionsResponse.ApiVersion(api_key=int(key), min_version=first, max_version=last)
        for key, first, last in advertised(broker.mode, broker.implemented)
    ]
    return m.ApiVersionsResponse(api_keys=keys)
