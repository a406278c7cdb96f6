"""The splices of one draft, gathered over the page as it stands and made in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pipeline.errors import VaultFault
from pipeline.footnotes import Notes, citations, parse_citation
from pipeline.links import mention, wikilinks
from pipeline.markdown import HISTORY, REFERENCES, SEE_ALSO, Block, Kind, Page
from pipeline.prose import flat, plain
from pipeline.records import (
    AppendHistory,
    AppendSentences,
    CitedSentence,
    Draft,
    LinkFirstMention,
    MoveSentence,
    Retire,
    SetSeeAlso,
)
from pipeline.surgery.patients import Patient, admit, removals, span, staying, vacated
from pipeline.surgery.rereading import check
from pipeline.surgery.splicing import (
    INLINE,
    LAST,
    PARAGRAPHS,
    SECTIONS,
    Splice,
    joined,
    joint,
    last_solid,
    marks,
    spliced,
)
from pipeline.text import sentences as sentence_spans

# The order in which these close an article; new sections go before the first of them.
_CLOSING = (HISTORY, SEE_ALSO, REFERENCES)


def operate(page: Page, draft: Draft, paragraph_sentences: int) -> str:
    """The page's text with the edits of the draft made; frontmatter as it stands."""
    return _Surgery(page, draft, paragraph_sentences).perform()


