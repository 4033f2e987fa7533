"""Eras: what the page of differences says is what brokers and built-in clients of that era are started with."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import CHECKOUT

from broker_core.clients.settings import ConsumerSettings, ProducerSettings, parse
from broker_core.metadata.configs import BrokerConfig, era_of
from cli.errors import CommandError
from cli.parser import build_parser, main
from cli.up import make_spec
from lab.analytics.grid import cells
from lab.clusters import eras
from lab.clusters.checks import SpecError
from lab.clusters.spec import RunSpec, run_from_dict
from lab.scenarios import grammar
from lab.scenarios.export import export_commands
from lab.testing import cluster

CLIENTS = [{"name": "producer-1", "kind": "producer", "topic": "orders"}, {"name": "consumer-1", "kind": "consumer", "topic": "orders"}]


def of_era(era: str, **more: Any) -> RunSpec:
    return run_from_dict({"cluster": {"era": era, **more}, "clients": CLIENTS})


def value_in(era: str, one: eras.Difference) -> str:
    """What is really so in that era."""
    spec = of_era(era)
    if one.of == eras.CONTROLLER:
        return {"zookeeper": "ZooKeeper", "kraft": "KRaft"}[spec.cluster.controller]
    if one.of == eras.BROKER:
        given = spec.cluster.broker_settings(spec.cluster.brokers[0])
        config = BrokerConfig(given, era_of(given))
        if spec.cluster.is_kraft and one.name.startswith("zookeeper."):
            return "-"
        value: Any = config[one.name]
    else:
        kind: Any = ProducerSettings if one.of == eras.PRODUCER else ConsumerSettings
        client = spec.clients[0 if one.of == eras.PRODUCER else 1]
        value = getattr(parse(kind, client.settings), one.name.replace(".", "_"))
    if isinstance(value, list):
        return ",".join(value)
    return "all" if (one.name, value) == ("acks", -1) else str(value).lower() if isinstance(value, bool) else str(value).rpartition(".")[2]


@pytest.mark.parametrize("one", eras.differences(), ids=lambda one: f"{one.of} {one.name}")
def test_a_difference_is_what_is_started(one: eras.Difference) -> None:
    assert tuple(value_in(era, one) for era in eras.NAMES) == one.values
    assert len(set(one.values)) > 1
    assert set(one.why) == {"en", "ko"}


def test_every_setting_of_an_era_stands_among_the_differences() -> None:
    named = {one.name for one in eras.differences()}
    given = {name for era in eras.NAMES for name in eras.broker(era)}
    given |= {name for era in eras.NAMES for client in of_era(era).clients for name in client.settings}
    assert given <= named


@pytest.mark.parametrize(("language", "file"), [("en", "eras.md"), ("ko", "eras.ko.md")])
def test_the_pages_of_the_documentation_are_made_from_the_same_table(language: str, file: str) -> None:
    assert (CHECKOUT / "docs" / file).read_text() == eras.markdown(language), "write lab.clusters.eras.markdown there again"


def test_what_is_set_wins_and_an_era_has_one_kind_of_controller() -> None:
    own = of_era("2.x", settings={"replica.lag.time.max.ms": 5000}, preset="teaching").cluster
    given = own.broker_settings(own.brokers[0])
    assert (given["replica.lag.time.max.ms"], given["zookeeper.session.timeout.ms"]) == ("5000", "6000")
    assert of_era("2.x").to_dict()["cluster"]["era"] == "2.x"
    assert run_from_dict(of_era("2.x").to_dict()) == of_era("2.x")
    assert "era" not in run_from_dict({}).to_dict()["cluster"]
    for wrong, place in (({"era": "2.x", "controller": "kraft"}, "cluster.controller"), ({"era": "1.0"}, "cluster.era")):
        with pytest.raises(SpecError) as caught:
            run_from_dict({"cluster": wrong})
        assert caught.value.where == place


def test_a_scenario_is_put_into_an_era_with_its_controller() -> None:
    for era, controller in (("2.x", "zookeeper"), ("4.3", "kraft")):
        found = grammar.load("acks-all", None, {"era": era})
        assert (found.spec.cluster.era, found.spec.cluster.controller) == (era, controller)
    for era, other in (("2.x", "kraft"), ("4.3", "zookeeper")):
        again = grammar.with_cluster({"scenario": "mine", "cluster": {"era": era}}, {"controller": other})
        assert again["cluster"] == {"controller": other}


def test_a_run_in_another_era_goes_another_way() -> None:
    """The dead follower of the old days leaves the ISR after 10 s, of today's after 30."""
    waited = {}
    for era in ("2.x", "3.9"):
        with cluster(simulated=True, era=era, preset="default", topics={"orders": 1}) as kafka:
            kafka.pause(follower_of="orders-0")
            kafka.start_client("producer-1", kind="producer", topic="orders", rate=50, settings={"acks": "1"})
            since = kafka.now_s
            kafka.wait(isr_of="orders-0", is_=2)
            waited[era] = kafka.now_s - since
    assert waited["2.x"] < 16 < waited["3.9"]


def test_what_was_done_in_an_era_becomes_a_scenario_of_it() -> None:
    commands: list[Any] = [(0, {"do": "create_topic", "topic": "orders"}), (5_000_000, {"do": "kill", "broker": 1})]
    assert export_commands(of_era("2.x"), commands, "mine")["cluster"]["era"] == "2.x"


def test_up_and_the_fixture_take_an_era() -> None:
    spec = make_spec(build_parser().parse_args(["up", "--era", "4.3", "--kafka-port", "0"]))
    assert (spec.cluster.era, spec.cluster.controller) == ("4.3", "kraft")
    assert make_spec(build_parser().parse_args(["up", "--era", "3.9"])).cluster.controller == "zookeeper"
    with pytest.raises(CommandError, match="--era"):
        make_spec(build_parser().parse_args(["up", "--era", "4.3", "--controller", "zookeeper"]))
    with cluster(simulated=True, era="2.x", topics={"orders": 1}) as kafka:
        kafka.start_client("producer-1", kind="producer", topic="orders")
        client = kafka.world.operator.clients["producer-1"]
        assert client.settings["acks"] == "1"


def test_beside_a_setting_stands_what_it_was_and_since_when() -> None:
    then = eras.beside("broker", "replica.lag.time.max.ms")
    assert then is not None
    assert (then["values"]["2.x"], then["values"]["4.3"], then["since"], then["by"]) == ("10000", "30000", "2.5", "KIP-537")
    assert eras.beside("topic", "message.timestamp.after.max.ms") == eras.beside("broker", "log.message.timestamp.after.max.ms") is not None
    assert eras.beside("broker", "log.dirs") is None and eras.beside("topic", "retention.ms") is None
    for one in eras.differences():
        assert one.of == eras.CONTROLLER or eras.beside(one.of, one.name) is not None


def test_the_command_line_tells_of_a_clients_setting_what_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    for name, told in (("acks", "acks (producer, int, default all)"), ("session.timeout.ms", "session.timeout.ms (consumer, int, default 45000)")):
        assert main(["settings", name]) == 0
        lines = capsys.readouterr().out.splitlines()
        then = lines[lines.index(told) + 2]
        assert "2.x: 1" in then and "3.0 (KIP-" in then


def test_a_sweep_takes_eras_with_their_controllers() -> None:
    found = cells("acks-all", {"cluster.era": ["2.x", "4.3"]})
    clusters = [cell.document["cluster"] for cell in found]
    assert [(one["era"], one.get("controller", "zookeeper")) for one in clusters] == [("2.x", "zookeeper"), ("4.3", "kraft")]
