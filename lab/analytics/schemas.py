"""Every table: what a row stands for, and its columns with Spark type and meaning.

Columns are declared here and, of groups, of the quorum and of transactions, in `schemas_groups.py` and its neighbours;
`TABLES` holds them all. The sources, the tables written as Parquet, the tests and the page of the documentation
(`python -m lab.analytics.schemas > docs/tables.md`) read it. `run` says of which run a row is: the Parquet file of a
table holds many.

| groups | tables |
|---|---|
| from segment files | records, batches, segments, damages |
| from the journal | events, requests, control_requests, metadata, isr_changes, elections, replication, storage |
| | group_generations, group_members, group_epochs, stored_offsets, transactions, share_deliveries, faults |
| | quorum_elections, broker_registrations |
| from the metadata log | metadata_records |
| from the operations | operations, sends, polls, commits |
| from run.json | runs |
"""

from __future__ import annotations

from lab.analytics.declaring import MOMENT, PLACE, TP, Table, columns
from lab.analytics.schemas_groups import GROUP_EPOCHS, GROUP_GENERATIONS, GROUP_MEMBERS, STORED_OFFSETS
from lab.analytics.schemas_quorum import BROKER_REGISTRATIONS, METADATA_RECORDS, QUORUM_ELECTIONS
from lab.analytics.schemas_transacted import SHARE_DELIVERIES, TRANSACTIONS

HEADERS = "array<struct<key: string, value: binary>>"

