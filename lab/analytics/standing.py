"""Which places are in the log that counts: the lineage of each partition (`lab/checkers/lineage`) as data frames.

The few rows of a journal that tell of leaders, followers and cuts are folded where the query is made; what comes of it
is small, and a million acknowledgements are joined with it:

| frame | a row | columns |
|---|---|---|
| written | a stretch of a broker's log, from one of its terms to its next | node ('': whoever led), since, until, |
| | | first, last, reign, life |
| counting | a stretch of the log that counts | first, last, reign |
| lines | a partition | life: of the topic that is there now; start: its log start; cleaned: compacted up to |
| thin | offsets of a reign that stand on fewer disks than promised | reign, first, last, copies |
| damaged | offsets of which somebody's copy cannot be trusted | first, last |

`last` is behind the last one, and `ENDLESS` where a log goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from lab.analytics.frames import local
from lab.analytics.tables import Tables
from lab.checkers.copies import Copies
from lab.checkers.lineage import BEFORE, CODES, Epochs, Lineage, Partition, Term, epoch_of_reign

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENDLESS = 1 << 62
_PLACE = "run string, topic string, partition int"
_STRETCH = "first bigint, last bigint, reign bigint"
Row = tuple[Any, ...]


class Standing:
    """Asks the journals of some runs what is left of what."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    @cached_property
    def lineages(self) -> dict[str, Lineage]:
        """By run; a run without a journal has an empty one."""
        found = {run.name: Lineage() for run in self.tables.places}
        rows = self.tables.transitions.where(f"code in {CODES}").select(
            "run", "seq", "t_us", "node", "code", "cause", "params", "position").orderBy("run", "position").collect()
        for row in rows:
            found[row["run"]].take((row["seq"], row["t_us"], row["node"], row["code"], 0, orjson.loads(row["params"])))
        return found

    @cached_property
    def copies(self) -> dict[str, Copies]:
        """By run, where run.json tells of its disks."""
        facts = self.tables.facts
        return {run: Copies(told["copies"]) for run, told in facts.items() if told.get("copies") is not None}

    def __call__(self, places: DataFrame) -> DataFrame:
        """`places` (run, topic, partition, offset, seq, node) with `stand` and `reign`; see `fates.Stand`."""
        at = places.join(self.lines, ["run", "topic", "partition"], "left")
        theirs = self.written.where("node <> ''").alias("theirs")
        anybodys = self.written.where("node = ''").alias("anybodys")
        rows = at.alias("p").join(theirs, _during("theirs", "p.node = theirs.node"), "left").join(
            anybodys, _during("anybodys"), "left").selectExpr(
            "p.*", "coalesce(theirs.reign, anybodys.reign) as reign",
            "coalesce(theirs.life, anybodys.life) as written_life")
        counts = self.counting.alias("c")
        return rows.alias("p").join(counts, inside("c"), "left").selectExpr(
            "p.*", "case when p.offset < 0 then if(p.written_life <> p.life, 'removed', 'unknown')"
            " when p.written_life is null then 'unknown' when p.written_life <> p.life then 'removed'"
            " when c.reign is null then 'cut' when p.offset < p.start then 'removed' else 'there' end as stand").drop(
            "written_life", "life", "start")

    # -- frames -----------------------------------------------------------------------------
    def _frame(self, rows: Iterator[Row], columns: str) -> DataFrame:
        return local(self.tables.spark, rows, f"{_PLACE}, {columns}")

    @cached_property
    def _stretches(self) -> Stretches:
        return Stretches(self.lineages, self.copies)

    @cached_property
    def written(self) -> DataFrame:
        return self._frame(self._stretches.written_rows(),
                           f"node string, since bigint, until bigint, {_STRETCH}, life int")

    @cached_property
    def counting(self) -> DataFrame:
        return self._frame(self._stretches.counting_rows(), _STRETCH)

    @cached_property
    def lines(self) -> DataFrame:
        return self._frame(self._stretches.lines_rows(), "life int, start bigint, cleaned bigint")

    @cached_property
    def thin(self) -> DataFrame:
        return self._frame(self._stretches.thin_rows(), f"{_STRETCH}, copies int")

    @cached_property
    def damaged(self) -> DataFrame:
        return self._frame(self._stretches.damaged_rows(), "first bigint, last bigint")


