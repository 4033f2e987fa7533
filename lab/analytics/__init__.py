"""The Spark pipeline: recorded runs, one or thousands, become tables and answers.

Nothing else in the lab imports PySpark. The page and REST talk to `worker`, a process of its own, and import only what
needs no PySpark. Read in this order: `schemas` (what there is), `places` (which files), `decode`, `columns`,
`segment_reader`, `segments` (record batches for Spark), `journal`, `tables` with `timelines`, `groups` and
`happenings`, `history`, `answers` with `blocked` and `cut_off`, `queries` (their names), `words` and `messages` (two
languages), `charts` and `report`, `sweep`, `worker`.
"""
