"""A report about a class that Spark is asked for: what it is asked, what it has found, and its end with the class.

Spark gets an export without names, which is deleted with the class, as all reports about it are.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import orjson
from django.conf import settings

from web.api.models import ENDED
from web.api.spark import new_id, spark
from web.api.spark_answers import Answering
from web.people import classes as rooms
from web.people.changes import changes
from web.people.models import Classroom

EXPORT = "export.json"


@dataclass(slots=True)
class ClassReport(Answering):
    """One class that Spark is asked about. `forgotten`: the class was deleted meanwhile."""

    KIND: ClassVar[str] = "report"
    REPORT: ClassVar[str] = "class.html"
    code: str = ""
    forgotten: bool = False

    @property
    def address(self) -> str:
        return f"/api/classes/{self.code}/reports/{self.id}"

    def view(self) -> dict[str, Any]:
        return {**Answering.view(self), "code": self.code, "answers": self.answers, "progress": self.progress}

    def take(self, event: dict[str, Any]) -> None:
        Answering.take(self, event)
        if self.forgotten and self.state in ENDED:
            shutil.rmtree(home_of(self.code), ignore_errors=True)
        if event["event"] != "stage":
            changes.told(news_of(self.code))


def news_of(code: str) -> str:
    """Under which a page waits for news of a class's reports."""
    return f"{code}/report"


def home_of(code: str) -> Path:
    """Where the reports about a class are."""
    return Path(settings.DATA_DIR) / "class-reports" / code


def newest(code: str) -> ClassReport | None:
    """The last one that somebody has asked for."""
    return next((row for row in spark.all(ClassReport) if row.code == code), None)


def forget(code: str) -> None:
    """All about a class that is deleted. What Spark is still at writes until it has ended, and goes then."""
    for row in spark.all(ClassReport):
        if row.code == code:
            row.forgotten = True
            spark.cancel(row)
    shutil.rmtree(home_of(code), ignore_errors=True)


def prepared(room: Classroom) -> ClassReport:
    """With the export that Spark reads: everything but names and ways back."""
    found = rooms.everything(room)
    for student in found["students"]:
        del student["name"]
    name = new_id()
    out = home_of(room.code) / name
    out.mkdir(parents=True)
    (out / EXPORT).write_bytes(orjson.dumps(found))
    request = {"do": "class", "paths": [str(out / EXPORT)], "out": str(out)}
    return ClassReport(name, request, code=room.code, out=out)
