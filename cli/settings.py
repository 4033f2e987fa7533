"""`settings`: every broker and topic setting with its default, its limits and what it means."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

from broker_core.kernel.problems import problem
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from broker_core.metadata.configs_topic import SYNONYMS
from broker_core.metadata.configs_types import KRAFT, ZOOKEEPER, Setting
from cli.errors import CommandError
from cli.words import Words

HEADING = """# Settings

Every setting of a broker and of a topic, with Apache Kafka's own names, defaults and limits. This page is printed
by `./brokerlab settings --markdown`; a test compares the two. `--set NAME=VALUE` of `./brokerlab up` takes any
broker setting. A setting that is listed is checked as Kafka checks it; what the broker does not model yet
(see [not-modelled.md](not-modelled.md)) has no effect.

"Changes" says who may change a setting while a broker runs: nobody (read-only), one broker at a time (per-broker),
or also all at once (cluster-wide). Values for Kafka 4.x stand behind a slash where they differ from 3.9's.
"""


def settings(arguments: argparse.Namespace) -> int:
    """Print the table; exit code 1 when no name fits."""
    if arguments.markdown:
        print(markdown(), end="")
        return 0
    wanted = arguments.name or ""
    found = [("broker", s) for s in BROKER_SETTINGS.values() if wanted in s.name]
    found += [("topic", s) for s in TOPIC_SETTINGS.values() if wanted in s.name]
    if not found:
        raise CommandError(problem("no_setting_named", given=wanted))
    if arguments.json:
        print(json.dumps([_facts(kind, setting) for kind, setting in found], indent=1))
    else:
        for kind, setting in found:
            print(f"{_head(kind, setting, arguments.words)}\n    {setting.doc}")
    return 0


def _head(kind: str, setting: Setting, words: Words) -> str:
    """Name, whose it is, type and default. What it means is written in English only."""
    unset, empty = words.say("settings.unset"), words.say("settings.empty")
    of, default = words.say(f"settings.{kind}"), _default(setting, unset, empty)
    return words.say("settings.head", name=setting.name, of=of, type=setting.type.name.lower(), default=default)


def _facts(kind: str, setting: Setting) -> dict[str, object]:
    facts: dict[str, object] = {
        "name": setting.name, "of": kind, "type": setting.type.name, "default": setting.default,
        "default_kraft": setting.default_in(KRAFT), "accepts": _accepts(setting), "changes": str(setting.mode),
        "only_in": setting.era, "doc": setting.doc,
    }
    if kind == "topic":
        facts["broker_settings"] = [name for name, _ in SYNONYMS.get(setting.name, ())]
    return facts


def _default(setting: Setting, unset: str = "unset", empty: str = "empty") -> str:
    values = [_shown(setting.default_in(era), unset, empty) for era in (ZOOKEEPER, KRAFT)]
    return " / ".join(dict.fromkeys(values))


def _shown(text: str | None, unset: str, empty: str) -> str:
    if text is None:
        return unset
    if len(text) > 60:
        return ", ".join(part.rpartition(".")[2] for part in text.split(","))
    return text or empty


def _accepts(setting: Setting) -> str:
    checks = [str(check) for era in (ZOOKEEPER, KRAFT) if (check := setting.check_in(era)) is not None]
    return " / ".join(dict.fromkeys(checks))


def markdown() -> str:
    """The whole table as a page."""
    line = "|---|---|---|---|---|\n"
    topic = f"## Topic settings\n\n| setting | default | accepts | broker setting | meaning |\n{line}"
    broker = f"## Broker settings\n\n| setting | default | accepts | changes | meaning |\n{line}"
    return f"{HEADING}\n{topic}{''.join(_topic_rows())}\n{broker}{''.join(_broker_rows())}"


def _topic_rows() -> Iterable[str]:
    for setting in TOPIC_SETTINGS.values():
        stand_ins = ", ".join(f"`{name}`" for name, _ in SYNONYMS.get(setting.name, ()))
        yield f"| {_name(setting)} | {_default(setting)} | {_accepts(setting)} | {stand_ins} | {setting.doc} |\n"


def _broker_rows() -> Iterable[str]:
    for setting in BROKER_SETTINGS.values():
        yield f"| {_name(setting)} | {_default(setting)} | {_accepts(setting)} | {setting.mode} | {setting.doc} |\n"


def _name(setting: Setting) -> str:
    only = {ZOOKEEPER: " (3.9 only)", KRAFT: " (4.x only)"}.get(setting.era or "", "")
    return f"`{setting.name}`{only}"
