"""Find and load a fast BLAS on Linux, where MLX's package links the reference one.

Loading BLIS globally before the first `import mlx` makes prefill on a CPU many times faster. macOS
needs none of this: there MLX computes on the GPU, or with Accelerate.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from pathlib import Path

# Debian and Ubuntu keep it out of the linker's path, in a folder per variant.
_PATTERNS = (
    "usr/lib/*-linux-gnu*/blis-openmp/libblis.so.4",
    "usr/lib/*-linux-gnu*/blis-pthread/libblis.so.4",
    "usr/lib/*-linux-gnu*/blis-serial/libblis.so.4",
    "usr/lib*/libblis.so*",
)


def load() -> str | None:
    """Load BLIS once if this is Linux and it can be found; return its file name, else None.

    Of no use once mlx is imported, whose symbols are bound by then: returns None in that case.
    """
    global _loaded
    if _loaded is None and sys.platform == "linux" and "mlx.core" not in sys.modules:
        # Two BLIS threads wait for each other by spinning: several times slower than one.
        os.environ.setdefault("BLIS_NUM_THREADS", "1")
        for candidate in _candidates():
            try:
                ctypes.CDLL(candidate, mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
            _loaded = candidate
            break
    return _loaded


def _candidates() -> list[str]:
    named = ctypes.util.find_library("blis")
    found = [str(path) for pattern in _PATTERNS for path in sorted(Path("/").glob(pattern))]
    return [*([named] if named else []), *found]


_loaded: str | None = None
