"""Whole pages replaced, cut, repeated, and text that comes from nowhere."""

from __future__ import annotations

from benchmarks.gate_corpus.cases import Night
from benchmarks.gate_corpus.mutating import (
    bare,
    block_at,
    blocks_of,
    damage,
    fresh_of,
    headings_of,
    read,
    replaced,
    sections_of,
    standing_of,
    swap,
    users_of,
)
from pipeline.markdown import Kind


@damage("the page replaced by the new facts only")
def new_facts_only(made: Night) -> str | None:
    page = read(made.after)
    news = " ".join(raw for _, _, raw in fresh_of(made))
    notes = "".join(block.raw for block in blocks_of(made.after, Kind.DEFINITION))
    title = page.title.raw if page.title else ""
    return f"{page.frontmatter}{title}\n{news}\n\n## References\n\n{notes}"


@damage("the page replaced by the new facts only")
def a_section_replaced_by_news(made: Night) -> str | None:
    text = made.after
    for start, end, _ in reversed(standing_of(made)):
        text = text[:start].rstrip(" ") + text[end:]
    return text


@damage("a reply in place of the page")
def no_information(made: Night) -> str | None:
    head = read(made.after).frontmatter
    return f"{head}No information about this subject is available.\n"


@damage("a reply in place of the page")
def a_refusal(made: Night) -> str | None:
    head = read(made.after).frontmatter
    return f"{head}I'm sorry, but as an AI language model I cannot help with that.\n"


@damage("a reply in place of the page")
def nothing_at_all(_made: Night) -> str | None:
    return ""


@damage("a reply in place of the page")
def fenced_whole(made: Night) -> str | None:
    return f"```markdown\n{made.after}```\n"


@damage("a reply in place of the page")
def introduced(made: Night) -> str | None:
    head = read(made.after).frontmatter
    return f"{head}Here is the updated article:\n\n{made.after[len(head) :]}"


@damage("a reply in place of the page")
def with_a_farewell(made: Night) -> str | None:
    return f"{made.after}\nLet me know if you would like anything else changed.\n"


@damage("the page cut off")
def cut_in_the_middle(made: Night) -> str | None:
    return made.after[: len(made.after) * 3 // 5]


@damage("the page cut off")
def cut_by_a_little(made: Night) -> str | None:
    return made.after.rstrip()[:-9]


@damage("a sentence cut off")
def new_sentence_cut(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[0]
    text, marks = bare(raw)
    return replaced(made.after, start, end, text[: len(text) // 2] + marks)


@damage("a sentence cut off")
def standing_sentence_cut(made: Night) -> str | None:
    start, end, raw = standing_of(made)[0]
    text, marks = bare(raw)
    return replaced(made.after, start, end, text[: len(text) * 2 // 3] + marks)


@damage("elision")
def section_elided(made: Night) -> str | None:
    start, end, _ = standing_of(made)[0]
    return replaced(made.after, start, end, "[The rest of this section is unchanged.]")


@damage("elision")
def dots_added(made: Night) -> str | None:
    return made.after.replace("\n## ", "\n[...]\n\n## ", 1)


@damage("elision")
def comment_added(made: Night) -> str | None:
    return made.after.replace("\n## ", "\n<!-- existing content -->\n\n## ", 1)


@damage("repeated paragraphs")
def own_paragraph_repeated(made: Night) -> str | None:
    block = read(made.after).blocks[block_at(made.after, standing_of(made)[0][0])]
    return made.after[: block.end] + "\n" + block.raw + made.after[block.end :]


@damage("repeated paragraphs")
def users_paragraph_repeated(made: Night) -> str | None:
    blocks = users_of(made)
    if not blocks:
        return None
    return made.after[: blocks[0].end] + "\n" + blocks[0].raw + made.after[blocks[0].end :]


@damage("repeated paragraphs")
def body_four_times(made: Night) -> str | None:
    head = read(made.after).frontmatter
    return head + made.after[len(head) :] * 4


@damage("repeated paragraphs")
def new_sentence_in_every_section(made: Night) -> str | None:
    """One thesis restated in each section."""
    _, _, raw = fresh_of(made)[0]
    text = made.after
    for heading in reversed(sections_of(made)):
        at = read(text).body(heading.heading_text)[-1].end
        text = text[:at].rstrip("\n") + f"\n\n{raw}\n\n" + text[at:]
    return text


@damage("uncited words appended")
def five_thousand_words(made: Night) -> str | None:
    filler = " ".join(f"And then the {n}th of them, x{n}y, went to town." for n in range(550))
    return f"{made.after}\n{filler}\n"


@damage("uncited words appended")
def one_sentence_in_a_paragraph(made: Night) -> str | None:
    _, end, _ = standing_of(made)[0]
    return made.after[:end] + " This is widely known." + made.after[end:]


@damage("uncited words appended")
def one_paragraph(made: Night) -> str | None:
    at = headings_of(made.after, 2)[0].start
    return made.after[:at] + "It is a fine thing in every way.\n\n" + made.after[at:]


@damage("uncited words appended")
def a_section(made: Night) -> str | None:
    at = headings_of(made.after, 2)[0].start
    return made.after[:at] + "## Outlook\n\nMore will come.\n\n" + made.after[at:]


@damage("uncited words appended")
def a_list(made: Night) -> str | None:
    at = headings_of(made.after, 2)[0].start
    return made.after[:at] + "- one more thing\n- and another\n\n" + made.after[at:]


@damage("uncited words appended")
def words_behind_the_mark(made: Night) -> str | None:
    _, end, _ = fresh_of(made)[0]
    return made.after[:end] + " and so on" + made.after[end:]


@damage("uncited words appended")
def words_in_front(made: Night) -> str | None:
    start, _, _ = standing_of(made)[-1]
    return made.after[:start] + "Supposedly, " + made.after[start:]


@damage("template garbage")
def ampersand(made: Night) -> str | None:
    start, end, _ = standing_of(made)[0]
    return replaced(made.after, start, end, "$&")


@damage("template garbage")
def section_variable(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[-1]
    return replaced(made.after, start, end, "${section}" + bare(raw)[1])


@damage("template garbage")
def none_in_place(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[-1]
    return replaced(made.after, start, end, "None" + bare(raw)[1])


@damage("template garbage")
def users_dollar_expanded(made: Night) -> str | None:
    return swap(made.after, "$&", "$$&&") or swap(made.after, r"\1", "")


@damage("template garbage")
def delimiters_left(made: Night) -> str | None:
    return made.after.replace("\n## ", "\n<<<SECTION>>>\n\n## ", 1)


@damage("prompt echo")
def prompt_heading(made: Night) -> str | None:
    return made.after.replace("\n## ", "\n## Instructions\n\nWrite each fact once.\n\n## ", 1)


@damage("prompt echo")
def claims_label(made: Night) -> str | None:
    start, _, _ = fresh_of(made)[0]
    return made.after[:start] + "CLAIMS: " + made.after[start:]


@damage("prompt echo")
def example_text(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[-1]
    return replaced(made.after, start, end, "The PART of PROJECT is THING." + bare(raw)[1])
