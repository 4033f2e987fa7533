"""Share groups at their coordinator (KIP-932): who is a member, and which partitions it shares with whom.

Much is as with the next generation of consumer groups (`groups.consumer`): one request, ShareGroupHeartbeat, a group
epoch, an assignment epoch, member epochs. But a partition may have any number of members, so nobody has to give
anything back before somebody else may have it: a member is at its target at once.

    heartbeat of A       group epoch 1     partitions of orders are not known to the share coordinator: "initializing"
    share coordinator    initialized       the record says so; the next heartbeat
    heartbeat of A       group epoch 2     assigns them

A partition is only assigned when the share coordinator knows it (`records`: StatePartitionMetadata).

| module | what |
|---|---|
| `records` | the six kinds of records in `__consumer_offsets` |
| `group` | the group: changed by the replay of those records alone |
| `assignor` | simple: each partition has a reader, each reader has a partition |
| `decisions` | heartbeat, leave, expiry, initialized partitions: state -> records and an answer |
| `handler` | the API, and what happens by itself |
| `offsets` | where the group begins, set and forgotten by operators |
| `describing` | what tools and viewers are shown |
"""
