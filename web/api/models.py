"""What is remembered of background work and of labs.

With one database, every web process answers for every job. Labs that were begun over REST are known to the next start.
"""

from __future__ import annotations

from typing import Any

from django.db import models

QUEUED, RUNNING, DONE, FAILED, CANCELLED, INTERRUPTED = (
    "queued", "running", "done", "failed", "cancelled", "interrupted",
)  # fmt: skip
ENDED = (DONE, FAILED, CANCELLED, INTERRUPTED)


class Job(models.Model):
    """A scenario that is run, or a run that is executed again.

    queued --> running --> done | failed | cancelled;   interrupted: its server ended before it did
    """

    id = models.CharField(primary_key=True, max_length=32)
    kind = models.CharField(max_length=16)
    name = models.CharField(max_length=200)
    lab = models.CharField(max_length=100)
    seed = models.BigIntegerField(null=True)
    live = models.BooleanField(default=False)
    run = models.CharField(max_length=100, default="")
    state = models.CharField(max_length=16, default=QUEUED)
    phase = models.CharField(max_length=16, default="")
    progress = models.FloatField(default=0.0)
    result = models.JSONField(null=True)
    error = models.JSONField(null=True)
    created = models.DateTimeField(auto_now_add=True)
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = "api"
        ordering = ("-created", "-id")

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.state}"

    def view(self) -> dict[str, Any]:
        """As REST shows it."""
        return {
            "id": self.id, "kind": self.kind, "name": self.name, "lab": self.lab, "seed": self.seed,
            "live": self.live, "run": self.run or None, "state": self.state, "phase": self.phase,
            "progress": self.progress, "result": self.result, "error": self.error,
            "created": self.created.isoformat(), "changed": self.changed.isoformat(),
        }  # fmt: skip


class LabRecord(models.Model):
    """A lab beside the process's own (`web.live.labs`): what it is built from, whose it is, and its place, which says
    the ports. `owner`: a name that whoever keeps people gives it meaning; "" is whoever may do everything."""

    name = models.CharField(primary_key=True, max_length=40)
    owner = models.CharField(max_length=100, default="", blank=True, db_index=True)
    place = models.PositiveIntegerField(unique=True)
    cluster = models.JSONField(default=dict)
    seed = models.BigIntegerField()
    limits = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "api"

    def __str__(self) -> str:
        return f"lab {self.name}"
