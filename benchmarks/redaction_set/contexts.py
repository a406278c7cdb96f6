"""The seven places a value is pasted into: prose, code, JSON, env, URL, header, split over lines.

A place gives the text before the value and after it; the split ones also break the value.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.redaction_set.formats import PRIVATE_KEYS, Format, private_key

CONTEXTS = ("prose", "code", "json", "env", "url", "header", "split")


@dataclass(frozen=True, slots=True)
class Case:
    """One text. kind: what is in it. before, after: what must stay, for a text with a secret.

    secret: "" for a decoy, in which nothing may be taken out.
    """

    kind: str
    context: str
    text: str
    secret: str = ""
    before: str = ""
    after: str = ""


Place = Callable[[str, str, random.Random], tuple[str, str]]

_WIDTH = 80
_SAID = (
    "so I was trying to get the staging box to talk to the new service this morning and it "
    "kept refusing, and after a while I noticed what the settings page wants is"
)


def _spoken(name: str) -> str:
    return name.lower().replace("_", " ")


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(part.title() for part in rest)


def _header_name(name: str) -> str:
    return "X-" + name.title().replace("_", "-")


# A place for a value that its shape gives away: nothing around it tells what it is.
PLAIN: dict[str, tuple[str, ...]] = {
    "prose": (
        "I pasted {} into the settings page yesterday.",
        "Yes, it is {}.",
        "The one that works ({}) is on the wiki\nand the other is not.",
    ),
    "code": (
        'client = Client("{}", retries=3)',
        "const x = '{}';",
        "run(`{}`)  # for now",
    ),
    "json": (
        '{{"name": "staging", "value": "{}", "n": 1}}',
        '{{\\"value\\": \\"{}\\", \\"n\\": 1}}',
    ),
    "env": ("VALUE={}\nDEBUG=1", 'export VALUE="{}"\n'),
    "url": (
        "https://api.example.com/v1/items?v={}&limit=10",
        "curl 'https://example.com/{}/items'",
    ),
    "header": ("X-Thing: {}\r\nAccept: */*", "curl -H 'X-Thing: {}' https://example.com"),
}

# A place for a value that only its name gives away: %s is the name, spelt as it is there.
NAMED: dict[str, tuple[tuple[str, Callable[[str], str]], ...]] = {
    "prose": (
        ("my %s is {}, can you test with it?", _spoken),
        ("%s: {}\nthanks", _spoken),
        ("Set %s to {} and restart.", str),
    ),
    "code": (
        ('%s = "{}"\nclient = Client()', str.lower),
        ("const client = new Client({{ %s: '{}', retries: 3 }})", _camel),
        ('os.environ["%s"] = "{}"', str),
    ),
    "json": (
        ('{{"%s": "{}", "n": 1}}', str.lower),
        ('{{\\"%s\\": \\"{}\\", \\"n\\": 1}}', _camel),
    ),
    "env": (("%s={}\nDEBUG=1", str), ('export %s="{}"\n', str), ("%s: {}\nDEBUG: 1", str)),
    "url": (("https://api.example.com/v1/items?%s={}&limit=10", str.lower),),
    "header": (
        ("%s: {}\r\nAccept: */*", _header_name),
        ("curl -H '%s: {}' https://example.com", _header_name),
    ),
}


def templates(name: str, context: str) -> list[str]:
    """The places of a context for a value of that name, as format strings with one field."""
    if not name:
        return list(PLAIN[context])
    return [text.replace("%s", spelt(name)) for text, spelt in NAMED[context]]


def secrets(formats: tuple[Format, ...], rng: random.Random) -> Iterator[Case]:
    """Every format in every context, and private keys in those that a block of lines fits."""
    for format_ in formats:
        for context in CONTEXTS[:-1]:
            for place in templates(format_.name, context):
                yield _case(format_, context, place, rng)
        for cut in (_wrapped, _concatenated, _continued):
            yield cut(format_, rng)
    for label in PRIVATE_KEYS:
        yield from _blocks(label, rng)


def _case(format_: Format, context: str, place: str, rng: random.Random) -> Case:
    before, secret, after = format_.value(rng)
    start, end = place.format("\0").split("\0")
    if context == "url" and "://" in before and "{}" in place:
        start, end = "see ", " for it"  # a URL is no parameter of another
    start, end = start + before, after + end
    return Case(format_.provider, context, start + secret + end, secret, start, end)


def _split(format_: Format, rng: random.Random, lead: str, joint: str, tail: str) -> Case:
    before, secret, after = format_.value(rng)
    # never within the documented prefix: a wrap there is rarer than one in the long rest
    lowest = min(len(secret) // 2, 14)
    at = rng.randint(lowest, max(lowest, len(secret) - 4))
    start, end = lead + before, after + tail
    text = start + secret[:at] + joint + secret[at:] + end
    return Case(format_.provider, "split", text, secret, start, end)


def _wrapped(format_: Format, rng: random.Random) -> Case:
    """A terminal broke the line within the value, and again wherever it is longer than a line."""
    before, secret, after = format_.value(rng)
    told = f"{_spoken(format_.name)}: " if format_.name else ""
    shown = min(len(secret) * 2 // 3, _WIDTH // 2)
    room = _WIDTH - shown - len(told + before) - 1
    start = (f"{_SAID[-room:]} " if room > 0 else "") + told + before
    pieces = [secret[:shown], *re.findall(f".{{1,{_WIDTH}}}", secret[shown:])]
    end = f"{after}\nand then it went on"
    return Case(format_.provider, "split", start + "\n".join(pieces) + end, secret, start, end)


def _concatenated(format_: Format, rng: random.Random) -> Case:
    name = format_.name.lower() or "value"
    if rng.random() < 0.5:
        return _split(format_, rng, f'{name} = "', '" +\n  "', '";\n')
    return _split(format_, rng, f'{name} = (\n    "', '"\n    "', '"\n)')


def _continued(format_: Format, rng: random.Random) -> Case:
    name = format_.name or "VALUE"
    return _split(format_, rng, f"export {name}=", "\\\n", "\necho done")


def _blocks(label: str, rng: random.Random) -> Iterator[Case]:
    places = {
        "prose": ("here it is:\n{}\nthanks", "\n"),
        "code": ('key = """{}"""\nrun(key)', "\n"),
        "json": ('{"key": "{}", "n": 1}', "\\n"),
        "env": ('KEY="{}"\nDEBUG=1', "\\n"),
        "split": ("key: |\n  {}\nnext: 1", "\n  "),
    }
    for context, (place, line_break) in places.items():
        start, end = place.replace("{}", "\0").split("\0")
        secret = private_key(label, rng).replace("\n", line_break)
        yield Case("private-key", context, start + secret + end, secret, start, end)
