"""One source, two speeds: a kernel is plain Python for one round and compiled for millions.

`kernel` marks a function and gives it back unchanged: it can be called, read and stepped through as it stands, and
neither numpy nor numba is imported. `compiled` gives the machine-code form of a kernel and of all kernels it calls.
Kernels take integers and sequences of integers: lists on the plain path, int64 arrays on the compiled one, both
grouped in NamedTuples. Integers are 64-bit signed in the compiled form; what must wrap is masked to 32 bits openly,
and everything else stays below 2^63.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from engines.fingerprint import package_digest

__all__ = ["arrays_of", "cache_folder", "compiled", "kernel"]

K = TypeVar("K", bound=Callable[..., Any])
_kernels: list[Callable[..., Any]] = []
_registered: set[Callable[..., Any]] = set()
_OPTIONS: dict[str, Any] = {"cache": True, "fastmath": False, "error_model": "numpy", "_nrt": False}


def kernel(function: K) -> K:
    """Mark `function` as one that can be compiled; it is returned as it is."""
    _kernels.append(function)
    return function


def cache_folder() -> Path:
    """Return the folder for machine code made from exactly these sources, by this Python and compiler, for this CPU.

    numba looks at the file of the function that is called, not at those of the functions it calls: a cache that
    outlived an edit would replay with old code. So the sources' digest is in the folder's name.
    """
    import llvmlite
    import llvmlite.binding
    import numba

    parts = (package_digest("engines"), sys.version, numba.__version__, llvmlite.__version__, llvmlite.binding.get_host_cpu_name())
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(root) / "slot-audit" / "kernels" / name


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the machine-code form of a kernel; it is made at its first call, or read from the cache folder.

    Kernels make no objects, so the compiler's reference counting is off (`_nrt`): counting each array that is handed
    on took two thirds of a round's time. A kernel that did make one would fail to compile.
    """
    import numba
    from numba.extending import register_jitable

    setattr(numba.config, "CACHE_DIR", str(cache_folder()))  # noqa: B010  (its stubs do not name it)
    for known in _kernels:
        if known not in _registered:
            _registered.add(known)
            register_jitable(_nrt=False)(known)
    machine: Callable[..., Any] = numba.njit(**_OPTIONS)(function)
    return machine


def arrays_of(group: Any) -> Any:
    """Return the NamedTuple `group` with each list of integers as an int64 array of its own, integers as they are."""
    import numpy

    return type(group)(*(numpy.array(part, dtype=numpy.int64) if isinstance(part, list) else part for part in group))