class Stretches:
    """The rows of the frames, from lineages and disks by run."""

    def __init__(self, lineages: Mapping[str, Lineage], copies: Mapping[str, Copies]) -> None:
        self.lineages = lineages
        self.copies = copies

    def _lines(self) -> Iterator[tuple[str, Partition, Any]]:
        for run, lineage in self.lineages.items():
            for partition, lines in lineage.partitions.items():
                if lines.terms:
                    yield run, partition, lines

    def written_rows(self) -> Iterator[Row]:
        """Of `written`."""
        for run, partition, lines in self._lines():
            for node, term, until in _terms(lines.terms):
                for stretch in _stretches(term.epochs, ENDLESS):
                    yield run, *partition, node, term.seq, until, *stretch, term.life

    def counting_rows(self) -> Iterator[Row]:
        """Of `counting`."""
        for run, partition, lines in self._lines():
            if lines.last is not None:
                copy = lines.copies[lines.last.node]
                for stretch in _stretches(copy.epochs, ENDLESS if copy.leads else copy.end):
                    yield run, *partition, *stretch

    def lines_rows(self) -> Iterator[Row]:
        """Of `lines`."""
        for run, partition, lines in self._lines():
            copy = lines.copies.get(lines.last.node) if lines.last is not None else None
            yield run, *partition, lines.life, copy.start if copy else 0, copy.cleaned if copy else 0

    def thin_rows(self) -> Iterator[Row]:
        """Of `thin`."""
        for run, copies in self.copies.items():
            for partition in copies.partitions():
                edges = copies.edges(partition)
                for first, last in zip(edges, [*edges[1:], ENDLESS], strict=True):
                    for reign in self._reigns(run, partition):
                        whole = copies.whole(partition, first, epoch_of_reign(reign))
                        if whole < copies.promised(partition):
                            yield run, *partition, first, last, reign, whole

    def _reigns(self, run: str, partition: Partition) -> list[int]:
        lineage = self.lineages.get(run)
        lines = lineage.partitions.get(partition) if lineage is not None else None
        return [BEFORE, *lines.leaders] if lines is not None else []

    def damaged_rows(self) -> Iterator[Row]:
        """Of `damaged`."""
        for run, copies in self.copies.items():
            for partition in copies.partitions():
                for stretch in copies.damaged(partition):
                    yield run, *partition, *stretch


def _terms(terms: list[Term]) -> Iterator[tuple[str, Term, int]]:
    """(node, term, until which row of the journal it is the node's last one); node '' for the one that counted then."""
    for at, term in enumerate(terms):
        yield term.node, term, next((one.seq for one in terms[at + 1 :] if one.node == term.node), ENDLESS)
    highest: list[Term] = []
    for term in terms:
        if not highest or (term.life, term.reign) >= (highest[-1].life, highest[-1].reign):
            highest.append(term)
    for at, term in enumerate(highest):
        yield "", term, highest[at + 1].seq if at + 1 < len(highest) else ENDLESS


def _stretches(epochs: Epochs, end: int) -> Iterator[tuple[int, int, int]]:
    """(first, last, reign)."""
    begins = [(BEFORE, 0), *epochs]
    for (reign, first), last in zip(begins, [*(first for _, first in epochs), end], strict=True):
        if first < last:
            yield first, last, reign


def same(name: str) -> str:
    return f"p.run = {name}.run and p.topic = {name}.topic and p.partition = {name}.partition"


def _during(name: str, more: str = "true") -> Any:
    from pyspark.sql import functions as f

    return f.expr(f"{same(name)} and {more} and p.seq >= {name}.since and p.seq < {name}.until"
                  f" and greatest(p.offset, 0) >= {name}.first and greatest(p.offset, 0) < {name}.last")


def inside(name: str) -> Any:
    from pyspark.sql import functions as f

    return f.expr(f"{same(name)} and p.reign = {name}.reign and p.offset >= {name}.first and p.offset < {name}.last")
