"""REST: everything that the page can do, and runs, scenarios and records besides.

| room | what is in it |
|---|---|
| `api` | the description (OpenAPI) and how errors are answered (RFC 9457) |
| `labs` | the lab of this process: snapshot, events, commands, branches, records of topics |
| `runs`, `packs` | what runs have left: facts, receipt, journal, history, verification; runs as files |
| `scenarios`, `jobs` | validate and run scenarios; background work and its progress |
| `replays`, `spark` | runs looked at with Spark, in its worker process |
| `reference` | settings, codes of events, commands |
| `asking`, `journal_file`, `records` | how a world is asked, its journal read, its batches decoded |
| `work`, `worker`, `models` | processes that do what takes long, and what is remembered of them |

A command is the same object as in a scenario or a click (`lab.clusters.vocabulary`). Nothing here
waits for a world on the event loop's thread.
"""
