"""From a description to a running world, and what can be done to it."""
