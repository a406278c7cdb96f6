"""A volume as a Mac's: names keep their case and their Unicode form, and neither is told apart.

What is done on it is done in a folder of this machine's. Git is shown composed names alone, as
core.precomposeunicode has it on a Mac; its arguments are composed by a `git` that is put in front.
Run as a program, with the folder and the place to mount it at, it serves the volume.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import pytest

_PATIENCE = 60.0  # seconds
_GIT = """#!/bin/sh
case "$*" in
    *[!\x01-\x7f]*) exec {python} -SE -c '
import os, sys, unicodedata
os.execv(sys.argv[1], ["git", *(unicodedata.normalize("NFC", word) for word in sys.argv[2:])])
' {git} "$@" ;;
    *) exec {git} "$@" ;;
esac
"""


def composed(name: str) -> str:
    """As nearly every keyboard and program writes it: é is one character."""
    return unicodedata.normalize("NFC", name)


def decomposed(name: str) -> str:
    """As the Finder writes it: é is e and an accent."""
    return unicodedata.normalize("NFD", name)


@contextmanager
def volume(place: Path, patch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A mounted volume below `place`, and a git that is a Mac's. Skips where there is no FUSE."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("no /dev/fuse here: a Mac's volume is not tried")
    if find_library("fuse") is None:  # by libfuse3 the library makes of an exchange a renaming
        pytest.skip("no libfuse 2 here: a Mac's volume is not tried")
    folder, mount, programs = place / "folder", place / "volume", place / "bin"
    for made in (folder, mount, programs):
        made.mkdir()
    (programs / "git").write_bytes(
        _GIT.format(python=sys.executable, git=shutil.which("git")).encode()
    )
    (programs / "git").chmod(0o755)
    patch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    environ = os.environ | {"FUSE_LIBRARY_NAME": "fuse"}
    with subprocess.Popen([sys.executable, __file__, folder, mount], env=environ) as server:
        try:
            until = time.monotonic() + _PATIENCE
            while not mount.is_mount():
                if server.poll() is not None:
                    pytest.skip("nothing may be mounted here: a Mac's volume is not tried")
                assert time.monotonic() < until, "the volume did not come up"
                time.sleep(0.05)
            yield mount
        finally:
            server.terminate()


def _serve(folder: str, mount: str) -> None:
    import mfusepy

    options: dict[str, Any] = {"foreground": True, "nothreads": True, "use_ino": True}
    options["hard_remove"] = True  # else what is open when it is deleted stays as a hidden file
    # the kernel must not remember that a name is not there: it is, under another
    options |= dict.fromkeys(("entry_timeout", "attr_timeout", "negative_timeout"), 0)
    volume = _volume(Path(folder).resolve())
    # who may do what is decided where it is done: the kernel need not ask at each part of a path
    mfusepy.FUSE(volume, mount, **options)


def _volume(root: Path) -> Any:
    import mfusepy

    class Volume(mfusepy.Operations):  # type: ignore[misc]
        """Every call passed on to the file that has the name, whichever way it is written."""

        use_ns = True

        def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
            status = _found(root, path).lstat() if fh is None else os.fstat(fh)
            kept = "st_mode st_nlink st_uid st_gid st_size st_ino st_blocks"
            times = {f"st_{t}time": getattr(status, f"st_{t}time_ns") for t in "amc"}
            return {name: getattr(status, name) for name in kept.split()} | times

        def readdir(self, path: str, _fh: int) -> list[tuple[str, dict[str, int], int]]:
            asking = Path(f"/proc/{mfusepy.fuse_get_context()[2]}/comm").read_text()
            shown = composed if asking.startswith("git") else str
            with os.scandir(_found(root, path)) as entries:
                return [(shown(entry.name), {"st_ino": entry.inode()}, 0) for entry in entries]

        def rename(self, old: str, new: str) -> int:
            target = _found(root, new)
            moved = _found(root, old).rename(target)
            moved.rename(target.with_name(new.rpartition("/")[2]))
            return 0

        def open(self, path: str, flags: int) -> int:
            return os.open(_found(root, path), flags & ~os.O_NOFOLLOW)

        def create(self, path: str, mode: int, _flags: Any = None) -> int:
            return os.open(_found(root, path), os.O_RDWR | os.O_CREAT, mode)

        def read(self, _path: str, size: int, offset: int, fh: int) -> bytes:
            return os.pread(fh, size, offset)

        def write(self, _path: str, data: bytes, offset: int, fh: int) -> int:
            return os.pwrite(fh, data, offset)

        def truncate(self, path: str, length: int, fh: int | None = None) -> int:
            os.truncate(_found(root, path) if fh is None else fh, length)
            return 0

        def release(self, _path: str, fh: int) -> int:
            os.close(fh)
            return 0

        def fsync(self, _path: str, _datasync: int, _fh: int) -> int:
            return 0

        def readlink(self, path: str) -> str:
            return str(_found(root, path).readlink())

        def mkdir(self, path: str, mode: int) -> int:
            _found(root, path).mkdir(mode)
            return 0

        def rmdir(self, path: str) -> int:
            _found(root, path).rmdir()
            return 0

        def unlink(self, path: str) -> int:
            _found(root, path).unlink()
            return 0

        def symlink(self, name: str, target: str) -> int:
            _found(root, name).symlink_to(target)
            return 0

        def link(self, name: str, target: str) -> int:
            _found(root, name).hardlink_to(_found(root, target))
            return 0

        def chmod(self, path: str, mode: int) -> int:
            _found(root, path).chmod(mode)
            return 0

        def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
            now = time.time_ns()
            os.utime(_found(root, path), ns=times or (now, now), follow_symlinks=False)
            return 0

        def statfs(self, _path: str) -> dict[str, int]:
            status = os.statvfs(root)
            kept = "f_bavail f_bfree f_blocks f_bsize f_favail f_ffree f_files f_frsize f_namemax"
            return {name: getattr(status, name) for name in kept.split()}

    return Volume()


def _found(root: Path, path: str) -> Path:
    """The file of this name, however it is written; the last part as given if there is none."""
    given = root / path.lstrip("/")
    if os.path.lexists(given):
        return given
    at = root
    for part in given.relative_to(root).parts:
        if not os.path.lexists(at / part) and at.is_dir():
            there = {_key(found.name): found for found in at.iterdir()}
            at = there.get(_key(part), at / part)
        else:
            at /= part
    return at


def _key(name: str) -> str:
    return decomposed(decomposed(name).casefold())


if __name__ == "__main__":
    _serve(*sys.argv[1:])
