"""New articles that must not come to be: without sources, badly named, with more than they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.gate_corpus.cases import Case, Expected, Night
from benchmarks.gate_corpus.legitimate import creation, pages
from benchmarks.gate_corpus.vaults import vaults
from pipeline.markdown import Kind, parse
from pipeline.records import Draft

_REFUSED = Expected.REFUSED

_NAMES = {
    "a path": (
        "../outside",
        "a/b",
        "a\\b",
        "/etc/passwd",
        "..",
        ".",
        "x/../../y",
        "C:\\x",
        "~/x/y",
    ),
    "a reserved name": ("con", "NUL", "com1", "aux.md", "LPT9", "prn.x"),
    "not portable": (
        "a:b",
        "a#b",
        "a|b",
        "a[b]",
        "a^b",
        "a*b",
        "a?b",
        'a"b',
        "a<b",
        "a\nb",
        "a\0b",
    ),
    "hidden or trailing": (
        ".hidden",
        "dot.",
        "space ",
        " space",
        "",
        "tab\t",
        "a\u202eb",
        "a\u200bb",
    ),
    "not composed": ("e\u0301tude", "Ko\u0308ln"),
    "too long": ("x" * 300, "长" * 90),
}


def creations() -> Iterator[Case]:
    """All of them."""
    for vault, stem, _ in pages():
        yield from _damaged(creation(vault, stem, title=f"About {stem}"))
    yield from _named()


def _damaged(made: Night) -> Iterator[Case]:
    text = made.after
    head = parse(text).frontmatter
    number = sum(map(ord, made.stem)) % 3
    for index, (kind, name, after) in enumerate(_texts(made, text, head)):
        # every article gets a third of them, so that each is tried in every vault
        if after != text and index % 3 == number:
            yield made.case(kind, name, _REFUSED, after)


def _texts(made: Night, text: str, head: str) -> Iterator[tuple[str, str, str]]:
    bare = "a new article without sources"
    yield bare, "no marks and no references", re.sub(r"\[\^\d+\](?!:)", "", text).split("## Ref")[0]
    yield bare, "no marks", re.sub(r"\[\^\d+\](?!:)", "", text)
    yield bare, "no references", text.split("## References")[0]
    yield bare, "one mark lost", re.sub(r"\[\^\d+\](?!:)", "", text, count=1)
    yield bare, "only a lead", f"{head}# {made.draft.title}\n\nIt is a fine thing.\n"
    yield bare, "nothing but a title", f"{head}# {made.draft.title}\n"
    more = "a new article with more than it says"
    yield more, "a paragraph", text.replace("\n## ", "\nIt is a fine thing.\n\n## ", 1)
    yield more, "a section", text.replace("\n## ", "\n## Outlook\n\nMore will come.\n\n## ", 1)
    yield more, "a key", text.replace("tags: []", "tags: []\ncssclasses: wide", 1)
    yield more, "a second frontmatter", f"{head}---\npublish: true\n---\n{text[len(head) :]}"
    yield more, "a list", text.replace("\n## ", "\n- one\n- two\n\n## ", 1)
    yield more, "a See also", text.replace("\n## Ref", "\n## See also\n\n- [[x]]\n\n## Ref", 1)
    yield (
        more,
        "another's name as alias",
        text.replace("aliases: []", f"aliases: [{_other(made)}]", 1),
    )
    yield more, "a tag that publishes", text.replace("tags: []", "tags: [publish]", 1)
    yield more, "a farewell", f"{text}\nI hope this helps!\n"
    titled = "a new article under another title"
    title = made.draft.title
    yield titled, "heading", text.replace(f"# {title}\n", "# Another\n", 1)
    yield titled, "frontmatter", re.sub(r"^title: .*$", "title: Another", text, count=1, flags=re.M)
    yield titled, "two headings", text.replace(f"# {title}\n", f"# {title}\n\n# Another\n", 1)
    yield titled, "no heading", text.replace(f"# {title}\n", "", 1)
    yield titled, "no frontmatter", text[len(head) :]
    yield titled, "no date", re.sub(r"^created: .*\n", "", text, count=1, flags=re.M)
    yield (
        titled,
        "two dates",
        re.sub(r"^created: .*$", "created: 1999-01-01", text, count=1, flags=re.M),
    )
    yield titled, "no such date", re.sub(r"2026-11-29$", "2026-13-45", text, count=2, flags=re.M)
    false = "a new article that says otherwise than its draft"
    first = next(b for b in parse(text).blocks if b.kind is Kind.PARAGRAPH)
    yield false, "lead cut", text[: first.start] + "It.[^1]\n" + text[first.end :]
    yield false, "lead lost", text[: first.start] + text[first.end :].lstrip("\n")
    yield false, "lead doubled", text[: first.end] + "\n" + first.raw + text[first.end :]
    yield false, "marks renumbered", text.replace("[^1]", "[^2]", 1)
    yield false, "only half", text[: len(text) // 2]
    yield false, "fenced", f"```markdown\n{text}```\n"
    yield false, "empty", " \n"
    yield false, "a made-up hash", re.sub(r"conv:\w+", "conv:deadbeef", text, count=1)
    yield false, "sections lost", text.split("\n## ")[0] + "\n## " + text.split("\n## ")[-1]
    yield false, "a template", text.replace("# About", "<% tp.x %>\n# About", 1)
    yield false, "a query", f"{text}\n```dataview\nLIST\n```\n"
    yield false, "a remote image", f"{text}\n![x](https://a.example/x.png)\n"


def _other(made: Night) -> str:
    return next(name for name in made.vault.pages if name != made.stem)


def _named() -> Iterator[Case]:
    vault = vaults()[0]
    made = creation(vault, "Session store", title="A new thing")
    for sort, names in _NAMES.items():
        for name in names:
            yield _under(made, name, f"an article's name: {sort}")
    for name in (
        "session STORE",
        "Session store",
        "BUILD PIPELINE",
        "note Syntax",
        "Build pipeline",
    ):
        yield _under(made, name, "an article's name: taken, but for its case")
    tongues = vaults()[-1]
    made = creation(tongues, "Fahrradwerkstatt", title="Neu")
    yield _under(made, "FAHRRADWERKSTATT", "an article's name: taken, but for its case")
    yield _under(
        made, "图书室の移転"[:0] + "図書室の移転", "an article's name: taken, but for its case"
    )
    for vault, stem, before in list(pages())[:3]:
        gone = creation(vault, stem, title="Gone")
        draft: Draft = replace(gone.draft, article="Gone", base_hash="0" * 64)
        night = Night(vault, "Gone", before, before, draft, gone.context)
        yield night.case("an article that is not there changed", stem, _REFUSED)


def _under(made: Night, name: str, kind: str) -> Case:
    case = made.case(kind, repr(name[:40]), _REFUSED)
    return replace(case, draft=replace(made.draft, article=name))
