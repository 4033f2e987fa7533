"""In which language the shell answers: `--language`, else the terminal's own (LC_ALL, LC_MESSAGES, LANG), else English.

    LANG=ko_KR.UTF-8 ./brokerlab verify runs/0007        Korean
    ./brokerlab --language en verify runs/0007           English, whatever the terminal speaks

What is told are codes with parameters; their sentences stand in the catalogues that the page has, too
(`broker_core.kernel.problems`), and what the command line says of itself in `cli.words`. Kafka's own words and names of
settings stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker_core.kernel.problems import LANGUAGES

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first one that says anything counts, as for every program (POSIX, 8.2)."""


def spoken(chosen: str | None, environment: Mapping[str, str]) -> str:
    """`ko` for LANG=ko_KR.UTF-8; English for a language that there is not."""
    wanted = chosen or next((environment[name] for name in VARIABLES if environment.get(name)), "")
    found = wanted.replace("-", "_").partition(".")[0].partition("_")[0].lower()
    return found if found in LANGUAGES else LANGUAGES[0]


def asked_for(arguments: Sequence[str]) -> str | None:
    """What `--language` says, before anything else of the arguments is understood; None without it."""
    mine = arguments[: arguments.index("--")] if "--" in arguments else arguments
    found = None
    for at, one in enumerate(mine):
        name, equals, value = one.partition("=")
        if name == "--language":
            found = value if equals else next(iter(mine[at + 1 :]), None)
    return found
