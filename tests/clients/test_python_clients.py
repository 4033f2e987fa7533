"""Three Python clients do everything that people use them for: topics, settings, codecs, groups, offsets."""

from __future__ import annotations

import pytest

from tests.clients.conftest import Cluster, program, run

pytestmark = pytest.mark.clients


@pytest.mark.parametrize("tour", ["confluent_tour.py", "kafka_python_tour.py", "aiokafka_tour.py"])
def test_a_client_sees_what_it_expects_of_a_broker(cluster: Cluster, tour: str) -> None:
    assert run(*program(tour), cluster.bootstrap).endswith("done\n")
