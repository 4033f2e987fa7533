"""What a decision is: records to append, together or not at all, and the answer that goes out once they are committed.

Deciding changes nothing. Whoever decides looks at the image, and only `MetadataImage.replay` of the records changes
it: on the controller that has decided, on those that stand by, and on every broker, by the same code.
Source: ControllerResult.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Records = list[tuple[Any, int]]
"""Records, each with the version to write it in."""


class Result(NamedTuple):
    """Records and the answer."""

    records: Records
    answer: Any
