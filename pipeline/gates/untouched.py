"""Gate 4: whatever the draft does not address is the same, byte for byte.

The blocks of both texts are walked side by side. A block of the earlier text must come back as it
was, or changed in just the way an edit that addresses it explains, or be gone as one explains; a
block only the later text has must be one an edit explains, where that edit puts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import regex

from pipeline.gates.comparing import Write, shown
from pipeline.gates.departing import departed_well
from pipeline.gates.explaining import Explained
from pipeline.markdown import Block, Kind, Page

_UPDATED = regex.compile(r"updated: \d{4}-\d{2}-\d{2}(?P<comment>[ \t]+#.*)?")
_FRONTMATTER = regex.compile(
    r"---\ntitle: [^\r\n]+\n(?:aliases: \[[^\r\n]*\]\n)?(?:tags: \[[^\r\n]*\]\n)?"
    r"created: (?P<day>\d{4}-\d{2}-\d{2})\nupdated: (?P=day)\n---\n"
)


def unaddressed_identical(write: Write) -> list[str]:
    """4: title, frontmatter, headings, References and every block no edit addresses stay."""
    pages = write.pages
    explained = Explained(pages.before, write.draft)
    if write.before:
        reasons = _frontmatter_kept(pages.before.frontmatter, pages.after.frontmatter)
    else:
        reasons = _frontmatter_made(pages.after.frontmatter)
    reasons += _walk(pages.before, pages.after, explained)
    reasons += departed_well(pages.before, pages.after, write.draft)
    return list(dict.fromkeys(reasons))


# ------------------------------------------------------------------ the walk


def _walk(before: Page, after: Page, explained: Explained) -> Iterator[str]:
    old = [block for block in before.blocks if block.kind is not Kind.BLANK]
    new = [block for block in after.blocks if block.kind is not Kind.BLANK]
    heads = _heads(new)
    at = 0
    pairs: list[tuple[Block, Block]] = []
    for block in old:
        if explained.vacated(block):
            continue
        end = next((j for j in range(at, len(new)) if explained.change(block, new[j])), None)
        if end is None:
            yield f"“{shown(block.raw)}” would be changed or lost, and no edit says so"
            continue
        for j in range(at, end):
            if not explained.insertion(new[j], heads[j], block):
                yield f"“{shown(new[j].raw)}” would be put in, and no edit says so"
        pairs.append((block, new[end]))
        at = end + 1
    for j in range(at, len(new)):
        if not explained.insertion(new[j], heads[j]):
            yield f"“{shown(new[j].raw)}” would be put in, and no edit says so"
    yield from _gaps(before, after, pairs, at == len(new), explained)


def _gaps(
    before: Page,
    after: Page,
    pairs: Sequence[tuple[Block, Block]],
    ends_alike: bool,
    explained: Explained,
) -> Iterator[str]:
    """Blank lines between blocks that nothing was put between.

    Where a paragraph went, the blank lines above it or below it are left.
    """
    if pairs:
        first, second = pairs[0]
        old = explained.gaps(len(before.frontmatter), first.start)
        new = after.text[len(after.frontmatter) : second.start]
        if old and not new.strip() and new not in old:
            yield "the blank lines at the top would change"
    for (a, x), (b, y) in pairwise(pairs):
        old = explained.gaps(a.end, b.start)
        new = after.text[x.end : y.start]
        if old and not new.strip() and new not in old:
            yield f"the blank lines before “{shown(b.raw)}” would change"
    if pairs and ends_alike:
        a, x = pairs[-1]
        old = explained.gaps(a.end, len(before.text))
        if old and after.text[x.end :] not in old:
            yield "the end of the page would change"


def _heads(blocks: Sequence[Block]) -> list[Block | None]:
    """The nearest heading before each block."""
    heads: list[Block | None] = []
    last: Block | None = None
    for block in blocks:
        heads.append(last)
        if block.heading_level:
            last = block
    return heads


# ------------------------------------------------------------------ frontmatter


def _frontmatter_kept(before: str, after: str) -> list[str]:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) == len(new) and all(
        a == b or _is_redated(a, b) for a, b in zip(old, new, strict=True)
    ):
        return []
    return ["the frontmatter would change, beyond its date of update"]


def _is_redated(old: str, new: str) -> bool:
    was, now = old.rstrip("\r\n"), new.rstrip("\r\n")
    dated = _UPDATED.fullmatch(now)
    if dated is None or not was.startswith("updated:") or old[len(was) :] != new[len(now) :]:
        return False
    comment = dated["comment"] or ""
    return was.endswith(comment) if comment else " #" not in was


def _frontmatter_made(after: str) -> list[str]:
    if _FRONTMATTER.fullmatch(after):
        return []
    return ["the frontmatter of the new article is not its title, aliases, tags and dates"]
