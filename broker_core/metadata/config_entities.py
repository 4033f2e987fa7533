"""Whose settings are meant: Kafka's entities, as `kafka-configs.sh --entity-type ... --entity-name ...` names them.

| entity | holds |
|---|---|
| ("topics", "orders") | overrides of one topic |
| ("groups", "billing") | settings of one group |
| ("brokers", "1") | dynamic settings of one broker |
| ("brokers", "<default>") | dynamic settings of all brokers |
"""

from __future__ import annotations

import re

TOPICS, BROKERS, GROUPS = "topics", "brokers", "groups"
DEFAULT_ENTITY = "<default>"

Entity = tuple[str, str]  # type, name


def node_id_in(name: str) -> int | None:
    """The id of a broker or controller by which a resource is named; None where Java's Integer.parseInt fails: "--1",
    or more than 32 bits hold. Digits are those of ASCII."""
    found = re.fullmatch(r"([+-]?)0*([0-9]{1,10})", name)
    number = int(found[1] + found[2]) if found is not None else 1 << 31
    return number if -(1 << 31) <= number < 1 << 31 else None
