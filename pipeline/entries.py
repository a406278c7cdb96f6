"""What the stages see of every article, worked out anew only for articles that changed.

A file that has the size, times and place it had when it was last read is not read again; one that
was only touched or copied is read and known by its hash; what is left is parsed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pipeline import ordinary
from pipeline.evicted import is_evicted
from pipeline.links import ArticleEntry
from pipeline.markdown import HISTORY, REFERENCES, SEE_ALSO, Kind, Page, parse
from pipeline.prose import flat, reading
from pipeline.store.derived import Derived, Worked

_KIND = "entry 1"  # another number when `entry_of` makes something else of a text
_CLOSING = frozenset(name.casefold() for name in (HISTORY, SEE_ALSO, REFERENCES))
# A file changed this shortly before it was read may be changed again without looking different:
# some file systems count in two seconds.
_UNSETTLED_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class _Known:
    """An entry as of a file. stamp: "" if the file must be read to be known again."""

    digest: str
    stamp: str
    entry: ArticleEntry


class Entries:
    """The entries of article files. derived: where they outlive the process, None for nowhere."""

    def __init__(self, derived: Derived | None = None) -> None:
        self._derived = derived
        self._known: dict[str, _Known] | None = None

    def of(self, root: str, files: Mapping[str, str]) -> list[ArticleEntry]:
        """The entry of each file that can be read, by stem. files: stem -> path under `root`."""
        known = self._load() if self._known is None else self._known
        found: dict[str, _Known] = {}
        for stem, name in sorted(files.items()):
            entry = _looked_at(stem, os.path.join(root, name), known.get(name))  # noqa: PTH118
            if entry is not None:
                found[name] = entry
        self._keep({n: e for n, e in found.items() if e != known.get(n)}, known.keys() - found)
        self._known = found
        return [known.entry for known in found.values()]

    def _load(self) -> dict[str, _Known]:
        if self._derived is None:
            return {}
        return {
            name: _Known(worked.digest, worked.stamp, _read(worked.value))
            for name, worked in self._derived.all(_KIND).items()
        }

    def _keep(self, fresh: Mapping[str, _Known], gone: set[str]) -> None:
        if self._derived is None:
            return
        rows = {
            name: Worked(known.digest, _written(known.entry), known.stamp)
            for name, known in fresh.items()
            if _is_unicode(name)
        }
        if rows or gone:
            self._derived.put(_KIND, rows, filter(_is_unicode, gone))


def entry_of(stem: str, text: str) -> ArticleEntry:
    """What others see of the article with this text."""
    page = parse(text)
    said = _frontmatter(page)
    given = said.get("aliases")
    aliases = given if isinstance(given, list) else [given]
    title = said.get("title")
    heading = page.title.heading_text if page.title else ""
    lead = next((b for b in page.body("") if b.kind is Kind.PARAGRAPH), None)
    return ArticleEntry(
        stem=stem,
        title=flat(str(title)) if title else heading or stem,
        aliases=tuple(flat(str(alias)) for alias in aliases if alias),
        lead=reading(lead.raw) if lead else "",
        headings=tuple(
            block.heading_text
            for block in page.blocks
            if block.heading_level == 2 and block.heading_text.casefold() not in _CLOSING
        ),
    )


def _looked_at(stem: str, path: str, known: _Known | None) -> _Known | None:
    """What is known of the file, or what it says now; None when it cannot be read."""
    try:
        stamp = _stamp(path)
        if known is not None and stamp and known.stamp == stamp:
            return known
        content = ordinary.content(Path(path))
        digest = hashlib.sha256(content).hexdigest()
        if known is not None and known.digest == digest and known.entry.stem == stem:
            return _Known(digest, stamp, known.entry)
        return _Known(digest, stamp, entry_of(stem, content.decode("utf-8")))
    except (UnicodeDecodeError, OSError):
        # `Vault.read` says what is wrong to whoever wants this very page
        return known if is_evicted(Path(path)) else None


def _stamp(path: str) -> str:
    """By what the file is known without being read; "" while it may still be changing."""
    status = os.stat(path)  # noqa: PTH116
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    if changed > time.time_ns() - _UNSETTLED_NS:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _frontmatter(page: Page) -> dict[str, object]:
    """The frontmatter's values; none where it is not YAML, which is the user's affair."""
    lines = page.frontmatter.lstrip("\ufeff").splitlines()
    try:
        said = YAML(typ="safe", pure=True).load("\n".join(lines[1:-1]))
    except (YAMLError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _is_unicode(name: str) -> bool:
    """Whether the store can hold the name: on some systems any bytes may be one."""
    return name.encode("utf-8", "replace").decode("utf-8") == name


def _written(entry: ArticleEntry) -> bytes:
    row = [entry.stem, entry.title, entry.aliases, entry.lead, entry.headings]
    return json.dumps(row, ensure_ascii=False).encode()


def _read(value: bytes) -> ArticleEntry:
    stem, title, aliases, lead, headings = json.loads(value)
    return ArticleEntry(stem, title, tuple(aliases), lead, tuple(headings))
