"""Drafts and what follows from them, as JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, get_args

from pydantic import TypeAdapter

from pipeline.records import Draft, Edit

_EDITS: Mapping[str, TypeAdapter[Edit]] = {
    kind.__name__: TypeAdapter(kind) for kind in get_args(Edit)
}
_DRAFT = TypeAdapter(Draft)


def draft_to_text(draft: Draft) -> str:
    """The draft as JSON; each edit carries the name of its kind."""
    data = asdict(draft)
    data["edits"] = [{"kind": type(e).__name__} | asdict(e) for e in draft.edits]
    return json.dumps(data, ensure_ascii=False)


def draft_from_text(text: str) -> Draft:
    """The draft that `draft_to_text` wrote."""
    data: dict[str, Any] = json.loads(text)
    edits = tuple(_EDITS[edit.pop("kind")].validate_python(edit) for edit in data["edits"])
    return replace(_DRAFT.validate_python(data | {"edits": ()}), edits=edits)
