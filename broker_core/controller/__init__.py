"""Who decides about the cluster. `elections`, `state_machines`, `topic_rules` and `config_rules` are rules, free of any
I/O; `zk` is the controller of ZooKeeper mode, one in every broker, `kraft` the one on the metadata quorum."""
