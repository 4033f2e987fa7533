"""What a running broker takes for its listeners, with Kafka's texts (`KafkaConfig.validateValues`,
`DynamicListenerConfig`).

| setting | rule |
|---|---|
| listener.security.protocol.map | each `NAME:PROTOCOL`; the protocol of a listener that is open stays |
| listeners | each `NAME://host:port`, of names in the map; no name and no port twice |
| advertised.listeners | the same, of names in `listeners`; at least one, and nobody can connect to 0.0.0.0 |
| inter.broker.listener.name | one of the advertised names |

A broker here has one listener for its whole life: what Kafka would open or close is refused last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from broker_core.kernel.problems import problem
from broker_core.metadata.configs_types import ConfigError, ConfigRuleError

LISTENER_SETTINGS = ("listeners", "advertised.listeners", "listener.security.protocol.map")
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_ENDPOINT = re.compile(r"(?P<name>[^/]*)://(?P<host>\[?[0-9a-zA-Z\-%._:]*\]?):(?P<port>-?[0-9]{1,10})")


def check_listeners(config: Mapping[str, Any], before: tuple[Any, Any, Any]) -> None:
    """Raise ConfigError for the first rule that a change breaks; `before`: the three settings as they were."""
    of_controllers = str(config["controller.listener.names"] or "").split(",")
    protocols = {**dict.fromkeys(of_controllers, "PLAINTEXT"), **_protocols(config["listener.security.protocol.map"])}
    listeners = _endpoints("listeners", config["listeners"], protocols)
    text = config["advertised.listeners"]
    own = [one for one in listeners if one[0] not in of_controllers]
    advertised = own if text is None else _endpoints("advertised.listeners", text, protocols)
    if not advertised:
        raise _required("There must be at least one broker advertised listener.", "advertised.listeners")
    ports = [port for _, _, port in listeners if port > 0]
    if len(set(ports)) < len(ports):
        reason = f"Each listener must have a different port, listeners: {config['listeners']}"
        raise _required(reason, "listeners")
    _check_names(config, [name for name, _, _ in listeners], [name for name, _, _ in advertised])
    if any(host == "0.0.0.0" for _, host, _ in advertised):
        reason = "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."
        raise _required(reason, "advertised.listeners")
    for name, _, _ in listeners:
        if _protocols(before[2]).get(name, protocols[name]) != protocols[name]:
            raise _invalid_change(f"Security protocol cannot be updated for existing listener ListenerName({name})")
    if config["listeners"] != before[0]:
        raise _refused("A broker of the lab has one listener, which stays", "listeners")


def _check_names(config: Mapping[str, Any], listed: list[str], told: list[str]) -> None:
    inside = config["inter.broker.listener.name"] or config["security.inter.broker.protocol"]
    if inside not in told:
        reason = ("inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid"
                  f" options based on currently configured listeners are {','.join(told)}")  # fmt: skip
        raise _required(reason, "inter.broker.listener.name")
    if not set(told) <= set(listed):
        reason = ("advertised.listeners listener names must be equal to or a subset of the ones defined in listeners."
                  f" Found {','.join(told)}. The valid options based on the current configuration are"
                  f" {','.join(listed)}")  # fmt: skip
        raise _required(reason, "advertised.listeners")


def _protocols(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = "listener.security.protocol.map"
    for one in filter(None, (part.strip() for part in text.split(","))):
        listener, colon, protocol = one.rpartition(":")
        if not colon:
            words = f"begin 0, end -1, length {len(one)}"
            raise _refused(f"Error parsing configuration property '{name}': {words}", name)
        if protocol.strip() not in PROTOCOLS:
            raise _refused(f"Invalid security protocol `{protocol.strip()}` defined in {name}", name)
        found[listener.strip().upper()] = protocol.strip()
    return found


def _endpoints(setting: str, text: str, protocols: Mapping[str, str]) -> list[tuple[str, str, int]]:
    """(name, host, port) of each listener."""
    found = []
    for one in filter(None, (part.strip() for part in text.split(","))):
        match = _ENDPOINT.fullmatch(one)
        words = f"Unable to parse {one} to a broker endpoint" if match is None else ""
        if match is not None and match["name"].upper() not in protocols:
            words = f"No security protocol defined for listener {match['name'].upper()}"
        if match is None or words:
            raise _refused(f"Error creating broker listeners from '{text}': {words}", setting)
        found.append((match["name"].upper(), match["host"].strip("[]"), int(match["port"])))
    names = [name for name, _, _ in found]
    if len(set(names)) < len(names):
        raise _required(f"Each listener must have a different name, listeners: {text}", setting)
    return found


def _invalid_change(reason: str) -> ConfigError:
    cause = f"org.apache.kafka.common.config.ConfigException: {reason}"
    return ConfigError(problem("thread_count", words=cause), "listeners")


def _refused(words: str, name: str) -> ConfigError:
    return ConfigError(problem("broken_rule", words=words), name)


def _required(words: str, name: str) -> ConfigRuleError:
    return ConfigRuleError(problem("broken_rule", words=words), name)
