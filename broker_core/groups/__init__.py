"""Consumer groups: who reads which partition, and how far.

Read `states` (what a group can be), `group` and `member` (what it is made of), `registry` (which groups there are,
and how they get into the log), then one request after the other: `join`, `rebalance`, `sync`,
`membership`, `offsets`, `removal`; at last `loading`, by which a group survives its coordinator.
"""
