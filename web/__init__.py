"""The web: what a browser sees of a lab.

| room | what it does |
|---|---|
| `server` | runs the ASGI server in the process that owns the world |
| `guard`, `access`, `entrance` | who may ask and what for: host, origin, token, size; in front of everything |
| `live` | the WebSocket: snapshot, deltas, commands; a bounded queue for each viewer |
| `pages` | the page, with the first snapshot already in it |
| `api` | REST: all that the page can do, runs, scenarios, records |
| `viewers` | a process that serves viewers of a lab hosted elsewhere |
| `messages` | every sentence in English and Korean, as JSON |

Only this package imports Django. It knows a lab by the interface in `web.live.lab` and nothing
of what is behind it.
"""
