"""The world: one virtual clock, one queue of events, links, storage and a journal of what happened."""
