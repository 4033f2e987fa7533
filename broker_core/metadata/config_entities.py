"""Whose settings are meant: Kafka's entities, as `kafka-configs.sh --entity-type ... --entity-name ...` names them.

| entity | holds |
|---|---|
| ("topics", "orders") | overrides of one topic |
| ("groups", "billing") | settings of one group |
| ("brokers", "1") | dynamic settings of one broker |
| ("brokers", "<default>") | dynamic settings of all brokers |
"""

from __future__ import annotations

TOPICS, BROKERS, GROUPS = "topics", "brokers", "groups"
DEFAULT_ENTITY = "<default>"

Entity = tuple[str, str]  # type, name
