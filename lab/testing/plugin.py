"""The fixtures for pytest. Who has the package installed has them without an import.

| fixture | gives |
|---|---|
| `kafka_cluster` | three brokers on ports of their own, for one test |
| `simulated_cluster` | three brokers in virtual time |
| `brokerlab` | `cluster` itself: `brokerlab(brokers=1, ...)`, as often as a test likes; all are closed behind it |

What else a cluster is to be stands on the test, its class or its module, with the words of `cluster()`:

```
@pytest.mark.kafka(brokers=1, controller="zookeeper", topics={"orders": 3})
def test_my_consumer(kafka_cluster): ...
```
When a test fails, the last turning points of its clusters stand in the report.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from lab.testing.clusters import Cluster

MARK = "kafka"
_OPEN: pytest.StashKey[list[Cluster]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """The mark is known, also with --strict-markers."""
    config.addinivalue_line("markers", f"{MARK}(**description): what kafka_cluster and simulated_cluster are to be")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test tells what its clusters have seen."""
    report = yield
    if report.when == "call" and report.failed:
        clusters: list[Cluster] = item.stash.get(_OPEN, [])
        for number, one in enumerate(clusters, 1):
            report.sections.append((f"cluster {number}", _story(one)))
    return report


def _story(one: Cluster) -> str:
    """Of one that the test has closed itself, too: a report that fails would end the whole run of pytest."""
    from lab.client.errors import Refused

    try:
        return one.story()
    except (Refused, TimeoutError) as error:
        return str(error)


@pytest.fixture
def brokerlab(request: pytest.FixtureRequest) -> Iterator[Callable[..., Cluster]]:
    """`lab.testing.cluster`; what it has started is closed when the test has ended."""
    from lab.testing.clusters import cluster

    started: list[Cluster] = []
    request.node.stash[_OPEN] = started

    def start(*arguments: Any, **description: Any) -> Cluster:
        found = cluster(*arguments, **description)
        started.append(found)
        return found

    yield start
    while started:
        started.pop().close()


def _wanted(request: pytest.FixtureRequest) -> dict[str, Any]:
    """From the marks of module, class and test; the nearest one wins."""
    found: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers(MARK))):
        found |= mark.kwargs
    return found


@pytest.fixture
def kafka_cluster(brokerlab: Callable[..., Cluster], request: pytest.FixtureRequest) -> Cluster:
    """On ports: `kafka_cluster.bootstrap`."""
    return brokerlab(**_wanted(request))


@pytest.fixture
def simulated_cluster(brokerlab: Callable[..., Cluster], request: pytest.FixtureRequest) -> Cluster:
    """In virtual time."""
    return brokerlab(simulated=True, **_wanted(request))
