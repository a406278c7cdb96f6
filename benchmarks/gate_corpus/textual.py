"""Damage done to the text beside an innocent draft: what a faulty renderer or a rewrite would do.

Each mutator takes a whole night's write and gives a damaged page in place of the right one, or
None where the page has nothing to damage in this way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import pairwise

from benchmarks.gate_corpus.cases import Case, Expected, Night, whole_night
from benchmarks.gate_corpus.legitimate import pages
from pipeline.footnotes import citations
from pipeline.markdown import Block, Kind, Page, Sentence, parse

Mutator = Callable[[Night], "str | None"]
MUTATORS: list[tuple[str, Expected, Mutator]] = []


def damage(kind: str, expected: Expected = Expected.REFUSED) -> Callable[[Mutator], Mutator]:
    """Register a mutator under the kind it counts in."""

    def register(mutator: Mutator) -> Mutator:
        MUTATORS.append((kind, expected, mutator))
        return mutator

    return register


_ARTICLES = 4  # each mutator damages this many


def textual() -> Iterator[Case]:
    """Every mutator over some of the articles it applies to, other ones each time."""
    nights = [whole_night(vault, stem, before) for vault, stem, before in pages()]
    for number, (kind, expected, mutator) in enumerate(MUTATORS):
        found = []
        for turn in range(len(nights)):
            # three steps on is another vault
            made = nights[(number + 3 * turn) % len(nights)]
            text = mutator(made)
            if text is not None and text != made.after:
                name = mutator.__name__.replace("_", " ")
                found.append(made.case(kind, name, expected, text))
            if len(found) == _ARTICLES:
                break
        yield from found


# ------------------------------------------------------------------ finding things on a page


def _ours(page: Page) -> list[tuple[Block, Sentence]]:
    """Cited sentences of paragraphs."""
    known = citations(page)
    return [
        (block, sentence)
        for block in page.blocks
        if block.kind is Kind.PARAGRAPH
        for sentence in block.sentences
        if any(label in known for label in sentence.marks)
    ]


def _standing(made: Night) -> list[tuple[int, int, str]]:
    """Start, end and raw text of our sentences that stood there before, on the page after."""
    old = {sentence.text for _, sentence in _ours(parse(made.before))}
    return [one for one in _spans(made.after) if parse_text(one[2]) in old]


def _fresh(made: Night) -> list[tuple[int, int, str]]:
    """The same of new sentences."""
    old = {sentence.text for _, sentence in _ours(parse(made.before))}
    return [one for one in _spans(made.after) if parse_text(one[2]) not in old]


def _spans(text: str) -> list[tuple[int, int, str]]:
    found = []
    for block, sentence in _ours(parse(text)):
        raw = block.raw[sentence.start : sentence.end]
        start = block.start + sentence.end - len(raw.lstrip())
        found.append((start, block.start + sentence.end, raw.lstrip()))
    return found


def parse_text(raw: str) -> str:
    """What a reader sees of one sentence."""
    return parse(raw).blocks[0].sentences[0].text


def _users(made: Night) -> list[Block]:
    """Paragraphs of the user's own, on the page after."""
    page = parse(made.after)
    known = citations(page)
    return [
        block
        for block in page.blocks
        if block.kind is Kind.PARAGRAPH
        and not any(label in known for s in block.sentences for label in s.marks)
    ]


def _of_kind(text: str, *kinds: Kind) -> list[Block]:
    return [block for block in parse(text).blocks if block.kind in kinds]


def _headings(text: str, level: int) -> list[Block]:
    return [block for block in parse(text).blocks if block.heading_level == level]


def _sections(made: Night) -> list[Block]:
    """Level-2 headings of prose that were there before."""
    old = {block.heading_text for block in _headings(made.before, 2)}
    closing = {"History", "See also", "References"}
    return [b for b in _headings(made.after, 2) if b.heading_text in old - closing]


def _replaced(text: str, start: int, end: int, by: str) -> str:
    return text[:start] + by + text[end:]


def _without(text: str, block: Block) -> str:
    return text[: block.start].rstrip("\n") + "\n\n" + text[block.end :].lstrip("\n")


def _swap(text: str, old: str, new: str) -> str | None:
    return text.replace(old, new, 1) if old in text else None


def _sub(pattern: str, by: str, text: str) -> str | None:
    changed = re.sub(pattern, by, text, count=1, flags=re.MULTILINE)
    return changed if changed != text else None


def _bare(raw: str) -> tuple[str, str]:
    """A sentence without its marks, and the marks."""
    marks = re.search(r"(?:\[\^[^\]]+\])*\Z", raw)
    assert marks is not None
    return raw[: marks.start()], marks.group()


def negated(raw: str) -> str:
    """The opposite of a sentence, more or less, in its own language."""
    if re.search(r"[\u3040-\u30ff]", raw):
        return re.sub(r"(です|ます)。", r"という\1わけではありません。", raw, count=1)
    if re.search(r"[\u4e00-\u9fff]", raw):
        return raw[:2] + "不" + raw[2:]
    if re.search(r"[\u0600-\u06ff]", raw):
        return "لا " + raw
    word = "nicht" if re.search(r"\b(?:der|die|das|von|hat)\b", raw, re.I) else "not"
    first, second, rest = [*raw.split(" ", 2), "", ""][:3]
    return f"{first} {second} {word} {rest}"


def _last_definition(text: str) -> Block:
    return _of_kind(text, Kind.DEFINITION)[-1]


# ------------------------------------------------------------------ sentences


@damage("a section replaced by its opposite, marks kept")
def all_sentences_negated(made: Night) -> str | None:
    text = made.after
    for start, end, raw in reversed(_standing(made)):
        text = _replaced(text, start, end, negated(raw))
    return text