RECORDS = Table("records", "one record on one broker's disk", columns(f"""
    key  binary  key, null when there is none
    value  binary  value, null for a tombstone
    topic  string  topic name
    partition  int  partition number
    offset  bigint  offset, null in a row that reports damage
    timestamp  timestamp  CreateTime or LogAppendTime, null outside the years 1 to 9999
    timestampType  int  0 CreateTime, 1 LogAppendTime, -1 none (magic 0)
    headers  {HEADERS}  headers, null when there are none
    run  string  name of the run
    broker  int  broker whose disk this is, -1 when the path does not say
    segment  string  file name of the segment
    position  bigint  byte in the segment at which the batch begins
    base_offset  bigint  first offset of the batch
    leader_epoch  int  partition leader epoch, -1 in old formats
    producer_id  bigint  -1: not idempotent
    producer_epoch  int  -1: not idempotent
    sequence  int  sequence number of the record, -1 without
    codec  string  none, gzip, snappy, lz4, zstd
    crc  bigint  checksum that the batch carries
    magic  int  format: 2, or 0 and 1 of old
    transactional  boolean  written in a transaction
    control  boolean  a marker, not data
    error  string  what is wrong at this position; null for a record
"""))  # fmt: skip
BATCHES = Table("batches", "one batch (or message of old) on one broker's disk", columns(PLACE + """
    position  bigint  byte in the segment at which the batch begins
    size  bigint  bytes of the whole batch
    base_offset  bigint  first offset, null in a row that reports damage
    last_offset  bigint  last offset
    record_count  int  records that the header tells; of a wrapper of old those that it holds
    leader_epoch  int  partition leader epoch, -1 in old formats
    producer_id  bigint  -1: not idempotent
    producer_epoch  int  -1: not idempotent
    base_sequence  int  sequence number of the first record
    codec  string  none, gzip, snappy, lz4, zstd
    crc  bigint  checksum that the batch carries
    magic  int  format: 2, or 0 and 1 of old
    base_timestamp  timestamp  timestamp of the first record, null outside the years 1 to 9999
    max_timestamp  timestamp  largest timestamp, null outside the years 1 to 9999
    transactional  boolean  written in a transaction
    control  boolean  holds a marker, not data
    error  string  what is wrong at this position; null for a batch
"""))
SEGMENTS = Table("segments", "one segment file", columns(PLACE + """
    size  bigint  bytes of the log file
    base_offset  bigint  from the file name
    first_offset  bigint  of the first batch, null when empty
    last_offset  bigint  of the last batch, null when empty
    batches  bigint  whole batches
    records  bigint  records by the headers of the batches
    max_timestamp  timestamp  largest timestamp, null without one, before 1970 and after the year 9999
    index_size  bigint  bytes of the offset index, null when it is missing
    time_index_size  bigint  bytes of the time index, null when it is missing
    damages  int  places that could not be read
    error  string  the first of them; null when there is none
"""))
DAMAGES = Table("damages", "one place in a file that could not be read", columns("""
    run  string  name of the run
    broker  int  broker whose disk this is, -1 when the path does not say
    topic  string  topic name, null for files of the run itself
    partition  int  partition number, null for files of the run itself
    file  string  file name
    position  bigint  byte in the file
    error  string  what is wrong there
"""))
EVENTS = Table("events", "one row of the journal", columns(MOMENT + """
    code  string  event code, as in the registry of events
    cause  bigint  number of the row that led to it, 0: an input from outside
    params  string  parameters, JSON
    position  bigint  byte in the file at which the line begins
    error  string  what is wrong with the line; null for an event
"""))
OPERATIONS = Table("operations", "one row of the history of clients", columns("""
    run  string  name of the run
    seq  bigint  number of the journal's call
    t_us  bigint  virtual time, microseconds
    process  string  client
    kind  string  invoke, ok, fail, info
    op  string  send, poll, commit, assign, admin
    fields  string  the rest, JSON
    position  bigint  byte in the file at which the line begins: its order
    error  string  what is wrong with the line; null for an operation
"""))
SENDS = Table("sends", "the fate of one value that a producer sent", columns("""
    run  string  name of the run
    t_us  bigint  virtual time of the answer, microseconds
    kind  string  ok, fail, info; abort: its transaction was
    topic  string  topic name
    partition  int  partition number, -1 when it was never chosen
    label  string  producer's name in the value; empty for a value written by hand
    number  string  running number, or the text
    offset  bigint  where it was acked, -1 without (acks=0), null when it was not
    broker  string  node whose answer said ok, null when none did
    seq  bigint  number of the journal's call
    position  bigint  byte of the operation: its order
"""))
POLLS = Table("polls", "one value that a consumer read", columns("""
    run  string  name of the run
    t_us  bigint  virtual time, microseconds
    process  string  consumer
    topic  string  topic name
    partition  int  partition number
    offset  bigint  offset
    label  string  producer's name in the value; empty for a value written by hand
    number  string  running number, or the text
    seq  bigint  number of the journal's call
    position  bigint  byte of the operation
    index  bigint  place inside the operation
"""))
COMMITS = Table("commits", "one partition's offset in one commit, as the consumer knows it", columns("""
    run  string  name of the run
    seq  bigint  number of the journal's call
    t_us  bigint  virtual time, microseconds
    process  string  consumer
    kind  string  ok, fail, info
    group  string  group id
    topic  string  topic name
    partition  int  partition number
    offset  bigint  next offset to read
"""))
REQUESTS = Table("requests", "one request, from sending to the answer, with the stages of the broker's pipeline",
                 columns("""
    run  string  name of the run
    broker  string  node that handled it
    client  string  node or connection that asked
    connection  string  connection's name
    client_id  string  client.id
    api  string  API name
    version  int  API version
    correlation  bigint  correlation id
    sent_us  bigint  request_sent, null for outside clients
    received_us  bigint  request_received
    answered_us  bigint  response_sent, null when there was none
    queue_us  bigint  in the request queue; null below record level `details`
    local_us  bigint  in the handler
    remote_us  bigint  in purgatory
    response_us  bigint  in the response queue
    purgatory_us  bigint  waited in purgatory until complete or expired
    expired  boolean  whether purgatory gave up waiting
    error  string  first error of the answer
    seq  bigint  row of request_received
"""))
CONTROL_REQUESTS = Table("control_requests", "a request of a controller to a broker, each time it was sent (ZooKeeper)",
                         columns(MOMENT + """
    broker  string  broker that it was meant for
    api  string  LeaderAndIsr, StopReplica, UpdateMetadata
    partitions  int  partitions that it tells of
    epoch  bigint  controller epoch
    sent_us  bigint  request_sent, null when it never left
    received_us  bigint  when the broker had it, null when it never came
    answered_us  bigint  when the broker answered, null when it did not
    error  string  error of the answer: STALE_CONTROLLER_EPOCH to a controller of the past
"""))
METADATA = Table("metadata", "who believed what: one change of the tree, of the controller, or of a node's belief",
                 columns(MOMENT + """
    kind  string  znode, session, controller, broker, topic, leadership, cache, coordinator, fenced, client
    code  string  event code
    subject  string  znode path, session, broker, topic, partition, request, or what the client asked
    belief  string  what the node takes for true from now on
    epoch  bigint  controller epoch, leader epoch, generation or znode version, null without
"""))
ISR_CHANGES = Table("isr_changes", "one change of a partition's ISR", columns(MOMENT + TP + """
    change  string  shrunk, expanded, refused
    isr  array<int>  members afterwards
    removed  array<int>  members that left
    added  array<int>  members that came
    reason  string  why
    leader_epoch  int  leader epoch
"""))
ELECTIONS = Table("elections", "one decision of the controller on a partition's leader", columns(MOMENT + TP + """
    leader  int  new leader, -1: the partition is offline
    previous  int  leader before, -1: none
    leader_epoch  int  new leader epoch
    isr  array<int>  members
    reason  string  why
    took_over_us  bigint  when the new leader became leader, null when it did not
"""))
REPLICATION = Table("replication", "one change of one replica's log: an append, a cut, or its high watermark",
                    columns(MOMENT + TP + """
    change  string  appended, truncated, high_watermark
    base_offset  bigint  first offset appended
    last_offset  bigint  last offset appended
    bytes  bigint  size of what was appended
    role  string  leader, follower; null unless appended
    before  bigint  log end offset before it was cut, or high watermark before
    after  bigint  log end offset after it was cut, or high watermark after
    reason  string  why it was cut
"""))
STORAGE = Table("storage", "one thing that happened to a partition's files on one broker", columns(MOMENT + TP + """
    change  string  loaded, recovered, index rebuilt, rolled, deleted, compacted, start moved, flushed, page cache lost
    base_offset  bigint  first offset of the segment: rolled, deleted
    log_start  bigint  log start offset: loaded, start moved
    log_end  bigint  log end offset: loaded, recovered; up to where: flushed, compacted; end: page cache lost
    bytes  bigint  bytes deleted, cut by the recovery, or saved: compacted
    clean  boolean  whether a clean shutdown was found: loaded
    lost  bigint  offsets that were there before the stop and are not any more: loaded; null when not known
    file  string  index rebuilt
    reason  string  why
"""))
FAULTS = Table("faults", "one fault, from its beginning until it was healed", columns(MOMENT + """
    kind  string  crash, power_loss, halted, paused, link, disk, protection, or the command that did it
    target  string  node, SOURCE -> DEST of a link, protection, or partition and offset
    details  string  what it was like: parameters of the event or the command, JSON
    command  string  the command behind it, JSON; null when nobody asked for it
    cause  bigint  number of the row that led to it, 0: an input from outside
    until_us  bigint  when it was healed or another took its place, its beginning if it lasts no time; null: never
    duration_us  bigint  how long it lasted: to its end, or to the end of the run
"""))
RUNS = Table("runs", "one run", columns("""
    run  string  name of the run
    name  string  scenario
    kind  string  live, simulated, disks
    seed  bigint  seed
    directory  string  where it was read
    end_us  bigint  virtual end, microseconds
    receipt  string  the receipt that the run wrote, JSON
    facts  string  run.json
"""))

