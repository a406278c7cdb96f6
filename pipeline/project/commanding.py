"""What a command in a shell shows: commits, dependencies, errors, and tests that fail or pass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.project.linear import keys
from pipeline.project.noticed import LINE, LOOK, Noticed, short, text
from pipeline.project.resume import ERROR

_COMMAND = 120  # characters of a command in a title
_REFUSED = re.compile(r"doesn't want to proceed|was rejected|rejected tool use|was denied")
_CODE = re.compile(r"Exit code \d+\s*")
_TESTS = re.compile(
    r"(?:^|[\s;&|(/])(?:pytest|tox|nox|jest|vitest|rspec|ctest|phpunit|unittest|"
    r"(?:npm|pnpm|yarn|bun|go|cargo|make|mix|swift|mise run|dotnet|gradlew?|mvnw?)"
    r"(?: -\S{1,40}){0,4} (?:run )?(?:tests?|verify))\b"
)
_FAILED = re.compile(
    r"^(?:.*\b(?:[1-9]\d{0,6} (?:failed|failing|failures?|errors?)\b|FAILED\b|FAIL: |"
    r"Tests failed\b).*|"
    r"[ \t]{0,40}--- FAIL: .*|FAIL[ \t]+\S.*)$",
    re.MULTILINE,
)
# What compilers, interpreters and tools put before what is wrong, each at the start of a line.
_ERROR = re.compile(
    r"^[ \t│|]{0,8}(?:E {1,4})?(?:"
    r"(?:[\w.]{1,200}\.)?\w{0,80}(?:Error|Exception)\b(?::|\(| \[|: \n).*|"
    r"Exception in thread .*|\*\* \([\w.]{1,100}\) .*|thread '[^'\n]{1,200}' panicked at .*|"
    r"panic: .*|(?:psql:\S{1,200} )?(?:fatal|error|FATAL|ERROR)(?:\[\w+\])?: .*|Error: .*|"
    r"PHP (?:Fatal|Parse) error: .*|Error from server .*|\[ERROR\] \S.*|"
    r"[^\s:(]{1,300}(?::\d{1,7}(?::\d{1,7})?|\(\d{1,7},\d{1,7}\)): (?:fatal )?error\b.*|"
    r"\S{1,300}\.go:\d{1,7}:\d{1,7}: .*|npm (?:ERR!|error) .*|.{1,200}: command not found|"
    r".{1,200}: No such file or directory)$",
    re.MULTILINE,
)
_NAMES_ALONE = re.compile(r"\w{0,80}(?:Error|Exception):?|thread '.*' panicked at .*:")
_COMMIT = re.compile(
    r"\bgit\b[^\n;&|]{0,80}?\bcommit\b[^\n]{0,300}?(?:-\w*m|--message)[ =]?"
    r"(?:\"\$\(cat <<-?\s*['\"]?EOF['\"]?\s*\n(?P<here>[^\n]+)|\"(?P<double>[^\"\n]+)|"
    r"'(?P<single>[^'\n]+))"
)
# What only shows what is there, errors of other days among it: our own answers first of all.
_SHOWS = re.compile(
    r"(?:cd [^;&|\n]+(?:&&|;)\s*)?(?:\S*/)?(?:anvil-memory|memory|cat|head|tail|less|more|bat|grep|"
    r"egrep|rg|ag|ack|sed -n|awk|jq|find|ls|wc|diff|echo|history|gh|journalctl|test|which|"
    r"(?:docker|docker compose|kubectl|podman) logs|"
    r"git (?:--no-pager )?(?:log|show|diff|blame|grep|status))\b[^;&\n]*"
)
_INSTALL = re.compile(
    r"(?:^|[;&|]\s*)((?:sudo )?(?:(?:uv )?pip3? install|uv add|poetry add|npm (?:install|i|add)|"
    r"(?:pnpm|yarn|bun) add|cargo add|go get|brew install|apt(?:-get)? install|gem install|"
    r"mix deps\.get) [^\n;&|]+)"
)
_KINDS = {"fix": "bugfix", "feat": "feature", "refactor": "refactor", "perf": "refactor"}
_KIND = re.compile(r"(\w+)(?:\([^)]*\))?!?: ")


def success(command: str, answer: Any) -> Noticed | None:
    """What a command shows that succeeded, by itself or by what it printed."""
    if _SHOWS.fullmatch(command.strip()):
        return None
    output = _output(answer)
    called = short(command, _COMMAND)
    failed = _FAILED.search(output)
    error = next(iter(_errors(output)), "")
    if _TESTS.search(command):
        if failed or error:
            told = error or short(failed[0] if failed else "", LINE)
            return _error(f"tests fail: {told}", called, _telling(output), tests=False)
        return Noticed(
            "bugfix", f"Tests pass again: {called}", concepts=("problem-solution",), tests=True
        )
    if commit := _COMMIT.search(command):
        subject = next(one for one in commit.groups() if one).strip()
        kind = _KIND.match(subject)
        issues = keys(subject)
        return Noticed(
            _KINDS.get(kind[1].lower(), "change") if kind else "change",
            f"Committed: {short(subject, LINE)}",
            concepts=("what-changed",),
            issue=issues[0] if issues else "",
        )
    if error:
        return _error(error, called, _telling(output))
    if install := _INSTALL.search(command):
        return Noticed("change", f"Dependency: {short(install[1], _COMMAND)}")
    return None


def failure(command: str, error: str) -> Noticed | None:
    """What a command shows that failed. error: what the agent was told of it."""
    if _REFUSED.search(error[:400]) or _SHOWS.fullmatch(command.strip()):
        return None  # it was not run, or what it looked for is not there
    output = _CODE.sub("", error, count=1)
    lines = [line for line in output.splitlines() if line.strip()]
    if not lines:
        return None
    failed = _FAILED.search(output)
    told = next(iter(_errors(output)), "") or short(failed[0] if failed else lines[-1], LINE)
    called, content = short(command, _COMMAND), _telling(output) or told
    if _TESTS.search(command):
        return _error(f"tests fail: {told}", called, content, tests=False)
    return _error(told, called, content)


def _error(told: str, called: str, content: str, *, tests: bool | None = None) -> Noticed:
    return Noticed(
        "discovery", f"{ERROR}{told}", called, content=content, concepts=("gotcha",), tests=tests
    )


def _output(answer: Any) -> str:
    """What a command printed, errors first; of a long output both ends."""
    if isinstance(answer, Mapping):
        parts = [text(answer.get(key)) for key in ("stderr", "stdout", "output", "content")]
    else:
        parts = [text(answer)]
    printed = "\n".join(part for part in parts if part)
    return printed if len(printed) <= 2 * LOOK else f"{printed[:LOOK]}\n{printed[-LOOK:]}"


def _errors(output: str) -> Iterator[str]:
    for match in _ERROR.finditer(output):
        line = match[0].strip(" \t│|").removeprefix("E ").strip()
        if _NAMES_ALONE.fullmatch(line):  # what is wrong stands on the next line
            line = f"{line} {output[match.end() :].lstrip().partition(chr(10))[0]}"
        yield short(line, LINE)


def _telling(output: str) -> str:
    """The lines of an output that tell of failures."""
    lines = [short(match[0], LINE) for match in _FAILED.finditer(output)]
    return "\n".join(dict.fromkeys([*_errors(output), *lines][:10]))
