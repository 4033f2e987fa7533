"""The one exception of this package: a request that a replica answers with a protocol error."""

from __future__ import annotations

from broker_core.wire.errors import ErrorCode


class ReplicaError(Exception):
    """`code` goes to the client, `reason` into its error message where the protocol has one."""

    def __init__(self, code: ErrorCode, reason: str = "") -> None:
        super().__init__(f"{code.name}: {reason or code.message}")
        self.code = code
        self.reason = reason

    def __reduce__(self) -> tuple[type[ReplicaError], tuple[ErrorCode, str]]:
        return type(self), (self.code, self.reason)


def error_code(error: Exception) -> ErrorCode:
    """The protocol error of an exception of this package, of `log` or of `records`."""
    if isinstance(error, ReplicaError):
        return error.code
    return ErrorCode[getattr(error, "kafka_error", "UNKNOWN_SERVER_ERROR")]
