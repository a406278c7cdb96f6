"""The user's own paragraphs, tables, lists, code, quotes and footnotes changed."""

from __future__ import annotations

import re

from benchmarks.gate_corpus.cases import Night
from benchmarks.gate_corpus.mutating import (
    blocks_of,
    damage,
    fresh_of,
    negated,
    read,
    replaced,
    sub,
    swap,
    users_of,
    without,
)
from pipeline.markdown import Block, Kind


@damage("the user's paragraph changed")
def users_words_changed(made: Night) -> str | None:
    block = next(iter(users_of(made)), None)
    return replaced(made.after, block.start, block.end, negated(block.raw)) if block else None


@damage("the user's paragraph changed")
def users_paragraph_lost(made: Night) -> str | None:
    block = next(iter(users_of(made)), None)
    return without(made.after, block) if block else None


@damage("the user's paragraph changed")
def users_paragraph_moved(made: Night) -> str | None:
    block = next(iter(users_of(made)), None)
    if block is None:
        return None
    return without(made.after, block) + f"\n{block.raw}"


@damage("the user's paragraph changed")
def ours_joined_to_the_users(made: Night) -> str | None:
    block = next((b for b in users_of(made) if b.sentences), None)
    if block is None:
        return None
    start, end, raw = fresh_of(made)[-1]
    text = made.after[:start].rstrip(" ") + made.after[end:]
    at = text.index(block.raw) + len(block.raw.rstrip("\n"))
    return text[:at] + " " + raw + text[at:]


@damage("the user's paragraph changed")
def users_emphasis_lost(made: Night) -> str | None:
    return sub(r"^\*(.+)\*  $", r"\1  ", made.after)


@damage("the user's table changed")
def row_lost(made: Night) -> str | None:
    return sub(r"^\|[^-\n]*\d[^\n]*\|\n", "", made.after)


@damage("the user's table changed")
def cell_changed(made: Night) -> str | None:
    tables = blocks_of(made.after, Kind.TABLE)
    if not tables:
        return None
    raw = re.sub(r"\b(\d)\b", "5", tables[0].raw, count=1)
    return replaced(made.after, tables[0].start, tables[0].end, raw)


@damage("the user's table changed")
def alignment_lost(made: Night) -> str | None:
    return sub(r"--:\|$", "---|", made.after)


@damage("the user's callout or quote changed")
def quote_lost(made: Night) -> str | None:
    quotes = blocks_of(made.after, Kind.QUOTE)
    return without(made.after, quotes[0]) if quotes else None


@damage("the user's callout or quote changed")
def quote_unquoted(made: Night) -> str | None:
    return sub(r"^> (?!\[)", "", made.after)


@damage("the user's callout or quote changed")
def callout_type_changed(made: Night) -> str | None:
    return swap(made.after, "[!info]", "[!danger]")


@damage("the user's callout or quote changed")
def cited_mark_in_callout_lost(made: Night) -> str | None:
    return sub(r"(^> .*)\[\^1\]$", r"\1", made.after)


@damage("the user's list changed")
def item_lost(made: Night) -> str | None:
    lists = [
        b for b in blocks_of(made.after, Kind.LIST) if b.section not in ("History", "See also")
    ]
    return replaced(made.after, lists[0].start, lists[0].end, _tail_of(lists[0])) if lists else None


def _tail_of(block: Block) -> str:
    return block.raw.split("\n", 1)[1]


@damage("the user's list changed")
def item_flattened(made: Night) -> str | None:
    return swap(made.after, "   - warm", "- warm")


@damage("the user's list changed")
def task_ticked(made: Night) -> str | None:
    return swap(made.after, "- [ ]", "- [x]")


@damage("the user's list changed")
def block_id_lost(made: Night) -> str | None:
    return swap(made.after, " ^gate", "")


@damage("the user's list changed")
def renumbered(made: Night) -> str | None:
    return swap(made.after, "3. salt", "1. salt")


@damage("the user's code changed")
def code_blank_lines(made: Night) -> str | None:
    fences = blocks_of(made.after, Kind.FENCE)
    if not fences:
        return None
    raw = fences[0].raw.replace("\n", "\n\n", 1)
    return replaced(made.after, fences[0].start, fences[0].end, raw)


@damage("the user's code changed")
def code_trailing_space(made: Night) -> str | None:
    fences = blocks_of(made.after, Kind.FENCE)
    if not fences:
        return None
    lines = fences[0].raw.split("\n")
    lines[1] += "  "
    return replaced(made.after, fences[0].start, fences[0].end, "\n".join(lines))


