"""States of a run with their places in its journal: from where a viewer reads the past (`branch`)."""

from __future__ import annotations

from dataclasses import dataclass

import cramjam
import orjson


@dataclass(slots=True, frozen=True)
class Keyframe:
    """The state after event `seq`; `offset` is where the rows behind it begin in the journal file.

    `packed`: its JSON text, compressed (names and addresses of partitions come again and again); `size` without.
    A fork has the keyframes of its past from its parent.
    """

    seq: int
    t_us: int
    offset: int
    size: int
    packed: bytes

    def text(self, run: str, epoch: int) -> str:
        """As a snapshot of a run."""
        state = bytes(cramjam.zstd.decompress(self.packed, output_len=self.size)).decode()
        return snapshot_of(run, epoch, self.t_us, state)


def snapshot_of(run: str, epoch: int, t_us: int, state: str) -> str:
    """What a viewer gets: JSON text around that of a state."""
    return f'{{"run":{orjson.dumps(run).decode()},"epoch":{epoch},"t":{t_us},"state":{state}}}'
