"""Sentences changed, lost, unsourced or moved, beside an innocent draft."""

from __future__ import annotations

import re
from itertools import pairwise

from benchmarks.gate_corpus.cases import Night
from benchmarks.gate_corpus.mutating import (
    bare,
    damage,
    fresh_of,
    history_lines,
    moved_line,
    negated,
    replaced,
    spans_of,
    standing_of,
    users_of,
)


@damage("a section replaced by its opposite, marks kept")
def all_sentences_negated(made: Night) -> str | None:
    text = made.after
    for start, end, raw in reversed(standing_of(made)):
        text = replaced(text, start, end, negated(raw))
    return text


@damage("a negation put into a standing sentence")
def first_negated(made: Night) -> str | None:
    start, end, raw = standing_of(made)[0]
    return replaced(made.after, start, end, negated(raw))


@damage("a negation put into a standing sentence")
def last_negated(made: Night) -> str | None:
    start, end, raw = standing_of(made)[-1]
    return replaced(made.after, start, end, negated(raw))


@damage("a negation put into a new sentence")
def new_negated(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[0]
    return replaced(made.after, start, end, negated(raw))


@damage("a number swapped in a standing sentence")
def standing_number(made: Night) -> str | None:
    for start, end, raw in standing_of(made):
        text, marks = bare(raw)
        if re.search(r"\d", text):
            changed = re.sub(r"\d", lambda m: str((int(m.group()) + 1) % 10), text, count=1)
            return replaced(made.after, start, end, changed + marks)
    return None


@damage("a number swapped in a new sentence")
def new_number(made: Night) -> str | None:
    for start, end, raw in fresh_of(made):
        text, marks = bare(raw)
        if re.search(r"\d", text):
            changed = re.sub(r"\d", lambda m: str((int(m.group()) + 1) % 10), text, count=1)
            return replaced(made.after, start, end, changed + marks)
    return None


@damage("a word swapped in a standing sentence")
def standing_word(made: Night) -> str | None:
    start, end, raw = standing_of(made)[0]
    words = raw.split(" ")
    words[len(words) // 2] = "Zanzibar"
    return replaced(made.after, start, end, " ".join(words))


@damage("a word swapped in a new sentence")
def new_word(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[-1]
    text, marks = bare(raw)
    words = text.split(" ")
    words[len(words) // 2] = "Zanzibar"
    return replaced(made.after, start, end, " ".join(words).rstrip(".") + "." + marks)


@damage("a sentence lost")
def standing_lost(made: Night) -> str | None:
    start, end, _ = standing_of(made)[1]
    return made.after[:start].rstrip(" ") + made.after[end:]


@damage("a sentence lost")
def lost_with_its_definition(made: Night) -> str | None:
    start, end, raw = standing_of(made)[-1]
    text = made.after[:start].rstrip(" ") + made.after[end:]
    label = re.findall(r"\[\^([^\]]+)\]", raw)[0]
    return re.sub(rf"^\[\^{label}\]:.*\n", "", text, flags=re.MULTILINE)


@damage("a sentence lost")
def every_other_lost(made: Night) -> str | None:
    text = made.after
    for start, end, _ in reversed(standing_of(made)[::2]):
        text = text[:start].rstrip(" ") + text[end:]
    return text


@damage("news the draft tells is not written")
def new_sentence_left_out(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[-1]
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
    (a, b, one), (c, d, two) = standing_of(made)[:2]
    (one_text, one_marks), (two_text, two_marks) = bare(one), bare(two)
    text = replaced(made.after, c, d, one_text + two_marks)
    return replaced(text, a, b, two_text + one_marks)


@damage("citations swapped between claims")
def marks_swapped(made: Night) -> str | None:
    spans = standing_of(made)
    a, b, one = spans[0]
    for c, d, two in spans[1:]:
        (one_text, one_marks), (two_text, two_marks) = bare(one), bare(two)
        if one_marks != two_marks:
            text = replaced(made.after, c, d, two_text + one_marks)
            return replaced(text, a, b, one_text + two_marks)
    return None


@damage("citations swapped between claims")
def marks_swapped_old_and_new(made: Night) -> str | None:
    a, b, one = standing_of(made)[-1]
    for c, d, two in fresh_of(made):
        (one_text, one_marks), (two_text, two_marks) = bare(one), bare(two)
        first, last = sorted([(a, b, one_text + two_marks), (c, d, two_text + one_marks)])
        text = replaced(made.after, *last)
        return replaced(text, *first)
    return None


@damage("a citation lost")
def mark_lost(made: Night) -> str | None:
    start, end, raw = standing_of(made)[0]
    return replaced(made.after, start, end, bare(raw)[0])


@damage("a citation lost")
def new_mark_lost(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[-1]
    return replaced(made.after, start, end, bare(raw)[0])


@damage("a citation lost")
def one_of_two_marks_lost(made: Night) -> str | None:
    for start, end, raw in spans_of(made.after):
        text, marks = bare(raw)
        if marks.count("[") > 1:
            return replaced(made.after, start, end, text + marks[: marks.rindex("[")])
    return None


@damage("a citation moved to a sentence it does not support")
def mark_moved_on(made: Night) -> str | None:
    spans = standing_of(made)
    for (a, b, one), (c, d, two) in pairwise(spans):
        (one_text, one_marks), (_, two_marks) = bare(one), bare(two)
        if one_marks != two_marks:
            text = replaced(made.after, c, d, two + one_marks)
            return replaced(text, a, b, one_text)
    return None


@damage("a citation moved to a sentence it does not support")
def foreign_mark_added(made: Night) -> str | None:
    start, end, raw = standing_of(made)[0]
    other = next((r for _, _, r in spans_of(made.after) if bare(r)[1] not in raw), None)
    return replaced(made.after, start, end, raw + bare(other)[1]) if other else None


@damage("a citation moved to a sentence it does not support")
def foreign_mark_added_to_the_addressed(made: Night) -> str | None:
    """Where the draft adds a citation, a second one comes along that says something else."""
    for start, end, raw in spans_of(made.after):
        marks = bare(raw)[1]
        if marks.count("[") > 1:
            other = next(m for _, _, r in spans_of(made.after) if (m := bare(r)[1]) not in marks)
            return replaced(made.after, start, end, raw + other)
    return None


@damage("a citation moved to a sentence it does not support")
def foreign_mark_added_to_the_new(made: Night) -> str | None:
    """A new sentence cites what supports it, and something else for show."""
    start, end, raw = fresh_of(made)[0]
    other = next(m for _, _, r in standing_of(made) if (m := bare(r)[1]) not in raw)
    return replaced(made.after, start, end, raw + other)


@damage("a citation given to the user's sentence")
def users_sentence_cited(made: Night) -> str | None:
    for block in users_of(made):
        if block.sentences and not block.sentences[-1].marks:
            at = block.start + block.sentences[-1].end
            return made.after[:at] + bare(spans_of(made.after)[0][2])[1] + made.after[at:]
    return None


@damage("the user's footnote put on our sentence")
def users_mark_on_ours(made: Night) -> str | None:
    own = re.search(r"\[\^(?:book|aunt)\](?!:)", made.after)
    if own is None:
        return None
    for start, end, raw in spans_of(made.after):
        if bare(raw)[1].count("[") > 1:
            return replaced(made.after, start, end, raw + own.group())
    return None


@damage("the user's footnote put on our sentence")
def users_mark_on_the_new(made: Night) -> str | None:
    own = re.search(r"\[\^(?:book|aunt)\](?!:)", made.after)
    if own is None:
        return None
    start, end, raw = fresh_of(made)[0]
    return replaced(made.after, start, end, raw + own.group())


@damage("a mark without a definition")
def mark_undefined(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[0]
    return replaced(made.after, start, end, bare(raw)[0] + "[^99]")


@damage("a mark without a definition")
def mark_undefined_beside_a_good_one(made: Night) -> str | None:
    start, end, raw = fresh_of(made)[0]
    return replaced(made.after, start, end, raw + "[^99]")


@damage("a superseded sentence does not reach History")
def history_line_lost(made: Night) -> str | None:
    moved = moved_line(made)
    return made.after.replace(moved + "\n", "", 1) if moved else None


@damage("a superseded sentence does not reach History")
def history_line_without_its_mark(made: Night) -> str | None:
    moved = moved_line(made)
    return made.after.replace(moved, bare(moved)[0], 1) if moved else None


@damage("a superseded sentence does not reach History")
def history_line_reworded(made: Night) -> str | None:
    moved = moved_line(made)
    return made.after.replace(moved, moved[:14] + negated(moved[14:]), 1) if moved else None


@damage("a superseded sentence stands on beside its successor")
def superseded_stays(made: Night) -> str | None:
    moved = moved_line(made)
    if not moved:
        return None
    start, _, _ = fresh_of(made)[0]
    return made.after[:start] + moved[14:] + " " + made.after[start:]


@damage("the date of a History line changed")
def history_date_changed(made: Night) -> str | None:
    moved = moved_line(made)
    return made.after.replace(moved, "- 1999-12-31" + moved[12:], 1) if moved else None


@damage("the date of a History line changed")
def standing_history_date_changed(made: Night) -> str | None:
    lines = history_lines(made.before)
    return made.after.replace(lines[0], "- 1999-12-31" + lines[0][12:], 1) if lines else None


@damage("a History line rewritten")
def standing_history_line_rewritten(made: Night) -> str | None:
    lines = history_lines(made.before)
    return (
        made.after.replace(lines[0], lines[0][:14] + negated(lines[0][14:]), 1) if lines else None
    )


@damage("a History line rewritten")
def standing_history_line_lost(made: Night) -> str | None:
    lines = history_lines(made.before)
    return made.after.replace(lines[0] + "\n", "", 1) if lines else None


@damage("a History line rewritten")
def history_emptied(made: Night) -> str | None:
    return re.sub(r"^- \d{4}-\d\d-\d\d: .*\n", "", made.after, flags=re.MULTILINE)
