"""What brokers and controllers both say of themselves; in ApiVersions: what they speak (KIP-35), and levels (KIP-584).

| field | from |
|---|---|
| api_keys | what is implemented, in the versions of `wire.apis` |
| supported_features | what this software knows (`feature_levels.SUPPORTED`) |
| finalized_features | what holds in the cluster: the image's levels, and kraft.version when it is not 0 |
| finalized_features_epoch | the offset in the metadata log as of which that is so |

Old clients take a least level of 0 for nonsense, so up to version 3 such features are not among those that are
supported (KAFKA-17492). Source: ApiVersionsResponse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from broker_core.metadata.feature_levels import SUPPORTED, Finalized
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

FIRST_WITH_SOFTWARE, FIRST_WITH_ZERO = 3, 4
BROKERS, CONTROLLERS = 1, 2
"""Types of endpoints in DescribeCluster."""
CLUSTER_OPERATIONS = sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))
NOT_ASKED = -(1 << 31)
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def is_well_named(request: Any, version: int) -> bool:
    """Whether the client's software has a name and a version as they should be (KIP-511)."""
    names = (request.client_software_name, request.client_software_version)
    return version < FIRST_WITH_SOFTWARE or all(_SOFTWARE.fullmatch(one) for one in names)


def offered(apis: Iterable[tuple[ApiKey, int, int]], features: Finalized | None, version: int) -> Any:
    """`apis`: key, first and last version; `features`: None where there are none."""
    kind = m.ApiVersionsResponse
    keys = [kind.ApiVersion(api_key=int(key), min_version=first, max_version=last) for key, first, last in apis]
    if features is None:
        return kind(api_keys=keys)
    supported = [
        kind.SupportedFeatureKey(name=name, min_version=least, max_version=most)
        for name, (least, most) in SUPPORTED.items() if least or version >= FIRST_WITH_ZERO
    ]  # fmt: skip
    finalized = [
        kind.FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
        for name, level in features.levels.items()
    ]
    return kind(
        api_keys=keys, supported_features=supported, finalized_features=finalized,
        finalized_features_epoch=features.epoch,
    )  # fmt: skip


def wrong_endpoint(asked: int, own: int, version: int) -> Any:
    """DescribeCluster of the other kind of endpoint, or of one that there is not (KIP-919); version 0 knew no kinds."""
    names = {BROKERS: "BROKER", CONTROLLERS: "CONTROLLER"}
    error, message = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {asked}"
    if asked in names:
        error = ErrorCode.MISMATCHED_ENDPOINT_TYPE if version else ErrorCode.INVALID_REQUEST
        sent, wanted = names[own], names[asked]
        message = f"The request was sent to an endpoint of type {sent}, but we wanted an endpoint of type {wanted}"
    return m.DescribeClusterResponse(error_code=int(error), error_message=message, brokers=[])
