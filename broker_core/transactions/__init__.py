"""Exactly once: producer ids, which make repeated sends harmless, and transactions, which make many partitions one.

Read `producer_ids`; then `states` (what a transactional id can be), `transaction` (what its record says), `decisions`
(every decision as a pure function), `registry` (how it gets into the log), `producing`, `ending`, `markers` (the
requests), and `loading`, by which a transaction survives its coordinator.
"""
