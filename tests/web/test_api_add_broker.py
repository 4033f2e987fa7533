"""A broker is added over REST: the same command, the same refusals, and an address that clients are told."""

from __future__ import annotations

from typing import Any

import pytest
from tests.web.live_rest import Rest, refused, rest

from broker_core.kernel.problems import told


__all__ = ["rest"]


@pytest.mark.parametrize(("keys", "place", "words"), [
    ({"broker": 2}, "broker", "broker id 2 is taken: the cluster has 1, 2, 3"),
    ({"broker": "x"}, "broker", "expected a whole number"),
    ({"settings": {"num.io.threads": "x"}}, "settings.num.io.threads", "num.io.threads"),
    ({"rack": 5}, "rack", "expected a text"),
    ({"id": 5}, "id", "unknown key 'id'"),
])
def test_what_cannot_join_is_a_problem_that_names_the_key(rest: Rest, keys: dict[str, Any], place: str, words: str) -> None:
    found = refused(rest.post("labs/lab/commands", {"do": "add_broker", **keys}), 422, place, words)
    assert told(found["problem"]) == found["detail"] != told(found["problem"], "ko")
    assert sorted(rest.get("labs/lab/snapshot").json["state"]["brokers"]) == ["1", "2", "3"]


def test_a_broker_that_joined_is_in_the_state_and_among_the_addresses(rest: Rest) -> None:
    before = rest.get("labs/lab").json["bootstrap"].split(",")
    answer = rest.post("labs/lab/commands", {"do": "add_broker"})
    assert answer.status == 200, answer
    assert rest.events("broker_registered", since=answer.json["seq"])[0][5]["broker"] == 4
    there = rest.get("labs/lab/snapshot").json["state"]["brokers"]["4"]
    assert rest.get("labs/lab").json["bootstrap"].split(",") == [*before, f"{there['host']}:{there['port']}"]
    assert rest.get("labs/lab/inspect?of=broker&name=4").status == 200
