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

REASONS = {"cut off": "link.shape", "three parts": "link.shape", "version": "link.version", "checksum": "link.checksum",
           "damaged": "link.bytes", "at most": "link.large", "more than": "link.large"}  # fmt: skip


class NotShared(Exception):
    """It cannot be made or read; `code` says why in one word."""

    def __init__(self, reason: str, code: str = "") -> None:
        super().__init__(reason)
        self.code = code


async def exported(directory: Path) -> str:
    """JSON of {yaml, link} of what a run's recording holds."""
    try:
        text = await asyncio.to_thread(export, directory)
        scenario = await asyncio.to_thread(grammar.parse, text, f"{directory.name}.yaml")
        return json.dumps({"yaml": text, "link": pack(scenario.document), "name": scenario.name})
    except LinkError as error:
        raise NotShared(str(error), "link.large") from None
    except (KernelError, grammar.ScenarioError) as error:
        raise NotShared(str(error)) from None


async def received(text: str) -> str:
    """JSON of the scenario behind a link, checked."""
    try:
        document = await asyncio.to_thread(unpack, text)
        scenario = await asyncio.to_thread(grammar.from_dict, document)
    except LinkError as error:
        code = next((REASONS[words] for words in REASONS if words in str(error)), "link.bytes")
        raise NotShared(str(error), code) from None
    except (ValueError, RecursionError) as error:
        raise NotShared(str(error), "link.bytes") from None
    except SpecError as error:
        raise NotShared(f"{shown(error.place)}: {error.reason}") from None
    return json.dumps(_view(scenario, document))


def _view(scenario: grammar.Scenario, document: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": scenario.name, "title": scenario.title, "text": scenario.text, "steps": len(scenario.steps),
        "document": document, "yaml": to_yaml(document),
    }  # fmt: skip
