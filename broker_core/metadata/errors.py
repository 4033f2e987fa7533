"""A request that the cluster's rules refuse."""

from __future__ import annotations

from broker_core.wire.errors import ErrorCode


class RequestError(Exception):
    """Refused with a protocol error code and, where it helps, a sentence in Kafka's words."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.name)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type[RequestError], tuple[ErrorCode, str | None]]:
        return type(self), (self.code, self.message)
