"""A scenario packed into a link: text that survives mail, chat and the part of an address behind `#`.

    b1.<first 8 hex digits of SHA-256 of the JSON>.<base64url of zlib of the JSON, without padding>

`unpack` refuses what is damaged, cut off, too large, or of another version, and says which it is. What it
returns is plain data and has still to be checked as any scenario (`grammar.from_dict`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from typing import Any

VERSION = "b1"
LONGEST = 64 * 1024
LARGEST = 1_000_000


class LinkError(ValueError):
    """A text that is not a packed scenario; the message says why, `code` in one word.

    shape: not whole · version: of another version · checksum: changed · bytes: cannot be unpacked · large
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def pack(document: dict[str, Any]) -> str:
    """The document as link-safe text. Raises LinkError when it is too large for a link."""
    plain = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    packed = base64.urlsafe_b64encode(zlib.compress(plain, 9)).rstrip(b"=").decode()
    text = f"{VERSION}.{_sum(plain)}.{packed}"
    if len(text) > LONGEST or len(plain) > LARGEST:
        raise LinkError("large", f"the scenario is too large for a link: {len(text)} characters, at most {LONGEST}")
    return text


def unpack(text: str) -> dict[str, Any]:
    """The document behind a packed text. Raises LinkError."""
    text = text.strip()
    if len(text) > LONGEST:
        raise LinkError("large", f"{len(text)} characters, expected at most {LONGEST}")
    parts = text.split(".")
    if len(parts) != 3:
        raise LinkError("shape", "expected three parts, VERSION.CHECKSUM.DATA: the link is cut off or is none")
    version, checksum, data = parts
    if version != VERSION:
        raise LinkError("version", f"version {version[:10]!r}, expected {VERSION!r}")
    plain = _inflated(data)
    if _sum(plain) != checksum:
        raise LinkError("checksum", "the checksum does not fit: the link is damaged")
    try:
        document = json.loads(plain)
    except (ValueError, RecursionError):
        raise LinkError("bytes", "expected a scenario, found something else") from None
    if not isinstance(document, dict):
        raise LinkError("bytes", "expected a scenario, found something else")
    return document


def _inflated(data: str) -> bytes:
    if len(data) % 4 == 1:  # no number of bytes is written in so many characters
        raise LinkError("shape", "the data ends too early: the link is cut off")
    try:
        compressed = base64.b64decode(data + "=" * (-len(data) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise LinkError("bytes", "the data is not base64url: the link is damaged") from None
    machine = zlib.decompressobj()
    try:
        plain = machine.decompress(compressed, LARGEST)
    except zlib.error:
        raise LinkError("bytes", "the data cannot be unpacked: the link is damaged or cut off") from None
    if machine.unconsumed_tail:
        raise LinkError("large", f"more than {LARGEST} bytes are packed in it")
    if not machine.eof:
        raise LinkError("shape", "the data ends too early: the link is cut off")
    return plain


def _sum(plain: bytes) -> str:
    return hashlib.sha256(plain).hexdigest()[:8]
