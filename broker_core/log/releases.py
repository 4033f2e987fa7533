"""Releases of Kafka as settings name them, in their order, and the record format that each wrote first.

| `message.format.version` | a log holds | |
|---|---|---|
| up to 0.9 | magic 0 | messages |
| 0.10.0 to 0.10.2 | magic 1 | messages with timestamps (KIP-32) |
| from 0.11.0 on | magic 2 | record batches (KIP-98) |

A release had several steps while it was made: `0.10.0-IV0` comes before `0.10.0-IV1`, and `0.10.0` means the last of
them. Of releases from 1.0 on the third number says nothing: `2.8.1` is `2.8`. (`MetadataVersion.fromVersionString`.)
"""

from __future__ import annotations

Release = tuple[int, int, int, int]
_LAST_STEP = 99


def release_of(text: str) -> Release:
    """Comparable. `text` has passed the check of the setting.

    >>> release_of("0.10.0-IV0") < release_of("0.10.0") < release_of("2.8.1") == release_of("2.8")
    True
    """
    number, _, step = text.partition("-IV")
    parts = [int(part) for part in number.split(".")]
    third = parts[2] if parts[0] == 0 and len(parts) > 2 else 0
    return parts[0], parts[1], third, int(step) if step else _LAST_STEP


_FIRST_OF = ((2, release_of("0.11.0-IV0")), (1, release_of("0.10.0-IV0")))


def magic_of(text: str) -> int:
    """The newest record format that the release knows.

    >>> [magic_of(text) for text in ("0.9.0", "0.10.0-IV0", "0.10.2", "0.11.0", "3.0-IV1")]
    [0, 1, 1, 2, 2]
    """
    release = release_of(text)
    return next((magic for magic, first in _FIRST_OF if release >= first), 0)
