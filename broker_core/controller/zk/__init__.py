"""The controller of ZooKeeper mode. Order of reading: `thread` (one event at a time), `context` (what it
knows), `channels` and `batch` (how it speaks), `partitions` and `replicas` (the state machines at work),
`failover`, `membership`, `topics`, `deletion`, `reassignment`, `alter_partition`, `shutdown`,
`leadership`, and `controller`, which composes them;
`znodes` says what stands in the tree. The broker's side is `cluster.zk`."""
