"""What somebody did, as a file and as a link (`POST /api/scenarios/link/read` takes a link back)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from broker_core.kernel.errors import KernelError, Refusal, what_of
from broker_core.kernel.problems import Problem
from lab.scenarios import grammar
from lab.scenarios.export import export
from lab.scenarios.links import LinkError, pack


class NotShared(Refusal):
    """It cannot be made; `code` says why in one word, or `place` where the grammar stumbles."""

    def __init__(self, what: Problem, code: str = "", place: str = "") -> None:
        super().__init__(what, place)
        self.code = code


async def exported(directory: Path) -> str:
    """JSON of {yaml, link} of what a run's recording holds."""
    try:
        text = await asyncio.to_thread(export, directory)
        scenario = await asyncio.to_thread(grammar.parse, text, f"{directory.name}.yaml")
        return json.dumps({"yaml": text, "link": pack(scenario.document), "name": scenario.name})
    except LinkError as error:
        raise NotShared(error.problem, f"link.{error.code}") from None
    except grammar.ScenarioError as error:
        raise NotShared(error.problem, place=error.place) from None
    except (KernelError, OSError) as error:
        raise NotShared(what_of(error)) from None
