"""A web process that serves viewers of a lab that another process hosts.

    REDIS_URL=redis://... python -m web.viewers --port 8001

The host is any `./brokerlab up` with the same REDIS_URL (and BROKERLAB_LAB). Both may run many times over:
one host for each lab, any number of these.
"""

from __future__ import annotations

import argparse
import os
import sys


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m web.viewers", description=__doc__.split("\n")[0])
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on [127.0.0.1]")
    parser.add_argument("--port", type=int, default=8001, help="port of the page [8001]")
    options = parser.parse_args(arguments)
    if not os.environ.get("REDIS_URL"):
        print("web.viewers: REDIS_URL must say where the host of the lab is to be reached", file=sys.stderr)
        return 2
    os.environ["BROKERLAB_LAB_HOST"] = "remote"
    from web import server

    try:
        server.serve(server.remote_lab(), options.host, options.port, lambda url: print(f"Page: {url}", flush=True))
    except server.PortTaken as error:
        print(f"web.viewers: {error.args[1]}", file=sys.stderr)
        return 1
    except server.CannotServe as error:
        print(f"web.viewers: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
