"""Bytes at addresses, for compiled loops.

numba counts a reference whenever an array is handed to a function, with an atomic instruction, even where the function
is compiled into its caller: in a loop of six varints a record that costs five times what the varints cost. A slice
that is assigned makes two views, with references of their own. An address is a plain number.

Neither function looks whether the bytes are there: the caller has compared with the end of its array, and holds on to
the array.
"""

# mypy: ignore-errors
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_BYTES = ir.IntType(8).as_pointer()


@intrinsic
def byte_at(context, address):
    """The byte at an address, as int64."""

    def build(target, builder, signature, arguments):
        found = builder.load(builder.inttoptr(arguments[0], _BYTES))
        return builder.zext(found, ir.IntType(64))

    return types.int64(types.int64), build


@intrinsic
def copy_bytes(context, target, source, size):
    """Copy `size` bytes from address `source` to address `target`, which do not overlap."""

    def build(compiler, builder, signature, arguments):
        to, come, count = arguments
        cgutils.raw_memcpy(builder, builder.inttoptr(to, _BYTES), builder.inttoptr(come, _BYTES), count, 1)
        return compiler.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), build
