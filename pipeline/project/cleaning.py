"""What must not reach the disk, out of a text, before anything is written.

In a file of its own: what only reads a store need not load it, and it takes the longest of all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pipeline.project.vocabulary import Clean
from pipeline.redact import redact
from pipeline.redact.blocks import without_private_keys
from pipeline.spans import without_spans

_NEVER_STORED = re.compile("[\0\ud800-\udfff]")


def cleaner(redaction: Mapping[str, Any]) -> Clean:
    """What takes private spans out of a text, then secrets; cleaning twice changes nothing more.

    redaction: keyword arguments of `redact`.
    """

    def clean(text: str) -> str:
        return redact(_without_spans(text), **redaction).text.strip()

    return clean


def fit_to_cut(text: str) -> str:
    """The text without all that is known by its edges: private spans and private keys.

    Before a text is cut, since of what is left of one no rule knows what it was. It takes a moment
    for many megabytes too, as cleaning does not.
    """
    return without_private_keys(_without_spans(text))


def _without_spans(text: str) -> str:
    return without_spans(_NEVER_STORED.sub("", text))
