"""Settings of groups, asked of Apache Kafka 4.3 and of a KRaft lab: what is set, what stands behind it, what is refused."""

from __future__ import annotations

from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script

GROUP, BROKER = 32, 4
SET, DELETE, APPEND = 0, 1, 2
OF_ALL = "group.consumer.assignment.interval.ms"
Changes = dict[str, str | None]


def _describe(k: Script, title: str, versions: range, *groups: str, keys: list[str] | None = None, **more: Any) -> None:
    d = m.DescribeConfigsRequest
    asked = [d.DescribeConfigsResource(resource_type=GROUP, resource_name=name, configuration_keys=keys) for name in groups]
    for version in versions:
        k(title, ApiKey.DESCRIBE_CONFIGS, version, d(resources=asked, **more))


def _alter(k: Script, title: str, group: str, changes: Changes, kind: int = GROUP, operation: int = SET, **more: Any) -> None:
    a = m.IncrementalAlterConfigsRequest
    configs = [a.AlterableConfig(name=name, config_operation=DELETE if value is None else operation, value=value)
               for name, value in changes.items()]  # fmt: skip
    resource = a.AlterConfigsResource(resource_type=kind, resource_name=group, configs=configs)
    for version in (0, 1):
        k(title, ApiKey.INCREMENTAL_ALTER_CONFIGS, version, a(resources=[resource], **more))


def _until(k: Script, group: str, name: str, value: str) -> None:
    """The broker that is asked hears of a change a moment after the controller has made it."""
    d = m.DescribeConfigsRequest
    request = d(resources=[d.DescribeConfigsResource(resource_type=GROUP, resource_name=group, configuration_keys=None)])
    k.until(ApiKey.DESCRIBE_CONFIGS, 4, request, lambda answer: any(
        (one.name, one.value) == (name, value) for one in answer.results[0].configs))  # fmt: skip


def settings(k: Script) -> None:
    all_versions = range(1, 5)
    _describe(k, "nothing set", all_versions, "billing", include_synonyms=True, include_documentation=True)
    _describe(k, "without synonyms", all_versions, "billing", "shipping")
    _describe(k, "no group", all_versions, "")
    _describe(k, "some keys", all_versions, "billing", keys=["consumer.session.timeout.ms", "no.such.key"], include_synonyms=True)
    _alter(k, "no more than a check", "billing", {"consumer.session.timeout.ms": "50000"}, validate_only=True)
    _alter(k, "two settings", "billing", {"consumer.session.timeout.ms": "50000", "share.auto.offset.reset": "earliest"})
    _until(k, "billing", "consumer.session.timeout.ms", "50000")
    _listed(k)
    _describe(k, "two set", all_versions, "billing", "shipping", include_synonyms=True)
    _alter(k, "for all groups", "", {OF_ALL: "700"}, kind=BROKER)
    _until(k, "billing", OF_ALL.removeprefix("group."), "700")
    _describe(k, "one set for all", all_versions, "billing", include_synonyms=True)
    for title, group, changes, operation in (
        ("no group's", "", {"consumer.session.timeout.ms": "50000"}, SET), ("unknown setting", "billing", {"consumer.size": "3"}, SET),
        ("too short", "billing", {"consumer.session.timeout.ms": "1"}, SET), ("too long", "billing", {"share.session.timeout.ms": "900000"}, SET),
        ("no number", "billing", {"consumer.session.timeout.ms": "soon"}, SET), ("no such word", "billing", {"share.auto.offset.reset": "first"}, SET),
        ("a duration", "billing", {"share.auto.offset.reset": "by_duration:PT5M"}, SET), ("negative", "billing", {"consumer.heartbeat.interval.ms": "-1"}, SET),
        ("interval above the session", "billing", {"streams.num.standby.replicas": "9"}, SET), ("null", "billing", {"share.isolation.level": None}, SET),
        ("no list", "billing", {"share.auto.offset.reset": "latest"}, APPEND), ("an isolation", "billing", {"share.isolation.level": "dirty"}, SET),
        ("yes", "billing", {"share.renew.acknowledge.enable": "yes"}, SET), ("deliveries", "billing", {"share.delivery.count.limit": "99"}, SET),
    ):  # fmt: skip
        _alter(k, title, group, changes, operation=operation)
    _alter(k, "taken back", "billing", {"consumer.session.timeout.ms": None, "share.auto.offset.reset": None})
    _alter(k, "taken back for all", "", {OF_ALL: None}, kind=BROKER)
    _until(k, "billing", OF_ALL.removeprefix("group."), "1000")
    _describe(k, "after it was taken back", all_versions, "billing", include_synonyms=True)


def _listed(k: Script) -> None:
    """Whose settings there are: by kind, of groups those that have any, and of all kinds the first names."""
    kind = m.ListConfigResourcesRequest
    for version, types in ((0, []), (1, [GROUP]), (1, [BROKER, GROUP]), (1, [8]), (1, [16]), (1, [99]), (1, [GROUP, 99]), (1, [])):
        answer = k.ask(ApiKey.LIST_CONFIG_RESOURCES, version, kind(resource_types=types))
        answer.config_resources = [one for one in answer.config_resources if one.resource_type != 2 and one.resource_name in ("1", "billing", "shipping")]
        k.note(f"listed {types} v{version}", answer)


SCRIPTS = {"settings of groups": settings}
