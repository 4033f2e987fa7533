"""The Spark pipeline: recorded runs, one or thousands, become tables and answers.

Nothing else in the lab imports PySpark, and nothing above imports this package: the page and REST talk to
`worker`, a process of its own. Read in this order: `schemas` (what there is), `places` (which files),
`decode`, `columns`, `segment_reader`, `segments` (record batches for Spark), `journal`, `tables`, `history`
and `timelines` (the answers), `queries` (their names), `charts` and `report`, `sweep`, `worker`.
"""
