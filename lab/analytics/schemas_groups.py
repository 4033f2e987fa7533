"""Tables of what coordinators of groups tell, as `schemas` lists them."""

from __future__ import annotations

from lab.analytics.declaring import MOMENT, Table, columns

GROUP_GENERATIONS = Table("group_generations", "one state that a group entered", columns(MOMENT + """
    group  string  group id
    generation  int  generation
    before  string  state before
    after  string  state entered
    reason  string  why
    until_us  bigint  when the next state was entered, null at the end
"""))
GROUP_MEMBERS = Table("group_members", "one member in one generation of a group, with what it was given",
                      columns(MOMENT + """
    group  string  group id
    generation  int  generation
    member  string  member id
    client_id  string  client.id, null when its joining was not recorded
    instance  string  group.instance.id, null without
    partitions  int  partitions assigned
    assignment  map<string,array<int>>  topic -> partitions
    joined_us  bigint  when the member joined the group
    taken_us  bigint  when its consumer took the assignment, null for outside clients
    left_us  bigint  when it left the group in this generation, null when it did not
    left_reason  string  left, session timeout, rebalance timeout, removed
"""))
GROUP_EPOCHS = Table("group_epochs", "one step of a member of a KIP-848 group towards what it should have (KRaft)",
                     columns(MOMENT + """
    group  string  group id
    member  string  member id
    client_id  string  client.id, null when its joining was not recorded
    epoch  int  member epoch that it has reached
    state  string  STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS
    partitions  int  partitions that it has
    assignment  map<string,array<int>>  topic -> partitions that it has
    revoking  map<string,array<int>>  topic -> partitions that it has been told to give back
    until_us  bigint  when it took its next step, or left; null at the end
"""))
STORED_OFFSETS = Table("stored_offsets", "one offset that a coordinator has stored for a group", columns(MOMENT + """
    group  string  group id
    topic  string  topic name
    partition  int  partition number
    offset  bigint  next offset to read
    moved  bigint  how far from the one stored before; below 0: set back; null for the first
    generation  int  last generation that was assigned before, null when none was
"""))
