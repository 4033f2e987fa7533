"""What one generation of Kafka alone has says so: tables and columns are held against runs of both."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pytest

from lab.analytics.by_run.questions import Run
from lab.analytics.by_run.tables import table_of
from lab.analytics.facts import facts_of
from lab.analytics.places import find_runs
from lab.analytics.schemas import TABLES
from lab.analytics.words import COLUMNS
from lab.experiments.run import run_scenario
from lab.scenarios import grammar
from tests.house.sources import CHECKOUT

SAME = """\
scenario: same
cluster: {{brokers: 3, preset: teaching, link_delay_ms: 1{more}}}
seed: 4
record_level: messages
topics: [{{name: orders, partitions: 2, replication_factor: 3}}]
clients:
  - {{name: producer-a, kind: producer, topic: orders, rate: 20, settings: {{acks: all}}}}
  - {{name: reader, kind: consumer, topic: orders, settings: {{group.id: billing}}}}
steps:
  - {{at: 2s, do: kill, broker: 2}}
  - {{after: 4s, do: create_topic, topic: late, partitions: 1, replication_factor: 2}}
  - {{after: 0, do: restart, broker: 2}}
duration: 8s
"""
GENERATIONS = {"ZooKeeper": "", "KRaft": ", controller: kraft"}
QUESTION = "zookeeper_and_kraft"
WORDS = {name: CHECKOUT / "web" / "messages" / f"spark.{name}.json" for name in ("en", "ko")}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The same scenario in each generation, read without Spark."""
    home: Path = tmp_path_factory.mktemp("generations")
    for name, more in GENERATIONS.items():
        run_scenario(grammar.parse(SAME.format(more=more), "same.yaml"), out=home / name)
    places = find_runs([home])
    facts, _ = facts_of(places)
    return {place.name: Run(place, facts[place.name], [], whole=True) for place in places}


def marks(text: str) -> list[str]:
    """The generations that a text names in brackets."""
    return [name for name in GENERATIONS if re.search(rf"\({name}\)", text)]


def test_a_table_that_one_generation_alone_fills_says_so_and_the_other_leaves_it_empty(runs: dict[str, Run]) -> None:
    filled = {table: [name for name in GENERATIONS if table_of(runs[name], table).num_rows] for table in TABLES}
    alone = {table: by for table, by in filled.items() if len(by) == 1}
    said = {table: marks(TABLES[table].row) for table in TABLES if marks(TABLES[table].row)}
    assert {table: said.get(table) for table in alone} == alone
    assert all(set(filled[table]) <= set(by) for table, by in said.items())
    assert {by for (by,) in alone.values()} == set(GENERATIONS), "the runs prove something of either"


def test_a_column_that_one_generation_alone_fills_says_so_in_both_languages_on_the_page_too(runs: dict[str, Run]) -> None:
    (zookeeper,), (kraft,) = (runs[name].ask(QUESTION) for name in GENERATIONS)
    alone = {name: ["ZooKeeper" if zookeeper[name] else "KRaft"] for name in zookeeper
             if isinstance(zookeeper[name], int) and bool(zookeeper[name]) != bool(kraft[name])}
    assert {by for (by,) in alone.values()} == set(GENERATIONS)
    page = [orjson.loads(path.read_bytes()) for path in WORDS.values()]
    for column in zookeeper:
        texts = [*COLUMNS[column], *(words[f"spark.col.{column}"] for words in page)]
        assert [marks(text) for text in texts] == [alone.get(column, [])] * len(texts), column
