"""A broker in a cluster of today, which agrees through the metadata log.

Order of reading: `process` (the log, and the controller where there is one, in a process), `controller_listener` (who
asks them), `loader` (the log becomes an image), `publishing` (the image becomes news), `channel` (requests to the
active controller), `lifecycle` (registration and heartbeats), `cluster`, which composes them for a broker, and
`controller_node`, a process that is a controller and nothing else.
"""
