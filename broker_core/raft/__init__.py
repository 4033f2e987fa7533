"""The metadata quorum: Kafka's own Raft (KIP-595), which keeps `__cluster_metadata-0` on a majority of voters.

It differs from the paper where Kafka differs: followers *fetch* (so a leader learns positions and sends nothing by
itself), an election is announced by BeginQuorumEpoch, a leader that ends says so (EndQuorumEpoch), a leader that
hears no majority resigns by itself, and nobody raises the epoch before a majority would vote for him (KIP-996).

Read in this order: `states` (what a replica can be), `quorum_state` (how it changes), `voting` (elections),
`fetching` (replication and snapshots), `leader` (the high watermark), `reconfiguration` (voters come and go),
`client` (all of it behind one port: `append`, `handle`, listeners).
"""

from broker_core.raft.client import RaftClient
from broker_core.raft.listeners import CommittedBatch, LeaderAndEpoch, Listener
from broker_core.raft.settings import QuorumSettings
from broker_core.raft.voters import ReplicaKey, VoterNode, VoterSet

__all__ = [
    "CommittedBatch", "LeaderAndEpoch", "Listener", "QuorumSettings", "RaftClient", "ReplicaKey", "VoterNode",
    "VoterSet",
]
