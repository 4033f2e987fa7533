"""Replication: leaders, followers, in-sync replicas, high watermark, and the requests that serve logs."""
