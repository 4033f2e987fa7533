"""Who decides about the cluster. `elections` and `state_machines` are the rules, free of any I/O and
shared by all kinds of controller; `zk` is the controller of ZooKeeper mode, one in every broker."""
