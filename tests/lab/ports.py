"""Ports for labs that tests start."""

from __future__ import annotations

import os
import socket

_next = [20000 + os.getpid() % 200 * 200]


def free_ports(count: int) -> int:
    """The first of `count` free ports in a row, another one at each call."""
    for _ in range(2000):
        start = _next[0] = 20000 + (_next[0] - 20000 + count) % 40000
        try:
            for port in range(start, start + count):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return start
    raise RuntimeError("no free ports")
