"""The coordination tree that a ZooKeeper-mode cluster agrees through. Read `tree` first, then
`proposals`, `watches`, `sessions`, `serving`, `server`, and `client` for the broker's end; then `zab`, `election`,
`following`, `leading` and `ensemble`: several servers that agree."""
