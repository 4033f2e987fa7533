"""What the process that hosts a lab and those that serve its viewers call each other by (channel layer).

| name | carries |
|---|---|
| `brokerlab.LAB.calls` | calls to the host: `{"what", "run", "args", "n", "to", "at", "stale_s"}` |
| the caller's own channel | answers: `{"n", "value"}` or `{"n", "error"}`; before it, of long work, `{"n", "share"}` |
| group `brokerlab.LAB.RUN` | batches of events, one message for each flush, text made once |

The layer drops silently when a channel is full, so batches are numbered (`n`), and whoever finds a gap asks
for what is missing. A call that has waited longer than `STALE_S` is not carried out: its caller has given up. A process
that this server has started cannot go without being missed, so whoever asks it waits longer, and says so (`stale_s`).
"""

from __future__ import annotations

STALE_S = 8.0
PATIENCE_S = 10.0
HOSTED_PATIENCE_S = 45.0
SLOW_PATIENCE_S = 130.0
RENEW_S = 2.0
LEASE_S = 10.0
LIVE = "live"
OWN = "brokerlab"
"""Prefix of all channels of one process: the Redis layer reads only one such prefix at a time."""


def calls(lab: str) -> str:
    """The channel on which the host of a lab takes calls."""
    return f"brokerlab.{lab}.calls"


def group(lab: str, run: str | None) -> str:
    """The group of all processes that watch a run; None is the live one."""
    return f"brokerlab.{lab}.{run or LIVE}"
