"""What looking closely at a znode answers; made by `lab.clusters.inspect_znode`."""

from __future__ import annotations

from typing import Any, Literal

from web.api.answers_bytes import Closed


class ZnodeOwner(Closed):
    """The session that an ephemeral znode goes with; the rest is null once that session has ended."""

    session: str
    client: str | None
    timeout_ms: int | None


class ZnodeWatches(Closed):
    """Names of the nodes that hear of the next change, by what they watch."""

    data: list[str]
    children: list[str]


class ZnodeView(Closed):
    """of=znode; the keys from `format` on only where a znode stands. `data`: JSON or text, as `format` says."""

    path: str
    there: bool
    watches: ZnodeWatches
    format: Literal["json", "text", "none"] | None = None
    data: Any = None
    size: int | None = None
    version: int | None = None
    children: int | None = None
    czxid: int | None = None
    mzxid: int | None = None
    owner: ZnodeOwner | None = None
