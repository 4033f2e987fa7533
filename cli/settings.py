"""`settings`: every setting of brokers, topics and built-in clients with its default, its limits and what it means, in
the viewer's language.

What a setting means: `lab.clusters.meanings`. Its name, its default and its limits are Kafka's, and so are the words of
the column "changes".
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import Any

from broker_core.clients.settings import names
from broker_core.kernel.problems import problem
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from broker_core.metadata.configs_topic import SYNONYMS
from broker_core.metadata.configs_types import KRAFT, ZOOKEEPER, Setting
from cli.errors import CommandError
from cli.words import Words
from lab.clusters import eras
from lab.clusters.client_spec import SETTINGS_OF
from lab.clusters.inspect_config import plain, typed
from lab.clusters.meanings import meaning, of_clients

PAGE = {
    "en": """# Settings ([한국어](settings.ko.md))

Every setting of a broker and of a topic, with Apache Kafka's own names, defaults and limits. This page is printed
by `./brokerlab settings --markdown`; a test compares the two. `--set NAME=VALUE` of `./brokerlab up` takes any
broker setting. A setting that is listed is checked as Kafka checks it; what the broker does not model yet
(see [not-modelled.md](not-modelled.md)) has no effect.

"Changes" says who may change a setting while a broker runs: nobody (read-only), one broker at a time (per-broker),
or also all at once (cluster-wide). Values for Kafka 4.x stand behind a slash where they differ from 3.9's.
""",
    "ko": """# 설정 ([English](settings.md))

브로커와 토픽의 모든 설정을 Apache Kafka의 이름, 기본값, 허용 범위 그대로 적었습니다.
`./brokerlab --language ko settings --markdown`이 출력하는 문서이며 둘이 같은지는 테스트가 확인합니다.
`./brokerlab up`의 `--set NAME=VALUE`에는 어떤 브로커 설정이든 줄 수 있습니다. 여기 있는 설정은 Kafka처럼 검사합니다.
아직 모델에 없는 설정([모델에 없는 것](not-modelled.ko.md))은 효과가 없습니다.

"변경"은 브로커가 실행되는 동안 바꿀 수 있는 범위입니다. read-only는 바꿀 수 없고, per-broker는 브로커마다 바꿀 수
있으며, cluster-wide는 모든 브로커에서 한꺼번에 바꿀 수도 있습니다. Kafka 4.x의 값이 3.9와 다르면 빗금 뒤에 적었습니다.
""",
}
UNTOLD = ("settings.unset", "settings.empty")  # what is said of a default that is none, or an empty text
HEADS = {
    "en": ("Topic settings", "setting | default | accepts | broker setting | meaning",
           "Broker settings", "setting | default | accepts | changes | meaning"),
    "ko": ("토픽 설정", "설정 | 기본값 | 받는 값 | 브로커 설정 | 뜻",
           "브로커 설정", "설정 | 기본값 | 받는 값 | 변경 | 뜻"),
}  # fmt: skip

def settings(arguments: argparse.Namespace) -> int:
    """Print the table; exit code 1 when no name fits."""
    if arguments.markdown:
        print(markdown(arguments.words), end="")
        return 0
    wanted = arguments.name or ""
    found = [("broker", s) for s in BROKER_SETTINGS.values() if wanted in s.name]
    found += [("topic", s) for s in TOPIC_SETTINGS.values() if wanted in s.name]
    clients = [one for kind in SETTINGS_OF for one in _of_client(kind, wanted)]
    if not found and not clients:
        raise CommandError(problem("no_setting_named", given=wanted))
    if arguments.json:
        print(json.dumps([*(_facts(kind, setting) for kind, setting in found), *clients], indent=1))
    else:
        for kind, setting in found:
            print(f"{_head(kind, setting, arguments.words)}\n    {meaning(setting, arguments.words.language)}")
            if (then := eras.beside(kind, setting.name)) is not None:
                print(f"    {_then(then, arguments.words)}")
        for one in clients:
            print(_told_of_client(one, arguments.words))
    return 0


def _of_client(kind: str, wanted: str) -> list[dict[str, Any]]:
    """The settings of a kind of built-in client, with the defaults of the 3.x Java clients."""
    usual, meanings = SETTINGS_OF[kind](), of_clients()
    known = {name: getattr(usual, field) for name, field in names(SETTINGS_OF[kind]).items() if wanted in name}
    return [
        {
            "name": name, "of": kind, "type": typed(value), "default": plain(name, value),
            "doc": meanings[name]["en"], "ko": meanings[name]["ko"], "eras": eras.beside(kind, name),
        }
        for name, value in known.items()
    ]  # fmt: skip


def _told_of_client(one: dict[str, Any], words: Words) -> str:
    """As of a broker's: what it is, what it means, what it was."""
    of, default = words.say(f"settings.{one['of']}"), _shown(one["default"], *map(words.say, UNTOLD))
    head = words.say("settings.head", name=one["name"], of=of, type=one["type"].lower(), default=default)
    told = [head, one["ko" if words.language == "ko" else "doc"]]
    return "\n    ".join([*told, _then(one["eras"], words)] if one["eras"] else told)


