"""What lessons say of Kafka's defaults is so in the era that their text stands for: 3.9 with ZooKeeper, 4.3 with KRaft.

A sentence, or the title of a setting of the lesson, that speaks of a default is held against the settings that it names;
where it names none that is a number, against those that the lesson sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from broker_core.clients.settings import ERAS as CLIENT_ERAS
from broker_core.clients.settings import ConsumerSettings, ProducerSettings, ShareConsumerSettings, names, parse
from broker_core.kernel.problems import LANGUAGES
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS, BrokerConfig, era_of
from lab.clusters import eras
from lab.clusters.spec import run_from_dict
from lab.scenarios import grammar

SPEAKS = {"en": re.compile(r"default"), "ko": re.compile(r"기본값")}
SENTENCE = re.compile(r"(?<=[.다])\s+(?=[A-Z가-힣\"(])|\n")
KAFKA_4 = re.compile(r"Kafka \d")
SETTING = re.compile(r"[a-z]+(?:\.[a-z]+)+")
STANDS_FOR = {"zookeeper": "3.9", "kraft": "4.3"}
TIMES = ((86_400_000, " day", "일"), (3_600_000, " hour", "시간"), (60_000, " minute", "분"), (1000, " s", "초"))
SIZES = ((1 << 30, " GiB", "GiB"), (1 << 20, " MiB", "MiB"), (1 << 10, " KiB", "KiB"), (1, " byte", "바이트"))
UNITS = {"ms": TIMES, "bytes": SIZES, "size": SIZES}


def texts_of(value: Any) -> Iterator[dict[str, str]]:
    """Each text in both languages."""
    if isinstance(value, dict) and value.keys() >= {"en", "ko"}:
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_of(one)


def settings_in(value: Any) -> Iterator[str]:
    """What a document sets, of brokers, topics and clients."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in ("settings", "configs", "set"):
                yield from one or ()
            else:
                yield from settings_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from settings_in(one)


def defaults(name: str, era: str) -> list[str]:
    """What brokers, topics and clients of that era have where nobody says anything."""
    given = run_from_dict({"cluster": {"era": era}}).cluster
    settings = given.broker_settings(given.brokers[0])
    found = []
    if name in BROKER_SETTINGS:
        config = BrokerConfig(settings, era_of(settings))
        found += [config[name]] if name in set(config) else []  # some are of one generation
    elif name in TOPIC_SETTINGS:
        found.append(TOPIC_SETTINGS[name].default)
    for kind, half in ((ProducerSettings, "producer"), (ConsumerSettings, "consumer"), (ShareConsumerSettings, "worker")):
        if name in names(kind):
            usual = CLIENT_ERAS[eras.clients(era)].get(half, {}) | ({"group.id": "a"} if half == "worker" else {})
            found.append(getattr(parse(kind, usual), names(kind)[name]))
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in found if one is not None]


def said(name: str, value: str, language: str) -> list[str]:
    """How a text may say this value."""
    found = [value, *({"true": ["on"], "false": ["off"]}.get(value, []))]
    if re.fullmatch(r"\d+", value):
        found.append(f"{int(value):,}")
        for size, en, ko in UNITS.get(name.rsplit(".", 1)[-1], ()):
            if int(value) and int(value) % size == 0:
                number = f"{int(value) // size:,}"
                found += [number + en, *([f"a{en}"] if number == "1" else [])] if language == "en" else [number + ko]
    elif re.fullmatch(r"0\.\d+", value):
        found.append(f"{float(value) * 100:g} %")
    return found


def ways_to_say(names_of: Iterable[str], era: str, language: str) -> list[str]:
    return [way for one in dict.fromkeys(names_of) for value in defaults(one, era) for way in said(one, value, language)]


def is_in(way: str, sentence: str) -> bool:
    """As a word of its own: 5 does not stand in 15 or 5,000."""
    return re.search(rf"(?<![\w.,-]){re.escape(way)}(?![\d]|[.,]\d)", sentence) is not None


def claims(name: str) -> list[str]:
    """Sentences that are not so, with the era."""
    scenario = grammar.load(name)
    document = {key: value for key, value in scenario.document.items() if key != "generations"}
    wrong = []
    for text in texts_of(document):
        for language in LANGUAGES:
            for sentence in SENTENCE.split(text[language].replace("\n", " ")):
                if not SPEAKS[language].search(sentence) or not re.search(r"\d", KAFKA_4.sub("", sentence)):
                    continue
                for generation in scenario.generations or ("zookeeper",):
                    era = STANDS_FOR[generation]
                    named = [one for one in SETTING.findall(sentence) if any(value.isdigit() for value in defaults(one, era))]
                    if not any(is_in(way, sentence) for way in ways_to_say(named or settings_in(document), era, language)):
                        wrong.append(f"{era}: {sentence}")
    return wrong


@pytest.mark.parametrize("name", grammar.names())
def test_what_a_lesson_says_of_defaults_is_so_in_its_era(name: str) -> None:
    assert claims(name) == []
