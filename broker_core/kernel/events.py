"""Every event that the journal can hold: one documented registry.

An event is a code with parameters, never a sentence: each reader (browser, golden script, Spark)
renders it in his own language. `render` is the one-line English rendering that golden scripts
and `run` print.

Levels
    transition  a state changed: always recorded
    message     something travelled, was appended or moved a mark: recorded from level `messages`
    detail      what went on inside one machine: recorded from level `details`

| example | parameters | rendered |
|---|---|---|
| ISR_SHRUNK | topic=orders partition=0 isr=[1, 2] removed=[3] reason=... | orders-0: ISR is now [1, 2], without [3] |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker_core.kernel.problems.telling import plain

TRANSITION, MESSAGE, DETAIL = 0, 1, 2
LEVEL_NAMES = ("transitions", "messages", "details")


@dataclass(frozen=True, slots=True)
class EventCode:
    """One kind of event: its name in the journal, its level, its parameters and their meaning."""

    name: str
    level: int
    render: str
    params: dict[str, str]

    def line(self, values: dict[str, Any]) -> str:
        """The event as one English line; parameters that are absent show as `?`."""
        shown = {name: values.get(name, "?") for name in self.params}
        if "problem" in values:
            shown["problem"] = plain(values["problem"], "en")
        return self.render.format(**shown)


REGISTRY: dict[str, EventCode] = {}


def _event(level: int, name: str, render: str, /, **params: str) -> EventCode:
    if name in REGISTRY:
        raise ValueError(f"event {name} is declared twice")
    code = EventCode(name, level, render, params)
    REGISTRY[name] = code
    return code


_TP = {"topic": "topic name", "partition": "partition number"}

# --- the world: processes, links, commands ---------------------------------------------------
BROKER_ADDED = _event(TRANSITION, "broker_added", "broker {broker} is added to the cluster: nothing is on it yet",
    broker="broker id", rack="its rack, null without one",
    replica_selector="whether as a leader it sends consumers to followers of their rack")
MACHINE_ADDED = _event(TRANSITION, "machine_added", "a machine that is to be broker {broker} is switched on",
    broker="broker id that its settings name")
PROCESS_STARTED = _event(TRANSITION, "process_started", "process starts (incarnation {incarnation})",
    incarnation="how often this process has started, from 1")
PROCESS_ENDED = _event(TRANSITION, "process_ended", "process ends: {how}",
    how="crash | shutdown | power_loss | halted | refused | took_over | replaced")
PROCESS_PAUSED = _event(TRANSITION, "process_paused", "process is paused: alive, but it does nothing")
PROCESS_RESUMED = _event(TRANSITION, "process_resumed", "process goes on")
LINK_CHANGED = _event(TRANSITION, "link_changed",
    "link {source} -> {dest}: delay {delay_us} us, drop {drop}, partitioned {partitioned}",
    source="node", dest="node", delay_us="one-way delay, microseconds", drop="probability of loss",
    partitioned="whether nothing passes", jitter_us="mean of the random share of the delay",
    duplicate="probability of a second copy", reorder="probability of being overtaken",
    bandwidth="bytes per second, 0 = no limit")
CONNECTION_LOST = _event(MESSAGE, "connection_lost", "connection {source} - {dest} breaks: bytes were lost on it",
    source="node", dest="node")
COMMAND = _event(TRANSITION, "command", "command: {command}", command="the command object as it was given")
COMMAND_REFUSED = _event(TRANSITION, "command_refused", "command refused: {problem}",
    command="the command object", problem="what was wrong: a code of `kernel.problems` with its parameters")
NEIGHBOUR_CHANGED = _event(TRANSITION, "neighbour_changed",
    "neighbour {neighbour}: brokers {registered} registered, controller {controller}, {led} of {partitions} partitions led",
    neighbour="name of another cluster on the same ensemble", chroot="where in the tree it lives",
    brokers="how many it has", registered="ids of those that the tree knows", running="ids of those that run",
    controller="broker id, null: none is known", elects="whether its controller could write down a decision now",
    partitions="how many its topics have", led="how many of them have a leader that runs")
DISK_FAULT = _event(TRANSITION, "disk_fault", "disk fault on {path}: {error}",
    path="file or directory", error="what the storage answered", operation="append | read | flush | ...")
DISKS_CHANGED = _event(TRANSITION, "disks_changed", "disks: {faults}",
    faults="the faults that they have from now on: kind, directory, once, on_call, probability; none: they work")
PROTECTION_SET = _event(TRANSITION, "protection_set", "protection {protection}: {on}",
    protection="name of the protection", on="whether it is in place from now on")
STAGE_COSTS_SET = _event(TRANSITION, "stage_costs_set",
    "a request costs a network thread {network_us} us, a handler thread {io_us} us",
    network_us="microseconds, on all brokers from now on", io_us="microseconds, on all brokers from now on")
MESSAGE_DROPPED = _event(MESSAGE, "message_dropped", "message to {dest} is lost ({reason})",
    dest="node", kind="what was lost", reason="partitioned | dropped | connection breaks | chosen")
MESSAGE_HELD = _event(MESSAGE, "message_held", "message to {dest} is held up for {delay_ms} ms", dest="node",
    kind="what is held up", delay_ms="milliseconds, on top of the link's delay")

# --- connections and requests ----------------------------------------------------------------
LISTENING = _event(TRANSITION, "listening", "listens on {host}:{port}", host="address", port="TCP port")
CONNECTION_OPENED = _event(TRANSITION, "connection_opened", "connection {connection} from {peer}",
    connection="number of the connection", peer="address of the client")
CONNECTION_CLOSED = _event(TRANSITION, "connection_closed", "connection {connection} closed: {reason}",
    connection="number of the connection", reason="client | broker | process ended | refused frame | ...")
CLIENT_SOFTWARE = _event(TRANSITION, "client_software", "connection {connection} is {software} ({client_id})",
    connection="number of the connection", software="name and version", client_id="client.id")
FRAME_REFUSED = _event(TRANSITION, "frame_refused", "frame of {source} refused: {reason}",
    connection="number of an outside client's connection, null for a node's", source="node or connection",
    reason="what was wrong and where")
REQUEST_SENT = _event(MESSAGE, "request_sent", "{api} v{version} #{correlation} to {to}",
    to="node", api="API name", version="API version", correlation="correlation id", connection="connection name")
REQUEST_RECEIVED = _event(MESSAGE, "request_received", "{api} v{version} #{correlation} from {source}",
    source="node or connection", api="API name", version="API version", correlation="correlation id",
    client_id="client.id")
RESPONSE_SENT = _event(MESSAGE, "response_sent", "answer to {api} #{correlation} for {to}: {error}",
    to="node or connection", api="API name", correlation="correlation id", error="first error name, or NONE")
RECORDS_SENT = _event(MESSAGE, "records_sent", "{topic}-{partition}: {base_offset}..{last_offset} sent to connection {to}",
    topic="topic", partition="partition", base_offset="first offset that was asked for", last_offset="last offset in the answer",
    to="number of an outside client's connection")
RECORDS_CONVERTED = _event(MESSAGE, "records_converted",
    "{topic}-{partition}: {records} records converted for {api}, magic {magic_from} to {magic_to}, {bytes_before} bytes to {bytes_after}",
    topic="topic", partition="partition", api="Produce: up, before they are written | Fetch: down, for an old reader",
    records="how many", magic_from="format that they had", magic_to="format that they have got",
    bytes_before="bytes that were read into the process", bytes_after="bytes that they have become")
REQUEST_STAGES = _event(DETAIL, "request_stages",
    "{api} #{correlation}: queue {queue_us}, local {local_us}, remote {remote_us}, response queue {response_us} us",
    api="API name", correlation="correlation id", queue_us="RequestQueueTimeMs in microseconds",
    local_us="LocalTimeMs in microseconds", remote_us="RemoteTimeMs (purgatory) in microseconds",
    response_us="ResponseQueueTimeMs in microseconds", request_bytes="size of the request on the wire, 4 bytes of length included",
    response_bytes="size of the answer on the wire; 0 without an answer")
HANDLER_FAILED = _event(TRANSITION, "handler_failed", "{api} #{correlation}: the broker failed: {error}",
    api="API name", correlation="correlation id", error="type and text of the error")
CALL_FAILED = _event(TRANSITION, "call_failed", "{place} failed: {error}",
    place="module and function of this program", error="type and text of the error")
REQUEST_QUEUE_FULL = _event(TRANSITION, "request_queue_full", "request queue is full ({size})", size="queued.max.requests")
PURGATORY_PARKED = _event(DETAIL, "purgatory_parked", "{operation} waits for {keys}, at most {timeout_ms} ms",
    operation="Produce | Fetch | Rebalance | Heartbeat | DeleteRecords", keys="watched keys", timeout_ms="milliseconds")
PURGATORY_COMPLETED = _event(DETAIL, "purgatory_completed", "{operation} on {keys} is complete",
    operation="as parked", keys="watched keys", waited_us="microseconds")
PURGATORY_EXPIRED = _event(DETAIL, "purgatory_expired", "{operation} on {keys} has expired",
    operation="as parked", keys="watched keys", waited_us="microseconds")

# --- coordination tree -----------------------------------------------------------------------
SESSION_OPENED = _event(TRANSITION, "session_opened", "session {session} of {owner}, timeout {timeout_ms} ms",
    session="session id", owner="node", timeout_ms="milliseconds")
SESSION_EXPIRED = _event(TRANSITION, "session_expired", "session {session} of {owner} has expired",
    session="session id", owner="node")
SESSION_CLOSED = _event(TRANSITION, "session_closed", "session {session} of {owner} is closed",
    session="session id", owner="node")
ZNODE_CREATED = _event(TRANSITION, "znode_created", "znode {path} created", path="znode path", ephemeral="owning node, or null")
ZNODE_CHANGED = _event(TRANSITION, "znode_changed", "znode {path} is at version {version}", path="znode path", version="data version")
ZNODE_DELETED = _event(TRANSITION, "znode_deleted", "znode {path} deleted", path="znode path")
WATCH_FIRED = _event(MESSAGE, "watch_fired", "watch on {path} fires for {owner}: {kind}", path="znode path",
    owner="node", kind="NodeCreated | NodeDeleted | NodeDataChanged | NodeChildrenChanged")

# --- coordination ensemble -------------------------------------------------------------------
ENSEMBLE_STATE = _event(TRANSITION, "ensemble_state", "server {server}: {before} -> {after}, leader {leader} ({reason})",
    server="server id", before="looking | following | leading", after="looking | following | leading",
    leader="server id, -1 without one", epoch="epoch whose log it has", zxid="last transaction of its log", reason="why")
ENSEMBLE_VOTE = _event(MESSAGE, "ensemble_vote", "votes for server {server}, whose log ends with {zxid}", server="server id",
    zxid="last transaction of its log", round="round of the election")
ENSEMBLE_EPOCH = _event(TRANSITION, "ensemble_epoch", "server {server} leads epoch {epoch}, with servers {followers}",
    server="server id", epoch="its epoch", followers="ids of the followers that have its log", zxid="last transaction before it")
ENSEMBLE_COMMITTED = _event(MESSAGE, "ensemble_committed", "transactions up to {zxid} are committed: servers {servers} have them",
    zxid="the last of them", servers="ids of the servers that have flushed it", n="how many")
ENSEMBLE_SYNCED = _event(TRANSITION, "ensemble_synced", "has the log of server {leader}, epoch {epoch}: {how}",
    leader="server id", epoch="the leader's epoch", how="diff | truncate | snapshot", n="transactions that it lacked",
    zxid="last transaction of its log")
ENSEMBLE_TRUNCATED = _event(TRANSITION, "ensemble_truncated",
    "transactions behind {zxid}, up to {before}, were never committed: cut off", before="last transaction it had",
    zxid="last transaction now")
ENSEMBLE_CLIENT = _event(TRANSITION, "ensemble_client", "session {session} of {owner} is at server {server}",
    server="server id", owner="node", session="session id", moved="whether it goes on after another connection")

# --- controller ------------------------------------------------------------------------------
CONTROLLER_ELECTED = _event(TRANSITION, "controller_elected", "broker {broker} is controller, epoch {epoch}",
    broker="broker id", epoch="controller epoch")
CONTROLLER_RESIGNED = _event(TRANSITION, "controller_resigned", "broker {broker} is no longer controller: {reason}",
    broker="broker id", epoch="controller epoch", reason="why")
CONTROLLER_LOADED = _event(TRANSITION, "controller_loaded", "controller has read {topics} topics, {partitions} partitions",
    topics="count", partitions="count", epoch="controller epoch")
CONTROLLER_FENCED = _event(TRANSITION, "controller_fenced",
    "{api} of controller epoch {epoch} is refused, epoch is {current}", api="API name", epoch="epoch of the request",
    current="epoch known here", controller="id of the zombie")
BROKER_REGISTERED = _event(TRANSITION, "broker_registered", "broker {broker} is registered", broker="broker id",
    broker_epoch="czxid of /brokers/ids/N")
BROKER_GONE = _event(TRANSITION, "broker_gone", "broker {broker} is gone: {reason}", broker="broker id", reason="why")
BROKER_REFUSED = _event(TRANSITION, "broker_refused", "broker id {broker} is taken by {owner}", broker="broker id",
    owner="node that holds the id")
BROKER_ID_GENERATED = _event(TRANSITION, "broker_id_generated", "{path} gives the id {broker} to a broker that has none",
    broker="broker id", path="znode whose version is counted on")
PARTITION_STATE = _event(DETAIL, "partition_state", "{topic}-{partition}: {before} -> {after}", **_TP,
    before="PartitionState", after="PartitionState")
REPLICA_STATE = _event(DETAIL, "replica_state", "{topic}-{partition} replica {replica}: {before} -> {after}", **_TP,
    replica="broker id", before="ReplicaState", after="ReplicaState")
LEADER_ELECTED = _event(TRANSITION, "leader_elected",
    "{topic}-{partition}: leader {leader} (was {previous}), leader epoch {leader_epoch}, ISR {isr}: {reason}", **_TP,
    leader="broker id", previous="broker id or -1", leader_epoch="new leader epoch", isr="broker ids",
    replicas="broker ids in assignment order",
    reason="new | broker gone | log directory offline | preferred | unclean | controlled shutdown | reassignment")
PARTITION_OFFLINE = _event(TRANSITION, "partition_offline", "{topic}-{partition} is offline: it has no leader, in sync are {isr}",
    **_TP, isr="broker ids", leader_epoch="leader epoch")
ASSIGNMENT_CHANGED = _event(TRANSITION, "assignment_changed",
    "{topic}-{partition}: replicas {replicas}, being added {adding}, being removed {removing}", **_TP,
    replicas="broker ids, the preferred leader first", adding="broker ids that a reassignment adds (KIP-455)",
    removing="broker ids that it removes", moving="is a reassignment under way?")
LEADER_EPOCH_RENEWED = _event(TRANSITION, "leader_epoch_renewed",
    "{topic}-{partition}: leader {leader} stays, leader epoch {leader_epoch}, ISR {isr}", **_TP, leader="broker id",
    leader_epoch="new leader epoch", isr="broker ids")
CONTROL_REQUEST = _event(MESSAGE, "control_request", "{api} to broker {to}: {partitions} partitions, epoch {epoch}",
    api="LeaderAndIsr | StopReplica | UpdateMetadata", to="broker id", partitions="count", epoch="controller epoch")

# --- metadata quorum -------------------------------------------------------------------------
QUORUM_STATE = _event(TRANSITION, "quorum_state", "quorum: {before} -> {after} in epoch {epoch}, leader {leader} ({reason})",
    before="unattached | prospective | candidate | leader | follower | resigned", after="the same", epoch="leader epoch",
    leader="replica id, null when none is known",
    reason="election timeout | fetch timeout | majority of pre-votes | majority of votes | leader | epoch | vote | no majority fetches | shutdown | asked for | no voter any more")
QUORUM_VOTE = _event(TRANSITION, "quorum_vote", "votes for {candidate} in epoch {epoch}", candidate="replica id", epoch="leader epoch")
QUORUM_VOTERS = _event(TRANSITION, "quorum_voters", "voters are {voters}, as the record at {offset} says", voters="replica ids",
    offset="offset of the voters' record, or the end of a log that was cut")
METADATA_APPENDED = _event(MESSAGE, "metadata_appended", "metadata {base_offset}..{last_offset} written as {role}",
    base_offset="first offset", last_offset="last offset", bytes="size", role="leader | follower", epoch="leader epoch")
METADATA_SNAPSHOT = _event(TRANSITION, "metadata_snapshot", "snapshot of the metadata up to {offset}, epoch {epoch}: {how}",
    offset="its end offset", epoch="epoch of its last record", bytes="size", how="written | fetched")

# --- topics ----------------------------------------------------------------------------------
TOPIC_CREATED = _event(TRANSITION, "topic_created", "topic {topic} with {partitions} partitions, replication factor {replication_factor}",
    topic="topic name", partitions="count", replication_factor="count", assignment="partition -> broker ids",
    configs="overridden settings", topic_id="uuid")
TOPIC_GROWN = _event(TRANSITION, "topic_grown", "topic {topic} has {partitions} partitions now", topic="topic name",
    partitions="count", assignment="new partitions -> broker ids")
TOPIC_DELETED = _event(TRANSITION, "topic_deleted", "topic {topic} deleted", topic="topic name")
CONFIG_CHANGED = _event(TRANSITION, "config_changed", "{resource} {name}: {key} = {value}", resource="topic | broker | default",
    name="topic name or broker id", key="setting", value="new value, null when removed")

# --- replication -----------------------------------------------------------------------------
BECAME_LEADER = _event(TRANSITION, "became_leader", "leads {topic}-{partition}, leader epoch {leader_epoch} from offset {leo}",
    **_TP, leader_epoch="leader epoch", leo="log end offset", isr="broker ids")
BECAME_FOLLOWER = _event(TRANSITION, "became_follower", "follows broker {leader} for {topic}-{partition}, leader epoch {leader_epoch}",
    **_TP, leader_epoch="leader epoch", leader="broker id", leo="log end offset")
REPLICA_STOPPED = _event(TRANSITION, "replica_stopped", "replica {topic}-{partition} stopped", **_TP, deleted="log deleted?")
TRUNCATED = _event(TRANSITION, "truncated", "{topic}-{partition} cut from {before} to {after}", **_TP,
    before="log end offset before", after="log end offset after", reason="why",
    committed="whether offsets below the high watermark are gone: they had been acknowledged")
ISR_SHRUNK = _event(TRANSITION, "isr_shrunk", "{topic}-{partition}: ISR is now {isr}, without {removed}", **_TP,
    isr="broker ids", removed="broker ids", reason="no fetch | never at the end | broker gone | log directory offline",
    lag_ms="time since caught up, milliseconds, by removed broker", leader_epoch="leader epoch")
ISR_EXPANDED = _event(TRANSITION, "isr_expanded", "{topic}-{partition}: ISR is now {isr}, with {added}", **_TP,
    isr="broker ids", added="broker ids", leader_epoch="leader epoch")
ISR_CHANGE_REFUSED = _event(TRANSITION, "isr_change_refused", "{topic}-{partition}: controller refuses ISR {isr}: {error}",
    **_TP, isr="broker ids asked for", error="error name")
REPLICA_FENCED = _event(TRANSITION, "replica_fenced", "{topic}-{partition}: request of epoch {epoch} is fenced, epoch is {current}",
    **_TP, epoch="epoch of the request", current="epoch here", source="who asked")
LOG_APPENDED = _event(MESSAGE, "log_appended", "{topic}-{partition}: {base_offset}..{last_offset} appended as {role}",
    **_TP, base_offset="first offset", last_offset="last offset", bytes="size", role="leader | follower",
    crc="CRC-32C of the last batch")
HIGH_WATERMARK = _event(MESSAGE, "high_watermark", "{topic}-{partition}: high watermark {before} -> {after}", **_TP,
    before="offset", after="offset")

# --- storage ---------------------------------------------------------------------------------
LOGS_LOADING = _event(TRANSITION, "logs_loading", "has opened {opened} of {total} logs, checked {checked} bytes; others have their turn",
    opened="logs that are open", total="logs on its disks", checked="bytes of batches that were proved so far")
LOG_LOADED = _event(TRANSITION, "log_loaded", "{topic}-{partition} loaded: {start}..{end}", **_TP, start="log start offset",
    end="log end offset", clean="clean shutdown marker found?")
LOG_RECOVERED = _event(TRANSITION, "log_recovered",
    "{topic}-{partition} recovered: ends at {end}, had reached {before} at least, {bytes_cut} bytes cut: {reason}", **_TP,
    bytes_cut="bytes", reason="what was wrong", end="log end offset: the first offset that is gone",
    before="log end offset before, as far as what is left on the disk tells: at least this",
    committed="whether offsets below the high watermark of the checkpoint are gone: they had been acknowledged")
FILE_GIVEN_UP = _event(TRANSITION, "file_given_up", "{path} cannot be read ({error}): {reaction}", path="file",
    error="what is wrong with it", reaction="taken as empty | an older one is read | worked out from the log")
INDEX_REBUILT = _event(TRANSITION, "index_rebuilt", "{topic}-{partition}: {file} rebuilt", **_TP, file="file name", reason="why")
SEGMENT_ROLLED = _event(TRANSITION, "segment_rolled", "{topic}-{partition}: new segment at {base_offset}", **_TP,
    base_offset="first offset", reason="size | time | index full | ...")
SEGMENT_DELETED = _event(TRANSITION, "segment_deleted", "{topic}-{partition}: segment {base_offset} deleted ({reason})", **_TP,
    base_offset="first offset", reason="retention time | retention size | log start offset | topic deleted", bytes="size")
LOG_CLEANED = _event(TRANSITION, "log_cleaned", "{topic}-{partition}: compacted up to {end}, {records_before} records are now {records_after}", **_TP,
    start="first offset that was dirty", end="the new first dirty offset", bytes_before="of the segments that were copied", bytes_after="of their copies",
    records_before="records in them", records_after="records in the copies", tombstones="of those that went: tombstones past their delete horizon")
LOG_CLEANING = _event(TRANSITION, "log_cleaning", "{topic}-{partition}: has compacted {done} of {total} bytes; others have their turn", **_TP,
    done="bytes that were read, in both passes", total="bytes to read at most")
LOG_UNCLEANABLE = _event(TRANSITION, "log_uncleanable", "{topic}-{partition}: cannot be compacted ({reason})", **_TP, reason="what the cleaner found")
LOG_START_MOVED = _event(TRANSITION, "log_start_moved", "{topic}-{partition}: log starts at {offset}", **_TP, offset="offset",
    reason="retention | DeleteRecords | leader")
REPLICA_PLACED = _event(TRANSITION, "replica_placed", "{topic}-{partition}: a new replica, laid into {directory}", **_TP,
    directory="log directory, of a broker that has several")
REPLICA_MOVE_BEGUN = _event(TRANSITION, "replica_move_begun", "{topic}-{partition}: copied from {before} to {directory}, has {reached} of {end}", **_TP,
    before="log directory in which it lies", directory="in which it is to lie", reached="log end offset of the copy", end="of the log")
REPLICA_COPIED = _event(MESSAGE, "replica_copied", "{topic}-{partition}: {base_offset}..{last_offset} copied to {directory}", **_TP,
    base_offset="first offset", last_offset="last offset", bytes="size", directory="log directory of the copy")
REPLICATION_THROTTLED = _event(MESSAGE, "replication_throttled", "{topic}-{partition}: broker {replica} waits ({quota} {rate}, limit {bound})",
    **_TP, replica="whose replica catches up", quota="LeaderReplication | FollowerReplication | AlterLogDirsReplication",
    rate="bytes per second that count", bound="bytes per second allowed")
REPLICA_MOVE_ENDED = _event(TRANSITION, "replica_move_ended", "{topic}-{partition} does not move to {directory}: {reason}", **_TP,
    directory="log directory of the copy", reason="asked for | log directory offline | replica stopped")
REPLICA_MOVED = _event(TRANSITION, "replica_moved", "{topic}-{partition} lies in {directory} now, no more in {before}", **_TP,
    directory="log directory", before="the one before, empty: it had failed", bytes="size")
FLUSHED = _event(DETAIL, "flushed", "{topic}-{partition} flushed up to {offset}", **_TP, offset="recovery point")

# --- groups, producers -----------------------------------------------------------------------
GROUP_PARTITION_LOADED = _event(TRANSITION, "group_partition_loaded", "coordinator loads __consumer_offsets-{partition}: {groups} groups",
    partition="partition number", groups="count", offsets="count")
GROUP_PARTITION_UNLOADED = _event(TRANSITION, "group_partition_unloaded", "coordinator gives up __consumer_offsets-{partition}", partition="partition number")
GROUP_RECORD_REFUSED = _event(TRANSITION, "group_record_refused",
    "__consumer_offsets-{partition}: record {offset} cannot be read: {reason}", partition="partition number",
    offset="offset of the record", reason="what is wrong with it")
GROUP_STATE = _event(TRANSITION, "group_state", "group {group}: {before} -> {after}, generation {generation} ({reason})",
    group="group id", before="state", after="state", generation="generation id", reason="why", protocol="assignor")
MEMBER_JOINED = _event(TRANSITION, "member_joined", "group {group}: {member} joins", group="group id", member="member id",
    client_id="client.id", instance="group.instance.id or null")
MEMBER_LEFT = _event(TRANSITION, "member_left", "group {group}: {member} leaves ({reason})", group="group id", member="member id", reason="left | session timeout | rebalance timeout | removed")
GROUP_ASSIGNED = _event(TRANSITION, "group_assigned", "group {group} generation {generation}: {assignment}", group="group id",
    generation="generation id", assignment="member id -> topic -> partitions")
MEMBER_RECONCILED = _event(TRANSITION, "member_reconciled",
    "group {group}: {member} at epoch {epoch}, {state}: has {assigned}, gives back {revoking}", group="group id",
    member="member id", epoch="member epoch", state="STABLE | UNREVOKED_PARTITIONS | UNRELEASED_PARTITIONS",
    assigned="topic -> partitions", revoking="topic -> partitions that it has been told to give back")
GROUP_CONVERTED = _event(TRANSITION, "group_converted", "group {group}: from {before} to {after}, {members} members",
    group="group id", before="classic | consumer", after="consumer | classic", generation="group epoch, of a classic group generation id",
    members="count of those that are in it")
OFFSETS_COMMITTED = _event(MESSAGE, "offsets_committed", "group {group} commits {topic}-{partition} at {offset}", group="group id", **_TP, offset="next offset to read")
OFFSETS_DELETED = _event(MESSAGE, "offsets_deleted", "group {group} forgets where it was in {topic}-{partition}",
    group="group id", **_TP)
TRANSACTION_PARTITION_LOADED = _event(TRANSITION, "transaction_partition_loaded",
    "coordinator loads __transaction_state-{partition}: {transactional_ids} transactional ids, {unfinished} to be finished",
    partition="partition number", transactional_ids="count", unfinished="decided transactions whose markers are not all known to be written")
TRANSACTION_PARTITION_UNLOADED = _event(TRANSITION, "transaction_partition_unloaded", "coordinator gives up __transaction_state-{partition}", partition="partition number")
TRANSACTION_RECORD_REFUSED = _event(TRANSITION, "transaction_record_refused",
    "__transaction_state-{partition}: record {offset} cannot be read: {reason}", partition="partition number",
    offset="offset of the record", reason="what is wrong with it")
TRANSACTION_STATE = _event(TRANSITION, "transaction_state",
    "transaction {transactional_id}: {before} -> {after}, producer {producer_id} epoch {epoch} ({reason})", transactional_id="transactional.id",
    before="state", after="state", producer_id="producer id", epoch="producer epoch", partitions="of the transaction",
    reason="InitProducerId | partitions added | EndTxn | another producer | timed out | markers written")
TRANSACTION_TIMED_OUT = _event(TRANSITION, "transaction_timed_out", "transaction {transactional_id} is open for more than {timeout_ms} ms: aborted",
    transactional_id="transactional.id", producer_id="producer id", timeout_ms="transaction.timeout.ms of its producer")
TRANSACTIONAL_ID_EXPIRED = _event(TRANSITION, "transactional_id_expired", "transactional id {transactional_id} is forgotten",
    transactional_id="transactional.id")
TRANSACTION_BEGINS = _event(TRANSITION, "transaction_begins", "{topic}-{partition}: a transaction of producer {producer_id} begins at {offset}",
    **_TP, producer_id="producer id", offset="of its first record here")
TRANSACTION_ENDS = _event(TRANSITION, "transaction_ends",
    "{topic}-{partition}: {outcome} marker of producer {producer_id} at {offset} ends what began at {first_offset}", **_TP,
    producer_id="producer id", first_offset="of the transaction's first record here", offset="of the marker", outcome="commit | abort")
MARKERS_SENT = _event(MESSAGE, "markers_sent", "markers of {transactional_id} to broker {to}: {partitions}", transactional_id="transactional.id",
    to="broker id", commit="commit or abort?", partitions="list of partitions")
TRANSACTION_VERIFIED = _event(DETAIL, "transaction_verified", "partitions of {transactional_id} verified: {partitions}",
    transactional_id="transactional.id", partitions="partition -> error code")
SHARE_STATE_LOADED = _event(TRANSITION, "share_state_loaded",
    "share coordinator loads __share_group_state-{partition}: {share_partitions} share-partitions", partition="partition number",
    share_partitions="count")
SHARE_STATE_UNLOADED = _event(TRANSITION, "share_state_unloaded", "share coordinator gives up __share_group_state-{partition}", partition="partition number")
SHARE_STATE_DELETED = _event(TRANSITION, "share_state_deleted",
    "share coordinator forgets {topic}-{partition} of group {group}", group="group id", **_TP)
SHARE_RECORD_REFUSED = _event(TRANSITION, "share_record_refused",
    "__share_group_state-{partition}: record {offset} cannot be read: {reason}", partition="partition number",
    offset="offset of the record", reason="what is wrong with it")
SHARE_PARTITION_BEGINS = _event(TRANSITION, "share_partition_begins",
    "share group {group}: {topic}-{partition} begins at {start}, {in_flight} records in flight, leader epoch {leader_epoch}", group="group id", **_TP,
    start="share-partition start offset", in_flight="records whose state was found", leader_epoch="leader epoch",
    state_epoch="grows when an operator sets offsets")
SHARE_ACQUIRED = _event(TRANSITION, "share_acquired", "share group {group}: {client} acquires {topic}-{partition} {first}..{last}, delivery {count}",
    group="group id", **_TP, member="member id", client="client id", first="first offset", last="last offset", count="number of the delivery",
    lock_ms="how long nobody else gets them")
SHARE_RENEWED = _event(TRANSITION, "share_renewed", "share group {group}: locks on {topic}-{partition} {first}..{last} begin anew",
    group="group id", **_TP, member="member id", first="first offset", last="last offset", lock_ms="how long from now on")
SHARE_SETTLED = _event(TRANSITION, "share_settled", "share group {group}: {topic}-{partition} {first}..{last} {state}, delivered {count} times",
    group="group id", **_TP, first="first offset", last="last offset", state="available | acknowledged | archived", count="deliveries so far",
    records="how many")
SHARE_LOCKS_EXPIRED = _event(TRANSITION, "share_locks_expired",
    "share group {group}: locks of {records} records of {topic}-{partition} run out, {first}..{last}", group="group id", **_TP,
    records="count", first="first offset", last="last offset", state="available | archived, as often delivered as allowed")
PRODUCER_ID = _event(TRANSITION, "producer_id", "producer id {producer_id}, epoch {epoch} for {client_id}",
    producer_id="id", epoch="producer epoch", client_id="client.id")
DUPLICATE_BATCH = _event(MESSAGE, "duplicate_batch", "{topic}-{partition}: a batch that was sent again is there already, at {base_offset}..{last_offset}",
    **_TP, base_offset="first offset of the batch in the log", last_offset="last offset")

# --- built-in clients ------------------------------------------------------------------------
METADATA_REFRESHED = _event(MESSAGE, "metadata_refreshed", "metadata from {source}: {topics}", source="node", topics="names",
    reason="start | error | max age")
CLIENT_ERROR = _event(MESSAGE, "client_error", "{api}: {error}, {reaction}", api="API name", error="error name",
    reaction="retry | rejoin | give up | refresh metadata | reset | ask the leader | fetch again", topic="topic name or null", partition="partition or null",
    offset="of a Fetch: where the records begin that were asked for; null: no position")
SEND_FAILED = _event(TRANSITION, "send_failed", "{topic}-{partition}: {count} records failed: {error}", **_TP,
    count="records", error="error name")
READ_REPLICA = _event(TRANSITION, "read_replica", "reads {topic}-{partition} from broker {broker} ({reason})", **_TP,
    broker="broker id: with reason nearest a replica that the leader has named, else the leader again (-1: none known)",
    reason="nearest | expired | new leader | gone | error")
TRUNCATION_NOTICED = _event(TRANSITION, "truncation_noticed",
    "{topic}-{partition}: position {offset} of leader epoch {epoch} is not in the log any more, which ends at {end_offset} there: {reaction}", **_TP,
    offset="position", epoch="leader epoch of the last record read", end_offset="where the log has come apart, -1: not known",
    end_epoch="leader epoch in front of it, -1: not known", reaction="go back | reset | give up")
ASSIGNMENT_TAKEN = _event(TRANSITION, "assignment_taken", "reads {partitions}", partitions="topic -> partitions", generation="generation id")
PARTITIONS_REVOKED = _event(TRANSITION, "partitions_revoked", "gives up {partitions}, keeps {kept}", partitions="topic -> partitions",
    kept="topic -> partitions that it goes on reading", generation="generation id")

# --- the journal itself ----------------------------------------------------------------------
SUMMED_UP = _event(TRANSITION, "summed_up", "above the budget of this second, not recorded one by one: {counts}",
    counts="event code -> how many", second="virtual second since the start")
