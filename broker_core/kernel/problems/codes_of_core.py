"""Codes of problems that the broker core finds, alone or with others."""

from __future__ import annotations

from broker_core.kernel.problems.registry import found_in

found_in("broker_core.clients")(
    unknown_setting="name",
    unknown_setting_close="name close",
    setting_truth="name given",
    setting_whole="name given",
    setting_among="name given known",
    idempotence_acks="",
    transactions_idempotence="",
    idempotence_retries="",
    idempotence_in_flight="",
    delivery_timeout="",
    old_client="name",
    heartbeat_interval="",
    worker_needs_group_id="",
    of_other_protocol="name protocol",
    kafka_says="error words",
    kafka_error="error",
    group_has_members="group state",
    group_joined="group",
    never_committed="group partition",
    no_open_transaction="partition",
    no_voter="controller",
    voter_already="controller",
    static_voters="",
    still_moving="names",
)
found_in("broker_core.drivers")(
    not_carried_out="",
    not_bound="port why",
    speed_range="least most",
    speed_unknown="",
    unknown_input="kind",
    damaged_recording="path position",
)
found_in("broker_core.kernel")(
    in_state="node state",
    not_paused="node",
    paused_no_shutdown="node",
    no_node_named="node",
    no_commands="",
    end_not_lost="",
    not_under_way="source dest",
    node_twice="node",
    due_before="due_us t_us",
    runs_in_circles="n t_us last",
)
found_in("broker_core.metadata")(
    unknown_broker_setting="name",
    setting_of_era="name mode",
    unknown_topic_setting="name",
    invalid_value="given name words",
    broken_rule="words",
    format_ignored="given",
    format_above_protocol="given most",
    not_dynamic="name",
    only_per_broker="name",
    no_unit="name",
    thread_count="words",
    hinted="what hint",
    hint_topic_setting="name other",
    hint_broker_setting="name other",
    hint_broker_only="name",
    did_you_mean="known",
)
found_in("broker_core.clients", "lab.clusters")(
    read_only_setting="name",
)
found_in("broker_core.kernel", "lab.clusters")(
    already="node state",
)
found_in("broker_core.kernel", "broker_core.records", "cli", "web.api")(
    failed_with="why",
)
found_in("broker_core.kernel", "broker_core.records", "cli", "lab", "lab.analytics", "lab.experiments")(
    wrong_in="place what",
)
found_in("broker_core.records")(
    kafka_words="words",
    record_count="n",
    header_cut="",
    length_small="n",
    length_unfit="n",
    bytes_too_many="size",
    records_short="",
    behind_records="size n",
    field_over_record="size",
    field_over_message="size",
    header_count="n",
    header_no_key="",
    records_no_room="size n",
    packed_records="n",
    packed_headers="",
    varint_long="size",
    varint_cut="",
    unknown_codec="codec",
    gzip_members="n",
    packed_short="codec",
    packed_broken="codec why",
    unpacked_large="size",
    snappy_blocks="n",
    snappy_length="",
    snappy_over="size",
    snappy_no_room="given size",
    control_short="",
    marker_short="",
    control_broken="name why",
    old_records="n",
    zstd_down="magic",
    magic_codec="magic codec",
    wrapper_empty="",
    inner_offset="n",
    inner_magic="given magic",
    wrapper_nested="",
    behind_inner="size",
    message_short="",
    fields_end="size position",
    crc_unlike="",
    above_segment="size most",
    offset_delta="n found",
    at_batch_byte="position",
    at_message_byte="position",
    at_records_byte="position",
    at_record="n",
    at_offset="offset",
    at_wrapper="offset",
)
found_in("broker_core.records", "lab.analytics")(
    crc="given found",
    at_batch="offset",
)
found_in("broker_core.log", "broker_core.records")(
    not_whole_batch="size",
)
found_in("broker_core.log")(
    batch_over="size n",
    nothing_to_append="",
)
found_in("broker_core.log", "broker_core.records", "lab.analytics")(
    at_byte="position",
)
found_in("broker_core.log", "lab.analytics")(
    at_file_byte="path position",
)
