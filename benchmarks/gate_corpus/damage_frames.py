"""Headings, title, frontmatter, definitions and links changed."""

from __future__ import annotations

import re

from benchmarks.gate_corpus.cases import Night
from benchmarks.gate_corpus.mutating import (
    bare,
    blocks_of,
    damage,
    headings_of,
    last_definition,
    moved_line,
    read,
    replaced,
    sections_of,
    standing_of,
    sub,
    swap,
    users_of,
    without,
)
from pipeline.markdown import Kind


@damage("headings changed")
def flattened(made: Night) -> str | None:
    return re.sub(r"^### ", "## ", made.after, flags=re.MULTILINE)


@damage("headings changed")
def deepened(made: Night) -> str | None:
    heading = next(iter(sections_of(made)), None)
    if heading is None or not heading.raw.startswith("## "):
        return None
    return made.after[: heading.start] + "#" + made.after[heading.start :]


@damage("headings changed")
def heading_renamed(made: Night) -> str | None:
    heading = sections_of(made)[-1]
    return replaced(made.after, heading.start, heading.end, "## Details\n")


@damage("headings changed")
def history_translated(made: Night) -> str | None:
    return made.after.replace("## History\n", "## Verlauf\n") if moved_line(made) else None


@damage("headings changed")
def heading_restyled(made: Night) -> str | None:
    return sub(r"^(Money|Rye & wheat: my sourdough)\n[-=]+\n", r"## \1\n", made.after)


@damage("headings changed")
def subsection_lost(made: Night) -> str | None:
    heading = next(iter(headings_of(made.after, 3)), None)
    if heading is None:
        return None
    rest = [b.start for b in read(made.after).blocks[heading.index + 1 :] if b.heading_level]
    return made.after[: heading.start] + made.after[rest[0] if rest else len(made.after) :]


@damage("headings changed")
def sections_swapped(made: Night) -> str | None:
    standing = [heading.start for heading in sections_of(made)]
    if len(standing) < 2:
        return None
    ends = [h.start for h in headings_of(made.after, 2)]
    (a, b), (c, d) = ((at, ends[ends.index(at) + 1]) for at in standing[:2])
    text = made.after
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


@damage("headings changed")
def paragraph_made_a_heading(made: Night) -> str | None:
    block = next(iter(users_of(made)), None)
    if block is None:
        return None
    return replaced(made.after, block.start, block.end, block.raw.rstrip("\n") + "\n---\n")


@damage("the title changed")
def title_reworded(made: Night) -> str | None:
    title = read(made.after).title
    if title is None:
        return None
    return replaced(made.after, title.start, title.end, f"# The {title.heading_text}\n")


@damage("the title changed")
def title_lost(made: Night) -> str | None:
    title = read(made.after).title
    return without(made.after, title) if title else None


@damage("the title changed")
def title_doubled(made: Night) -> str | None:
    title = read(made.after).title
    return made.after[: title.start] + title.raw + made.after[title.start :] if title else None


@damage("the title changed")
def title_from_frontmatter(made: Night) -> str | None:
    """The user's H1 reverted to the title the tool knows."""
    return sub(r"^Rye & wheat: my sourdough\n=+\n", "# Sourdough\n", made.after)


@damage("the title changed")
def title_given(made: Night) -> str | None:
    page = read(made.after)
    if page.title is not None:
        return None
    head = page.frontmatter
    return f"{head}# {made.stem}\n\n{made.after[len(head) :]}"


@damage("frontmatter changed")
def a_key_lost(made: Night) -> str | None:
    return sub(r"^(rating|cssclasses|created|tags): .*\n", "", made.after)


@damage("frontmatter changed")
def an_alias_lost(made: Night) -> str | None:
    return sub(r"^aliases: \[(\w+)(, )?(.*)\]$", r"aliases: [\3]", made.after)


@damage("frontmatter changed")
def a_tag_put_in(made: Night) -> str | None:
    return sub(r"^tags: \[", "tags: [publish, ", made.after)


@damage("frontmatter changed")
def a_key_put_in(made: Night) -> str | None:
    return sub(r"^title: ", "publish: true\ntitle: ", made.after)


@damage("frontmatter changed")
def title_key_changed(made: Night) -> str | None:
    return sub(r"^title: .*$", "title: Something else", made.after)


@damage("frontmatter changed")
def creation_redated(made: Night) -> str | None:
    return sub(r"^created: .*$", "created: 2026-11-29", made.after)


@damage("frontmatter changed")
def frontmatter_lost(made: Night) -> str | None:
    head = read(made.after).frontmatter
    return made.after[len(head) :] if head else None


@damage("frontmatter changed")
def second_frontmatter(made: Night) -> str | None:
    return f"---\ntitle: {made.stem}\nupdated: 2026-11-29\n---\n{made.after}"


@damage("frontmatter changed")
def second_frontmatter_below(made: Night) -> str | None:
    head = read(made.after).frontmatter
    return f"{head}---\ntags: []\n---\n{made.after[len(head) :]}" if head else None


