"""The Spark pipeline: recorded runs, one or thousands, become tables and answers.

Nothing else in the lab imports PySpark. The page and REST talk to `worker`, a process of its own, and import only what
needs no PySpark. Read in this order: `schemas` (what there is), `places` (which files), `decode`, `columns`,
`segment_reader`, `segments` (record batches for Spark), `journal`, `frames` (what keeps plans small), `tables` with
`timelines`, `groups` and `happenings`, `written` (their Parquet files), `history`, `answers` with `blocked` and
`cut_off`, `queries` (their names), `words` and `messages` (two languages), `charts`, `summary` and `report`, `sweep`,
`worker`.
"""
