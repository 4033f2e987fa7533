"""Tables of the metadata quorum and of registered brokers, as `schemas` lists them."""

from __future__ import annotations

from lab.analytics.declaring import MOMENT, Table, columns

METADATA_RECORDS = Table("metadata_records", "one record of the metadata log on the disk of one process (KRaft)",
                         columns("""
    run  string  name of the run
    broker  int  broker or controller whose disk this is, -1 when the path does not say
    offset  bigint  offset in `__cluster_metadata`
    epoch  int  epoch of the quorum's leader that wrote it
    timestamp  timestamp  when it was written
    control  boolean  about the quorum itself: leader changes, voters, kraft.version
    kind  string  TOPIC_RECORD, PARTITION_CHANGE_RECORD, ..., as kafka-dump-log names it
    version  int  version of the record
    topic  string  topic that it is about, null for another subject
    partition  int  partition that it is about
    about_broker  int  broker that it is about
    data  string  its fields, JSON with the names of Kafka's definitions
    error  string  why it cannot be read; null for a record that can
"""))
QUORUM_ELECTIONS = Table("quorum_elections", "one leader of the metadata quorum, and how it came to lead (KRaft)",
                         columns(MOMENT + """
    epoch  bigint  its epoch
    leader  int  replica that leads from now on
    previous  int  leader before, null for the first
    gone_us  bigint  when that one died, was paused or gave up, null when it did not
    asked_us  bigint  when somebody first asked for votes, or whether there would be any
    candidates  array<int>  replicas that were candidates since the leader before
    votes  int  votes of others that it got in its epoch
    active_us  bigint  when its controller was active: all records were applied
"""))
BROKER_REGISTRATIONS = Table("broker_registrations", "one time in which the cluster counted on a broker",
                             columns(MOMENT + """
    broker  int  broker id
    broker_epoch  bigint  czxid of its znode, or offset of its registration's record
    started_us  bigint  when its process had started
    until_us  bigint  when it was fenced, unregistered or its znode went, null: never
    reason  string  why that ended
"""))
