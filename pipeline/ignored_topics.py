"""The topics that the user's page of topics to ignore lists."""

from __future__ import annotations

import re

from pipeline.markdown import list_items

# what an item begins with in bold or italics
_LED = re.compile(r"(\*{1,3}|_{1,3})(?=\S)(?P<topic>.+?)(?<=\S)\1(?!\w)\s*")
_ENDS = " \t:;,."
_WHY = ("-", "–", "—", ":", ";", ",", ".", "(")


def ignored_topics(text: str) -> list[str]:
    """The topics on a page, each once: an item is one.

    Where an item begins in bold or italics, and ends there or goes on after a colon, a dash or a
    comma, that is the topic, and what follows says why.
    """
    found = (_topic(item) for item in list_items(text))
    return list(dict.fromkeys(topic for topic in found if topic))


def _topic(item: str) -> str:
    led = _LED.match(item)
    if led:
        after = item[led.end() :]
        if not after or led["topic"].endswith(":") or after.startswith(_WHY):
            return led["topic"].strip(_ENDS)
    return item.strip(_ENDS)
