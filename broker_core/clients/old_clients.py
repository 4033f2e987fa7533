"""Clients from before record batches: what they read and write, and in which versions they ask for it.

`broker.version.fallback` is what librdkafka calls it: the version of Kafka that a client takes its brokers for. Here it
decides how records go to and fro; everything else is said in the newest version that both sides know.

| setting | format | Produce | Fetch | what is not there yet |
|---|---|---|---|---|
| (none) | magic 2, record batches (KIP-98) | newest | newest | |
| `0.10.2` | magic 1, messages with timestamps (KIP-32) | 2 | 3 | headers, producer ids, transactions |
| `0.9.0` | magic 0, messages | 1 | 1 | and timestamps |

Several messages that are compressed stand in one *wrapper* message. Brokers of 3.9 convert both ways; from 4.0 on they
refuse these versions (KIP-896, KIP-724).
"""

from __future__ import annotations

from typing import NamedTuple

FALLBACK = "broker.version.fallback"


class Release(NamedTuple):
    """Of records a client knows the format `magic`, of requests at most these versions."""

    magic: int
    produce: int
    fetch: int


RELEASES: dict[str, Release] = {"0.9.0": Release(0, 1, 1), "0.10.2": Release(1, 2, 3)}