@damage("frontmatter changed")
def yaml_reformatted(made: Night) -> str | None:
    return sub(r"^  - memory", "- memory", made.after) or sub(
        r"\{tomato: 3,", "{tomato: 3, ", made.after
    )


@damage("frontmatter changed")
def comment_in_yaml_lost(made: Night) -> str | None:
    return sub(r" # by hand once$", "", made.after)


@damage("frontmatter changed")
def updated_is_no_date(made: Night) -> str | None:
    return sub(r"^updated: \d{4}-\d\d-\d\d", "updated: 2026-13-45", made.after)


@damage("frontmatter changed")
def updated_goes_back(made: Night) -> str | None:
    return sub(r"^updated: \d{4}-\d\d-\d\d", "updated: 1999-01-01", made.after)


@damage("a citation's definition changed")
def retitled(made: Night) -> str | None:
    return sub(r"(^\[\^1\]: `conv:.*\)) — .*$", r"\1 — Another title", made.after)


@damage("a citation's definition changed")
def redated(made: Night) -> str | None:
    return sub(r"(^\[\^1\]: `conv:\w+` \()\d{4}-\d\d-\d\d", r"\g<1>2020-01-01", made.after)


@damage("a citation's definition changed")
def pointed_at_another_message(made: Night) -> str | None:
    return sub(r"(^\[\^1\]: `conv:.*message) \d", r"\1 7", made.after)


@damage("a citation's definition changed")
def widened(made: Night) -> str | None:
    return sub(r"(^\[\^1\]: `conv:.*)message \d", r"\1messages 1–90", made.after)


@damage("a citation's definition changed")
def source_renamed(made: Night) -> str | None:
    return sub(r", (pi|claude-code), message", ", codex, message", made.after)


@damage("a citation's definition changed")
def definition_lost(made: Night) -> str | None:
    return sub(r"^\[\^1\]: `conv:.*\n", "", made.after)


@damage("a citation's definition changed")
def definition_doubled(made: Night) -> str | None:
    return sub(r"(^\[\^1\]: `conv:.*\n)", r"\1\1", made.after)


@damage("a citation's definition changed")
def two_in_one(made: Night) -> str | None:
    return sub(r"(^\[\^1\]: `conv:.*)$", r"\1; `conv:deadbeef`", made.after)


@damage("a citation's definition changed")
def definitions_reordered(made: Night) -> str | None:
    notes = blocks_of(made.before, Kind.DEFINITION)
    a, b = notes[0].raw, notes[1].raw
    return made.after.replace(a + b, b + a, 1)


@damage("a citation's definition changed")
def new_definition_retitled(made: Night) -> str | None:
    block = last_definition(made.after)
    return made.after[: block.start] + block.raw.rstrip("\n") + " (see https://a.example)\n"


@damage("a conversation that is not there cited")
def hash_made_up(made: Night) -> str | None:
    return sub(r"(^\[\^1\]: `conv:)\w+", r"\g<1>deadbeef", made.after)


@damage("a conversation that is not there cited")
def new_hash_made_up(made: Night) -> str | None:
    block = last_definition(made.after)
    raw = re.sub(r"conv:\w+", "conv:1a2b3c4d", block.raw)
    return replaced(made.after, block.start, block.end, raw)


@damage("a conversation that is not there cited")
def new_message_number_made_up(made: Night) -> str | None:
    block = last_definition(made.after)
    raw = re.sub(r"message \d+", "message 88", block.raw)
    return replaced(made.after, block.start, block.end, raw)


@damage("See also changed")
def entry_lost(made: Night) -> str | None:
    return sub(r"^- \[\[(Session store|Sourdough)\]\].*\n", "", made.after)


@damage("See also changed")
def users_words_at_an_entry_lost(made: Night) -> str | None:
    return swap(made.after, "- [[Sourdough]] because of the rye", "- [[Sourdough]]")


@damage("See also changed")
def an_entry_nobody_asked_for(made: Night) -> str | None:
    return sub(r"(^## See also\n\n)", r"\1- [[Somewhere else]]\n", made.after)


@damage("See also changed")
def an_address_put_in(made: Night) -> str | None:
    return sub(r"(^## See also\n\n)", r"\1- [more](https://spam.example)\n", made.after)


@damage("a link nobody asked for")
def link_elsewhere(made: Night) -> str | None:
    return sub(r"(?<=[a-zü] )\[\[[^\]|]+\|", "[[Somewhere else|", made.after)


@damage("a link nobody asked for")
def another_word_linked(made: Night) -> str | None:
    start, end, raw = standing_of(made)[0]
    word = max(re.findall(r"\w+", bare(raw)[0]), key=len)
    return replaced(made.after, start, end, raw.replace(word, f"[[{word}]]", 1))


@damage("a link nobody asked for")
def shown_text_changed(made: Night) -> str | None:
    return sub(r"(?<=[a-zü] )\[\[([^\]|]+)\|[^\]]+\]\]", r"[[\1|something else]]", made.after)
