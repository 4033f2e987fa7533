"""What Apache Kafka 4.3 answered to `kafka_script`, and the records it wrote: ours must be the same, field by field.

What may differ: the controller's id, how many brokers there are beside those of the script, and what ours says more
(which setting was probably meant).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from broker_core.metadata import records as r
from broker_core.wire.apis import ApiKey
from broker_core.wire.codec import decode_response, decode_response_header, encode_response
from tests.controller.kafka_script import Play, records_of
from tests.controller.kraft_clusters import ControllerQuorum
from tests.raft.quorums import CLUSTER

VECTORS = Path(__file__).parent.parent / "wire_vectors" / "kraft-controller-4.3.json"
KAFKA = json.loads(VECTORS.read_text())


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    quorum = ControllerQuorum(broker_session_timeout_ms=90_000)
    quorum.run(10)

    def ask(key: int, version: int, body: Any) -> Any:
        """As a client sees it, who knows no other version."""
        answer = quorum.call(ApiKey(key), body, 0.06)
        frame = b"".join(map(bytes, encode_response(key, version, 1, answer)))[4:]
        return decode_response(key, version, decode_response_header(key, version, frame).body)

    play = Play(ask, CLUSTER)
    answers = play.run()
    log = quorum[quorum.leader or 0].raft.log
    return {"answers": answers, "records": records_of(log.batches(log.start_offset, log.end_offset), play.script)}


def comparable(answer: Any) -> Any:
    text = re.sub(r" \(did you mean .*?\)", "", json.dumps(answer))
    text = re.sub(r"(controller|Expected) \d+", r"\1 N", text)
    return json.loads(re.sub(r"only \d+ broker\(s\)", "only N broker(s)", text))


@pytest.mark.parametrize("title", KAFKA["answers"])
def test_the_answer_is_kafka_s(ours: dict[str, Any], title: str):
    assert comparable(ours["answers"][title]) == comparable(KAFKA["answers"][title])


def test_the_records_are_kafka_s_in_kafka_s_order(ours: dict[str, Any]):
    for number, (own, kafka) in enumerate(zip(ours["records"], KAFKA["records"], strict=False)):
        assert own == kafka, f"record {number}"
    assert len(ours["records"]) == len(KAFKA["records"])


def test_every_kind_of_record_that_such_requests_write_is_among_them():
    written = {kind for kind, _, _ in KAFKA["records"]}
    of_security = {"AccessControlEntryRecord", "DelegationTokenRecord", "UserScramCredentialRecord", "ClientQuotaRecord"}
    never = {"FenceBrokerRecord", "UnfenceBrokerRecord", "NoOpRecord", "RegisterControllerRecord", "ZkMigrationStateRecord",
             "AbortTransactionRecord"}
    assert written == {name for name in r.API_KEYS if not name.startswith("Remove")} - of_security - never | {"RemoveTopicRecord"}
