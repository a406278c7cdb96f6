"""Fetch the CommonMark specification's example inputs, for tests alone, and print where they are.

They come with the source distribution of markdown-it-py, of the very version installed here, and
are kept beside the models. Nothing is printed, and the tests skip, when they cannot be fetched.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

PACKAGE = "markdown-it-py"
INSIDE = "tests/test_cmark_spec/commonmark.json"


def main() -> None:
    """Print the path of the file, fetched if need be."""
    wanted = version(PACKAGE)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    kept = Path(base) / "nightly-memory" / "test-data" / f"commonmark-{wanted}.json"
    if not kept.is_file():
        found = _fetched(wanted)
        if found is None:
            print("the CommonMark examples cannot be fetched", file=sys.stderr)
            return
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(found)
    print(kept)


def _fetched(wanted: str) -> bytes | None:
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--no-binary", PACKAGE, "--dest", place]
        done = subprocess.run(
            [*command, f"{PACKAGE}=={wanted}"], check=False, capture_output=True, timeout=300
        )
        packed = next(Path(place).glob("*.tar.gz"), None)
        if done.returncode or packed is None:
            return None
        with tarfile.open(packed) as archive:
            member = next((m for m in archive if m.name.endswith(INSIDE)), None)
            file = archive.extractfile(member) if member else None
            return file.read() if file else None


if __name__ == "__main__":
    main()
