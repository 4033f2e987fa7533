"""The coordination tree that a ZooKeeper-mode cluster agrees through. Read `tree` first, then
`proposals`, `watches`, `sessions`, `server`, and `client` for the broker's end."""
