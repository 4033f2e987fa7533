"""A broker in a cluster with ZooKeeper. Order of reading: `registration`, `config_repository`, `control_requests`
(what the controller says), `controller_channel` (what it is asked), `admin` and `config_admin` with `waiting`
(topics and settings are written to the tree), and `cluster`, which composes them."""
