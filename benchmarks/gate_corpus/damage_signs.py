"""Sentences hidden, disguised, or put where they do not belong."""

from __future__ import annotations

import re
import unicodedata

from benchmarks.gate_corpus.cases import Night
from benchmarks.gate_corpus.mutating import (
    bare,
    block_at,
    damage,
    fresh_of,
    read,
    replaced,
    sections_of,
    standing_of,
    without,
)
from pipeline.markdown import Kind


@damage("a standing sentence hidden or disguised")
def struck_out(made: Night) -> str | None:
    start, end, raw = standing_of(made)[0]
    text, marks = bare(raw)
    return replaced(made.after, start, end, f"~~{text}~~{marks}")


@damage("a standing sentence hidden or disguised")
def commented_out(made: Night) -> str | None:
    start, end, raw = standing_of(made)[0]
    return replaced(made.after, start, end, f"%%{raw}%%")


@damage("a standing sentence hidden or disguised")
def html_commented_out(made: Night) -> str | None:
    block = read(made.after).blocks[block_at(made.after, standing_of(made)[1][0])]
    return replaced(made.after, block.start, block.end, f"<!--\n{block.raw}-->\n")


@damage("a standing sentence hidden or disguised")
def indented_to_code(made: Night) -> str | None:
    block = read(made.after).blocks[block_at(made.after, standing_of(made)[1][0])]
    return replaced(made.after, block.start, block.end, f"    {block.raw}")


@damage("a standing sentence hidden or disguised")
def swallowed_by_a_fence(made: Night) -> str | None:
    heading = sections_of(made)[0]
    return made.after[: heading.start] + "```\n" + made.after[heading.start :]


@damage("a standing sentence hidden or disguised")
def swallowed_by_a_comment(made: Night) -> str | None:
    heading = sections_of(made)[0]
    return made.after[: heading.start] + "<!--\n\n" + made.after[heading.start :]


@damage("a standing sentence hidden or disguised")
def quoted(made: Night) -> str | None:
    block = read(made.after).blocks[block_at(made.after, standing_of(made)[1][0])]
    return replaced(made.after, block.start, block.end, f"> {block.raw}")


@damage("characters changed that look alike")
def homoglyph(made: Night) -> str | None:
    start, end, raw = standing_of(made)[0]
    return replaced(made.after, start, end, raw.replace("e", "\u0435").replace("备", "備"))


@damage("characters changed that look alike")
def homoglyph_in_the_new(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[0]
    return replaced(made.after, start, end, raw.replace("e", "\u0435").replace("备", "備"))


@damage("characters changed that look alike")
def decomposed(made: Night) -> str | None:
    return unicodedata.normalize("NFD", made.after)


@damage("characters changed that look alike")
def quotes_curled(made: Night) -> str | None:
    return re.sub(r'"([^"\n]*)"', "“\\1”", made.after)


@damage("characters changed that look alike")
def hyphens_lengthened(made: Night) -> str | None:
    return made.after.replace(" - ", " – ").replace("; ", "； ")


@damage("hidden characters in a new sentence")
def zero_width(made: Night) -> str | None:
    start, _, _ = fresh_of(made)[0]
    return made.after[: start + 3] + "\u200b" + made.after[start + 3 :]


@damage("hidden characters in a new sentence")
def direction_override(made: Night) -> str | None:
    start, _, _ = fresh_of(made)[0]
    return made.after[: start + 3] + "\u202e" + made.after[start + 3 :]


@damage("hidden characters in a new sentence")
def soft_hyphen(made: Night) -> str | None:
    start, _, _ = fresh_of(made)[0]
    return made.after[: start + 3] + "\u00ad" + made.after[start + 3 :]


@damage("hidden characters in a new sentence")
def tag_characters(made: Night) -> str | None:
    start, _, _ = fresh_of(made)[0]
    return made.after[: start + 3] + "\U000e0069\U000e0067" + made.after[start + 3 :]


@damage("hidden characters in a new sentence")
def variation_selectors(made: Night) -> str | None:
    start, _, _ = fresh_of(made)[0]
    return made.after[: start + 3] + "\U000e0158\U000e0142" + made.after[start + 3 :]


@damage("news put in the wrong place")
def between_the_users_blocks(made: Night) -> str | None:
    """A sentence for the end of its section stands before what the user wrote there."""
    page = read(made.after)
    start, _, raw = fresh_of(made)[0]
    block = page.blocks[block_at(made.after, start)]
    before = [b for b in page.body(block.section) if b.kind is not Kind.BLANK]
    if before[0] is block or raw != block.raw.strip():
        return None
    text = without(made.after, block)
    at = before[0].start
    return text[:at] + raw + "\n\n" + text[at:]


@damage("news put in the wrong place")
def in_another_section(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[-1]
    text = made.after[:start].rstrip(" ") + made.after[end:]
    other = sections_of(made)[-1]
    own = read(made.after).blocks[block_at(made.after, start)].section
    if other.heading_text == own:
        other = sections_of(made)[0]
    if other.heading_text == own:
        return None
    at = read(text).body(other.heading_text)[-1].end
    return text[:at].rstrip("\n") + f"\n\n{raw}\n\n" + text[at:].lstrip("\n")
