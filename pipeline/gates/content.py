"""Gates 6 and 8: nothing hollow and nothing dangerous in the new text.

Only new text is judged: an article may well quote a refusal, or hold HTML the user put there.
"""

from __future__ import annotations

import regex

from pipeline.gates.comparing import Write, shown
from pipeline.prose import reading
from pipeline.redact import redact
from pipeline.support import well_formed
from pipeline.support.phrases import aimed_at_agent, elision, meta_talk, prompt_echo, refusal

_LONGEST_SENTENCE = 120
_OUR_FOOTNOTE = regex.compile(r"\[\^[^\]\s]+\]: `conv:[0-9a-f]{8,}`")
_HOLLOW = (
    (refusal, "a refusal"),
    (elision, "content left out"),
    (meta_talk, "talk about the conversation"),
    (prompt_echo, "a piece of the prompt"),
)

# Run by plugins wherever they stand, in code and behind a backslash too.
_RUNS_ANYWHERE = regex.compile(
    r"<%|%>|`+\s*(?:\$?=|(?:INPUT|VIEW|BUTTON)\[)|^\s*(?:```+|~~~+)\s*\{?(?:dataview|templater|tasks|query"
    r"|button|execute|run-)|\{\{[^}\n]*\}\}",
    regex.IGNORECASE | regex.MULTILINE,
)
_CODE_OR_ESCAPED = regex.compile(r"\\[!-/:-@\[-`{-~]|(?<!`)(`++)[^`](?:.*?[^`])?\1(?!`)")
_ACTIVE = (
    (regex.compile(r"<[a-z/!?][^>\n]*>?", regex.IGNORECASE), "HTML"),
    (regex.compile(r"!\[\["), "an embedded page"),
    (regex.compile(r"!\["), "an image"),
    (
        regex.compile(
            r"\b(?:javascript|vbscript|data|file|obsidian|shell|vscode)\s*:(?=\S)", regex.IGNORECASE
        ),
        "a link that acts",
    ),
    (regex.compile(r"^\s{0,3}(?:```|~~~)", regex.MULTILINE), "a code block"),
    (regex.compile(r"^\s{0,3}\[[^\]^\n][^\]\n]*\]:", regex.MULTILINE), "a link definition"),
)
# Bidirectional overrides, fillers and zero-width signs that join nothing, tag characters,
# selectors that select nothing, controls.
UNSEEN = regex.compile(
    "[\u202a-\u202e\u2061-\u2069\u206a-\u206f\u200b\u2060\ufeff\u00ad\u034f\u115f\u1160\u180e\u3164\uffa0"
    "\U000e0000-\U000e01ef\x00-\x08\x0e-\x1f\x7f]"
)


def nothing_hollow(write: Write) -> list[str]:
    """6: no refusal, elision, meta-talk, prompt echo or unfinished sentence is written."""
    pages = write.pages
    reasons = []
    for sentence in pages.fresh:
        fault = well_formed(sentence.text, max_words=_LONGEST_SENTENCE)
        if fault:
            reasons.append(f"“{shown(sentence.text)}” {fault}")
    for piece in pages.pieces[len(pages.fresh) :]:
        if _OUR_FOOTNOTE.match(piece):
            continue  # the title of a conversation is the user's affair, whatever it sounds like
        text = reading(piece)
        for finder, name in _HOLLOW:
            if finder(text) and not finder(write.before):
                reasons.append(f"“{shown(text)}” is {name}")
    return reasons


def nothing_dangerous(write: Write) -> list[str]:
    """8: no secret, nothing that runs or loads, no order to an agent is written."""
    pages = write.pages
    reasons = []
    old, new = redact(write.before).counts, redact(write.after).counts
    for kind, count in new.items():
        if count > old.get(kind, 0):
            reasons.append(f"a secret would be written ({kind})")
    for piece in pages.pieces:
        reasons += [f"“{shown(piece)}” holds {fault}" for fault in dangers(piece)]
    return reasons


def dangers(piece: str) -> list[str]:
    """What in a piece of Markdown runs, loads or gives orders, a few words each."""
    found = []
    if _RUNS_ANYWHERE.search(piece):
        found.append("code that a plugin runs")
    bare = _CODE_OR_ESCAPED.sub(lambda match: "\u00a0" * len(match.group()), piece)
    found += [name for pattern, name in _ACTIVE if pattern.search(bare)]
    if UNSEEN.search(piece):
        found.append("hidden characters")
    if aimed_at_agent(reading(piece)):
        found.append("an order to an agent")
    return found
