"""What somebody did, as a file and as a link (`POST /api/scenarios/link/read` takes a link back)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from broker_core.kernel.errors import KernelError
from lab.scenarios import grammar
from lab.scenarios.export import export
from lab.scenarios.links import LinkError, pack


class NotShared(Exception):
    """It cannot be made; `code` says why in one word, or `place` where the grammar stumbles."""

    def __init__(self, reason: str, code: str = "", place: str = "") -> None:
        super().__init__(reason)
        self.code = code
        self.place = place


async def exported(directory: Path) -> str:
    """JSON of {yaml, link} of what a run's recording holds."""
    try:
        text = await asyncio.to_thread(export, directory)
        scenario = await asyncio.to_thread(grammar.parse, text, f"{directory.name}.yaml")
        return json.dumps({"yaml": text, "link": pack(scenario.document), "name": scenario.name})
    except LinkError as error:
        raise NotShared(str(error), f"link.{error.code}") from None
    except grammar.ScenarioError as error:
        raise NotShared(error.reason, place=error.place) from None
    except (KernelError, OSError) as error:
        raise NotShared(str(error)) from None
