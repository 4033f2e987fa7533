"""Reading of a broker's description; its settings are tried on Kafka's own rules."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from broker_core.broker.addresses import advertised_address
from broker_core.kernel.problems import problem
from broker_core.metadata.configs import BrokerConfig, ConfigError, era_of
from lab.clusters.brokers import BrokerSpec, ClusterSpec
from lab.clusters.checks import Place, SpecError, integer, mapping, settings_of, text, truth


def broker_from_dict(value: Any, place: Place) -> BrokerSpec:
    """{id, rack, settings, generated}; the settings are checked beside those of the cluster (`check_broker`)."""
    data = mapping(value, place, ["id", "rack", "settings", "generated"], ["id"])
    return BrokerSpec(
        integer(data["id"], (*place, "id"), 0),
        None if data.get("rack") is None else text(data["rack"], (*place, "rack")),
        settings_of(data.get("settings"), (*place, "settings")),
        truth(data.get("generated", False), (*place, "generated")),
    )


def check_broker(cluster: ClusterSpec, broker: BrokerSpec, place: Place, own: Place) -> None:
    """Its settings, those of the `cluster` at `place` among them; `own` is the place of the broker itself."""
    set_elsewhere(broker.settings, (*own, "settings"))
    try:
        _try_settings(tuple(cluster.broker_settings(broker).items()))
    except ConfigError as error:
        name = getattr(error, "name", "")
        at: Place = (*place, "settings", name) if name in cluster.settings else (*place, "settings")
        if name in broker.settings:
            at = (*own, "settings", name)
        elif name == "broker.id":
            at = (*own, "id")
        raise SpecError(at, error.problem) from None


@lru_cache(maxsize=256)
def _try_settings(given: tuple[tuple[str, str], ...]) -> None:
    """Raises ConfigError. What is right is right the next time, too: a scenario names the same brokers in each of its
    variants, forks and generations."""
    settings = dict(given)
    advertised_address(BrokerConfig(settings, era_of(settings)))


def set_elsewhere(settings: dict[str, str], place: Place) -> None:
    for name in ("broker.id", "node.id"):
        if name in settings:
            raise SpecError((*place, name), problem("id_names_broker", name=name))
    if "zookeeper.connect" in settings:
        raise SpecError((*place, "zookeeper.connect"), problem("chroot_elsewhere"))
    if "listeners" in settings:
        raise SpecError((*place, "listeners"), problem("listeners_elsewhere"))
    for name in ("log.dirs", "log.dir"):
        if ".." in (part.strip() for part in settings.get(name, "").replace(",", "/").split("/")):
            raise SpecError((*place, name), problem("outside_of_disks"))
