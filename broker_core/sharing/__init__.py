"""Share groups (KIP-932): many members read one partition, record by record, each acknowledged by itself.

In a consumer group a partition has one reader and one number, the committed offset. In a share group it has any number
of readers, and every record between two offsets has a state of its own:

    orders-0    0 1 2 | 3 4 5 6 7 8 | 9 10 11
                done    in flight     not looked at yet
                      SPSO          SPEO               share-partition start and end offset

    beyond SPEO --> AVAILABLE --fetched--> ACQUIRED --accepted--> ACKNOWLEDGED
                      ^                     | |
                      +--released, lock     | +------rejected---> ARCHIVED
                         ran out------------+   or delivered as often as the limit says

Two kinds of brokers work on that:

| who                          | what                                                                 |
|------------------------------|----------------------------------------------------------------------|
| the leader of the partition  | the states in memory, locks, ShareFetch, ShareAcknowledge            |
| the share coordinator: leader of a partition of `__share_group_state` | what must outlive the leader |

| module        | what                                                                        |
|---------------|-----------------------------------------------------------------------------|
| `partition`   | the leader's states, locks and counts of deliveries                          |
| `sessions`    | which partitions a member fetches, so that it need not say so each time     |
| `batches`     | runs of offsets with one state and count, and how two lists of them become one |
| `records`     | snapshots and updates in `__share_group_state`                              |
| `state`       | what the share coordinator knows of one share-partition: changed by replay  |
| `decisions`   | initialize, write, read, delete: state -> records and an answer             |
| `coordinator` | the APIs, one decision of a share-partition at a time, snapshots of the quiet |

Who is a member, and of which partitions, is the group coordinator's business.
"""
