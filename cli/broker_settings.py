"""Broker settings from the command line: `KEY=VALUE` for all brokers, `ID:KEY=VALUE` for one."""

from __future__ import annotations

import re
import sys

from broker_core.kernel.problems import problem, told
from broker_core.metadata.configs import BrokerConfig, ConfigError
from cli.errors import CommandError
from cli.words import Words

Overrides = dict[str, str]
IDS = ("broker.id", "node.id")


def parse_settings(texts: list[str], brokers: int, era: str, words: Words) -> tuple[Overrides, dict[int, Overrides]]:
    """The settings of all brokers, and of single ones by their number (1, 2, ...).

    Raises CommandError naming the first one that does not fit, or is for no broker. What no broker knows is told and
    passed on, as Kafka does: in `words`.
    """
    common: Overrides = {}
    single: dict[int, Overrides] = {}
    for text in texts:
        found = re.fullmatch(r"(?:(\d+):)?([^=:\s]+)=(.*)", text, re.DOTALL)
        if found is None:
            raise CommandError(problem("set_form", given=text), 2)
        broker, key, value = found.groups()
        if broker is None and key in IDS:
            raise CommandError(problem("set_id", given=text, key=key), 2)
        if broker is None:
            common[key] = value
        elif 1 <= int(broker) <= brokers:
            single.setdefault(int(broker), {})[key] = value
        else:
            raise CommandError(problem("set_no_broker", given=text, broker=int(broker), last=brokers), 2)
        _check_alone(text, key, value, era, words)
    for broker_id in range(1, brokers + 1):
        _check_together(common | single.get(broker_id, {}), era)
    return common, single


def _check_alone(text: str, key: str, value: str, era: str, words: Words) -> None:
    try:
        for error in BrokerConfig({key: value}, era).unused.values():
            what = told(error.problem, words.language)
            print(words.say("settings.unused", given=text, what=what), file=sys.stderr)
    except ConfigError as error:
        if error.name == key:
            raise CommandError(problem("wrong_in", place=f"--set {text}", what=error.problem), 2) from None


def _check_together(overrides: Overrides, era: str) -> None:
    try:
        BrokerConfig(overrides, era)
    except ConfigError as error:
        raise CommandError(problem("wrong_in", place="--set", what=error.problem), 2) from None
