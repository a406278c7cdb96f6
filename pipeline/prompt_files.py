"""The files of the prompts: `prompts/<stage>/<name>.md`, read and checked.

A prompt file is YAML front matter, then parts, each under a heading of its own line:

    ---
    max_tokens: 24          # decoded at most; left out where the answer is a choice
    temperature: 0.0
    regex: "…"              # or `schema: claims.schema.json`, a file beside it; or neither
    options: [yes, no]      # of a choice, where they are always the same
    rules: [Chunking.md]    # the pages of Meta/ whose lists fill $rules
    cut:                    # what is shortened when a prompt is too long, the least useful first
      tone: start           # what goes first: the start, the end, or the end of each line
      transcript: end
    ---
    ## system
    ## example user         # any number of pairs: example user, example assistant
    ## example assistant
    ## user

`$name` in a part is a place for a value, `$$` a dollar sign.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pipeline import ordinary
from pipeline.errors import ConfigFault
from pipeline.models import Grammar
from pipeline.shortening import Way

RULES = "rules"  # the place of what the user wants heeded: instructions, which are never cut
_KEYS = ("max_tokens", "temperature", "regex", "schema", "options", RULES, "cut")
_SYSTEM, _USER = "system", "user"
_EXAMPLE_USER, _EXAMPLE_ASSISTANT = "example user", "example assistant"
_PARTS = (_SYSTEM, _EXAMPLE_USER, _EXAMPLE_ASSISTANT, _USER)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt file, checked.

    name: "<stage>/<file stem>", the `purpose` of the calls made with it.
    max_tokens: 0 for a choice. grammar: None where the reply is free or a choice.
    options: the answers of a choice that always has the same ones, else empty.
    digest: 12 hex of the sha256 over the file and its schema: a changed prompt has a new one.
    cut: the places whose values are shortened when it is too long, the least useful first, and what
    of each goes first. pages: those of Meta/ whose lists fill the place of the rules.
    origin: the file. raw: all that stands in it.
    """

    name: str
    max_tokens: int
    temperature: float
    grammar: Grammar | None
    options: tuple[str, ...]
    digest: str
    system: str
    examples: tuple[tuple[str, str], ...]
    user: str
    cut: tuple[tuple[str, Way], ...]
    pages: tuple[str, ...]
    origin: str
    raw: str

    def places(self) -> frozenset[str]:
        """The names of the places in all parts."""
        pairs = (text for pair in self.examples for text in pair)
        texts = (self.system, *pairs, self.user)
        return frozenset(name for text in texts for name in Template(text).get_identifiers())


def each(
    folder: Traversable, override: Path | None = None
) -> Iterator[tuple[str, Prompt | ConfigFault]]:
    """Every prompt by its name, or what is wrong with its file; files that replace none first.

    Raises ConfigFault when there are no shipped ones.
    """
    files = dict(_prompt_files(folder))
    if not files:
        raise ConfigFault(
            f"no prompts under {folder}", mend="Install the package again; its data is missing."
        )
    own = dict(_prompt_files(override)) if override is not None and override.is_dir() else {}
    for name in sorted(own.keys() - files.keys()):
        yield (
            name,
            ConfigFault(
                f"{own[name]} replaces no prompt: there is none named {name}",
                mend=f"Name it after one of {', '.join(sorted(files))}, or take it away.",
            ),
        )
    for name, shipped in sorted(files.items()):
        try:
            prompt = _load(name, shipped, folder)
            yield name, _load(name, own[name], folder, prompt) if name in own else prompt
        except ConfigFault as fault:
            yield name, fault


