"""ApiVersions (18): what this broker speaks, the first question of every client (KIP-35, KIP-511).

Whoever asks in a version that is not known here cannot know better: he is told UNSUPPORTED_VERSION and the versions of
this one request, to ask again with. (Any other request in an unknown version closes the connection.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext
from broker_core.kernel import events
from broker_core.metadata.offered import FIRST_WITH_SOFTWARE, is_well_named, offered
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey, advertised, is_supported
from broker_core.wire.codec import unknown_version
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def handle(broker: Broker, context: RequestContext) -> None:
    """Answer with the ranges; from v3 the client also says what software it is."""
    request = context.body
    if not is_supported(ApiKey.API_VERSIONS, context.api_version, broker.mode):
        context.respond(unknown_version(broker.mode))
        return
    if not is_well_named(request, context.api_version):
        context.respond(m.ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST))
        return
    if context.api_version >= FIRST_WITH_SOFTWARE:
        context.connection.software = f"{request.client_software_name} {request.client_software_version}"
        if context.connection.number >= 0:
            broker.node.emit(
                events.CLIENT_SOFTWARE, connection=context.connection.number,
                software=context.connection.software, client_id=context.client_id,
            )  # fmt: skip
    apis = advertised(broker.mode, broker.implemented)
    context.respond(offered(apis, broker.features(), context.api_version))
