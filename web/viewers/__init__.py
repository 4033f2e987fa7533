"""A web process without a world: `python -m web.viewers`."""