def _head(kind: str, setting: Setting, words: Words) -> str:
    """Name, whose it is, type and default."""
    of, default = words.say(f"settings.{kind}"), _default(setting, words)
    return words.say("settings.head", name=setting.name, of=of, type=setting.type.name.lower(), default=default)


def _then(then: dict[str, Any], words: Words) -> str:
    """What it was and is: `2.x: 10000, 3.9: 30000, 4.3: 30000, since 2.5 (KIP-537): ...`"""
    values = ", ".join(f"{era}: {value or '-'}" for era, value in then["values"].items())
    why = then["why"][words.language]
    return words.say("settings.then", values=values, release=then["since"], by=then["by"], why=why)


def _facts(kind: str, setting: Setting) -> dict[str, object]:
    facts: dict[str, object] = {
        "name": setting.name, "of": kind, "type": setting.type.name, "default": setting.default,
        "default_kraft": setting.default_in(KRAFT), "accepts": _accepts(setting), "changes": str(setting.mode),
        "only_in": setting.era, "doc": setting.doc, "ko": meaning(setting, "ko"),
        "eras": eras.beside(kind, setting.name),
    }
    if kind == "topic":
        facts["broker_settings"] = [name for name, _ in SYNONYMS.get(setting.name, ())]
    return facts


def _default(setting: Setting, words: Words) -> str:
    unset, empty = map(words.say, UNTOLD)
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


def markdown(words: Words) -> str:
    """The whole table as a page."""
    line = "|---|---|---|---|---|\n"
    topics, of_topic, brokers, of_broker = HEADS[words.language]
    topic = f"## {topics}\n\n| {of_topic} |\n{line}{''.join(_topic_rows(words))}"
    broker = f"## {brokers}\n\n| {of_broker} |\n{line}{''.join(_broker_rows(words))}"
    return f"{PAGE[words.language]}\n{topic}\n{broker}"


def _topic_rows(words: Words) -> Iterable[str]:
    for setting in TOPIC_SETTINGS.values():
        stand_ins = ", ".join(f"`{name}`" for name, _ in SYNONYMS.get(setting.name, ()))
        yield _row(setting, stand_ins, words)


def _broker_rows(words: Words) -> Iterable[str]:
    for setting in BROKER_SETTINGS.values():
        yield _row(setting, str(setting.mode), words)


def _row(setting: Setting, fourth: str, words: Words) -> str:
    cells = (_name(setting, words), _default(setting, words), _accepts(setting), fourth)
    return f"| {' | '.join(cells)} | {meaning(setting, words.language)} |\n"


def _name(setting: Setting, words: Words) -> str:
    release = {ZOOKEEPER: "3.9", KRAFT: "4.x"}.get(setting.era or "")
    return f"`{setting.name}`" + (f" ({words.say('settings.only', release=release)})" if release else "")
