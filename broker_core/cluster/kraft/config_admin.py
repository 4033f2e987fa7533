"""What a broker looks at before it hands a change of settings on to the controller.

| resource | looked at here | by the controller |
|---|---|---|
| any | each once, each key once, no missing values | |
| topic, group | | all the rest |
| loggers | only its own: their levels are set here | never |
| broker | only its own settings or those of all, and whether it can have them while it runs | that it is known |

The controller does not know with which settings a broker was started, so nobody else could say no. What is refused here
does not reach the controller; the others of the same request do, and the answers come back in the order of the request.
Source: ConfigAdminManager.preprocess.
"""

from __future__ import annotations

from typing import Any

from broker_core.controller import config_rules as rules
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.errors import RequestError
from broker_core.metadata.image import GROUP
from broker_core.metadata.loggers import LOGGER, Loggers
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

Refusals = dict[int, RequestError]
"""Place of a resource in its request -> why not; NONE: it is done, here."""


def refusals_of(request: Any, broker_id: int, config: BrokerConfig, loggers: Loggers) -> Refusals:
    """What this broker, running with `config`, refuses, and what it does itself."""
    names = [(one.resource_type, one.resource_name) for one in request.resources]
    found: Refusals = {}
    for place, resource in enumerate(request.resources):
        try:
            if names.count(names[place]) > 1:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            if resource.resource_type == LOGGER and rules.is_incremental(resource):
                rules.check_keys(resource)
                rules.check_values(resource)
                loggers.alter(resource, request.validate_only)
                raise RequestError(ErrorCode.NONE)
            _check(resource, broker_id, config)
        except RequestError as error:
            found[place] = error
    return found


def _check(resource: Any, broker_id: int, config: BrokerConfig) -> None:
    kind, name = resource.resource_type, resource.resource_name
    rules.check_keys(resource)
    rules.check_values(resource)
    if kind == rules.BROKER:
        rules.check_broker_name(name, broker_id)
        before = config.dynamic(all_brokers=not name)
        rules.check_broker(name, rules.altered(resource, before), config)
    elif kind not in (rules.TOPIC, GROUP):
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")


def without(request: Any, refusals: Refusals) -> Any:
    """The request that is left for the controller."""
    left = [resource for place, resource in enumerate(request.resources) if place not in refusals]
    return type(request)(resources=left, validate_only=request.validate_only)


def together(request: Any, refusals: Refusals, answer: Any) -> Any:
    """One answer of the refusals and of the controller's; None where the controller's is unknown."""
    incremental = isinstance(request, m.IncrementalAlterConfigsRequest)
    kind = m.IncrementalAlterConfigsResponse if incremental else m.AlterConfigsResponse
    said = {(one.resource_type, one.resource_name): one for one in answer.responses} if answer is not None else {}
    responses = []
    for place, resource in enumerate(request.resources):
        one = said.get((resource.resource_type, resource.resource_name))
        if place in refusals:
            error = refusals[place]
            one = kind.AlterConfigsResourceResponse(
                error_code=int(error.code), error_message=error.message, resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )  # fmt: skip
        if one is not None:
            responses.append(one)
    return kind(responses=responses)