def _prompt_files(folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    """("<stage>/<stem>", file) of every .md file one folder down."""
    for stage in folder.iterdir():
        if not stage.is_dir():
            continue
        for file in stage.iterdir():
            if file.name.endswith(".md"):
                yield f"{stage.name}/{file.name.removesuffix('.md')}", file


def _load(
    name: str, file: Traversable, shipped: Traversable, replaced: Prompt | None = None
) -> Prompt:
    """The prompt in a file. What one of the user's own does not say of `cut` and `rules` is as in
    the one it replaces: it may be older than these.
    """
    raw = _read(file)
    head, body = _split(raw, file)
    settings = _settings(head, file)
    schema = ""
    if "schema" in settings:
        schema = _schema(name, str(settings["schema"]), file, shipped)
    parts = _parts(body, file)
    prompt = Prompt(
        name=name,
        max_tokens=_max_tokens(settings, file),
        temperature=_temperature(settings, file),
        grammar=_grammar(settings, schema),
        options=_options(settings, file),
        digest=hashlib.sha256(f"{raw}\0{schema}".encode()).hexdigest()[:12],
        system=parts.system,
        examples=parts.examples,
        user=parts.user,
        cut=(),
        pages=_pages(settings, file) if RULES in settings or not replaced else replaced.pages,
        origin=str(file),
        raw=raw,
    )
    if prompt.grammar is not None and prompt.max_tokens == 0:
        raise ConfigFault(f"{file} has a grammar but no max_tokens", mend="Give it max_tokens.")
    places, before = prompt.places(), replaced.places() if replaced else frozenset()
    cut = replaced.cut if replaced else ()
    if "cut" in settings:
        cut = _cut(settings, places | before, file)
    return replace(prompt, cut=tuple(pair for pair in cut if pair[0] in places))


def _read(file: Traversable) -> str:
    try:
        raw = ordinary.content(file) if isinstance(file, Path) else file.read_bytes()
        return raw.decode("utf-8").replace("\r\n", "\n").removeprefix("\ufeff")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigFault(f"{file} cannot be read: {error}", mend="Save it as UTF-8.") from error


def _split(raw: str, file: Traversable) -> tuple[str, str]:
    """Front matter and the rest."""
    if raw.startswith("---\n"):
        head, mark, body = raw[4:].partition("\n---\n")
        if mark:
            return head, body
    raise ConfigFault(
        f"{file} has no front matter", mend="Begin it with a line ---, settings, a line ---."
    )


def _settings(head: str, file: Traversable) -> dict[str, object]:
    try:
        settings = YAML(typ="safe", pure=True).load(head)
    except (YAMLError, ValueError) as error:  # the latter for a date that is in no calendar
        raise ConfigFault(f"{file} has front matter that is no YAML: {error}") from error
    settings = {} if settings is None else settings
    if not isinstance(settings, dict):
        raise ConfigFault(f"{file} has front matter that is no list of settings")
    for key in settings:
        if key not in _KEYS:
            raise ConfigFault(
                f"{file} has an unknown setting {key!r}", mend=f"Known: {', '.join(_KEYS)}."
            )
    if "regex" in settings and "schema" in settings:
        raise ConfigFault(f"{file} has both a regex and a schema", mend="Keep one of them.")
    return settings


def _max_tokens(settings: Mapping[str, object], file: Traversable) -> int:
    value = settings.get("max_tokens", 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigFault(f"{file}: max_tokens is {value!r}", mend="It is a whole number from 0.")
    return value


def _temperature(settings: Mapping[str, object], file: Traversable) -> float:
    value = settings.get("temperature", 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2:
        raise ConfigFault(f"{file}: temperature is {value!r}", mend="It is a number from 0 to 2.")
    return float(value)


def _options(settings: Mapping[str, object], file: Traversable) -> tuple[str, ...]:
    value = settings.get("options", [])
    if (
        not isinstance(value, list)
        or not all(isinstance(option, str) and option for option in value)
        or len(set(value)) < len(value)
    ):
        raise ConfigFault(f"{file}: options are {value!r}", mend="List distinct words, quoted.")
    return tuple(value)


def _pages(settings: Mapping[str, object], file: Traversable) -> tuple[str, ...]:
    value = settings.get(RULES, [])
    if not isinstance(value, list) or not all(isinstance(page, str) and page for page in value):
        raise ConfigFault(f"{file}: rules are {value!r}", mend="List pages of Meta/, quoted.")
    return tuple(value)


def _cut(
    settings: Mapping[str, object], places: frozenset[str], file: Traversable
) -> tuple[tuple[str, Way], ...]:
    value = settings.get("cut", {})
    ways = ", ".join(Way)
    if not isinstance(value, dict) or not all(way in tuple(Way) for way in value.values()):
        raise ConfigFault(f"{file}: cut is {value!r}", mend=f"Give each place one of {ways}.")
    for place in value:
        if place not in places or place == RULES:
            raise ConfigFault(
                f"{file}: cut names {place!r}, which is no place that may be shortened",
                mend=f"Name some of {', '.join(sorted(places - {RULES})) or 'none'}.",
            )
    return tuple((place, Way(way)) for place, way in value.items())


def _grammar(settings: Mapping[str, object], schema: str) -> Grammar | None:
    if schema:
        return Grammar("json", schema)
    if "regex" in settings:
        return Grammar("regex", str(settings["regex"]))
    return None


def _schema(name: str, schema: str, file: Traversable, shipped: Traversable) -> str:
    """The schema beside the file; beside the shipped prompt where an override brings none."""
    stage = name.partition("/")[0]
    home = Path(file).parent if isinstance(file, Path) else shipped / stage
    found = next((at / schema for at in (home, shipped / stage) if (at / schema).is_file()), None)
    if found is None or "/" in schema:
        raise ConfigFault(f"{file} names the schema {schema}, which is not beside it")
    text = _read(found)
    try:
        return json.dumps(json.loads(text), separators=(",", ":"))
    except ValueError as error:
        raise ConfigFault(f"{found} is no JSON: {error}") from error


@dataclass(frozen=True, slots=True)
class _Body:
    system: str
    examples: tuple[tuple[str, str], ...]
    user: str


def _parts(body: str, file: Traversable) -> _Body:
    found: list[tuple[str, list[str]]] = []
    for line in body.split("\n"):
        heading = line.removeprefix("## ").strip() if line.startswith("## ") else ""
        if heading in _PARTS:
            found.append((heading, []))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise ConfigFault(f"{file} has text before its first part: {line.strip()[:40]!r}")
    order = [heading for heading, _ in found]
    pairs = (len(order) - 2) // 2
    if order != [_SYSTEM, *[_EXAMPLE_USER, _EXAMPLE_ASSISTANT] * pairs, _USER]:
        raise ConfigFault(
            f"{file} has the parts {', '.join(order) or '(none)'}",
            mend="Order: system, pairs of example user and example assistant, user.",
        )
    texts = ["\n".join(lines).strip() for _, lines in found]
    for heading, text in zip(order, texts, strict=True):
        if not Template(text).is_valid():
            raise ConfigFault(
                f"{file} has a stray dollar sign in its part {heading!r}",
                mend="A place is $name; a dollar sign is $$.",
            )
    return _Body(texts[0], tuple(zip(texts[1:-1:2], texts[2:-1:2], strict=True)), texts[-1])
