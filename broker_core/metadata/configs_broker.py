"""Every setting of a broker, in one table put together from its parts.

| part | about |
|---|---|
| configs_controller | who a broker is, the coordination tree, the metadata quorum |
| configs_network | listeners, threads, queues, connections, quotas |
| configs_log | segments, retention, the cleaner |
| configs_replication | followers, the ISR, leadership |
| configs_groups | the coordinators |
| configs_tiered, configs_security | remote storage; SASL, TLS and tokens |
"""

from __future__ import annotations

from broker_core.metadata.configs_controller import CONTROLLER
from broker_core.metadata.configs_groups import GROUPS
from broker_core.metadata.configs_log import LOG
from broker_core.metadata.configs_network import NETWORK
from broker_core.metadata.configs_replication import REPLICATION
from broker_core.metadata.configs_security import SECURITY
from broker_core.metadata.configs_tiered import TIERED
from broker_core.metadata.configs_types import Setting

BROKER_SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for part in (CONTROLLER, NETWORK, LOG, REPLICATION, GROUPS, TIERED, SECURITY)
    for setting in part
}

# Broker settings that stand for the same thing, the one that wins first (Kafka's `brokerConfigSynonyms`).
_CHAINS = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
BROKER_SYNONYMS: dict[str, tuple[str, ...]] = {name: chain for chain in _CHAINS for name in chain}
BROKER_SYNONYMS["log.flush.interval.ms"] = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
