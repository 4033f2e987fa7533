"""What a lesson is about: the few groups under which a list of many scenarios is read.

| subject | asks |
|---|---|
| durability | is a record that was acknowledged still there, once, and in order? |
| replication | how do followers keep up with their leader, and what does the ISR say of them? |
| controller | who decides in the cluster, and how does it notice that somebody is gone? |
| placement | which brokers hold which replicas? |
| requests | what becomes of a request in a broker, and at which broker does it arrive? |
| storage | what stands on the disk, and for how long? |
| clients | how do producers and groups of consumers share the work? |

A list shows them in this order, and last what names no subject: mostly scenarios that people wrote themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

SUBJECTS = {
    "durability": {"en": "Durability", "ko": "내구성"},
    "replication": {"en": "Replication", "ko": "복제"},
    "controller": {"en": "Controller", "ko": "컨트롤러"},
    "placement": {"en": "Placement", "ko": "복제본 할당"},
    "requests": {"en": "Requests", "ko": "요청 처리"},
    "storage": {"en": "Storage", "ko": "저장"},
    "clients": {"en": "Clients and groups", "ko": "클라이언트와 그룹"},
    "transactions": {"en": "Transactions", "ko": "트랜잭션"},
}
WITHOUT = {"en": "Without a subject", "ko": "주제가 정해지지 않은 시나리오"}


def grouped(scenarios: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Pairs of name and subject as `{subject, title, scenarios: [name]}`; no group is empty."""
    rows = list(scenarios)
    found = []
    for subject, title in {**SUBJECTS, "": WITHOUT}.items():
        members = [name for name, own in rows if own == subject]
        if members:
            found.append({"subject": subject, "title": title, "scenarios": members})
    return found
