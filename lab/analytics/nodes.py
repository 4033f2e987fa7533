"""Names of processes in SQL: what `broker_core.kernel.names` makes of a number, made of a column.

| SQL | of the column `leader` = 2 |
|---|---|
| `broker_of_id("leader")` | broker-2; null where the column is |
| `IS_BROKER` | whether `node` is a broker |
| `BROKER_ENDS` | for `regexp_replace`: "2 -> producer-a" becomes "broker-2 -> producer-a" |
"""

from __future__ import annotations

from broker_core.kernel.names import BROKER

IS_BROKER = f"node like '{BROKER}%'"
BROKER_ENDS = ("(^| )([0-9]+)", f"$1{BROKER}$2")


def broker_of_id(column: str) -> str:
    """The process of the broker whose id `column` holds."""
    return f"concat('{BROKER}', {column})"
