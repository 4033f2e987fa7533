"""In which language the shell answers: `--language`, else the terminal's own (LC_ALL, LC_MESSAGES, LANG), else English.

    LANG=ko_KR.UTF-8 ./brokerlab verify runs/0007        Korean
    ./brokerlab --language en verify runs/0007           English, whatever the terminal speaks

What is told are codes with parameters; their sentences stand in the catalogues that the page has, too
(`broker_core.kernel.problems`). Kafka's own words, names of settings and `--help` stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.kernel.problems import LANGUAGES

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first one that says anything counts, as for every program (POSIX, 8.2)."""


def spoken(chosen: str | None, environment: Mapping[str, str]) -> str:
    """`ko` for LANG=ko_KR.UTF-8; English for a language that there is not."""
    wanted = chosen or next((environment[name] for name in VARIABLES if environment.get(name)), "")
    found = wanted.replace("-", "_").partition(".")[0].partition("_")[0].lower()
    return found if found in LANGUAGES else LANGUAGES[0]
