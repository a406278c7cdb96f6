"""Each source a sentence newly cites bears on it: none stands there for show.

Whether the sources together support the sentence is another gate's question; beside one that does,
any other would pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.gates.comparing import Cited, Write, place, shown
from pipeline.records import Citation, Message
from pipeline.support.material import FRAME, matches
from pipeline.support.saying import accepts, keys
from pipeline.text import content_words

_BEARS = 0.2  # share of a sentence's content words that one of its sources has, at least


def sources_bear(write: Write) -> list[str]:
    """Of several new sources of a sentence, each has a value or enough of its words."""
    had = {(s.text, p) for s in write.pages.old for p in s.places}
    return [
        f"{citation.conv} has nothing to do with “{shown(sentence.text)}”"
        for sentence in write.pages.new
        if len(sentence.citations) > 1
        for citation in sentence.citations
        if (sentence.text, place(citation)) not in had and not _bears(sentence, citation, write)
    ]


def _bears(sentence: Cited, citation: Citation, write: Write) -> bool:
    messages = write.context.evidence(citation)
    # messages that are not there are another gate's; a bare "yes" bears on what it answers
    return not messages or any(map(accepts, messages)) or _in_common(sentence.text, messages)


def _in_common(text: str, messages: Sequence[Message]) -> bool:
    said = "\n".join(message.text for message in messages)
    if keys(text) & keys(said):
        return True
    own = set(content_words(text)) - FRAME
    stems = frozenset(content_words(said))
    return not own or sum(matches(stem, stems) for stem in own) >= _BEARS * len(own)
