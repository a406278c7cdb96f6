"""Articles of the wiki that this project's conversations went into."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

_PATIENCE = 0.1  # seconds; a session waits
_QUERY = """
SELECT folded.article, count(DISTINCT folded.chunk_id) AS pieces, max(said.updated_at) AS last
FROM synthesized_bucket_chunks AS folded
JOIN chunks AS piece ON piece.id = folded.chunk_id
JOIN conversations AS said ON said.conv = piece.conv
WHERE folded.article <> '' AND coalesce(nullif(piece.project, ''), said.project) = ?
GROUP BY folded.article ORDER BY pieces DESC, last DESC LIMIT ?
"""


def articles(cache_dir: Path, vault: Path, root: Path, limit: int) -> list[Mapping[str, str]]:
    """The articles with most of the project in them, as stem and path; none without a wiki.

    root: the project's folder. Those that are gone from the vault are left out. Never fails: the
    wiki is an addition to the context, and may be anything from not there to newer than this.
    """
    store = cache_dir / "memory.sqlite"
    if not store.is_file():
        return []
    try:
        with closing(
            sqlite3.connect(f"{store.as_uri()}?mode=rw", uri=True, timeout=_PATIENCE)
        ) as connection:
            connection.execute("PRAGMA query_only=ON")
            rows = connection.execute(_QUERY, (str(root), limit)).fetchall()
    except sqlite3.Error:
        return []
    found = ((stem, vault / "articles" / f"{stem}.md") for stem, *_ in rows)
    return [{"article": stem, "path": str(path)} for stem, path in found if path.is_file()]
