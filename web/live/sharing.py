"""What somebody did, as a file and as a link; and a link as a scenario that can be run.

A link is checked before anybody is asked to run it: first its own checksum, then the grammar. Why one is
refused is a code, so that the page can say it in the reader's language; `error` has the details.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from broker_core.kernel.errors import KernelError
from lab.clusters.checks import SpecError, shown
from lab.scenarios import grammar
from lab.scenarios.export import export, to_yaml
from lab.scenarios.links import LinkError, pack, unpack


class NotShared(Exception):
    """It cannot be made or read; `code` says why in one word, or `place` where the grammar stumbles."""

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


async def received(text: str) -> str:
    """JSON of the scenario behind a link, checked."""
    try:
        document = await asyncio.to_thread(unpack, text)
        scenario = await asyncio.to_thread(grammar.from_dict, document)
    except LinkError as error:
        raise NotShared(str(error), f"link.{error.code}") from None
    except SpecError as error:
        raise NotShared(error.reason, place=shown(error.place)) from None
    except RecursionError as error:
        raise NotShared(str(error), "link.bytes") from None
    return json.dumps(_view(scenario, document))


def _view(scenario: grammar.Scenario, document: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": scenario.name, "title": scenario.title, "text": scenario.text, "steps": len(scenario.steps),
        "variant": scenario.variant, "variants": scenario.variants,
        "document": document, "yaml": to_yaml(document),
    }  # fmt: skip