TABLES = {table.name: table for table in (
    RECORDS, BATCHES, SEGMENTS, DAMAGES, EVENTS, OPERATIONS, SENDS, POLLS, COMMITS, STORED_OFFSETS, REQUESTS,
    CONTROL_REQUESTS, METADATA, ISR_CHANGES, ELECTIONS, GROUP_GENERATIONS, GROUP_MEMBERS, GROUP_EPOCHS, TRANSACTIONS,
    SHARE_DELIVERIES, REPLICATION, STORAGE, FAULTS, METADATA_RECORDS, QUORUM_ELECTIONS, BROKER_REGISTRATIONS, RUNS,
)}  # fmt: skip


_HEADING = """# Tables of a replay

What [Spark](tour/analytics.md) makes of recorded runs: `./brokerlab replay DIR --out OUT` writes each table as Parquet,
`OUT/TABLE/*.parquet`. This page is printed by `python -m lab.analytics.schemas`.
"""


def markdown() -> str:
    """All tables, as they stand in docs/tables.md."""
    parts = [_HEADING]
    for table in TABLES.values():
        rows = "\n".join(f"| {column.name} | {column.type} | {column.doc} |" for column in table.columns)
        row = f"{table.row[0].upper()}{table.row[1:]}."
        parts.append(f"### {table.name}\n{row}\n\n| column | type | meaning |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(markdown(), end="")
