"""Whether a change of settings would be taken, before anybody makes it: nothing of the world is touched.

A branch that begins with a setting which Kafka refuses would begin with a mistake, so the page asks first. The rules
are those that the command itself meets (`broker_core.metadata.configs`, `broker_core.clients.settings`). A branch
may begin in the past: with `seq` a client has the settings that it had behind that event, which may differ from
those of now (`enable.idempotence` taken away since, and acks=1 fits).
"""

from __future__ import annotations

from typing import Any

import orjson

from broker_core.kernel.errors import CommandError
from broker_core.kernel.world import World
from broker_core.metadata.configs import BrokerConfig, ConfigError
from broker_core.metadata.configs_topics import check_topic_overrides
from lab.clusters import checks, inspect_config
from lab.clusters.checks import SpecError
from lab.clusters.spec import changed_client
from lab.clusters.vocabulary import check_command

CHANGES = ("alter_config", "set_client")


def trial(world: World, name: str) -> dict[str, Any]:
    """`name` is the command as JSON, with `seq` as of that event; raises CommandError as the command would."""
    try:
        given = checks.mapping(orjson.loads(name), ())
        seq = checks.integer(given.pop("seq", world.seq), ("seq",), 0)
        command = check_command(given)
        if command["do"] not in CHANGES:
            raise CommandError(f"{command['do']}: expected one of {', '.join(CHANGES)}", "do")
        if command["do"] == "set_client":
            changed_client(inspect_config.client_as_of(world, command["name"], seq), command["set"], ("set",))
        elif "topic" in command:
            _topic(world, command["topic"], command["set"])
        else:
            _broker(world, str(command["broker"]), command["set"])
    except orjson.JSONDecodeError as error:
        raise CommandError(f"not JSON: {error}", "name") from None
    except SpecError as error:
        raise CommandError(error.reason, checks.shown(error.place)) from None
    except ConfigError as error:
        raise CommandError(str(error), f"set.{error.name}" if error.name else "set") from None
    return {"command": command}


def _topic(world: World, topic: str, given: dict[str, str | None]) -> None:
    """With the settings that the topic has already: some of them must fit one another."""
    try:
        after = {**inspect_config.overrides(world, topic), **given}
    except CommandError as error:
        raise CommandError(error.reason, "topic") from None
    kept = {key: value for key, value in after.items() if value is not None}
    check_topic_overrides(kept, inspect_config.running(world, None))


def _broker(world: World, which: str, given: dict[str, str | None]) -> None:
    """With what this broker was started with; those of another one when it does not run just now."""
    try:
        config = inspect_config.running(world, which)
    except CommandError:
        config = inspect_config.running(world, None)
    probe = BrokerConfig(config.static(), config.era)
    for key, value in given.items():
        probe.set_dynamic(key, value)
