"""What a broker has to do with its cluster: one port, and one package for each generation behind it.

    broker  --asks-->  Cluster (port)  <--is a--  zk.ZooKeeperCluster
    broker  <--tells-- Cluster                    (kraft)

Order of reading: `port`, `configs`, then `zk.cluster`, which composes the parts of the ZooKeeper generation.
"""
