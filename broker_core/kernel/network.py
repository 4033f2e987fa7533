"""Directed links between nodes.

A message takes `delay_us` (plus an exponential share), may be dropped, duplicated or reordered,
waits its turn when bandwidth is short, and is lost while the link is partitioned. Without a fault
a link is a FIFO, as a TCP connection is. A link exists once it was used: that is what "connected"
means when a process ends and its peers see their connections close.
"""

from __future__ import annotations

from random import Random


class Link:
    """One direction between two nodes. All probabilities are in 0..1, times in microseconds."""

    __slots__ = (
        "source", "dest", "delay_us", "jitter_us", "drop", "duplicate", "reorder", "bandwidth", "partitioned",
        "default_delay_us", "last_delivery_us", "faulty",
    )  # fmt: skip

    def __init__(self, source: str, dest: str, delay_us: int) -> None:
        self.source = source
        self.dest = dest
        self.default_delay_us = delay_us
        self.last_delivery_us = 0
        self.reset()

    def reset(self) -> None:
        """Back to a healthy link."""
        self.delay_us = self.default_delay_us
        self.jitter_us = 0
        self.drop = 0.0
        self.duplicate = 0.0
        self.reorder = 0.0
        self.bandwidth = 0
        self.partitioned = False
        self.faulty = False

    def change(self, **values: float) -> None:
        """Set any of delay_us, jitter_us, drop, duplicate, reorder, bandwidth (bytes/s), partitioned."""
        for name, value in values.items():
            setattr(self, name, value)
        self.faulty = bool(
            self.jitter_us or self.drop or self.duplicate or self.reorder or self.bandwidth or self.partitioned
        )

    @property
    def changed(self) -> bool:
        """Whether the link differs from a healthy one."""
        return self.faulty or self.delay_us != self.default_delay_us

    def lost(self, rng: Random) -> str | None:
        """Why this message is lost, or None."""
        if self.partitioned:
            return "partitioned"
        if self.drop and rng.random() < self.drop:
            return "dropped"
        return None

    def delivery_us(self, now_us: int, size: int, rng: Random) -> int:
        """When a message of `size` bytes that is sent now arrives."""
        at = now_us + self.delay_us
        if self.jitter_us:
            at += int(rng.expovariate(1.0) * self.jitter_us)
        if self.bandwidth:
            at = max(at, self.last_delivery_us) + size * 1_000_000 // self.bandwidth
        if self.reorder and rng.random() < self.reorder:
            return at
        if at < self.last_delivery_us:
            at = self.last_delivery_us
        self.last_delivery_us = at
        return at


class Network:
    """All links, made when first used."""

    def __init__(self, delay_us: int) -> None:
        self.delay_us = delay_us
        self.links: dict[tuple[str, str], Link] = {}

    def link(self, source: str, dest: str) -> Link:
        """The link from `source` to `dest`."""
        key = (source, dest)
        found = self.links.get(key)
        if found is None:
            found = self.links[key] = Link(source, dest, self.delay_us)
        return found

    def peers(self, node: str) -> list[str]:
        """Nodes that have exchanged a message with `node`, in order of first contact."""
        found = {b if a == node else a: None for a, b in self.links if node in (a, b)}
        return list(found)
