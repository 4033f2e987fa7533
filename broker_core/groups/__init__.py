"""Consumer groups: who reads which partition, and how far.

Read `states` (what a group can be), `group` and `member` (what it is made of), `registry` (whose group it
is, and how it gets into the log), then one request after the other: `join`, `rebalance`, `sync`,
`membership`, `offsets`, `removal`; at last `loading`, by which a group survives its coordinator.
"""