class _Surgery:
    def __init__(self, page: Page, draft: Draft, paragraph_sentences: int) -> None:
        self._page = page
        self._edits = draft.edits
        self._most = paragraph_sentences
        self._notes = Notes(page)
        self._cited = citations(page)
        self._patients = admit(page, self._notes, draft.edits)
        self._vacated = vacated(page, self._patients)
        definitions = (block for block in page.blocks if block.kind is Kind.DEFINITION)
        self._ours = [block for block in definitions if parse_citation(block.raw)]
        self._splices: list[Splice] = []

    def perform(self) -> str:
        sections: dict[str, tuple[str, list[CitedSentence | Patient]]] = {}
        older: list[AppendHistory] = []
        see_also: list[str] = []
        links: list[LinkFirstMention] = []
        for edit in self._edits:
            match edit:
                case AppendSentences(section=name, sentences=added):
                    key = flat(name).casefold()
                    sections.setdefault(key, (flat(name), []))[1].extend(added)
                case MoveSentence(at=ref, section=name):
                    key = flat(name).casefold()
                    sections.setdefault(key, (flat(name), []))[1].append(self._patients[ref])
                case AppendHistory():
                    older.append(edit)
                case LinkFirstMention():
                    links.append(edit)
                case SetSeeAlso(stems=stems):
                    see_also.extend(stems)
        moved = [line for patient in self._patients.values() for line in self._treat(patient)]
        self._splices += removals(self._page, self._patients)
        self._link(links)
        for name, sentences in sections.values():
            self._append(name, sentences)
        history = [f"- {edit.date}: {self._render(edit.sentence)}" for edit in older] + moved
        self._append_lines(HISTORY, history, Kind.LIST)
        self._append_lines(SEE_ALSO, self._new_links(see_also), Kind.LIST)
        self._define(self._notes.added)
        after = spliced(self._page, self._splices)
        check(self._page, after, self._patients, self._splices)
        return after

    # -------------------------------------------------------------- edits in place

    def _treat(self, patient: Patient) -> list[str]:
        """Splice the sentence where it stands; return the lines of what goes to History."""
        standing = " ".join(patient.raw.split())
        match patient.leaving:
            case Retire(date=date):
                return [f"- {date}: {standing}"]
            case None:
                pass
            case _:
                return []
        start, end = (patient.block.start + at for at in span(patient.block, patient.sentence))
        if not patient.successors:
            at = patient.block.start + patient.marks_at
            self._splices.append(Splice(at, at, INLINE, marks(patient.gained)))
            return []
        moved = []
        for successor in patient.successors:
            moved.append(f"- {successor.date}: {standing}")
            standing = self._render(successor.sentence)
        self._splices.append(Splice(start, end, INLINE, standing))
        return moved

    def _link(self, links: Sequence[LinkFirstMention]) -> None:
        taken: dict[int, list[tuple[int, int]]] = {}
        for patient in self._patients.values():
            if patient.successors or patient.leaving:
                taken.setdefault(patient.block.index, []).append(
                    (patient.sentence.start, patient.sentence.end)
                )
        for link in links:
            if not 0 <= link.block < len(self._page.blocks):
                raise VaultFault(f"the page has no block {link.block} to link {link.text!r} in")
            block = self._page.blocks[link.block]
            spans = taken.setdefault(link.block, [])
            found = mention(self._page, block, link.text, spans)
            if found is None:
                continue
            spans.append(found)
            shown = "" if link.text == link.target else f"|{link.text}"
            self._splices.append(
                Splice(
                    block.start + found[0],
                    block.start + found[1],
                    INLINE,
                    f"[[{link.target}{shown}]]",
                )
            )

    # -------------------------------------------------------------- additions

    def _append(self, section: str, sentences: Sequence[CitedSentence | Patient]) -> None:
        """Sentences at the end of a section's own prose, before its sub-headings."""
        if section.casefold() in (name.casefold() for name in _CLOSING):
            raise VaultFault(f"sentences cannot be appended to {section!r}")
        texts = [
            sentence.raw if isinstance(sentence, Patient) else self._render(sentence)
            for sentence in sentences
            if isinstance(sentence, Patient) or flat(sentence.text)
        ]
        if not texts:
            return
        heading = self._page.heading(section) if section else self._page.title
        if section and heading is None:
            body = "".join(f"{self._newline}{line}" for line in self._paragraphs(texts))
            self._put(self._closing(0), f"## {plain(section)}{self._newline}{body}", SECTIONS)
            return
        last = self._last(section)
        standing = staying(last, self._patients) if last and self._is_ours(last) else []
        room = self._most - len(standing)
        if last and standing and room > 0:
            here, texts = texts[:room], texts[room:]
            at = last.start + standing[-1].end
            self._splices.append(
                Splice(at, at, PARAGRAPHS, joint(standing[-1].text) + joined(here))
            )
        for paragraph in self._paragraphs(texts):
            self._put_after(last or heading, paragraph.rstrip("\r\n"), PARAGRAPHS)

    def _paragraphs(self, texts: Sequence[str]) -> list[str]:
        groups = [texts[i : i + self._most] for i in range(0, len(texts), self._most)]
        return [joined(group) + self._newline for group in groups]

    def _append_lines(self, section: str, lines: Sequence[str], kind: Kind) -> None:
        """Lines at the end of a closing section, which is made where it belongs if missing."""
        if not lines:
            return
        text = self._newline.join(lines)
        heading = self._page.heading(section)
        if heading is None:
            rank = _CLOSING.index(section)
            title = f"## {section}{self._newline}{self._newline}"
            self._put(self._closing(rank + 1), title + text, LAST + rank)
            return
        last = self._last(section)
        tight = last is not None and last.kind is kind
        self._put_after(last or heading, text, LAST + _CLOSING.index(section), tight=tight)

    def _define(self, lines: Sequence[str]) -> None:
        """Under References, or below our other definitions where the user has renamed it."""
        if lines and self._page.heading(REFERENCES) is None and self._renamed_references():
            self._put_after(self._ours[-1], self._newline.join(lines), LAST, tight=True)
        else:
            self._append_lines(REFERENCES, lines, Kind.DEFINITION)

    def _last(self, section: str) -> Block | None:
        """The last block of a section's own prose that will still be there."""
        body = self._page.body(section)
        return last_solid([block for block in body if block.index not in self._vacated])

    def _new_links(self, titles: Iterable[str]) -> list[str]:
        listed = "".join(block.raw for block in self._page.body(SEE_ALSO))
        known = {name.casefold() for name in wikilinks(listed)}
        lines = []
        for title in titles:
            name = re.sub(r"[\[\]|#^]", "", flat(title))
            if name and name.casefold() not in known:
                known.add(name.casefold())
                lines.append(f"- [[{name}]]")
        return lines

    def _closing(self, first: int) -> int:
        """Offset of the earliest closing section from `first` on in their order, else the end."""
        headings = [self._page.heading(name) for name in _CLOSING[first:]]
        headings.append(self._renamed_references())
        starts = [heading.start for heading in headings if heading is not None]
        last = last_solid(self._page.blocks)
        if last is not None and last.open:
            starts.append(last.start)
        return min(starts, default=len(self._page.text))

    def _renamed_references(self) -> Block | None:
        """The heading of a section of ours with definitions alone, in whatever language."""
        section = self._ours[-1].section if self._ours else ""
        body = [b for b in self._page.body(section) if not b.open]
        if any(b.kind not in (Kind.DEFINITION, Kind.BLANK) for b in body):
            return None
        return self._page.heading(section) if section else None

    # -------------------------------------------------------------- rendering

    @property
    def _newline(self) -> str:
        return self._page.newline

    def _render(self, sentence: CitedSentence) -> str:
        """Its text and marks; where a reader finds several sentences in it, each is marked."""
        labels = dict.fromkeys(self._notes.label(citation) for citation in sentence.citations)
        line = flat(sentence.text)
        return joined([plain(line[a:b]) + marks(labels) for a, b in sentence_spans(line)])

    def _is_ours(self, block: Block) -> bool:
        if block.kind is not Kind.PARAGRAPH or not block.sentences:
            return False
        return all(
            any(label in self._cited for label in sentence.marks)
            for sentence in staying(block, self._patients)
        )

    def _put_after(self, block: Block | None, text: str, rank: int, *, tight: bool = False) -> None:
        """After the block, but before one that would swallow what follows it."""
        if block is None:
            self._put(len(self._page.frontmatter), text, rank)
        elif block.open:
            self._put(block.start, text, rank)
        else:
            self._put(block.end, text, rank, tight=tight)

    def _put(self, at: int, text: str, rank: int, *, tight: bool = False) -> None:
        text = text.rstrip("\r\n") + self._newline
        self._splices.append(Splice(at, at, rank, text, is_block=True, tight=tight))
