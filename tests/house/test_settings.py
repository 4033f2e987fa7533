"""A setting has its effect, or stands on the page of what is not modelled."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest

from broker_core.clients.settings import names
from broker_core.metadata.configs import BROKER_SETTINGS
from broker_core.metadata.configs_topic import SYNONYMS
from lab.clusters.client_spec import SETTINGS_OF
from lab.clusters.meanings import of_clients
from lab.clusters.metrics_registry import REGISTRY
from tests.conftest import CHECKOUT

PAGES = ("not-modelled.md", "not-modelled.ko.md")


def without_effect(page: str) -> list[str]:
    """The names and patterns in the page's table of settings."""
    text = (CHECKOUT / "docs" / page).read_text("utf-8")
    (table,) = re.findall(r"(?:\| of \| settings|\| 영역 \| 설정) \|\n.*\n((?:\|.*\n)+)", text)
    return re.findall(r"`([^`]+)`", table)


def unread() -> set[str]:
    """Settings whose name stands nowhere but in the tables, and which are no broker's side of a topic's setting."""
    sources = [path for part in ("broker_core", "lab") for path in (CHECKOUT / part).rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in sources if not path.name.startswith("configs_"))
    stand_ins = {name for chain in SYNONYMS.values() for name, _ in chain}
    names = {name for name, setting in BROKER_SETTINGS.items() if not setting.internal}
    return {name for name in names - stand_ins if f'"{name}"' not in text}


def test_what_nothing_reads_stands_on_the_page_of_what_is_not_modelled() -> None:
    listed = without_effect(PAGES[0])
    checked = {"broker.id.generation.enable", "reserved.broker.max.id"}  # of these only the rules between settings count
    missing = {name for name in unread() - checked if not any(fnmatchcase(name, pattern) for pattern in listed)}
    assert sorted(missing) == []


def test_what_stands_there_is_read_by_nothing_and_is_the_same_in_both_languages() -> None:
    listed, dead = without_effect(PAGES[0]), unread()
    assert listed == without_effect(PAGES[1])
    assert [name for name in listed if not any(fnmatchcase(one, name) for one in dead)] == []


@pytest.mark.parametrize("page", PAGES)
def test_each_stands_there_once(page: str) -> None:
    listed = without_effect(page)
    assert sorted(set(listed)) == sorted(listed)


def test_what_a_client_can_set_with_kraft_only_says_so() -> None:
    """Of workers alone, and of the next generation's groups: brokers of 3.9 do not offer the requests for them."""
    queues = set(names(SETTINGS_OF["worker"])) - set(names(SETTINGS_OF["consumer"]))
    meanings = of_clients()
    silent = [name for name in (*queues, "group.protocol", "group.remote.assignor") if not all("KRaft" in text for text in meanings[name].values())]
    assert queues and silent == []


def test_what_a_metric_says_of_the_metadata_log_is_said_of_kraft_alone() -> None:
    of_the_log = {name for name, one in REGISTRY.items() if re.search("metadata (log|quorum)|fenced", one.en)}
    assert of_the_log == {name for name, one in REGISTRY.items() if one.only == "kraft"}
