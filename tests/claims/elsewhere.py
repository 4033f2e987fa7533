"""Sentences under the word Invariants that no look at one moment can judge: which test asserts each.

By where it stands and how it begins: the file and the name of the test.
"""

from __future__ import annotations

QUORUM = "tests/raft/test_safety.py::test_one_leader_an_epoch_and_what_was_committed_stays"
REPLAYED = "tests/controller/test_standby.py::test_a_standby_knows_what_the_active_controller_knows_and_a_snapshot_with_its_tail_what_the_log_says"
CONTROLLER = "tests/controller/test_quorum_controller.py::test_nothing_is_answered_that_is_not_committed_and_what_was_not_is_forgotten"
SLICES = "tests/log/test_recovery.py::test_a_log_that_is_opened_in_slices_is_the_one_that_is_opened_at_once"
ENDED = "tests/web/test_api_labs.py::test_two_labs_have_ports_topics_and_runs_of_their_own_until_they_are_ended"
FRAMES = "tests/wire/test_wire_framing.py"

ELSEWHERE: dict[tuple[str, str], str] = {
    ("broker_core.controller.kraft.quorum_controller", "only `MetadataImage.replay`"): REPLAYED,
    ("broker_core.controller.kraft.quorum_controller", "an answer waits"): CONTROLLER,
    ("broker_core.controller.kraft.quorum_controller", "the active controller replays at once"): CONTROLLER,
    ("broker_core.kernel.journal:Journal", "never a byte differs"):
        "tests/kernel/test_journal.py::test_a_batch_of_rows_has_the_same_bytes_as_its_rows_one_by_one",
    ("broker_core.log.cleaning:Cleaning", "the segments that it works on"):
        "tests/log/test_cleaning.py::test_a_log_that_is_cut_while_it_is_cleaned_is_left_alone_and_nothing_half_copied_stays",
    ("broker_core.log.cleaning:Cleaning", "what is half copied"):
        "tests/log/test_cleaning.py::test_a_crash_at_any_moment_leaves_the_old_log_or_the_cleaned_one",
    ("broker_core.log.partition_log", "the leader assigns offsets"):
        "tests/log/test_partition_log.py::test_a_follower_that_copies_holds_the_same_bytes_epochs_and_fingerprint",
    ("broker_core.log.recovery:Opening", "in slices or at once"): SLICES,
    ("broker_core.log.recovery:Opening", "a crash between two slices"): SLICES,
    ("broker_core.metadata.configs:BrokerConfig", "a value that is present"):
        "tests/metadata/test_configs.py::test_a_refused_dynamic_change_leaves_the_value_as_it_was",
    ("broker_core.metadata.configs:BrokerConfig", "the value of an unknown name"):
        "tests/metadata/test_configs.py::test_a_running_broker_keeps_what_it_does_not_know_and_never_shows_its_value",
    ("broker_core.metadata.configs:BrokerConfig", "limits of throttled moves"):
        "tests/metadata/test_configs.py::test_limits_of_throttled_moves_are_checked_and_shown_while_they_are_set",
    ("broker_core.purgatory.operations", "an operation completes"):
        "tests/purgatory/test_operations.py::test_every_operation_completes_exactly_once",
    ("broker_core.purgatory.operations", "`on_expiration` runs"):
        "tests/purgatory/test_operations.py::test_on_expiration_runs_only_when_the_timer_was_first",
    ("broker_core.raft.client:RaftClient", "at most one leader"): QUORUM,
    ("broker_core.raft.client:RaftClient", "what is below the high watermark"): QUORUM,
    ("broker_core.raft.leader", "the leader resigns"):
        "tests/raft/test_elections.py::test_a_leader_that_is_cut_off_resigns_and_its_uncommitted_records_are_cut",
    ("broker_core.raft.quorum_state", "what `states.LEGAL`"):
        "tests/kernel/test_transitions.py::test_a_step_that_no_table_has_raises",
    ("broker_core.replication.quotas:ReplicationQuota", "at most `count`"):
        "tests/simulation/test_throttle.py::test_the_rate_is_taken_over_samples_as_kafka_takes_it",
    ("broker_core.replication.fetch_session:FetchSession", "a position that is not in `dirty`"):
        "tests/replication/test_fetch_sessions.py::test_followers_name_one_partition_of_a_hundred_when_one_has_moved",
    ("broker_core.replication.taking_over:TakingOver", "news are taken over in the order"):
        "tests/broker/test_many_new_replicas.py::test_a_deletion_waits_until_all_are_made_and_none_is_left",
    ("broker_core.replication.taking_over:TakingOver", "something waits in line only"):
        "tests/broker/test_many_new_replicas.py::test_a_deletion_waits_until_all_are_made_and_none_is_left",
    ("broker_core.replication.isr:InSyncReplicas", "at most one proposal"):
        "tests/replication/test_isr.py::test_a_change_with_an_old_partition_epoch_waits_for_the_controller_and_is_not_sent_again",
    ("broker_core.wire.framing:FrameReader", "`_start <= _end`"): f"{FRAMES}::test_any_stream_in_any_pieces",
    ("broker_core.wire.framing:FrameReader", "nothing that was given out"):
        f"{FRAMES}::test_memory_that_was_given_out_is_never_written_again",
    ("broker_core.wire.schema:Struct", "tags ascend"):
        "tests/wire/test_wire_messages.py::test_in_every_version_of_every_message_tags_ascend_and_stand_in_flexible_structs_only",
    ("broker_core.zookeeper.client:ZkClient", "every operation's `done`"):
        "tests/zookeeper/test_server_and_client.py::test_every_operation_is_answered_once_however_its_connection_ends",
    ("broker_core.zookeeper.peer_link:PeerLink", "a packet that was heard before"):
        "tests/zookeeper/test_ensemble.py::test_a_packet_that_was_heard_is_dropped_and_a_gap_ends_the_connection",
    ("lab.exercises.levers:Levers", "without `commands`"): "tests/exercises/test_grading.py::test_without_commands_an_attempt_has_no_steps",
    ("lab.experiments.differences:Against", "until the first difference"):
        "tests/lab/test_verify.py::test_every_file_of_a_run_that_is_forged_is_named",
    ("web.live.hosting:Publication", "`n` grows by one"):
        "tests/web/test_scaling.py::test_viewers_elsewhere_survive_a_new_host_and_a_redis_that_was_away",
    ("web.live.labs:Labs", "names and places of `known`"):
        "tests/web/test_api_labs.py::test_a_start_with_less_room_keeps_the_labs_of_before_and_begins_none",
    ("web.live.labs:Labs", "each of `running` is known"): ENDED,
    ("web.live.viewer", "`size` is the sum"):
        "tests/web/test_viewer.py::test_more_than_the_limit_is_dropped_and_asks_for_a_resync",
    ("web.live.viewer", "while `behind` is true"): "tests/web/test_viewer.py::test_nothing_is_queued_before_the_first_snapshot",
}  # fmt: skip
