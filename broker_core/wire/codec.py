"""Requests and responses as bytes, with their headers.

    request    size, api key, version, correlation id, client id, [tagged fields], body
    response   size, correlation id, [tagged fields], body

A frame is what follows the 4-byte size. Writing gives a list of buffers that starts with the size: record
batches stand in it as they were handed in, so a file slice can go to the socket without being read here.

    body = decode_request(header.api_key, header.api_version, header.body)
    out = encode_response(header.api_key, header.api_version, header.correlation_id, answer)

Reading raises WireError for every break of the protocol and nothing else; what the bytes claim to hold is
compared with what is there before memory is taken for it. A version that a mode does not advertise may
still have a schema: ask `apis.is_supported` first.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from broker_core.wire import messages
from broker_core.wire.apis import (
    ApiKey,
    Mode,
    api_name,
    is_flexible,
    is_known,
    request_header_version,
    response_header_version,
    version_range,
)
from broker_core.wire.compiled import read_message, write_message
from broker_core.wire.errors import ErrorCode, WireError
from broker_core.wire.plain import MOST_IN_REQUEST, PlainReader

Buffer = bytes | bytearray | memoryview

_HEAD = struct.Struct(">hhih")  # key, version, correlation id, length of the client id
_HEAD_V0 = struct.Struct(">hhi")
_SIZE = struct.Struct(">i")


class RequestHeader(NamedTuple):
    """The header of a request, and the body behind it."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body: Buffer


class ResponseHeader(NamedTuple):
    correlation_id: int
    body: Buffer


def decode_request_header(frame: Buffer) -> RequestHeader:
    """Splits a frame (without its size). WireError for a truncated header or an unknown API key."""
    view = memoryview(frame)
    try:
        key, version, correlation_id, length = _HEAD.unpack_from(view)
    except struct.error:
        return _short_header(view)
    if not is_known(key):
        raise WireError("request header", f"unknown api key {key}")
    header_version = request_header_version(key, version)
    if header_version == 0:
        return RequestHeader(key, version, correlation_id, None, view[_HEAD_V0.size :])
    end = _HEAD.size + max(length, 0)
    if length < -1 or end > len(view):
        raise WireError(f"request header of {api_name(key)}", f"client id of {length} bytes, frame of {len(view)}")
    client_id = str(view[_HEAD.size : end], "utf-8", "replace") if length >= 0 else None
    if header_version == 2:
        end = _behind_tagged_fields(f"request header of {api_name(key)}", view, end)
    return RequestHeader(key, version, correlation_id, client_id, view[end:])


def _short_header(view: memoryview) -> RequestHeader:
    """A frame of less than ten bytes: only ControlledShutdown v0, whose header has no client id, fits."""
    if len(view) >= _HEAD_V0.size:
        key, version, correlation_id = _HEAD_V0.unpack_from(view)
        if key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
            return RequestHeader(key, version, correlation_id, None, view[_HEAD_V0.size :])
    raise WireError("request header", f"frame of {len(view)} bytes")


def _behind_tagged_fields(what: str, view: memoryview, position: int) -> int:
    if position < len(view) and view[position] == 0:
        return position + 1
    reader = PlainReader(what, view, {}, MOST_IN_REQUEST)
    reader.position = position
    reader.skip_tagged_fields()
    return reader.position


def decode_response_header(api_key: int, version: int, frame: Buffer) -> ResponseHeader:
    view = memoryview(frame)
    if len(view) < 4:
        raise WireError(f"response header of {api_name(api_key)}", f"frame of {len(view)} bytes")
    end = 4
    if response_header_version(api_key, version) == 1:
        end = _behind_tagged_fields(f"response header of {api_name(api_key)}", view, end)
    return ResponseHeader(_SIZE.unpack_from(view)[0], view[end:])


def decode_request(api_key: int, version: int, body: Buffer) -> Any:
    """The body of a request as `messages.<Api>Request`."""
    return read_message(_class_of(api_key, "Request"), version, memoryview(body), MOST_IN_REQUEST)


def decode_response(api_key: int, version: int, body: Buffer) -> Any:
    """The body of a response as `messages.<Api>Response`."""
    return read_message(_class_of(api_key, "Response"), version, memoryview(body))


def encode_request(api_key: int, version: int, correlation_id: int, client_id: str | None, message: Any) -> list[Any]:
    """A whole request: size, header, body."""
    if request_header_version(api_key, version) == 0:
        head = _HEAD_V0.pack(api_key, version, correlation_id)
    else:
        name = b"" if client_id is None else client_id.encode("utf-8", "replace")
        head = _HEAD.pack(api_key, version, correlation_id, -1 if client_id is None else len(name)) + name
        if is_flexible(api_key, version):
            head += b"\0"
    return write_message(_class_of(api_key, "Request"), version, message, bytearray(4) + head)


def encode_response(api_key: int, version: int, correlation_id: int, message: Any) -> list[Any]:
    """A whole response: size, header, body; list of buffers and, for records, whatever was handed in."""
    head = bytearray(4) + _SIZE.pack(correlation_id)
    if response_header_version(api_key, version) == 1:
        head.append(0)
    return write_message(_class_of(api_key, "Response"), version, message, head)


def encode_unsupported_api_versions(correlation_id: int, mode: Mode) -> list[Any]:
    """The answer to ApiVersions in a version that is not known here (KIP-511).

    Whoever asks cannot know yet which versions there are, so it is a version 0 body: the error, and the
    range of ApiVersions itself to ask again with.
    """
    return encode_response(ApiKey.API_VERSIONS, 0, correlation_id, unknown_version(mode))


def unknown_version(mode: Mode) -> Any:
    """That answer's body."""
    first, last = version_range(ApiKey.API_VERSIONS, mode) or (0, 0)
    response = messages.ApiVersionsResponse
    key = response.ApiVersion(api_key=int(ApiKey.API_VERSIONS), min_version=first, max_version=last)
    return response(error_code=int(ErrorCode.UNSUPPORTED_VERSION), api_keys=[key])


_CLASSES: dict[tuple[int, str], Any] = {}


def _class_of(api_key: int, direction: str) -> Any:
    found = _CLASSES.get((api_key, direction))
    if found is None:
        if not is_known(api_key):
            raise WireError(api_name(api_key), "unknown api key")
        found = _CLASSES[api_key, direction] = getattr(messages, api_name(api_key) + direction)
    return found
