"""When a list of things to do was last changed, so that what comes late does not undo it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.project.store import ProjectStore


def changed(store: ProjectStore, listed: int) -> None:
    """Note that the list of this id is changed by what is told now; of two moments the later."""
    store.connection.execute(
        """INSERT INTO lists (observation_id, changed_at_epoch) VALUES (?, ?)
           ON CONFLICT (observation_id) DO UPDATE
           SET changed_at_epoch = max(changed_at_epoch, excluded.changed_at_epoch)""",
        (listed, store.clock()),
    )


def is_newer(store: ProjectStore, row: Mapping[str, Any]) -> bool:
    """Whether this list was changed after what is told now."""
    noted = store.connection.execute(
        "SELECT changed_at_epoch FROM lists WHERE observation_id = ?", (row["id"],)
    ).fetchone()
    return bool((noted[0] if noted else row["created_at_epoch"]) > store.clock())
