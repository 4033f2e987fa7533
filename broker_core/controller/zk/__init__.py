"""The controller of ZooKeeper mode. Order of reading: `thread` (one event at a time), `context` (what it
knows), `channels` and `batch` (how it speaks), `partitions` and `replicas` (the state machines at work),
`failover`, `membership`, `topics`, `deletion`, `reassignment`, `alter_partition`, `shutdown`,
`leadership`, and `controller`, which composes them. `registration` and `admin` are the broker's side."""
