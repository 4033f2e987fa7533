"""The batches of one run as they come over the layer: in order, and without holes.

A gap in their numbers is filled by asking for the missing events, once for all viewers of this process; when
they are no longer in the host's memory, its viewers are cut to a snapshot. The host's count comes with every
renewal of the lease, too, so that a loss shows when nothing follows it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

from lab.branch import BranchError
from lab.open_runs import LabError
from web.live import wire_names as names
from web.live.pipes import PipeClosed
from lab.feed import Batch

RETRY_S = 1.0
ON_THEIR_WAY_S = 0.3
_log = logging.getLogger("brokerlab.remote")


async def received(
    layer: Any, channel: str, lost: Callable[[str], None] | None = None
) -> AsyncIterator[dict[str, Any]]:
    """Messages of a channel; a server that is away is waited for. One line when it goes, one when it is back."""
    away = False
    while True:
        try:
            message = await layer.receive(channel)
        except PipeClosed as error:
            if lost is not None:
                lost(str(error))
            return
        except Exception as error:
            if not away:
                _log.warning("Redis is away (%s); waiting for it", error)
            away = True
            if lost is not None:
                lost(f"Redis is away: {error}")
            await asyncio.sleep(RETRY_S)
            continue
        if away:
            _log.warning("Redis is back")
        away = False
        yield message


class Watch:
    """The batches of one run, in order and without gaps."""

    def __init__(self, lab: Any, run: str | None) -> None:
        self.lab = lab
        self.run = run
        self.tokens = 0
        self.subscribers: dict[int, Callable[[Batch], None]] = {}
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._at: tuple[str, int] | None = None  # the host, and the number of its last message
        self._last = 0

    async def follow(self) -> None:
        """Join the group, renew the lease, hand batches on; ends by being cancelled."""
        layer, group = self.lab.layer, names.group(self.lab.name, self.run)
        channel = await layer.new_channel(names.OWN)
        renewal = self.lab.keep(self._renew(group, channel))
        try:
            async for message in received(layer, channel):
                await self._take(message)
        finally:
            renewal.cancel()
            self.lab.keep(layer.group_discard(group, channel))

    async def _renew(self, group: str, channel: str) -> None:
        """A host that is silent for long is told of once."""
        complaint = ""
        while True:
            try:
                await self.lab.layer.group_add(group, channel)
                facts = await asyncio.wrap_future(self.lab.call("watch", self.run))
                self.lab.told(facts)
                self.ready.set()
                await self._compare(facts["host"], facts["n"])
                complaint = ""
            except Exception as error:
                if str(error) != complaint:
                    complaint = str(error)
                    _log.warning("lab %s: %s", self.lab.name, complaint)
            await asyncio.sleep(names.RENEW_S)

    async def _compare(self, host: str, n: int) -> None:
        """Batches that went by while this process was not in the group show in the host's count alone."""
        if self._at is None:
            self._at = (host, n)
            return
        await asyncio.sleep(ON_THEIR_WAY_S)
        if self._at[0] != host or self._at[1] < n:
            self._at = (host, n)
            if not await self._fill():
                self.lab.lost(self.run)

    async def _take(self, message: dict[str, Any]) -> None:
        place = (message["host"], message["n"])
        follows = self._at is None or self._at == (place[0], place[1] - 1)
        self._at = place
        if not follows and not await self._fill():
            self.lab.lost(self.run)
        if message["last"] > self._last or follows:
            fields = ("first", "last", "t0", "t1", "text", "count")
            self._hand_on(Batch(*(message[name] for name in fields)))

    async def _fill(self) -> bool:
        """What was missed, as one batch with absolute times; False when it cannot be had."""
        try:
            text = await asyncio.wrap_future(self.lab.events_since(self._last, self.run))
        except (LabError, BranchError):
            return False
        if text is None:
            return False
        rows = json.loads(text)
        if rows:
            self._hand_on(Batch(rows[0][0], rows[-1][0], 0, rows[-1][1], text, len(rows)))
        return True

    def _hand_on(self, batch: Batch) -> None:
        self._last = max(self._last, batch.last)
        if self.run is None:
            self.lab.moved(batch.last)
        for subscriber in list(self.subscribers.values()):
            subscriber(batch)
