"""Kafka's wire protocol: message schemas, codec, framing, error codes, API versions."""

from broker_core.wire.apis import api_name
from broker_core.wire.summary import first_error

__all__ = ["api_name", "first_error"]
