"""What must not reach the disk, out of a text, before anything is written.

In a file of its own: what only reads a store need not load it, and it takes the longest of all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pipeline.project.vocabulary import Clean
from pipeline.redact import redact
from pipeline.spans import without_spans

_NEVER_STORED = re.compile("[\0\ud800-\udfff]")


def cleaner(redaction: Mapping[str, Any]) -> Clean:
    """What takes private spans out of a text, then secrets; cleaning twice changes nothing more.

    redaction: keyword arguments of `redact`.
    """

    def clean(text: str) -> str:
        return redact(without_spans(_NEVER_STORED.sub("", text)), **redaction).text.strip()

    return clean
