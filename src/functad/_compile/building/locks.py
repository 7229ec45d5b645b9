"""The one lock under which this process compiles, and how it goes with forks.

What it promises: a fork waits for a compile that is under way; importing this file imports no compiler.
"""

import os
import sys
import threading
from contextlib import AbstractContextManager

__all__ = ["COMPILING"]

COMPILING = threading.RLock()  # to be held while LLVM is at work anywhere in this room
_HELD: list[AbstractContextManager[object]] = []  # what a fork holds, from before it to after it


def _foreign_locks() -> list[AbstractContextManager[object]]:
    """numba's and llvmlite's own locks, in the order in which they take them, so far as they are imported."""
    locks: list[AbstractContextManager[object]] = []
    if "numba.core.compiler_lock" in sys.modules:
        locks.append(sys.modules["numba.core.compiler_lock"].global_compiler_lock)
    if "llvmlite.binding.ffi" in sys.modules:
        lock = getattr(sys.modules["llvmlite.binding.ffi"].lib, "_lock", None)
        if isinstance(lock, AbstractContextManager):
            locks.append(lock)
    return locks


def _hold_compilers() -> None:
    """Before a fork: wait for compiles, since the child would inherit their locks and have nobody to release them."""
    COMPILING.acquire()
    for lock in _foreign_locks():
        lock.__enter__()
        _HELD.append(lock)


def _release_compilers() -> None:
    while _HELD:
        _HELD.pop().__exit__(None, None, None)
    COMPILING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_compilers, after_in_parent=_release_compilers, after_in_child=_release_compilers)
