"""Replication: leaders, followers, in-sync replicas, high watermark, and the requests that serve logs.

Read in this order: `replica` and `isr` (what a leader knows), `partition` (the rules), `isr_changes`
and `alter_partition` (how the ISR changes), `reading`, `fetch_session`, `delayed_fetch`, `fetching`
(serving), `appending`, `delayed_produce` (writing), `follower_state`, `truncation`, `fetcher`
(following), `offsets`, `leadership`, `replica_manager`. `protections` lists what can be switched off.
"""
