"""The command line: `up`, `test`, `run`, `validate`, `verify`, `dump-log`, `bench`.

A command imports what it needs when it runs, so that brokers listen before anything else is loaded.
"""
