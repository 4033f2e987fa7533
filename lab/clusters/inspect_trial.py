"""Whether a change of settings would be taken, before anybody makes it: nothing of the world is touched.

A branch that begins with a setting which Kafka refuses would begin with a mistake, so the page asks first. The rules
are those that the command itself meets (`broker_core.metadata.configs`, `broker_core.clients.settings`). A branch
may begin in the past: with `seq` each setting is judged beside those that stood behind that event. They may differ
from those of now: `enable.idempotence` taken away since, and acks=1 fits; a topic that was created later.
"""

from __future__ import annotations

from typing import Any, cast

import orjson

from broker_core.kernel.errors import CommandError
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from broker_core.metadata.configs import BrokerConfig, ConfigError
from broker_core.metadata.configs_topics import check_topic_overrides
from broker_core.metadata.config_entities import DEFAULT_ENTITY
from lab.clusters import checks, inspect_config
from lab.clusters.checks import SpecError
from lab.clusters.operator import LabOperator
from lab.clusters.client_spec import changed_client
from lab.clusters.vocabulary import check_command

CHANGES = ("alter_config", "set_client")


def trial(world: World, name: str) -> dict[str, Any]:
    """`name` is the command as JSON, with `seq` as of that event; raises CommandError as the command would."""
    try:
        given = checks.mapping(orjson.loads(name), ())
        seq = checks.integer(given.pop("seq", world.seq), ("seq",), 0)
        command = check_command(given)
        if command["do"] not in CHANGES:
            expected = problem("one_of", known=CHANGES)
            raise CommandError(problem("not_among", given=command["do"], expected=expected), "do")
        if command["do"] == "set_client":
            changed_client(inspect_config.client_as_of(world, command["name"], seq), command["set"], ("set",))
        elif "topic" in command:
            _topic(world, command["topic"], command["set"], seq)
        else:
            _broker(world, command["broker"], command["set"], seq)
    except orjson.JSONDecodeError as error:
        raise CommandError(problem("not_json", why=str(error)), "name") from None
    except SpecError as error:
        raise CommandError(error.problem, error.where) from None
    except ConfigError as error:
        fixed = error.what["code"] == "not_dynamic"
        what = problem("read_only_setting", name=error.name) if fixed else error.problem
        raise CommandError(what, f"set.{error.name}" if error.name in command["set"] else "set") from None
    return {"command": command}


def _topic(world: World, topic: str, given: dict[str, str | None], seq: int) -> None:
    """With the settings that the topic had already: some of them must fit one another."""
    operator = cast(LabOperator, world.operator)
    if not operator.past.has_topic(topic, seq):
        raise CommandError(problem("no_topic", topic=topic), "topic")
    kept = _altered(operator.past.overrides("topics", topic, seq), given)
    broker = operator.spec.cluster.brokers[0].id  # any of them may answer
    check_topic_overrides(kept, _config(operator, broker, seq, operator.past.overrides("brokers", str(broker), seq)))


def _broker(world: World, broker: int, given: dict[str, str | None], seq: int) -> None:
    """With what this broker was started with, and what had been changed by then."""
    operator = cast(LabOperator, world.operator)
    known = [one.id for one in operator.spec.cluster.brokers]
    if broker not in known:
        raise CommandError(problem("no_broker_of", broker=broker, expected=problem("one_of", known=known)), "broker")
    _config(operator, broker, seq, _altered(operator.past.overrides("brokers", str(broker), seq), given))


def _altered(before: dict[str, str], given: dict[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in {**before, **given}.items() if value is not None}


def _config(operator: LabOperator, broker: int, seq: int, own: dict[str, str]) -> BrokerConfig:
    """A broker with dynamic settings of its own and with those of all brokers; raises ConfigError."""
    cluster = operator.spec.cluster
    found = BrokerConfig(next(cluster.broker_settings(one) for one in cluster.brokers if one.id == broker))
    for key, value in operator.past.overrides("brokers", DEFAULT_ENTITY, seq).items():
        found.set_dynamic(key, value, all_brokers=True)
    for key, value in own.items():
        found.set_dynamic(key, value)
    return found
