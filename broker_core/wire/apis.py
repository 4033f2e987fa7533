"""The list of APIs: numbers, versions, and which of them are "flexible".

Every request starts with an API key and a version; a client first asks with ApiVersions (KIP-35) which
versions a broker takes. The table below is what the two generations answer: Apache Kafka 3.9 in ZooKeeper
mode and Apache Kafka 4.3 in KRaft mode (4.0 dropped what came before 2.1, KIP-896), and with KRaft the
controllers on their own listener. `flexible` is the first version with compact lengths and tagged fields
(KIP-482); such a version also has a longer header.

    request header    v0  key, version, correlation id            ControlledShutdown 0 alone
                      v1  ... and the client id                    all that are not flexible
                      v2  ... and tagged fields                    flexible
    response header   v0  correlation id                           not flexible, and ApiVersions always:
                                                                   its reader does not know the version yet
                      v1  ... and tagged fields                    flexible

Kafka 4.0 says "Produce from 0" because librdkafka insists on it; versions 0 to 2 are refused
(KAFKA-18659). A dash: it is not offered there. Readers and writers know all versions that have a schema.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

Mode = Literal["zookeeper", "kraft", "controller"]
"""Who is asked: a broker of either generation, or a process of the KRaft generation on its controller listener."""


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


# API                              flexible  zookeeper  kraft   controller
_TABLE = """
PRODUCE                            9         0-11       0-13    -
FETCH                              12        0-17       4-18    4-18
LIST_OFFSETS                       6         0-9        1-11    -
METADATA                           9         0-12       0-13    -
LEADER_AND_ISR                     4         0-7        -       -
STOP_REPLICA                       2         0-4        -       -
UPDATE_METADATA                    6         0-8        -       -
CONTROLLED_SHUTDOWN                3         0-3        -       -
OFFSET_COMMIT                      8         0-9        2-10    -
OFFSET_FETCH                       6         0-9        1-10    -
FIND_COORDINATOR                   3         0-6        0-6     -
JOIN_GROUP                         6         0-9        0-9     -
HEARTBEAT                          4         0-4        0-4     -
LEAVE_GROUP                        4         0-5        0-5     -
SYNC_GROUP                         4         0-5        0-5     -
DESCRIBE_GROUPS                    5         0-5        0-6     -
LIST_GROUPS                        3         0-5        0-5     -
SASL_HANDSHAKE                     -         0-1        0-1     0-1
API_VERSIONS                       3         0-4        0-4     0-4
CREATE_TOPICS                      5         0-7        2-7     2-7
DELETE_TOPICS                      4         0-6        1-6     1-6
DELETE_RECORDS                     2         0-2        0-2     -
INIT_PRODUCER_ID                   2         0-5        0-5     -
OFFSET_FOR_LEADER_EPOCH            4         0-4        2-4     -
ADD_PARTITIONS_TO_TXN              3         0-5        0-5     -
ADD_OFFSETS_TO_TXN                 3         0-4        0-4     -
END_TXN                            3         0-4        0-5     -
WRITE_TXN_MARKERS                  1         0-1        1-2     -
TXN_OFFSET_COMMIT                  3         0-4        0-5     -
DESCRIBE_ACLS                      2         0-3        1-3     1-3
CREATE_ACLS                        2         0-3        1-3     1-3
DELETE_ACLS                        2         0-3        1-3     1-3
DESCRIBE_CONFIGS                   4         0-4        1-4     1-4
ALTER_CONFIGS                      2         0-2        0-2     0-2
ALTER_REPLICA_LOG_DIRS             2         0-2        1-2     -
DESCRIBE_LOG_DIRS                  2         0-4        1-5     -
SASL_AUTHENTICATE                  2         0-2        0-2     0-2
CREATE_PARTITIONS                  2         0-3        0-3     0-3
CREATE_DELEGATION_TOKEN            2         0-3        1-3     1-3
RENEW_DELEGATION_TOKEN             2         0-2        1-2     1-2
EXPIRE_DELEGATION_TOKEN            2         0-2        1-2     1-2
DESCRIBE_DELEGATION_TOKEN          2         0-3        1-3     1-3
DELETE_GROUPS                      2         0-2        0-2     -
ELECT_LEADERS                      2         0-2        0-2     0-2
INCREMENTAL_ALTER_CONFIGS          1         0-1        0-1     0-1
ALTER_PARTITION_REASSIGNMENTS      0         0-0        0-1     0-1
LIST_PARTITION_REASSIGNMENTS       0         0-0        0-0     0-0
OFFSET_DELETE                      -         0-0        0-0     -
DESCRIBE_CLIENT_QUOTAS             1         0-1        0-1     -
ALTER_CLIENT_QUOTAS                1         0-1        0-1     0-1
DESCRIBE_USER_SCRAM_CREDENTIALS    0         0-0        0-0     0-0
ALTER_USER_SCRAM_CREDENTIALS       0         0-0        0-0     0-0
VOTE                               0         -          -       0-2
BEGIN_QUORUM_EPOCH                 1         -          -       0-1
END_QUORUM_EPOCH                   1         -          -       0-1
DESCRIBE_QUORUM                    0         -          0-2     0-2
ALTER_PARTITION                    0         0-3        -       2-3
UPDATE_FEATURES                    0         0-1        0-2     0-2
ENVELOPE                           0         0-0        -       0-0
FETCH_SNAPSHOT                     0         -          -       0-1
DESCRIBE_CLUSTER                   0         0-1        0-2     0-2
DESCRIBE_PRODUCERS                 0         0-0        0-0     -
BROKER_REGISTRATION                0         -          -       0-4
BROKER_HEARTBEAT                   0         -          -       0-2
UNREGISTER_BROKER                  0         -          0-0     0-0
DESCRIBE_TRANSACTIONS              0         0-0        0-0     -
LIST_TRANSACTIONS                  0         0-1        0-2     -
ALLOCATE_PRODUCER_IDS              0         0-0        -       0-0
CONSUMER_GROUP_HEARTBEAT           0         0-0        0-1     -
CONSUMER_GROUP_DESCRIBE            0         0-0        0-1     -
CONTROLLER_REGISTRATION            0         -          -       0-0
GET_TELEMETRY_SUBSCRIPTIONS        0         -          -       -
PUSH_TELEMETRY                     0         -          -       -
ASSIGN_REPLICAS_TO_DIRS            0         -          -       0-0
LIST_CONFIG_RESOURCES              0         -          0-1     -
DESCRIBE_TOPIC_PARTITIONS          0         -          0-0     -
SHARE_GROUP_HEARTBEAT              0         -          1-1     -
SHARE_GROUP_DESCRIBE               0         -          1-1     -
SHARE_FETCH                        0         -          1-2     -
SHARE_ACKNOWLEDGE                  0         -          1-2     -
ADD_RAFT_VOTER                     0         -          0-1     0-1
REMOVE_RAFT_VOTER                  0         -          0-0     0-0
UPDATE_RAFT_VOTER                  0         -          -       0-0
INITIALIZE_SHARE_GROUP_STATE       0         -          0-0     -
READ_SHARE_GROUP_STATE             0         -          0-0     -
WRITE_SHARE_GROUP_STATE            0         -          0-1     -
DELETE_SHARE_GROUP_STATE           0         -          0-0     -
READ_SHARE_GROUP_STATE_SUMMARY     0         -          0-1     -
STREAMS_GROUP_HEARTBEAT            0         -          0-0     -
STREAMS_GROUP_DESCRIBE             0         -          0-0     -
DESCRIBE_SHARE_GROUP_OFFSETS       0         -          0-1     -
ALTER_SHARE_GROUP_OFFSETS          0         -          0-0     -
DELETE_SHARE_GROUP_OFFSETS         0         -          0-0     -
"""


@dataclass(frozen=True, slots=True)
class _Api:
    key: ApiKey
    name: str  # "Fetch"
    first_flexible: int | None
    ranges: dict[str, tuple[int, int]]


def _camel_case(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _parse(line: str) -> _Api:
    name, flexible, *texts = line.split()
    ranges: dict[str, tuple[int, int]] = {}
    for mode, text in zip(("zookeeper", "kraft", "controller"), texts, strict=True):
        if text != "-":
            first, last = text.split("-")
            ranges[mode] = (int(first), int(last))
    return _Api(ApiKey[name], _camel_case(name), None if flexible == "-" else int(flexible), ranges)


_APIS: dict[int, _Api] = {api.key.value: api for api in map(_parse, _TABLE.split("\n")[1:-1])}


class _Names(dict[int, str]):
    def __missing__(self, key: int) -> str:
        return f"api {key}"


API_NAMES = _Names((key, api.name) for key, api in _APIS.items())
"""The APIs' names in Kafka's spelling: 1 is "Fetch"; a number that no API has is "api 999"."""


def api_name(key: int) -> str:
    """As `API_NAMES[key]`, which is for what happens at every request."""
    return API_NAMES[key]


def version_range(key: int, mode: Mode) -> tuple[int, int] | None:
    """First and last version that is advertised there; None when the API is not offered."""
    api = _APIS.get(key)
    return None if api is None else api.ranges.get(mode)


def is_supported(key: int, version: int, mode: Mode) -> bool:
    versions = version_range(key, mode)
    return versions is not None and versions[0] <= version <= versions[1]


def advertised(mode: Mode, implemented: Container[ApiKey]) -> list[tuple[ApiKey, int, int]]:
    """What ApiVersions answers: (key, first, last) in the order of the keys."""
    return [(api.key, *api.ranges[mode]) for api in _APIS.values() if mode in api.ranges and api.key in implemented]


# Plain numbers for what is asked at every request: reading a member of an enum costs more than the answer.
_CONTROLLED_SHUTDOWN, _API_VERSIONS, _NEVER = 7, 18, 1 << 15
_FIRST_FLEXIBLE = {k: _NEVER if api.first_flexible is None else api.first_flexible for k, api in _APIS.items()}


def is_known(key: int) -> bool:
    return key in _FIRST_FLEXIBLE


def is_flexible(key: int, version: int) -> bool:
    return version >= _FIRST_FLEXIBLE[key]


def request_header_version(key: int, version: int) -> int:
    if key == _CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if version >= _FIRST_FLEXIBLE[key] else 1


def response_header_version(key: int, version: int) -> int:
    return 0 if key == _API_VERSIONS or version < _FIRST_FLEXIBLE[key] else 1
