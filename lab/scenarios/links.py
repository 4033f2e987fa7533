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

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import Problem, problem

VERSION = "b1"
LONGEST = 64 * 1024
LARGEST = 1_000_000


class LinkError(Refusal, ValueError):
    """A text that is not a packed scenario; `code` says why in one word, for who shows it in a sentence of his own.

    shape: not whole · version: of another version · checksum: changed · bytes: cannot be unpacked · large
    """

    def __init__(self, code: str, what: Problem) -> None:
        super().__init__(what)
        self.code = code


def pack(document: dict[str, Any]) -> str:
    """The document as link-safe text. Raises LinkError when it is too large for a link."""
    plain = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    packed = base64.urlsafe_b64encode(zlib.compress(plain, 9)).rstrip(b"=").decode()
    text = f"{VERSION}.{_sum(plain)}.{packed}"
    if len(text) > LONGEST or len(plain) > LARGEST:
        raise LinkError("large", problem("link_too_large", n=len(text), most=LONGEST))
    return text


def unpack(text: str) -> dict[str, Any]:
    """The document behind a packed text. Raises LinkError."""
    text = text.strip()
    if len(text) > LONGEST:
        raise LinkError("large", problem("too_long", n=len(text), most=LONGEST))
    parts = text.split(".")
    if len(parts) != 3:
        raise LinkError("shape", problem("link_parts"))
    version, checksum, data = parts
    if version != VERSION:
        raise LinkError("version", problem("link_version", given=version[:10], expected=VERSION))
    plain = _inflated(data)
    if _sum(plain) != checksum:
        raise LinkError("checksum", problem("link_checksum"))
    try:
        document = json.loads(plain)
    except (ValueError, RecursionError):
        raise LinkError("bytes", problem("link_no_scenario")) from None
    if not isinstance(document, dict):
        raise LinkError("bytes", problem("link_no_scenario"))
    return document


def _inflated(data: str) -> bytes:
    if len(data) % 4 == 1:  # no number of bytes is written in so many characters
        raise LinkError("shape", problem("link_ends_early"))
    try:
        compressed = base64.b64decode(data + "=" * (-len(data) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise LinkError("bytes", problem("link_letters")) from None
    machine = zlib.decompressobj()
    try:
        plain = machine.decompress(compressed, LARGEST)
    except zlib.error:
        raise LinkError("bytes", problem("link_packed")) from None
    if machine.unconsumed_tail:
        raise LinkError("large", problem("link_large", most=LARGEST))
    if not machine.eof:
        raise LinkError("shape", problem("link_ends_early"))
    return plain


def _sum(plain: bytes) -> str:
    return hashlib.sha256(plain).hexdigest()[:8]
