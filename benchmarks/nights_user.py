"""The owner of the vault, who edits it between nights and expects to find the edits again."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.nights_reading import Place, Wiki, read
from benchmarks.nights_world import Fact, Subject, Topic, World

_FOLDER = "kept apart"
_MARKED = re.compile(r"(\[\^[^\]\s]+\])(?!\[|:)")


@dataclass
class User:
    """kept: text that must stand somewhere in the articles, byte for byte. taken: the title of an
    article and a sentence that must not come back to it. settled: entries of Talk pages that must
    not come back. own: what they say in their own words.
    excused: citations that went with what the user took out, and loose: definitions that this left
    without a mark. done: the edits made.
    """

    world: World
    vault: Path
    kept: list[str] = field(default_factory=list)
    taken: list[tuple[str, Fact]] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    own: list[Fact] = field(default_factory=list)
    excused: set[Place] = field(default_factory=set)
    loose: set[str] = field(default_factory=set)
    done: list[str] = field(default_factory=list)
    _waiting: list[str] = field(default_factory=list)

    def edit(self, night: int) -> None:
        """What is due after this night; what finds nothing to edit waits for another."""
        share = self.world.nights / 30
        self._waiting += [name for name, due in _DUE.items() if max(1, round(due * share)) == night]
        before = read(self.vault).cited()
        self._waiting = [name for name in self._waiting if not self._did(name)]
        after = read(self.vault)
        self.excused |= before - after.cited()
        self.loose |= set(after.loose)

    def missing(self, wiki: Wiki) -> list[str]:
        """What the user wrote and does not find again."""
        everything = "\n".join(wiki.raw.values())
        return [text for text in self.kept if text not in everything]

    def returned(self, wiki: Wiki) -> list[str]:
        """What the user took out and finds again."""
        back = [
            segment.text
            for title, fact in self.taken
            for segment in wiki.segments
            if segment.article == wiki.article(title) and segment.text.endswith(fact.text)
        ]
        return back + [entry for entry in self.settled if entry in wiki.talk]

    def _did(self, name: str) -> bool:
        if _EDITS[name](self, read(self.vault)):
            self.done.append(name)
            return True
        return False

    # -------------------------------------------------------------- edits

    def _annotate(self, wiki: Wiki) -> bool:
        """A callout, a sentence and a footnote of their own, behind the lead."""
        topic = self.world.topics[0]
        path = wiki.article(topic.name)
        if not path:
            return False
        own = f"> [!note] Mine\n> {topic.note}\n\nThe paper ledger says more.[^own]\n"
        source = "[^own]: The paper ledger, page 12."
        head, lead, rest = _around_lead(wiki.raw[path])
        self._write(path, f"{head}{lead}\n{own}{rest.rstrip()}\n{source}\n")
        self.kept += [own, source]
        return True

    def _write_beside(self, wiki: Wiki, number: int) -> bool:
        """A sentence behind one of ours, in its paragraph."""
        topic = self.world.topics[number]
        path = wiki.article(topic.name)
        if not path:
            return False
        head, lead, rest = _around_lead(wiki.raw[path])
        ours = list(_MARKED.finditer(lead))
        if not ours:
            return False
        at = ours[-1].end()
        self._write(path, f"{head}{lead[:at]} {topic.note}{lead[at:]}{rest}")
        self.kept.append(topic.note)
        return True

    def _delete(self, wiki: Wiki) -> bool:
        topic, subject = self._meant("delete")
        fact = subject.facts[0][0]
        sentence = rf" ?{re.escape(fact.text)}(?:\[\^[^\]\s]+\])+"
        if not self._substitute(wiki, topic, sentence, ""):
            return False
        self.taken.append((topic.name, fact))
        return True

    def _reword(self, wiki: Wiki) -> bool:
        topic, subject = self._meant("reword")
        current = [s.fact for s in wiki.standing(f for ways in subject.facts for f in ways)
                   if not s.segment.past]  # fmt: skip
        if not current:
            return False
        fact = replace(current[0], text=topic.reworded.format(current[0].value))
        if not self._substitute(wiki, topic, re.escape(current[0].text), fact.text):
            return False
        self.kept.append(fact.text)
        self.own.append(fact)
        return True

    def _rename(self, wiki: Wiki) -> bool:
        path = wiki.article(self.world.topics[2].name)
        return bool(path) and self._moved(path, path.replace("archive", "store"))

    def _move(self, wiki: Wiki) -> bool:
        path = wiki.article(self.world.topics[4].name)
        return bool(path) and self._moved(path, f"{_FOLDER}/{path}")

    def _settle(self, _wiki: Wiki) -> bool:
        for page in sorted((self.vault / "Talk").rglob("*.md")):
            lines = page.read_text("utf-8").splitlines(keepends=True)
            entries = [line for line in lines if line.startswith("- ")]
            if entries:
                lines.remove(entries[0])
                page.write_text("".join(lines), "utf-8")
                self.settled.append(entries[0].strip())
                return True
        return False

    def _meant(self, what: str) -> tuple[Topic, Subject]:
        return next((t, s) for t in self.world.topics for s in t.subjects if s.user == what)

    def _substitute(self, wiki: Wiki, topic: Topic, sentence: str, by: str) -> bool:
        path = wiki.article(topic.name)
        current, heading, past = wiki.raw.get(path, "").partition("\n## History\n")
        changed, count = re.subn(sentence, lambda _: by, current, count=1)
        if not count:
            return False
        self._write(path, changed + heading + past)
        return True

    def _write(self, path: str, text: str) -> None:
        (self.vault / "articles" / path).write_bytes(text.encode())

    def _moved(self, path: str, to: str) -> bool:
        target = self.vault / "articles" / to
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.vault / "articles" / path).rename(target)
        return True


def _around_lead(text: str) -> tuple[str, str, str]:
    """The page up to its lead, the first paragraph under the title, and the rest."""
    title = re.search(r"^# .*\n\n", text, re.MULTILINE)
    start = title.end() if title else 0
    end = text.find("\n\n", start) + 1 or len(text)
    return text[:start], text[start:end], text[end:]


_EDITS: dict[str, Callable[[User, Wiki], bool]] = {
    "own callout, sentence and footnote": User._annotate,
    "own sentence in a paragraph of ours": lambda user, wiki: user._write_beside(wiki, 3),
    "a sentence of ours deleted": User._delete,
    "a sentence of ours reworded": User._reword,
    "a file renamed": User._rename,
    "a file moved to a subfolder": User._move,
    "a Talk entry deleted": User._settle,
    "own sentence, right to left": lambda user, wiki: user._write_beside(wiki, 5),
}
_DUE = dict(zip(_EDITS, (4, 6, 8, 10, 12, 14, 16, 18), strict=True))