@damage("the user's code changed")
def code_language_changed(made: Night) -> str | None:
    return sub(r"^(`{3,4})(c|sh|dataview|markdown)$", r"\1text", made.after)


@damage("the user's code changed")
def indented_code_dedented(made: Night) -> str | None:
    return swap(made.after, "    indented", "indented")


@damage("the user's code changed")
def double_spaces_in_code(made: Night) -> str | None:
    return swap(made.after, "1;  /*", "1; /*")


@damage("footnote renumbering reaches code")
def marks_deleted_from_code(made: Night) -> str | None:
    return sub(r"table\[\^9\]", "table", made.after) or sub(r"\[\^8\]", "", made.after)


@damage("footnote renumbering reaches code")
def marks_deleted_from_a_regex(made: Night) -> str | None:
    return swap(made.after, "`[^0]`", "``") or swap(made.after, "[^0-9]+", "+")


@damage("footnote renumbering reaches code")
def all_ones_renumbered(made: Night) -> str | None:
    return made.after.replace("[^1]", "[^71]") if "`[^1]" in made.after else None


@damage("footnote renumbering reaches code")
def every_label_renumbered(made: Night) -> str | None:
    return re.sub(r"\[\^(\d)\]", lambda m: f"[^{int(m.group(1)) + 40}]", made.after)


@damage("footnote renumbering reaches code")
def shell_test_linked(made: Night) -> str | None:
    return sub(r"\[\[ (-[nf]) ", r"[[\1 ", made.after)


@damage("footnote renumbering reaches code")
def code_sign_linked(made: Night) -> str | None:
    return swap(made.after, "`[[Page]]`", "[[Page]]") or swap(made.after, r"\[\[not", "[[not")


@damage("whitespace of the user's changed")
def hard_break_lost(made: Night) -> str | None:
    return swap(made.after, "end.*  \n", "end.*\n")


@damage("whitespace of the user's changed")
def lines_joined(made: Night) -> str | None:
    return swap(made.after, "end.*  \nAnd", "end.*   And")


@damage("whitespace of the user's changed")
def blank_lines_squeezed(made: Night) -> str | None:
    return re.sub(r"\n\n(?=\n*[-*>|`%<#])", "\n", made.after)


@damage("whitespace of the user's changed")
def all_line_ends_changed(made: Night) -> str | None:
    return made.after.replace("\n", "\r\n")


@damage("whitespace of the user's changed")
def blank_lines_doubled(made: Night) -> str | None:
    head = read(made.after).frontmatter
    return head + made.after[len(head) :].replace("\n\n", "\n\n\n\n")


@damage("the user's HTML, comment, embed or math changed")
def html_changed(made: Night) -> str | None:
    return swap(made.after, '<div class="note">', "<div>") or swap(
        made.after, "<details>", "<details open>"
    )


@damage("the user's HTML, comment, embed or math changed")
def comment_lost(made: Night) -> str | None:
    return sub(r"^%%.*%%\n\n", "", made.after)


@damage("the user's HTML, comment, embed or math changed")
def comment_uncovered(made: Night) -> str | None:
    return sub(r"^%% (.*) %%$", r"\1", made.after)


@damage("the user's HTML, comment, embed or math changed")
def embed_lost(made: Night) -> str | None:
    return sub(r"^!\[\[.*\]\]\n\n", "", made.after)


@damage("the user's HTML, comment, embed or math changed")
def embed_unembedded(made: Night) -> str | None:
    return swap(made.after, "![[", "[[")


@damage("the user's HTML, comment, embed or math changed")
def math_changed(made: Night) -> str | None:
    return swap(made.after, r"\cdot", r"\times")


@damage("the user's footnote changed")
def own_definition_lost(made: Night) -> str | None:
    return sub(r"^\[\^(book|aunt|x)\]:.*\n(?:    .*)?", "", made.after)


@damage("the user's footnote changed")
def own_definition_reworded(made: Night) -> str | None:
    return swap(made.after, "notebook, p. 12", "notebook, p. 21")


@damage("the user's footnote changed")
def own_definition_cut(made: Night) -> str | None:
    return swap(made.after, "\n    And again in 2003.", "")


@damage("the user's footnote changed")
def own_mark_lost(made: Night) -> str | None:
    return sub(r"\[\^(book|aunt)\](?!:)", "", made.after)


@damage("the user's footnote changed")
def own_label_renamed(made: Night) -> str | None:
    return made.after.replace("[^book]", "[^7]") if "[^book]" in made.after else None


@damage("the user's footnote changed")
def unmarked_definition_tidied_away(made: Night) -> str | None:
    return sub(r"^\[\^x\]:.*\n", "", made.after)
