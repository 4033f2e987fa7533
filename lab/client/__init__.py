"""A lab for scripts and notebooks. Nothing but the standard library of Python is needed here.

The words of the lab are its commands (`levers`), the same as those of the page, of REST and of a scenario's steps. Who
carries them out is another matter: a server behind REST, or a cluster inside the process of a test (`lab.testing`).
What is refused is an exception with a code and parameters (`errors`).

| module | has |
|---|---|
| `remote` | `Lab`: commands, waits, events, branches, runs |
| `work` | jobs and sweeps with their progress, and what a run has left |
| `calls` | REST, tokens, problems |
| `frames`, `pictures` | tables as data frames, a moment as SVG |

Its imports are kept to the standard library, so that it starts at once where no cluster is ever built.
"""

from __future__ import annotations

from lab.client.errors import Busy, LabProblem, NotAllowed, NotFound, NotMet, Refused, Unreachable
from lab.client.remote import Lab
from lab.client.work import Job, Run, Sweep

__all__ = [
    "Busy", "Job", "Lab", "LabProblem", "NotAllowed", "NotFound", "NotMet", "Refused", "Run", "Sweep", "Unreachable",
]  # fmt: skip