@damage("a negation put into a standing sentence")
def first_negated(made: Night) -> str | None:
    start, end, raw = _standing(made)[0]
    return _replaced(made.after, start, end, negated(raw))


@damage("a negation put into a standing sentence")
def last_negated(made: Night) -> str | None:
    start, end, raw = _standing(made)[-1]
    return _replaced(made.after, start, end, negated(raw))


@damage("a negation put into a new sentence")
def new_negated(made: Night) -> str | None:
    start, end, raw = _fresh(made)[0]
    return _replaced(made.after, start, end, negated(raw))


@damage("a number swapped in a standing sentence")
def standing_number(made: Night) -> str | None:
    for start, end, raw in _standing(made):
        text, marks = _bare(raw)
        if re.search(r"\d", text):
            changed = re.sub(r"\d", lambda m: str((int(m.group()) + 1) % 10), text, count=1)
            return _replaced(made.after, start, end, changed + marks)
    return None


@damage("a number swapped in a new sentence")
def new_number(made: Night) -> str | None:
    for start, end, raw in _fresh(made):
        text, marks = _bare(raw)
        if re.search(r"\d", text):
            changed = re.sub(r"\d", lambda m: str((int(m.group()) + 1) % 10), text, count=1)
            return _replaced(made.after, start, end, changed + marks)
    return None


