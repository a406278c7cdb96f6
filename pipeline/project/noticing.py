"""What of an agent's tool calls is worth keeping, told by rules; no model is asked.

Reading, searching and noise give nothing. An edit gives one observation a file, a failure its first
telling line, a plan or an answer of the user a decision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.project.linear import keys
from pipeline.project.resume import ERROR

EDIT, TODO = "edit", "todo"
TODO_TITLE = "To do: "
_LINE = 200  # characters of a line of output
_LOOK = 20_000  # characters of an output, at either end
_LONGEST_PATH = 4096  # characters; there are no files of longer names
_ITEMS = 100  # of a list of to-dos
_COMMAND = 120  # characters of a command in a title
_EDITS = frozenset({"edit", "multiedit", "write", "notebookedit"})
_CONFIG = re.compile(
    r"(?:^|/)(?:\.[\w.-]*rc(?:\.\w+)?|\.env[\w.]*|\.editorconfig|\.gitignore|Dockerfile[\w.]*|"
    r"Makefile|[\w.-]*\.(?:toml|ya?ml|ini|cfg|conf|plist|properties))$"
)
_DEPENDENCIES = re.compile(
    r"(?:^|/)(?:requirements[\w.-]*\.txt|package(?:-lock)?\.json|pnpm-lock\.yaml|yarn\.lock|"
    r"Cargo\.(?:toml|lock)|go\.(?:mod|sum)|Gemfile(?:\.lock)?|Pipfile(?:\.lock)?|poetry\.lock|"
    r"uv\.lock|pom\.xml|build\.gradle(?:\.kts)?|mix\.exs|composer\.json|Package\.swift)$"
)
_TESTS = re.compile(
    r"(?:^|[\s;&|(/])(?:pytest|tox|nox|jest|vitest|rspec|ctest|phpunit|unittest|"
    r"(?:npm|pnpm|yarn|bun|go|cargo|make|mix|swift|mise run|dotnet|gradle|mvn) (?:run )?tests?)\b"
)
_FAILED = re.compile(
    r"^.*\b(?:[1-9]\d* (?:failed|failing|errors?)|FAILED|FAIL:|--- FAIL|Tests failed|"
    r"test result: FAILED)\b.*$",
    re.MULTILINE,
)
_ERROR = re.compile(
    r"^(?:E {1,4})?(?:(?:[\w.]+\.)?\w*(?:Error|Exception)\b(?::| \[).*|panic: .*|fatal: .*|"
    r"error(?:\[\w+\])?: .*|npm ERR! .*|.*: command not found)$",
    re.MULTILINE,
)
_COMMIT = re.compile(
    r"\bgit\b[^\n;&|]{0,80}?\bcommit\b[^\n]*?(?:-\w*m|--message)[ =]?"
    r"(?:\"\$\(cat <<-?\s*['\"]?EOF['\"]?\s*\n(?P<here>[^\n]+)|\"(?P<double>[^\"\n]+)|"
    r"'(?P<single>[^'\n]+))"
)
# What only shows what is there, errors of other days among it: our own answers first of all.
_SHOWS = re.compile(
    r"(?:cd [^;&|\n]+(?:&&|;)\s*)?(?:\S*/)?(?:anvil-memory|memory|cat|head|tail|less|more|bat|grep|"
    r"egrep|rg|ag|ack|sed -n|awk|jq|find|ls|wc|diff|echo|history|gh|"
    r"git (?:--no-pager )?(?:log|show|diff|blame|grep|status))\b[^;&\n]*"
)
_INSTALL = re.compile(
    r"(?:^|[;&|]\s*)((?:sudo )?(?:(?:uv )?pip3? install|uv add|poetry add|npm (?:install|i|add)|"
    r"(?:pnpm|yarn|bun) add|cargo add|go get|brew install|apt(?:-get)? install|gem install|"
    r"mix deps\.get) [^\n;&|]+)"
)
_KINDS = {"fix": "bugfix", "feat": "feature", "refactor": "refactor", "perf": "refactor"}
_KIND = re.compile(r"(\w+)(?:\([^)]*\))?!?: ")


class Noticed(NamedTuple):
    """An observation that a rule makes. group: EDIT or TODO, which are one as long as they go on.

    tests: whether a run of tests passed, None for anything else; one that passed is worth keeping
    only after one that did not.
    """

    type: str
    title: str
    subtitle: str = ""
    content: str = ""
    files: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    issue: str = ""
    group: str = ""
    tests: bool | None = None


def notice(tool: str, given: Mapping[str, Any], answer: Any) -> Noticed | None:
    """What a tool call shows. tool: its name. given: its input. answer: what it gave back."""
    name = tool.lower()
    if name in _EDITS:
        return _edit(name, given, answer)
    if name == "bash":
        return _command(_text(given.get("command"))[:_LOOK], answer)
    if name == "todowrite":
        return _todo(given.get("todos"))
    if name == "exitplanmode":
        return _plan(given, answer)
    if name == "askuserquestion":
        return _answers(answer)
    if "linear" in name and any(word in name for word in ("update", "create", "save")):
        return _linear(given, answer)
    return None


# ------------------------------------------------------------------ files


def _edit(name: str, given: Mapping[str, Any], answer: Any) -> Noticed | None:
    told = answer if isinstance(answer, Mapping) else {}
    if isinstance(answer, str) and answer and "rror" in answer[:200]:
        return None  # it was refused
    path = next(
        (
            value
            for value in (given.get("file_path"), given.get("notebook_path"), told.get("filePath"))
            if isinstance(value, str) and value
        ),
        "",
    )
    if not path or len(path) > _LONGEST_PATH:
        return None
    lines = _lines(told.get("structuredPatch"))
    subtitle = f"lines {', '.join(lines)}" if lines else ""
    if _DEPENDENCIES.search(path):
        return Noticed("change", f"Dependencies in {path}", subtitle, files=(path,), group=EDIT)
    if name == "write" and told.get("type") == "create":
        count = _text(given.get("content")).count("\n") + 1
        return Noticed("feature", f"Created {path}", f"lines 1-{count}", files=(path,), group=EDIT)
    if _CONFIG.search(path):
        return Noticed("change", f"Configuration in {path}", subtitle, files=(path,), group=EDIT)
    if given.get("replace_all") is True:
        old, new = (_text(given.get(key)).strip() for key in ("old_string", "new_string"))
        if old and new and "\n" not in old + new:
            told_of = f"{_short(old, 60)} → {_short(new, 60)}"
            return Noticed("refactor", f"Renamed in {path}: {told_of}", subtitle, files=(path,))
    return Noticed("change", f"Edited {path}", subtitle, files=(path,), group=EDIT)


def _lines(patch: Any) -> list[str]:
    """The changed lines as they stand now, from the hunks of a patch."""
    found = []
    for hunk in patch if isinstance(patch, list) else ():
        start, count = (
            (hunk.get("newStart"), hunk.get("newLines")) if isinstance(hunk, Mapping) else (0, 0)
        )
        if isinstance(start, int) and isinstance(count, int) and start > 0:
            found.append(f"{start}-{start + max(count, 1) - 1}")
    return found


# ------------------------------------------------------------------ commands


def _command(command: str, answer: Any) -> Noticed | None:
    if _SHOWS.fullmatch(command.strip()):
        return None
    output = _output(answer)
    short = _short(command, _COMMAND)
    failure = _FAILED.search(output)
    error = next(iter(_errors(output)), "")
    if _TESTS.search(command):
        if failure or error:
            told = error or _short(failure[0] if failure else "", _LINE)
            return Noticed(
                "discovery", f"{ERROR}tests fail: {told}", short,
                content=_telling(output), concepts=("gotcha",), tests=False,
            )  # fmt: skip
        return Noticed(
            "bugfix", f"Tests pass again: {short}", concepts=("problem-solution",), tests=True
        )
    if commit := _COMMIT.search(command):
        subject = next(text for text in commit.groups() if text).strip()
        kind = _KIND.match(subject)
        issues = keys(subject)
        return Noticed(
            _KINDS.get(kind[1].lower(), "change") if kind else "change",
            f"Committed: {_short(subject, _LINE)}",
            concepts=("what-changed",),
            issue=issues[0] if issues else "",
        )
    if error:
        return Noticed(
            "discovery", f"{ERROR}{error}", short, content=_telling(output), concepts=("gotcha",)
        )
    if install := _INSTALL.search(command):
        return Noticed("change", f"Dependency: {_short(install[1], _COMMAND)}")
    return None


def _output(answer: Any) -> str:
    """What a command printed, errors first; of a long output both ends."""
    if isinstance(answer, Mapping):
        parts = [_text(answer.get(key)) for key in ("stderr", "stdout", "output", "content")]
    else:
        parts = [_text(answer)]
    text = "\n".join(part for part in parts if part)
    return text if len(text) <= 2 * _LOOK else f"{text[:_LOOK]}\n{text[-_LOOK:]}"


def _errors(output: str) -> Iterator[str]:
    for match in _ERROR.finditer(output):
        yield _short(match[0].removeprefix("E").strip(), _LINE)


def _telling(output: str) -> str:
    """The lines of an output that tell of failures."""
    lines = [_short(match[0], _LINE) for match in _FAILED.finditer(output)]
    return "\n".join(dict.fromkeys([*_errors(output), *lines][:10]))


# ------------------------------------------------------------------ plans and decisions


def _todo(todos: Any) -> Noticed | None:
    items = [
        (_short(_text(one.get("content")), _LINE), one.get("status"))
        for one in (todos[:_ITEMS] if isinstance(todos, list) else ())
        if isinstance(one, Mapping) and _text(one.get("content")).strip()
    ]
    if not items:
        return None
    done = sum(status == "completed" for _, status in items)
    now = [text for text, status in items if status == "in_progress"]
    left = [text for text, status in items if status not in ("in_progress", "completed")]
    boxes = {"completed": "[x]", "in_progress": "[>]"}
    return Noticed(
        "change",
        TODO_TITLE + next(iter([*now, *left]), "all done"),
        f"{done} of {len(items)} done",
        content="\n".join(f"{boxes.get(str(status), '[ ]')} {text}" for text, status in items),
        group=TODO,
    )


def _plan(given: Mapping[str, Any], answer: Any) -> Noticed | None:
    told = answer if isinstance(answer, Mapping) else {}
    plan = _text(given.get("plan")) or _text(told.get("plan"))
    if not plan.strip() or (isinstance(answer, str) and "rejected" in answer[:200]):
        return None
    first = next(line for line in plan.splitlines() if line.strip())
    title = first.lstrip("# ").removeprefix("Plan:").strip()
    return Noticed("decision", f"Plan: {_short(title, _LINE)}", content=plan[:_LOOK])


def _answers(answer: Any) -> Noticed | None:
    given = answer.get("answers") if isinstance(answer, Mapping) else None
    pairs = [
        f"{_short(str(question), _LINE)} → {_short(str(chosen), _LINE)}"
        for question, chosen in (given.items() if isinstance(given, Mapping) else ())
    ]
    return Noticed("decision", pairs[0], content="\n".join(pairs[1:])) if pairs else None


def _linear(given: Mapping[str, Any], answer: Any) -> Noticed | None:
    texts = [text for text in (*given.values(), _text(answer)) if isinstance(text, str)]
    found: Sequence[str] = keys(" ".join(texts))
    if not found:
        return None
    state = next(
        (given[key] for key in ("state", "status", "stateId") if _text(given.get(key))), ""
    )
    what = f"is now {state}" if state else f"changed: {', '.join(sorted(given))}"
    return Noticed("linear_sync", f"{found[0]} {_short(what, _LINE)}", issue=found[0])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _short(text: str, most: int) -> str:
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
