"""What every coordinator stands on: a partition of an internal topic whose leader decides for its keys.

    group id / transactional id --hash--> partition of __consumer_offsets / __transaction_state --leader--> coordinator

Read `partitioning` (whose is it), `stored` (what the records look like), `loading` (how a new leader learns what the
last one knew), then `runtime`, which puts them together, and `lanes` (one decision at a time). What is decided for a
request stands above, in `groups`, `transactions` and `sharing`: each of them is decisions (state, request -> records,
answer) and a replay of records.
"""