@damage("a word swapped in a standing sentence")
def standing_word(made: Night) -> str | None:
    start, end, raw = _standing(made)[0]
    words = raw.split(" ")
    words[len(words) // 2] = "Zanzibar"
    return _replaced(made.after, start, end, " ".join(words))


@damage("a word swapped in a new sentence")
def new_word(made: Night) -> str | None:
    start, end, raw = _fresh(made)[-1]
    text, marks = _bare(raw)
    words = text.split(" ")
    words[len(words) // 2] = "Zanzibar"
    return _replaced(made.after, start, end, " ".join(words).rstrip(".") + "." + marks)


@damage("a sentence lost")
def standing_lost(made: Night) -> str | None:
    start, end, _ = _standing(made)[1]
    return made.after[:start].rstrip(" ") + made.after[end:]


@damage("a sentence lost")
def lost_with_its_definition(made: Night) -> str | None:
    start, end, raw = _standing(made)[-1]
    text = made.after[:start].rstrip(" ") + made.after[end:]
    label = re.findall(r"\[\^([^\]]+)\]", raw)[0]
    return re.sub(rf"^\[\^{label}\]:.*\n", "", text, flags=re.MULTILINE)


@damage("a sentence lost")
def every_other_lost(made: Night) -> str | None:
    text = made.after
    for start, end, _ in reversed(_standing(made)[::2]):
        text = text[:start].rstrip(" ") + text[end:]
    return text


@damage("news the draft tells is not written")
def new_sentence_left_out(made: Night) -> str | None:
    start, end, raw = _fresh(made)[-1]
    text = made.after[:start].rstrip(" ") + made.after[end:]
    label = re.findall(r"\[\^([^\]]+)\]", raw)[0]
    if text.count(f"[^{label}]") == 1:
        text = re.sub(rf"^\[\^{label}\]:.*\n?", "", text, flags=re.MULTILINE)
    return text


@damage("news the draft tells is not written")
def nothing_written(made: Night) -> str | None:
    return made.before


@damage("sentences swap places with their marks left")
def texts_swapped(made: Night) -> str | None:
    (a, b, one), (c, d, two) = _standing(made)[:2]
    (one_text, one_marks), (two_text, two_marks) = _bare(one), _bare(two)
    text = _replaced(made.after, c, d, one_text + two_marks)
    return _replaced(text, a, b, two_text + one_marks)


@damage("citations swapped between claims")
def marks_swapped(made: Night) -> str | None:
    spans = _standing(made)
    a, b, one = spans[0]
    for c, d, two in spans[1:]:
        (one_text, one_marks), (two_text, two_marks) = _bare(one), _bare(two)
        if one_marks != two_marks:
            text = _replaced(made.after, c, d, two_text + one_marks)
            return _replaced(text, a, b, one_text + two_marks)
    return None


@damage("citations swapped between claims")
def marks_swapped_old_and_new(made: Night) -> str | None:
    a, b, one = _standing(made)[-1]
    for c, d, two in _fresh(made):
        (one_text, one_marks), (two_text, two_marks) = _bare(one), _bare(two)
        first, last = sorted([(a, b, one_text + two_marks), (c, d, two_text + one_marks)])
        text = _replaced(made.after, *last)
        return _replaced(text, *first)
    return None


@damage("a citation lost")
def mark_lost(made: Night) -> str | None:
    start, end, raw = _standing(made)[0]
    return _replaced(made.after, start, end, _bare(raw)[0])


@damage("a citation lost")
def new_mark_lost(made: Night) -> str | None:
    start, end, raw = _fresh(made)[-1]
    return _replaced(made.after, start, end, _bare(raw)[0])


@damage("a citation lost")
def one_of_two_marks_lost(made: Night) -> str | None:
    for start, end, raw in _spans(made.after):
        text, marks = _bare(raw)
        if marks.count("[") > 1:
            return _replaced(made.after, start, end, text + marks[: marks.rindex("[")])
    return None


@damage("a citation moved to a sentence it does not support")
def mark_moved_on(made: Night) -> str | None:
    spans = _standing(made)
    for (a, b, one), (c, d, two) in pairwise(spans):
        (one_text, one_marks), (_, two_marks) = _bare(one), _bare(two)
        if one_marks != two_marks:
            text = _replaced(made.after, c, d, two + one_marks)
            return _replaced(text, a, b, one_text)
    return None


@damage("a citation moved to a sentence it does not support")
def foreign_mark_added(made: Night) -> str | None:
    start, end, raw = _standing(made)[0]
    other = next((r for _, _, r in _spans(made.after) if _bare(r)[1] not in raw), None)
    return _replaced(made.after, start, end, raw + _bare(other)[1]) if other else None


@damage("a citation moved to a sentence it does not support")
def foreign_mark_added_to_the_addressed(made: Night) -> str | None:
    """Where the draft adds a citation, a second one comes along that says something else."""
    for start, end, raw in _spans(made.after):
        marks = _bare(raw)[1]
        if marks.count("[") > 1:
            other = next(m for _, _, r in _spans(made.after) if (m := _bare(r)[1]) not in marks)
            return _replaced(made.after, start, end, raw + other)
    return None


@damage("a citation moved to a sentence it does not support")
def foreign_mark_added_to_the_new(made: Night) -> str | None:
    """A new sentence cites what supports it, and something else for show."""
    start, end, raw = _fresh(made)[0]
    other = next(m for _, _, r in _standing(made) if (m := _bare(r)[1]) not in raw)
    return _replaced(made.after, start, end, raw + other)


@damage("a citation given to the user's sentence")
def users_sentence_cited(made: Night) -> str | None:
    for block in _users(made):
        if block.sentences and not block.sentences[-1].marks:
            at = block.start + block.sentences[-1].end
            return made.after[:at] + _bare(_spans(made.after)[0][2])[1] + made.after[at:]
    return None


@damage("the user's footnote put on our sentence")
def users_mark_on_ours(made: Night) -> str | None:
    own = re.search(r"\[\^(?:book|aunt)\](?!:)", made.after)
    if own is None:
        return None
    for start, end, raw in _spans(made.after):
        if _bare(raw)[1].count("[") > 1:
            return _replaced(made.after, start, end, raw + own.group())
    return None


@damage("the user's footnote put on our sentence")
def users_mark_on_the_new(made: Night) -> str | None:
    own = re.search(r"\[\^(?:book|aunt)\](?!:)", made.after)
    if own is None:
        return None
    start, end, raw = _fresh(made)[0]
    return _replaced(made.after, start, end, raw + own.group())


@damage("a mark without a definition")
def mark_undefined(made: Night) -> str | None:
    start, end, raw = _fresh(made)[0]
    return _replaced(made.after, start, end, _bare(raw)[0] + "[^99]")


@damage("a mark without a definition")
def mark_undefined_beside_a_good_one(made: Night) -> str | None:
    start, end, raw = _fresh(made)[0]
    return _replaced(made.after, start, end, raw + "[^99]")


@damage("a superseded sentence does not reach History")
def history_line_lost(made: Night) -> str | None:
    moved = _moved_line(made)
    return made.after.replace(moved + "\n", "", 1) if moved else None


@damage("a superseded sentence does not reach History")
def history_line_without_its_mark(made: Night) -> str | None:
    moved = _moved_line(made)
    return made.after.replace(moved, _bare(moved)[0], 1) if moved else None


@damage("a superseded sentence does not reach History")
def history_line_reworded(made: Night) -> str | None:
    moved = _moved_line(made)
    return made.after.replace(moved, moved[:14] + negated(moved[14:]), 1) if moved else None


@damage("a superseded sentence stands on beside its successor")
def superseded_stays(made: Night) -> str | None:
    moved = _moved_line(made)
    if not moved:
        return None
    start, _, _ = _fresh(made)[0]
    return made.after[:start] + moved[14:] + " " + made.after[start:]


@damage("the date of a History line changed")
def history_date_changed(made: Night) -> str | None:
    moved = _moved_line(made)
    return made.after.replace(moved, "- 1999-12-31" + moved[12:], 1) if moved else None


@damage("the date of a History line changed")
def standing_history_date_changed(made: Night) -> str | None:
    lines = _history_lines(made.before)
    return made.after.replace(lines[0], "- 1999-12-31" + lines[0][12:], 1) if lines else None


@damage("a History line rewritten")
def standing_history_line_rewritten(made: Night) -> str | None:
    lines = _history_lines(made.before)
    return (
        made.after.replace(lines[0], lines[0][:14] + negated(lines[0][14:]), 1) if lines else None
    )


@damage("a History line rewritten")
def standing_history_line_lost(made: Night) -> str | None:
    lines = _history_lines(made.before)
    return made.after.replace(lines[0] + "\n", "", 1) if lines else None


@damage("a History line rewritten")
def history_emptied(made: Night) -> str | None:
    return re.sub(r"^- \d{4}-\d\d-\d\d: .*\n", "", made.after, flags=re.MULTILINE)


def _history_lines(text: str) -> list[str]:
    return re.findall(r"^- \d{4}-\d\d-\d\d: .*$", text, re.MULTILINE)


def _moved_line(made: Night) -> str | None:
    old = _history_lines(made.before)
    texts = {sentence.text for _, sentence in _ours(parse(made.before))}
    return next(
        (
            line
            for line in _history_lines(made.after)
            if line not in old and _bare(line[14:])[0] in texts
        ),
        None,
    )


# ------------------------------------------------------------------ the whole page


@damage("the page replaced by the new facts only")
def new_facts_only(made: Night) -> str | None:
    page = parse(made.after)
    news = " ".join(raw for _, _, raw in _fresh(made))
    notes = "".join(block.raw for block in _of_kind(made.after, Kind.DEFINITION))
    title = page.title.raw if page.title else ""
    return f"{page.frontmatter}{title}\n{news}\n\n## References\n\n{notes}"


@damage("the page replaced by the new facts only")
def a_section_replaced_by_news(made: Night) -> str | None:
    text = made.after
    for start, end, _ in reversed(_standing(made)):
        text = text[:start].rstrip(" ") + text[end:]
    return text


@damage("a reply in place of the page")
def no_information(made: Night) -> str | None:
    head = parse(made.after).frontmatter
    return f"{head}No information about this subject is available.\n"


@damage("a reply in place of the page")
def a_refusal(made: Night) -> str | None:
    head = parse(made.after).frontmatter
    return f"{head}I'm sorry, but as an AI language model I cannot help with that.\n"


@damage("a reply in place of the page")
def nothing_at_all(_made: Night) -> str | None:
    return ""


@damage("a reply in place of the page")
def fenced_whole(made: Night) -> str | None:
    return f"```markdown\n{made.after}```\n"


@damage("a reply in place of the page")
def introduced(made: Night) -> str | None:
    head = parse(made.after).frontmatter
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
    start, end, raw = _fresh(made)[0]
    text, marks = _bare(raw)
    return _replaced(made.after, start, end, text[: len(text) // 2] + marks)


@damage("a sentence cut off")
def standing_sentence_cut(made: Night) -> str | None:
    start, end, raw = _standing(made)[0]
    text, marks = _bare(raw)
    return _replaced(made.after, start, end, text[: len(text) * 2 // 3] + marks)


@damage("elision")
def section_elided(made: Night) -> str | None:
    start, end, _ = _standing(made)[0]
    return _replaced(made.after, start, end, "[The rest of this section is unchanged.]")


@damage("elision")
def dots_added(made: Night) -> str | None:
    return made.after.replace("\n## ", "\n[...]\n\n## ", 1)


@damage("elision")
def comment_added(made: Night) -> str | None:
    return made.after.replace("\n## ", "\n<!-- existing content -->\n\n## ", 1)


@damage("repeated paragraphs")
def own_paragraph_repeated(made: Night) -> str | None:
    block = parse(made.after).blocks[_block_of(made.after, _standing(made)[0][0])]
    return made.after[: block.end] + "\n" + block.raw + made.after[block.end :]


@damage("repeated paragraphs")
def users_paragraph_repeated(made: Night) -> str | None:
    blocks = _users(made)
    if not blocks:
        return None
    return made.after[: blocks[0].end] + "\n" + blocks[0].raw + made.after[blocks[0].end :]


@damage("repeated paragraphs")
def body_four_times(made: Night) -> str | None:
    head = parse(made.after).frontmatter
    return head + made.after[len(head) :] * 4


@damage("repeated paragraphs")
def new_sentence_in_every_section(made: Night) -> str | None:
    """One thesis restated in each section."""
    _, _, raw = _fresh(made)[0]
    text = made.after
    for heading in reversed(_sections(made)):
        at = parse(text).body(heading.heading_text)[-1].end
        text = text[:at].rstrip("\n") + f"\n\n{raw}\n\n" + text[at:]
    return text


def _block_of(text: str, at: int) -> int:
    return next(b.index for b in parse(text).blocks if b.start <= at < b.end)


# ------------------------------------------------------------------ text from nowhere


@damage("uncited words appended")
def five_thousand_words(made: Night) -> str | None:
    filler = " ".join(f"And then thing {n} happened in town." for n in range(800))
    return f"{made.after}\n{filler}\n"


@damage("uncited words appended")
def one_sentence_in_a_paragraph(made: Night) -> str | None:
    _, end, _ = _standing(made)[0]
    return made.after[:end] + " This is widely known." + made.after[end:]


@damage("uncited words appended")
def one_paragraph(made: Night) -> str | None:
    at = _headings(made.after, 2)[0].start
    return made.after[:at] + "It is a fine thing in every way.\n\n" + made.after[at:]


@damage("uncited words appended")
def a_section(made: Night) -> str | None:
    at = _headings(made.after, 2)[0].start
    return made.after[:at] + "## Outlook\n\nMore will come.\n\n" + made.after[at:]


@damage("uncited words appended")
def a_list(made: Night) -> str | None:
    at = _headings(made.after, 2)[0].start
    return made.after[:at] + "- one more thing\n- and another\n\n" + made.after[at:]


@damage("uncited words appended")
def words_behind_the_mark(made: Night) -> str | None:
    _, end, _ = _fresh(made)[0]
    return made.after[:end] + " and so on" + made.after[end:]


@damage("uncited words appended")
def words_in_front(made: Night) -> str | None:
    start, _, _ = _standing(made)[-1]
    return made.after[:start] + "Supposedly, " + made.after[start:]


@damage("template garbage")
def ampersand(made: Night) -> str | None:
    start, end, _ = _standing(made)[0]
    return _replaced(made.after, start, end, "$&")


@damage("template garbage")
def section_variable(made: Night) -> str | None:
    start, end, raw = _fresh(made)[-1]
    return _replaced(made.after, start, end, "${section}" + _bare(raw)[1])


@damage("template garbage")
def none_in_place(made: Night) -> str | None:
    start, end, raw = _fresh(made)[-1]
    return _replaced(made.after, start, end, "None" + _bare(raw)[1])


@damage("template garbage")
def users_dollar_expanded(made: Night) -> str | None:
    return _swap(made.after, "$&", "$$&&") or _swap(made.after, r"\1", "")


@damage("template garbage")
def delimiters_left(made: Night) -> str | None:
    return made.after.replace("\n## ", "\n<<<SECTION>>>\n\n## ", 1)


@damage("prompt echo")
def prompt_heading(made: Night) -> str | None:
    return made.after.replace("\n## ", "\n## Instructions\n\nWrite each fact once.\n\n## ", 1)


@damage("prompt echo")
def claims_label(made: Night) -> str | None:
    start, _, _ = _fresh(made)[0]
    return made.after[:start] + "CLAIMS: " + made.after[start:]


@damage("prompt echo")
def example_text(made: Night) -> str | None:
    start, end, raw = _fresh(made)[-1]
    return _replaced(made.after, start, end, "The PART of PROJECT is THING." + _bare(raw)[1])


# ------------------------------------------------------------------ the user's own things


@damage("the user's paragraph changed")
def users_words_changed(made: Night) -> str | None:
    block = next(iter(_users(made)), None)
    return _replaced(made.after, block.start, block.end, negated(block.raw)) if block else None


@damage("the user's paragraph changed")
def users_paragraph_lost(made: Night) -> str | None:
    block = next(iter(_users(made)), None)
    return _without(made.after, block) if block else None


@damage("the user's paragraph changed")
def users_paragraph_moved(made: Night) -> str | None:
    block = next(iter(_users(made)), None)
    if block is None:
        return None
    return _without(made.after, block) + f"\n{block.raw}"


@damage("the user's paragraph changed")
def ours_joined_to_the_users(made: Night) -> str | None:
    block = next((b for b in _users(made) if b.sentences), None)
    if block is None:
        return None
    start, end, raw = _fresh(made)[-1]
    text = made.after[:start].rstrip(" ") + made.after[end:]
    at = text.index(block.raw) + len(block.raw.rstrip("\n"))
    return text[:at] + " " + raw + text[at:]


@damage("the user's paragraph changed")
def users_emphasis_lost(made: Night) -> str | None:
    return _sub(r"^\*(.+)\*  $", r"\1  ", made.after)


@damage("the user's table changed")
def row_lost(made: Night) -> str | None:
    return _sub(r"^\|[^-\n]*\d[^\n]*\|\n", "", made.after)


@damage("the user's table changed")
def cell_changed(made: Night) -> str | None:
    tables = _of_kind(made.after, Kind.TABLE)
    if not tables:
        return None
    raw = re.sub(r"\b(\d)\b", "5", tables[0].raw, count=1)
    return _replaced(made.after, tables[0].start, tables[0].end, raw)


@damage("the user's table changed")
def alignment_lost(made: Night) -> str | None:
    return _sub(r"--:\|$", "---|", made.after)


@damage("the user's callout or quote changed")
def quote_lost(made: Night) -> str | None:
    quotes = _of_kind(made.after, Kind.QUOTE)
    return _without(made.after, quotes[0]) if quotes else None


@damage("the user's callout or quote changed")
def quote_unquoted(made: Night) -> str | None:
    return _sub(r"^> (?!\[)", "", made.after)


@damage("the user's callout or quote changed")
def callout_type_changed(made: Night) -> str | None:
    return _swap(made.after, "[!info]", "[!danger]")


@damage("the user's callout or quote changed")
def cited_mark_in_callout_lost(made: Night) -> str | None:
    return _sub(r"(^> .*)\[\^1\]$", r"\1", made.after)


@damage("the user's list changed")
def item_lost(made: Night) -> str | None:
    lists = [b for b in _of_kind(made.after, Kind.LIST) if b.section not in ("History", "See also")]
    return (
        _replaced(made.after, lists[0].start, lists[0].end, _tail_of(lists[0])) if lists else None
    )


def _tail_of(block: Block) -> str:
    return block.raw.split("\n", 1)[1]


@damage("the user's list changed")
def item_flattened(made: Night) -> str | None:
    return _swap(made.after, "   - warm", "- warm")


@damage("the user's list changed")
def task_ticked(made: Night) -> str | None:
    return _swap(made.after, "- [ ]", "- [x]")


@damage("the user's list changed")
def block_id_lost(made: Night) -> str | None:
    return _swap(made.after, " ^gate", "")


@damage("the user's list changed")
def renumbered(made: Night) -> str | None:
    return _swap(made.after, "3. salt", "1. salt")


@damage("the user's code changed")
def code_blank_lines(made: Night) -> str | None:
    fences = _of_kind(made.after, Kind.FENCE)
    if not fences:
        return None
    raw = fences[0].raw.replace("\n", "\n\n", 1)
    return _replaced(made.after, fences[0].start, fences[0].end, raw)


@damage("the user's code changed")
def code_trailing_space(made: Night) -> str | None:
    fences = _of_kind(made.after, Kind.FENCE)
    if not fences:
        return None
    lines = fences[0].raw.split("\n")
    lines[1] += "  "
    return _replaced(made.after, fences[0].start, fences[0].end, "\n".join(lines))


@damage("the user's code changed")
def code_language_changed(made: Night) -> str | None:
    return _sub(r"^(`{3,4})(c|sh|dataview|markdown)$", r"\1text", made.after)


@damage("the user's code changed")
def indented_code_dedented(made: Night) -> str | None:
    return _swap(made.after, "    indented", "indented")


@damage("the user's code changed")
def double_spaces_in_code(made: Night) -> str | None:
    return _swap(made.after, "1;  /*", "1; /*")


@damage("footnote renumbering reaches code")
def marks_deleted_from_code(made: Night) -> str | None:
    return _sub(r"table\[\^9\]", "table", made.after) or _sub(r"\[\^8\]", "", made.after)


@damage("footnote renumbering reaches code")
def marks_deleted_from_a_regex(made: Night) -> str | None:
    return _swap(made.after, "`[^0]`", "``") or _swap(made.after, "[^0-9]+", "+")


@damage("footnote renumbering reaches code")
def all_ones_renumbered(made: Night) -> str | None:
    return made.after.replace("[^1]", "[^71]") if "`[^1]" in made.after else None


@damage("footnote renumbering reaches code")
def every_label_renumbered(made: Night) -> str | None:
    return re.sub(r"\[\^(\d)\]", lambda m: f"[^{int(m.group(1)) + 40}]", made.after)


@damage("footnote renumbering reaches code")
def shell_test_linked(made: Night) -> str | None:
    return _sub(r"\[\[ (-[nf]) ", r"[[\1 ", made.after)


@damage("footnote renumbering reaches code")
def code_sign_linked(made: Night) -> str | None:
    return _swap(made.after, "`[[Page]]`", "[[Page]]") or _swap(made.after, r"\[\[not", "[[not")


@damage("whitespace of the user's changed")
def hard_break_lost(made: Night) -> str | None:
    return _swap(made.after, "end.*  \n", "end.*\n")


@damage("whitespace of the user's changed")
def lines_joined(made: Night) -> str | None:
    return _swap(made.after, "end.*  \nAnd", "end.*   And")


@damage("whitespace of the user's changed")
def blank_lines_squeezed(made: Night) -> str | None:
    return re.sub(r"\n\n(?=\n*[-*>|`%<#])", "\n", made.after)


@damage("whitespace of the user's changed")
def all_line_ends_changed(made: Night) -> str | None:
    return made.after.replace("\n", "\r\n")


@damage("whitespace of the user's changed")
def blank_lines_doubled(made: Night) -> str | None:
    head = parse(made.after).frontmatter
    return head + made.after[len(head) :].replace("\n\n", "\n\n\n\n")


@damage("the user's HTML, comment, embed or math changed")
def html_changed(made: Night) -> str | None:
    return _swap(made.after, '<div class="note">', "<div>") or _swap(
        made.after, "<details>", "<details open>"
    )


@damage("the user's HTML, comment, embed or math changed")
def comment_lost(made: Night) -> str | None:
    return _sub(r"^%%.*%%\n\n", "", made.after)


@damage("the user's HTML, comment, embed or math changed")
def comment_uncovered(made: Night) -> str | None:
    return _sub(r"^%% (.*) %%$", r"\1", made.after)


@damage("the user's HTML, comment, embed or math changed")
def embed_lost(made: Night) -> str | None:
    return _sub(r"^!\[\[.*\]\]\n\n", "", made.after)


@damage("the user's HTML, comment, embed or math changed")
def embed_unembedded(made: Night) -> str | None:
    return _swap(made.after, "![[", "[[")


@damage("the user's HTML, comment, embed or math changed")
def math_changed(made: Night) -> str | None:
    return _swap(made.after, r"\cdot", r"\times")


@damage("the user's footnote changed")
def own_definition_lost(made: Night) -> str | None:
    return _sub(r"^\[\^(book|aunt|x)\]:.*\n(?:    .*)?", "", made.after)


@damage("the user's footnote changed")
def own_definition_reworded(made: Night) -> str | None:
    return _swap(made.after, "notebook, p. 12", "notebook, p. 21")


@damage("the user's footnote changed")
def own_definition_cut(made: Night) -> str | None:
    return _swap(made.after, "\n    And again in 2003.", "")


@damage("the user's footnote changed")
def own_mark_lost(made: Night) -> str | None:
    return _sub(r"\[\^(book|aunt)\](?!:)", "", made.after)


@damage("the user's footnote changed")
def own_label_renamed(made: Night) -> str | None:
    return made.after.replace("[^book]", "[^7]") if "[^book]" in made.after else None


@damage("the user's footnote changed")
def unmarked_definition_tidied_away(made: Night) -> str | None:
    return _sub(r"^\[\^x\]:.*\n", "", made.after)


# ------------------------------------------------------------------ headings and frontmatter


@damage("headings changed")
def flattened(made: Night) -> str | None:
    return re.sub(r"^### ", "## ", made.after, flags=re.MULTILINE)


@damage("headings changed")
def deepened(made: Night) -> str | None:
    heading = next(iter(_sections(made)), None)
    if heading is None or not heading.raw.startswith("## "):
        return None
    return made.after[: heading.start] + "#" + made.after[heading.start :]


@damage("headings changed")
def heading_renamed(made: Night) -> str | None:
    heading = _sections(made)[-1]
    return _replaced(made.after, heading.start, heading.end, "## Details\n")


@damage("headings changed")
def history_translated(made: Night) -> str | None:
    return made.after.replace("## History\n", "## Verlauf\n") if _moved_line(made) else None


@damage("headings changed")
def heading_restyled(made: Night) -> str | None:
    return _sub(r"^(Money|Rye & wheat: my sourdough)\n[-=]+\n", r"## \1\n", made.after)


@damage("headings changed")
def subsection_lost(made: Night) -> str | None:
    heading = next(iter(_headings(made.after, 3)), None)
    if heading is None:
        return None
    rest = [b.start for b in parse(made.after).blocks[heading.index + 1 :] if b.heading_level]
    return made.after[: heading.start] + made.after[rest[0] if rest else len(made.after) :]


@damage("headings changed")
def sections_swapped(made: Night) -> str | None:
    standing = [heading.start for heading in _sections(made)]
    if len(standing) < 2:
        return None
    ends = [h.start for h in _headings(made.after, 2)]
    (a, b), (c, d) = ((at, ends[ends.index(at) + 1]) for at in standing[:2])
    text = made.after
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


@damage("headings changed")
def paragraph_made_a_heading(made: Night) -> str | None:
    block = next(iter(_users(made)), None)
    if block is None:
        return None
    return _replaced(made.after, block.start, block.end, block.raw.rstrip("\n") + "\n---\n")


@damage("the title changed")
def title_reworded(made: Night) -> str | None:
    title = parse(made.after).title
    if title is None:
        return None
    return _replaced(made.after, title.start, title.end, f"# The {title.heading_text}\n")


@damage("the title changed")
def title_lost(made: Night) -> str | None:
    title = parse(made.after).title
    return _without(made.after, title) if title else None


@damage("the title changed")
def title_doubled(made: Night) -> str | None:
    title = parse(made.after).title
    return made.after[: title.start] + title.raw + made.after[title.start :] if title else None


@damage("the title changed")
def title_from_frontmatter(made: Night) -> str | None:
    """The user's H1 reverted to the title the tool knows."""
    return _sub(r"^Rye & wheat: my sourdough\n=+\n", "# Sourdough\n", made.after)


@damage("the title changed")
def title_given(made: Night) -> str | None:
    page = parse(made.after)
    if page.title is not None:
        return None
    head = page.frontmatter
    return f"{head}# {made.stem}\n\n{made.after[len(head) :]}"


@damage("frontmatter changed")
def a_key_lost(made: Night) -> str | None:
    return _sub(r"^(rating|cssclasses|created|tags): .*\n", "", made.after)


@damage("frontmatter changed")
def an_alias_lost(made: Night) -> str | None:
    return _sub(r"^aliases: \[(\w+)(, )?(.*)\]$", r"aliases: [\3]", made.after)


@damage("frontmatter changed")
def a_tag_put_in(made: Night) -> str | None:
    return _sub(r"^tags: \[", "tags: [publish, ", made.after)


@damage("frontmatter changed")
def a_key_put_in(made: Night) -> str | None:
    return _sub(r"^title: ", "publish: true\ntitle: ", made.after)


@damage("frontmatter changed")
def title_key_changed(made: Night) -> str | None:
    return _sub(r"^title: .*$", "title: Something else", made.after)


@damage("frontmatter changed")
def creation_redated(made: Night) -> str | None:
    return _sub(r"^created: .*$", "created: 2026-11-29", made.after)


@damage("frontmatter changed")
def frontmatter_lost(made: Night) -> str | None:
    head = parse(made.after).frontmatter
    return made.after[len(head) :] if head else None


@damage("frontmatter changed")
def second_frontmatter(made: Night) -> str | None:
    return f"---\ntitle: {made.stem}\nupdated: 2026-11-29\n---\n{made.after}"


@damage("frontmatter changed")
def second_frontmatter_below(made: Night) -> str | None:
    head = parse(made.after).frontmatter
    return f"{head}---\ntags: []\n---\n{made.after[len(head) :]}" if head else None


@damage("frontmatter changed")
def yaml_reformatted(made: Night) -> str | None:
    return _sub(r"^  - memory", "- memory", made.after) or _sub(
        r"\{tomato: 3,", "{tomato: 3, ", made.after
    )


@damage("frontmatter changed")
def comment_in_yaml_lost(made: Night) -> str | None:
    return _sub(r" # by hand once$", "", made.after)


@damage("frontmatter changed")
def updated_is_no_date(made: Night) -> str | None:
    return _sub(r"^updated: \d{4}-\d\d-\d\d", "updated: 2026-13-45", made.after)


@damage("frontmatter changed")
def updated_goes_back(made: Night) -> str | None:
    return _sub(r"^updated: \d{4}-\d\d-\d\d", "updated: 1999-01-01", made.after)


# ------------------------------------------------------------------ definitions and links


@damage("a citation's definition changed")
def retitled(made: Night) -> str | None:
    return _sub(r"(^\[\^1\]: `conv:.*\)) — .*$", r"\1 — Another title", made.after)


@damage("a citation's definition changed")
def redated(made: Night) -> str | None:
    return _sub(r"(^\[\^1\]: `conv:\w+` \()\d{4}-\d\d-\d\d", r"\g<1>2020-01-01", made.after)


@damage("a citation's definition changed")
def pointed_at_another_message(made: Night) -> str | None:
    return _sub(r"(^\[\^1\]: `conv:.*message) \d", r"\1 7", made.after)


@damage("a citation's definition changed")
def widened(made: Night) -> str | None:
    return _sub(r"(^\[\^1\]: `conv:.*)message \d", r"\1messages 1–90", made.after)


@damage("a citation's definition changed")
def source_renamed(made: Night) -> str | None:
    return _sub(r", (pi|claude-code), message", ", codex, message", made.after)


@damage("a citation's definition changed")
def definition_lost(made: Night) -> str | None:
    return _sub(r"^\[\^1\]: `conv:.*\n", "", made.after)


@damage("a citation's definition changed")
def definition_doubled(made: Night) -> str | None:
    return _sub(r"(^\[\^1\]: `conv:.*\n)", r"\1\1", made.after)


@damage("a citation's definition changed")
def two_in_one(made: Night) -> str | None:
    return _sub(r"(^\[\^1\]: `conv:.*)$", r"\1; `conv:deadbeef`", made.after)


@damage("a citation's definition changed")
def definitions_reordered(made: Night) -> str | None:
    notes = _of_kind(made.before, Kind.DEFINITION)
    a, b = notes[0].raw, notes[1].raw
    return made.after.replace(a + b, b + a, 1)


@damage("a citation's definition changed")
def new_definition_retitled(made: Night) -> str | None:
    block = _last_definition(made.after)
    return made.after[: block.start] + block.raw.rstrip("\n") + " (see https://a.example)\n"


@damage("a conversation that is not there cited")
def hash_made_up(made: Night) -> str | None:
    return _sub(r"(^\[\^1\]: `conv:)\w+", r"\g<1>deadbeef", made.after)


@damage("a conversation that is not there cited")
def new_hash_made_up(made: Night) -> str | None:
    block = _last_definition(made.after)
    raw = re.sub(r"conv:\w+", "conv:1a2b3c4d", block.raw)
    return _replaced(made.after, block.start, block.end, raw)


@damage("a conversation that is not there cited")
def new_message_number_made_up(made: Night) -> str | None:
    block = _last_definition(made.after)
    raw = re.sub(r"message \d+", "message 88", block.raw)
    return _replaced(made.after, block.start, block.end, raw)


@damage("See also changed")
def entry_lost(made: Night) -> str | None:
    return _sub(r"^- \[\[(Session store|Sourdough)\]\].*\n", "", made.after)


@damage("See also changed")
def users_words_at_an_entry_lost(made: Night) -> str | None:
    return _swap(made.after, "- [[Sourdough]] because of the rye", "- [[Sourdough]]")


@damage("See also changed")
def an_entry_nobody_asked_for(made: Night) -> str | None:
    return _sub(r"(^## See also\n\n)", r"\1- [[Somewhere else]]\n", made.after)


@damage("See also changed")
def an_address_put_in(made: Night) -> str | None:
    return _sub(r"(^## See also\n\n)", r"\1- [more](https://spam.example)\n", made.after)


@damage("a link nobody asked for")
def link_elsewhere(made: Night) -> str | None:
    return _sub(r"(?<=[a-zü] )\[\[[^\]|]+\|", "[[Somewhere else|", made.after)


@damage("a link nobody asked for")
def another_word_linked(made: Night) -> str | None:
    start, end, raw = _standing(made)[0]
    word = max(re.findall(r"\w+", _bare(raw)[0]), key=len)
    return _replaced(made.after, start, end, raw.replace(word, f"[[{word}]]", 1))


@damage("a link nobody asked for")
def shown_text_changed(made: Night) -> str | None:
    return _sub(r"(?<=[a-zü] )\[\[([^\]|]+)\|[^\]]+\]\]", r"[[\1|something else]]", made.after)


# ------------------------------------------------------------------ tricks with signs


@damage("a standing sentence hidden or disguised")
def struck_out(made: Night) -> str | None:
    start, end, raw = _standing(made)[0]
    text, marks = _bare(raw)
    return _replaced(made.after, start, end, f"~~{text}~~{marks}")


@damage("a standing sentence hidden or disguised")
def commented_out(made: Night) -> str | None:
    start, end, raw = _standing(made)[0]
    return _replaced(made.after, start, end, f"%%{raw}%%")


@damage("a standing sentence hidden or disguised")
def html_commented_out(made: Night) -> str | None:
    block = parse(made.after).blocks[_block_of(made.after, _standing(made)[1][0])]
    return _replaced(made.after, block.start, block.end, f"<!--\n{block.raw}-->\n")


@damage("a standing sentence hidden or disguised")
def indented_to_code(made: Night) -> str | None:
    block = parse(made.after).blocks[_block_of(made.after, _standing(made)[1][0])]
    return _replaced(made.after, block.start, block.end, f"    {block.raw}")


@damage("a standing sentence hidden or disguised")
def swallowed_by_a_fence(made: Night) -> str | None:
    heading = _sections(made)[0]
    return made.after[: heading.start] + "```\n" + made.after[heading.start :]


@damage("a standing sentence hidden or disguised")
def swallowed_by_a_comment(made: Night) -> str | None:
    heading = _sections(made)[0]
    return made.after[: heading.start] + "<!--\n\n" + made.after[heading.start :]


@damage("a standing sentence hidden or disguised")
def quoted(made: Night) -> str | None:
    block = parse(made.after).blocks[_block_of(made.after, _standing(made)[1][0])]
    return _replaced(made.after, block.start, block.end, f"> {block.raw}")


@damage("characters changed that look alike")
def homoglyph(made: Night) -> str | None:
    start, end, raw = _standing(made)[0]
    return _replaced(made.after, start, end, raw.replace("e", "\u0435").replace("备", "備"))


@damage("characters changed that look alike")
def homoglyph_in_the_new(made: Night) -> str | None:
    start, end, raw = _fresh(made)[0]
    return _replaced(made.after, start, end, raw.replace("e", "\u0435").replace("备", "備"))


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
    start, _, _ = _fresh(made)[0]
    return made.after[: start + 3] + "\u200b" + made.after[start + 3 :]


@damage("hidden characters in a new sentence")
def direction_override(made: Night) -> str | None:
    start, _, _ = _fresh(made)[0]
    return made.after[: start + 3] + "\u202e" + made.after[start + 3 :]


@damage("hidden characters in a new sentence")
def soft_hyphen(made: Night) -> str | None:
    start, _, _ = _fresh(made)[0]
    return made.after[: start + 3] + "\u00ad" + made.after[start + 3 :]


@damage("hidden characters in a new sentence")
def tag_characters(made: Night) -> str | None:
    start, _, _ = _fresh(made)[0]
    return made.after[: start + 3] + "\U000e0069\U000e0067" + made.after[start + 3 :]


@damage("hidden characters in a new sentence")
def variation_selectors(made: Night) -> str | None:
    start, _, _ = _fresh(made)[0]
    return made.after[: start + 3] + "\U000e0158\U000e0142" + made.after[start + 3 :]


@damage("news put in the wrong place")
def between_the_users_blocks(made: Night) -> str | None:
    """A sentence for the end of its section stands before what the user wrote there."""
    page = parse(made.after)
    start, _, raw = _fresh(made)[0]
    block = page.blocks[_block_of(made.after, start)]
    before = [b for b in page.body(block.section) if b.kind is not Kind.BLANK]
    if before[0] is block or raw != block.raw.strip():
        return None
    text = _without(made.after, block)
    at = before[0].start
    return text[:at] + raw + "\n\n" + text[at:]


@damage("news put in the wrong place")
def in_another_section(made: Night) -> str | None:
    start, end, raw = _fresh(made)[-1]
    text = made.after[:start].rstrip(" ") + made.after[end:]
    other = _sections(made)[-1]
    own = parse(made.after).blocks[_block_of(made.after, start)].section
    if other.heading_text == own:
        other = _sections(made)[0]
    if other.heading_text == own:
        return None
    at = parse(text).body(other.heading_text)[-1].end
    return text[:at].rstrip("\n") + f"\n\n{raw}\n\n" + text[at:].lstrip("\n")
