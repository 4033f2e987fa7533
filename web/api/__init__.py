"""The lab over REST: the same commands and snapshots that the page uses."""
