"""What of an agent's tool calls is worth keeping, told by rules; no model is asked.

Reading, searching and noise give nothing. An edit gives one observation a file, a failure its first
telling line, a plan or an answer of the user a decision.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.project import commanding, todo
from pipeline.project.linear import keys
from pipeline.project.noticed import (
    EDIT,
    LINE,
    LOOK,
    MOST,
    TASK,
    TODO,
    Noticed,
    bounded,
    short,
    text,
    whole,
)
from pipeline.project.vocabulary import Clean

EDITED = ("Edited ", "Created ", "Configuration in ", "Dependencies in ")
RENAMED = "Renamed in "
_LONGEST_PATH = 4096  # characters; there are no files of longer names
_TASK = re.compile(r"#(\d{1,9})\b")
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
# of an edit; the rest may be whole files
_OF_EDIT = ("file_path", "notebook_path", "replace_all", "old_string", "new_string")


def notice(tool: str, given: Mapping[str, Any], answer: Any, clean: Clean) -> Noticed | None:
    """What a tool call shows. tool: its name. given: its input. answer: what it gave back.

    What is told stands in texts that were cleaned before: a line out of a private span no longer
    shows that it is private, and half of a secret no longer shows what it is.
    """
    name = tool.lower()
    found = _noticed(name, given, answer)
    if found is None:
        return None
    if name not in _EDITS:
        return _noticed(name, bounded(given, clean), bounded(answer, clean))
    named = {key: given[key] for key in _OF_EDIT if key in given}
    told = answer if isinstance(answer, Mapping) else {}
    kept = {key: told[key] for key in ("filePath", "type") if key in told}
    again = _edit(name, bounded(named, clean), bounded(kept, clean))
    return again and again._replace(subtitle=found.subtitle)  # numbers of lines


def failure(tool: str, given: Mapping[str, Any], error: Any, clean: Clean) -> Noticed | None:
    """What a tool call shows that failed. error: what the agent was told of it."""
    command, told = text(given.get("command")), text(error)
    if tool.lower() != "bash" or commanding.failure(command[:LOOK], told[:LOOK]) is None:
        return None
    return commanding.failure(bounded(command, clean), bounded(told, clean))


def _noticed(name: str, given: Mapping[str, Any], answer: Any) -> Noticed | None:
    if name in _EDITS:
        return _edit(name, given, answer)
    if name == "bash":
        return commanding.success(text(given.get("command"))[:LOOK], answer)
    if name == "todowrite":
        return _todo(given.get("todos"))
    if name in ("taskcreate", "taskupdate"):
        return _task(given, answer)
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
        count = text(given.get("content")).count("\n") + 1
        return Noticed("feature", f"Created {path}", f"lines 1-{count}", files=(path,), group=EDIT)
    if _CONFIG.search(path):
        return Noticed("change", f"Configuration in {path}", subtitle, files=(path,), group=EDIT)
    if given.get("replace_all") is True:
        old, new = (text(given.get(key)).strip() for key in ("old_string", "new_string"))
        if old and new and "\n" not in old + new:
            told_of = f"{short(old, 60)} → {short(new, 60)}"
            return Noticed("refactor", f"{RENAMED}{path}: {told_of}", subtitle, files=(path,))
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


# ------------------------------------------------------------------ plans and decisions


def _todo(todos: Any) -> Noticed | None:
    items = [
        todo.item(short(text(one.get("content")), LINE), one.get("status"))
        for one in (todos[:MOST] if isinstance(todos, list) else ())
        if isinstance(one, Mapping) and text(one.get("content")).strip()
    ]
    return Noticed("change", *todo.told(items), group=TODO) if items else None


def _task(given: Mapping[str, Any], answer: Any) -> Noticed | None:
    """A task that is put on the list, or another state of one that is there."""
    made = answer.get("task") if isinstance(answer, Mapping) else None
    known = given.get("taskId") or (made.get("id") if isinstance(made, Mapping) else "")
    if not known and (found := _TASK.search(text(answer)[:400])):
        known = found[1]
    if not isinstance(known, str | int) or not re.fullmatch(r"\d{1,9}", str(known)):
        return None
    subject = short(text(given.get("subject")), LINE)
    if not subject and not given.get("status"):
        return None
    one = todo.item(subject, given.get("status"), str(known))
    return Noticed("change", f"{todo.TITLE}task {known}", content=one.line, group=TASK)


def _plan(given: Mapping[str, Any], answer: Any) -> Noticed | None:
    told = answer if isinstance(answer, Mapping) else {}
    plan = text(given.get("plan")) or text(told.get("plan"))
    if not plan.strip() or (isinstance(answer, str) and "rejected" in answer[:200]):
        return None
    first = next(line for line in plan.splitlines() if line.strip())
    title = first.lstrip("# ").removeprefix("Plan:").strip()
    return Noticed("decision", f"Plan: {short(title, LINE)}", content=whole(plan, LOOK))


def _answers(answer: Any) -> Noticed | None:
    given = answer.get("answers") if isinstance(answer, Mapping) else None
    pairs = [
        f"{short(str(question), LINE)} → {short(str(chosen), LINE)}"
        for question, chosen in (given.items() if isinstance(given, Mapping) else ())
    ]
    return Noticed("decision", pairs[0], content="\n".join(pairs[1:])) if pairs else None


def _linear(given: Mapping[str, Any], answer: Any) -> Noticed | None:
    told = (one for one in (*given.values(), text(answer)) if isinstance(one, str))
    found: Sequence[str] = keys(" ".join(told))
    if not found:
        return None
    state = next((given[key] for key in ("state", "status", "stateId") if text(given.get(key))), "")
    what = f"is now {state}" if state else f"changed: {', '.join(sorted(given))}"
    return Noticed("linear_sync", f"{found[0]} {short(what, LINE)}", issue=found[0])
