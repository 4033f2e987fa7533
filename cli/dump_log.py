"""`dump-log`: what stands in the files of a partition directory, and whether their indexes are true."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

from broker_core.coordinators.described import OFFSETS, SHARES, TRANSACTIONS, in_words
from broker_core.kernel.problems import problem
from broker_core.log.dump import INDEXES, Decoder, check_shape, dump_files, verify_files
from broker_core.metadata.records import text_of
from broker_core.records.errors import RecordsError
from cli.errors import CommandError


def dump_log(arguments: argparse.Namespace) -> int:
    """Print each file's lines, as JSON one object a line.

    Exit code 1 when a check of an index found a fault, 2 when a file cannot be read or is of another kind.
    """
    for name in arguments.files:
        if not Path(name).is_file():
            raise CommandError(problem("no_such_file", path=name), 2)
    try:
        if arguments.verify_index_only:
            return _check(arguments, verify_files, (".log", *INDEXES), "every entry is true")
        if arguments.index_sanity_check:
            return _check(arguments, check_shape, INDEXES, "passed sanity check")
        if arguments.hex:
            _only(arguments.files, (".log",), "--hex")
        decode = _decoder(arguments)
        deep = arguments.deep or decode is not None
        for line in dump_files(arguments.files, deep, arguments.json, arguments.hex, decode):
            print(line)
    except OSError as error:
        raise CommandError(problem("not_readable_file", path=str(error.filename), why=str(error.strerror)), 2) from None
    return 0


def _decoder(arguments: argparse.Namespace) -> Decoder | None:
    """What makes words of a record of an internal topic."""
    if arguments.cluster_metadata_decoder:
        return text_of
    chosen = {
        "offsets_decoder": OFFSETS, "transaction_log_decoder": TRANSACTIONS, "share_group_state_decoder": SHARES,
    }  # fmt: skip
    kinds = next((kinds for name, kinds in chosen.items() if getattr(arguments, name)), None)
    return None if kinds is None else partial(in_words, kinds)


def _check(
    arguments: argparse.Namespace, check: Callable[[str], list[str]], suffixes: tuple[str, ...], verdict: str
) -> int:
    """A line for each file that is right, else one for each fault; all files are looked at."""
    _only(arguments.files, suffixes, "--verify-index-only" if check is verify_files else "--index-sanity-check")
    found = 0
    for name in arguments.files:
        try:
            faults = check(name)
        except RecordsError as error:
            faults = [str(error)]
        found += len(faults)
        if arguments.json:
            print(json.dumps({"file": name, "faults": faults}))
        else:
            print("\n".join(faults) or f"{name}: {verdict}")
    return 1 if found else 0


def _only(names: list[str], suffixes: tuple[str, ...], option: str) -> None:
    for name in names:
        if Path(name).suffix not in suffixes:
            raise CommandError(problem("takes_files", path=name, name=option, known=list(suffixes)), 2)
