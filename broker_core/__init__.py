"""A Kafka broker core that can be taken apart.

Read it bottom-up: `kernel` (a deterministic world), `wire` (the protocol), `records` and `log`
(what stands on disk), `purgatory`, `metadata`, `zookeeper`, `replication`, `groups`, `controller`,
`clients`, `broker`, and `drivers`, the only place that touches real sockets, files and clocks.
"""

from broker_core.drivers import native as _native

COMPILED = _native.install()
"""Whether modules of this core are compiled ones; before any of them is imported."""
