"""When the format that a topic asks for counts."""

from __future__ import annotations

import pytest

from broker_core.log.releases import magic_of, release_of
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.configs_types import ConfigError
from broker_core.metadata.message_formats import FORMAT, format_in_force, ignored_format

NEWEST, BEFORE = BrokerConfig(), BrokerConfig({"inter.broker.protocol.version": "2.8", f"log.{FORMAT}": "0.10.2"})


@pytest.mark.parametrize(("broker", "asked", "magic", "told"), [
    (NEWEST, "0.9.0", 2, "format_ignored"),
    (NEWEST, "2.8", 2, None),
    (BrokerConfig(era="kraft"), None, 2, None),
    (BEFORE, None, 1, None),
    (BEFORE, "0.9.0", 0, None),
    (BEFORE, "0.11.0", 2, None),
    (BEFORE, "3.0", 1, "format_above_protocol"),
])  # fmt: skip
def test_a_topics_format_counts_below_protocol_3_0_and_not_above_the_protocol(
    broker: BrokerConfig, asked: str | None, magic: int, told: str | None
) -> None:
    overrides = {} if asked is None else {FORMAT: asked}
    assert magic_of(format_in_force(overrides, broker)) == magic
    problem = ignored_format(overrides, broker)
    assert (problem["code"] if problem else None) == told


@pytest.mark.parametrize(("protocol", "written", "fits"), [
    ("0.10.2", None, False), ("0.10.2", "0.11.0", False), ("0.10.2", "0.10.0", True), ("0.9.0", "0.10.0-IV0", False),
    ("0.11.0", None, True), ("2.8", "2.8", True), ("3.0-IV0", "0.9.0", True), ("3.9", "0.9.0", True),
])  # fmt: skip
def test_a_broker_does_not_start_with_a_format_that_its_protocol_does_not_know(
    protocol: str, written: str | None, fits: bool
) -> None:
    settings = {"inter.broker.protocol.version": protocol} | ({f"log.{FORMAT}": written} if written else {})
    if fits:
        BrokerConfig(settings)
        return
    with pytest.raises(ConfigError) as caught:
        BrokerConfig(settings)
    assert "can only be used when inter.broker.protocol.version is set to version 0.1" in str(caught.value)


def test_releases_have_an_order() -> None:
    order = ["0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.2", "0.11.0-IV0", "1.0", "2.8", "3.0-IV0", "3.0-IV1"]
    assert sorted(order, key=release_of) == order and release_of("2.8.1") == release_of("2.8")
    assert [magic_of(one) for one in order] == [0, 0, 1, 1, 1, 2, 2, 2, 2, 2]
