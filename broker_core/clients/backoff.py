"""Exponential backoff with jitter, as `ExponentialBackoff` of the Java clients (KIP-580, KIP-601).

`retry.backoff.ms` 100 and `retry.backoff.max.ms` 1000: 100, 200, 400, 800, 1000, 1000, ... each times a
random factor of 0.8 to 1.2, so that clients that failed together do not come back together.
"""

from __future__ import annotations

from random import Random

JITTER = 0.2


def backoff_us(attempts: int, initial_ms: int, max_ms: int, random: Random) -> int:
    """How long to wait after `attempts` failures more than one, in microseconds."""
    if initial_ms <= 0:
        return 0
    base_ms = min(initial_ms << min(attempts, 20), max(initial_ms, max_ms))
    waited = int(base_ms * 1000 * (1 - JITTER + 2 * JITTER * random.random()))
    return min(waited, max(initial_ms, max_ms) * 1000)
