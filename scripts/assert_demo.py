"""Look at what `make demo` wrote, from outside: files, git, the archive and the database.

    scripts/assert_demo.py DEMO_DIR

Prints a line per promise and `N passed, N failed` last; exits 1 when one is broken. It shares no
code with the program, so that a fault in the program's own parsing cannot hide.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

MARK = r"\[\^([^\]\s]+)\]"
DEFINITION = re.compile(
    r"^\[\^(?P<mark>\d+)\]: `conv:(?P<conv>[0-9a-f]{8,32})` \((?P<date>\d{4}-\d\d-\d\d), "
    r"(?P<source>[\w-]+), messages? (?P<first>\d+)(?:[-–](?P<last>\d+))?\)",
    re.MULTILINE,
)


def unpacked(data: bytes) -> bytes:
    """The content of a packed file, which was written piece by piece and does not tell its size."""
    with zstandard.ZstdDecompressor().stream_reader(data) as reader:
        return reader.read()


@dataclass(frozen=True)
class Cited:
    """A sentence of an article and the marks that follow it."""

    page: Path
    text: str
    marks: tuple[str, ...]


class Demo:
    """The folder a demo ran in."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.vault = folder / "vault"
        self.store = self.home / ".cache" / "nightly-memory" / "memory.sqlite"
        self.archive = self.home / ".local" / "share" / "nightly-memory" / "archive"
        self.articles = sorted((self.vault / "articles").glob("*.md"))

    def sentences(self) -> Iterator[Cited]:
        """Every cited sentence of every article."""
        for page in self.articles:
            for line in body(page).splitlines():
                # what stands between two groups of marks is one sentence
                for match in re.finditer(rf"(.+?)((?:{MARK})+)", line):
                    text = re.sub(r"^\s*- (\d{4}-\d\d-\d\d: )?", "", match[1]).strip()
                    yield Cited(page, text, tuple(re.findall(MARK, match[2])))

    def conversation(self, conv: str) -> list[dict[str, Any]]:
        """The archived messages of a conversation, in order."""
        (path,) = self.archive.rglob(f"{conv}.jsonl.zst")
        text = unpacked(path.read_bytes()).decode()
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if "text" in line and "role" in line]

    def transcripts(self) -> str:
        """Every string in the fixture transcripts, one after the other."""
        found: list[str] = []
        for path in self.home.rglob("*.jsonl"):
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    found += strings(json.loads(line))
                except ValueError:
                    continue  # a broken line is part of the fixtures
        return "\n".join(found)

    def model_calls(self) -> int:
        """How many times the model was asked, over all runs."""
        with sqlite3.connect(f"file:{self.store}?mode=ro", uri=True) as connection:
            (count,) = connection.execute("SELECT count(*) FROM model_calls").fetchone()
        connection.close()
        return int(count)

    def git(self, *arguments: str) -> str:
        """What git says about the vault."""
        command = ["git", "-C", str(self.vault), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def files(self) -> dict[str, bytes]:
        """Every file of the vault but git's own."""
        return {
            str(path.relative_to(self.vault)): path.read_bytes()
            for path in sorted(self.vault.rglob("*"))
            if path.is_file() and ".git" not in path.relative_to(self.vault).parts
        }


def strings(value: Any) -> Iterator[str]:
    """Every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def body(page: Path) -> str:
    """An article between its frontmatter and its References."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    return text.partition("\n## References\n")[0]


def citations(page: Path) -> dict[str, re.Match[str]]:
    """Mark -> its definition."""
    text = page.read_text(encoding="utf-8").partition("\n## References\n")[2]
    return {match["mark"]: match for match in DEFINITION.finditer(text)}


def plain(text: str) -> str:
    """A sentence without wikilinks, code ticks, emphasis and escapes."""
    text = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", text)
    text = re.sub(r"(?<!\\)[`*]{1,2}", "", text)
    return re.sub(r"\\([^\w\s])", r"\1", text)


def telling(sentence: str, date: str) -> list[str]:
    """What a sentence must have from its evidence: its numbers and its names.

    A date that is the evidence's own date needs no witness; the first word is capitalised anyway.
    """
    text = plain(sentence).replace(date, "")
    numbers = re.findall(r"\d+(?:[.,:]\d+)*", text)
    names = re.findall(r"(?<=[\w,;:)] )[A-Z][\w-]+", text)
    return [*numbers, *names]


# ------------------------------------------------------------------ the promises


def an_article_with_three_cited_sentences(demo: Demo) -> None:
    """At least one article has three or more cited sentences."""
    counts = {page.name: 0 for page in demo.articles}
    for sentence in demo.sentences():
        counts[sentence.page.name] += 1
    assert max(counts.values(), default=0) >= 3, counts


def marks_and_definitions_agree(demo: Demo) -> None:
    """Every mark is defined, every definition used, in every article."""
    for page in demo.articles:
        used = set(re.findall(MARK, body(page)))
        assert used == set(citations(page)), (page.name, used, set(citations(page)))
        assert used, f"{page.name} cites nothing"


def citations_lead_to_the_transcripts(demo: Demo) -> None:
    """Every cited message is in the archive, and what it says stands in a fixture transcript."""
    said = demo.transcripts()
    for page in demo.articles:
        for match in citations(page).values():
            for message in evidence(demo, match):
                for line in str(message["text"]).splitlines():
                    if "[REDACTED:" not in line:
                        assert line.strip() in said, (page.name, line)


def sentences_are_supported(demo: Demo) -> None:
    """The numbers and names of every cited sentence stand in the messages it cites."""
    for sentence in demo.sentences():
        defined = citations(sentence.page)
        cited = [defined[mark] for mark in sentence.marks]
        said = " ".join(str(m["text"]) for match in cited for m in evidence(demo, match)).casefold()
        for match in cited:
            missing = [w for w in telling(sentence.text, match["date"]) if not stands(w, said)]
            assert not missing, (sentence.page.name, sentence.text, missing)


def stands(word: str, said: str) -> bool:
    """Whether the word stands in the text whole: 15 does not witness 5."""
    return re.search(rf"(?<![\w.]){re.escape(word.casefold())}(?!\w)", said) is not None


def evidence(demo: Demo, match: re.Match[str]) -> list[dict[str, Any]]:
    """The messages a definition names; they count from 1 there."""
    messages = demo.conversation(match["conv"])
    first = int(match["first"])
    last = int(match["last"] or first)
    assert 1 <= first <= last <= len(messages), match[0]
    return messages[first - 1 : last]


def the_changelog_tells(demo: Demo) -> None:
    """Meta/Changelog.md has a section that names an article as new."""
    text = (demo.vault / "Meta" / "Changelog.md").read_text(encoding="utf-8")
    assert re.search(r"^## \d{4}-\d\d-\d\d \d\d:\d\d — .*\bnew\b", text, re.MULTILINE), text
    assert re.search(r"^- new \[\[", text, re.MULTILINE), text


def git_is_clean_and_knows_why(demo: Demo) -> None:
    """The vault has no uncommitted change, and each article's commit carries its trailers."""
    assert demo.git("status", "--porcelain") == ""
    for page in demo.articles:
        log = demo.git("log", "--format=%B", "--", f"articles/{page.name}")
        for trailer in ("Run:", "Bucket:", "Chunks:", "Model:"):
            assert f"\n{trailer} " in log, (page.name, trailer, log)


def nothing_secret_stays(demo: Demo) -> None:
    """What the transcripts hide stands in no file, archive, database, log or git object."""
    said = demo.transcripts()
    hidden = re.findall(r"AKIA[0-9A-Z]{16}", said) + re.findall(r"://[^\s:/]+:([^\s@]+)@", said)
    assert len(set(hidden)) == 2, "the fixtures hold a key and a password"
    for span in re.findall(r"<private>(.*?)</private>", said, re.DOTALL):
        hidden += [part.strip() for part in span.splitlines() if part.strip()]
    assert len(set(hidden)) > 2, "the fixtures hold a private span"
    written: dict[str, bytes] = {"git": demo.git("log", "-p", "--all").encode()}
    for path in (*demo.home.rglob("*"), *demo.vault.rglob("*")):
        if path.is_file() and path.suffix != ".jsonl":
            data = path.read_bytes()
            packed = path.suffix == ".zst"
            written[str(path)] = unpacked(data) if packed else data
    for place, data in written.items():
        for secret in hidden:
            assert secret.encode() not in data, f"{place} holds {secret!r}"


def another_night_is_silent(demo: Demo) -> None:
    """A second run says so, asks no model, changes no byte and makes no commit."""
    before = (demo.model_calls(), demo.git("rev-parse", "HEAD"), demo.files())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    models = os.environ.get("MEMORY_MODELS_DIR") or str(cache / "nightly-memory" / "models")
    env = {name: text for name, text in os.environ.items() if not name.startswith(("XDG_", "MEM"))}
    env |= {
        "HOME": str(demo.home),
        "MEMORY_VAULT": str(demo.vault),
        "MEMORY_SINCE_DAYS": "all",
        "MEMORY_MODELS_DIR": models,
        "MEMORY_MODEL": "qwen-0.5b",
    }
    memory = Path(sys.executable).parent / "memory"
    done = subprocess.run(
        [memory, "synthesize"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing new" in done.stdout.lower(), done.stdout
    assert (demo.model_calls(), demo.git("rev-parse", "HEAD"), demo.files()) == before


PROMISES: tuple[Callable[[Demo], None], ...] = (
    an_article_with_three_cited_sentences,
    marks_and_definitions_agree,
    citations_lead_to_the_transcripts,
    sentences_are_supported,
    the_changelog_tells,
    git_is_clean_and_knows_why,
    nothing_secret_stays,
    another_night_is_silent,
)


def main() -> int:
    """Try every promise; 1 when one is broken."""
    demo = Demo(Path(sys.argv[1]).absolute())
    failed = 0
    for promise in PROMISES:
        try:
            promise(demo)
        except (AssertionError, KeyError, OSError, ValueError, subprocess.SubprocessError) as fault:
            failed += 1
            print(f"FAILED {promise.__name__}: {type(fault).__name__}: {fault}")
        else:
            print(f"ok     {promise.__name__}")
    print(f"{len(PROMISES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
