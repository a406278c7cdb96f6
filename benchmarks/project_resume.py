"""How much of the state of the work an agent still knows after its context was compacted.

    python benchmarks/project_resume.py [--transcripts FOLDER] [--json FILE]

Sessions are fed through the hooks up to a compaction; then the injected context is asked for the
current task, the next step, files with their lines, the last decision and error, the issue and the
branch. Constructed sessions know their own truth; of recorded ones (Claude Code's transcripts) the
truth is read from the records by other rules than the hooks have. A probe is answered when the
context, of 2,000 tokens at most, holds the expected words.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.project_sessions import WRITTEN
from pipeline import hook
from pipeline.project.cleaning import cleaner
from pipeline.project.place import find
from pipeline.project.store import ProjectStore
from pipeline.project.vocabulary import BUDGET, tokens

SAMPLES = Path(__file__).parents[2] / "shared" / "data" / "transcripts" / "claude-code"
CONSTRUCTED = 30
Probe = tuple[str, list[str]]  # what is asked, words that must all be there

_PLACE = re.compile(r"([\w./-]+):(\d+)-(\d+)")
_BRANCH = re.compile(r"[\w./-]+")
_THINGS = "parser cache queue worker index session table importer ledger router scheduler".split()  # noqa: SIM905
_ERRORS = (
    (
        "python run.py",
        "Traceback (most recent call last):\n  File x\nKeyError: '{}'",
        "KeyError: '{}'",
    ),
    ("pytest -q", "E   AssertionError: {} is empty\n1 failed, 3 passed", "{} is empty"),
    ("cargo build", "error[E0425]: cannot find value `{}` in this scope", "cannot find value `{}`"),
    ("npm test", "TypeError: {} is not a function\nTests failed", "{} is not a function"),
    ("go build ./...", "panic: {} was nil", "{} was nil"),
)


def main() -> None:
    """Print the share of probes answered, in all and by what was asked."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--transcripts", type=Path, default=SAMPLES)
    arguments.add_argument("--json", type=Path, help="write the figures to this file too")
    given = arguments.parse_args()
    figures: dict[str, object] = {}
    constructed = [_constructed(seed) for seed in range(CONSTRUCTED)]
    recorded = [one for path in _transcripts(given.transcripts) if (one := _recorded(path))]
    for name, sessions in (
        ("constructed", constructed),
        ("written", [(one.events, one.probes, one.branch) for one in WRITTEN]),
        ("recorded", recorded),
    ):
        asked, answered, largest = Counter[str](), Counter[str](), 0
        for events, probes, branch in sessions:
            text = _after_compaction(events, branch)
            largest = max(largest, tokens(text))
            for what, words in probes:
                asked[what] += 1
                found = all(_holds(text, word) for word in words)
                answered[what] += found
                if not found:
                    print(f"  {name}, {what}: not found {words}")
        total = asked.total()
        figures |= {
            f"{name}: sessions": len(sessions),
            f"{name}: probes": total,
            f"{name}: answered": round(answered.total() / total, 3) if total else None,
            f"{name}: tokens at most": largest,
            **{f"{name}: {what}": f"{answered[what]}/{asked[what]}" for what in sorted(asked)},
        }
    for row, value in figures.items():
        print(f"{row:36} {value}")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


def _holds(text: str, word: str) -> bool:
    """Whether the context has the word; PATH:FIRST-LAST is the file with a range around it."""
    if not (asked := _PLACE.fullmatch(word)):
        return word in text
    told = re.search(rf"`{re.escape(asked[1])}` \(lines ([\d, -]+)\)", text)
    ranges = re.findall(r"(\d+)-(\d+)", told[1]) if told else []
    first, last = int(asked[2]), int(asked[3])
    return any(int(a) <= first and last <= int(b) for a, b in ranges)


# ------------------------------------------------------------------ through the hooks


def _after_compaction(events: list[tuple[str, dict[str, Any]]], branch: str) -> str:
    """The context that the session gets, after these events and a compaction."""
    with tempfile.TemporaryDirectory(prefix="resume-") as place:
        folder = Path(place).resolve() / "garden"
        folder.mkdir()
        environ = {
            "ANVIL_MEMORY_DB": f"{folder}/.anvil/memory.db",
            "XDG_CACHE_HOME": place,
            "XDG_DATA_HOME": place,
            "XDG_CONFIG_HOME": place,
        }
        subprocess.run(["git", "init", "-q", "-b", branch or "main"], cwd=folder, check=True)
        database = find(folder, environ, Path(place)).database
        ProjectStore(database, cleaner({}), make=True).close()
        answer = None
        for event, fields in [
            ("SessionStart", {"source": "startup"}),
            *events,
            ("PreCompact", {"trigger": "auto"}),
            ("SessionStart", {"source": "compact"}),
        ]:
            payload = {"session_id": "agent-1", "cwd": str(folder), **fields}
            text = json.dumps(payload).replace("@FOLDER@", str(folder))
            answer = hook.run([event], io.BytesIO(text.encode()), environ, Path(place))
        told = (answer or {}).get("hookSpecificOutput", {}).get("additionalContext", "")
        assert tokens(told) <= BUDGET + 40  # the tags
        return str(told)


def _tool(name: str, given: dict[str, Any], answer: Any) -> tuple[str, dict[str, Any]]:
    return ("PostToolUse", {"tool_name": name, "tool_input": given, "tool_response": answer})


# ------------------------------------------------------------------ constructed sessions


def _constructed(seed: int) -> tuple[list[tuple[str, dict[str, Any]]], list[Probe], str]:
    """A session of 40 to 160 events, its probes, and its branch."""
    chance = random.Random(seed)
    key = f"OPS-{chance.randrange(1, 900)}"
    on_branch = chance.random() < 0.5
    branch = f"amina/{key.lower()}-the-{chance.choice(_THINGS)}" if on_branch else "main"
    goal = f"Make the {chance.choice(_THINGS)} of {chance.choice(_THINGS)} {seed} reliable"
    prompt = goal if on_branch else f"{goal}, see {key}."
    events: list[tuple[str, dict[str, Any]]] = [("UserPromptSubmit", {"prompt": prompt})]
    steps = [f"Step {n}: change the {chance.choice(_THINGS)} {seed}.{n}" for n in range(8)]
    decision = error = ""
    lines: dict[str, tuple[int, int]] = {}
    for at in range(chance.randrange(40, 160)):
        roll = chance.random()
        if at == 0 or roll < 0.15:
            done = min(at // 20, 6)
            states = ["completed"] * done + ["in_progress"] + ["pending"] * (7 - done)
            todos = [{"content": s, "status": t} for s, t in zip(steps, states, strict=True)]
            events.append(_tool("TodoWrite", {"todos": todos}, {}))
            task, following = steps[done], steps[done + 1]
        elif roll < 0.55:
            path = f"src/{chance.choice(_THINGS)}_{chance.randrange(6)}.py"
            start, count = chance.randrange(1, 900), chance.randrange(1, 30)
            lines.pop(path, None)
            lines[path] = (start, start + count - 1)
            events.append(
                _tool(
                    "Edit",
                    {"file_path": f"@FOLDER@/{path}", "old_string": "a", "new_string": "b"},
                    {"structuredPatch": [{"newStart": start, "newLines": count}]},
                )
            )
        elif roll < 0.7:
            thing = f"{chance.choice(_THINGS)}_{at}"
            command, output, expected = chance.choice(_ERRORS)
            error = expected.format(thing)
            events.append(_tool("Bash", {"command": command}, {"stdout": output.format(thing)}))
        elif roll < 0.8:
            decision = f"Keep the {chance.choice(_THINGS)} {seed}.{at} as it is"
            if chance.random() < 0.5:
                events.append(_tool("ExitPlanMode", {"plan": f"# {decision}\n\nMore"}, "approved"))
            else:
                events.append(_tool("AskUserQuestion", {}, {"answers": {"Which way?": decision}}))
        elif roll < 0.85:
            events.append(
                ("UserPromptSubmit", {"prompt": f"Go on with {at}. " + "And so on. " * 90})
            )
        else:
            events.append(_tool("Read", {"file_path": "a"}, {"file": {"content": "x" * 500}}))
    probes: list[Probe] = [
        ("task", [task]), ("next step", [following]), ("issue", [key]), ("branch", [branch]),
        *(("files with lines", [f"{path}:{lines[path][0]}-{lines[path][1]}"])
          for path in list(lines)[-2:]),
    ]  # fmt: skip
    probes += [("last decision", [decision])] if decision else []
    probes += [("last error", [error])] if error else []
    return events, probes, branch


# ------------------------------------------------------------------ recorded sessions


def _transcripts(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.jsonl")):
        if "agent-" not in path.name:
            yield path


def _recorded(path: Path) -> tuple[list[tuple[str, dict[str, Any]]], list[Probe], str] | None:
    """A recorded session as events, with what its records say; None if hardly anything is in it."""
    events: list[tuple[str, dict[str, Any]]] = []
    called: dict[str, tuple[str, dict[str, Any]]] = {}
    prompt = task = following = branch = decision = error = ""
    edited: list[str] = []
    for entry in _entries(path):
        branch = entry.get("gitBranch") or branch
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if entry.get("isSidechain") or entry.get("isMeta"):
            continue
        if (
            entry.get("type") == "user"
            and isinstance(content, str)
            and content[:1] not in ("", "<")
        ):
            prompt = content
            events.append(("UserPromptSubmit", {"prompt": content}))
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                called[str(block.get("id"))] = (str(block.get("name")), block["input"])
            elif block.get("type") == "tool_result" and str(block.get("tool_use_id")) in called:
                name, given = called[str(block["tool_use_id"])]
                answer = entry.get("toolUseResult")
                if block.get("is_error"):
                    told = _text_of(block.get("content"))
                    given_of = {"tool_name": name, "tool_input": given, "error": told}
                    events.append(("PostToolUseFailure", given_of))
                    error = _telling(told) if name == "Bash" else error
                    continue
                events.append(_tool(name, given, answer))
                if name == "TodoWrite" and isinstance(given.get("todos"), list):
                    states = [(t.get("status"), t.get("content", "")) for t in given["todos"]]
                    task = next((text for state, text in states if state == "in_progress"), "")
                    following = next((text for state, text in states if state == "pending"), "")
                elif name in ("Edit", "Write", "MultiEdit") and isinstance(answer, dict):
                    name_of = Path(str(given.get("file_path"))).name
                    edited = [*(one for one in edited if one != name_of), name_of]
                elif name == "ExitPlanMode" and given.get("plan"):
                    decision = str(given["plan"]).strip().splitlines()[0].lstrip("# ")
    if len(events) < 3:
        return None
    branch = branch if _BRANCH.fullmatch(branch) and branch != "HEAD" else ""
    probes: list[Probe] = [("branch", [branch])] if branch else []
    wanted = task or (" ".join(prompt.split())[:60] if prompt else "")
    probes += [("task", [wanted])] if wanted and "<" not in wanted else []
    probes += [("next step", [following])] if following else []
    probes += [("files", [name]) for name in edited[-3:]]
    probes += [("last error", [error])] if error else []
    probes += [("last decision", [decision.removeprefix("Plan:").strip()])] if decision else []
    return events, probes, branch


def _text_of(content: Any) -> str:
    """A tool's answer as text, as the agent tells it to the hook of a failure."""
    if isinstance(content, list):
        return "\n".join(str(one.get("text", "")) for one in content if isinstance(one, dict))
    return str(content)


def _telling(told: str) -> str:
    """The first line of a command's output in which the word error stands, else fail; its head."""
    if not told.startswith("Exit code"):
        return ""
    lines = [" ".join(line.split()) for line in told.splitlines()[1:]]
    for word in ("error", "fail"):
        if found := next((line for line in lines if word in line.lower()), ""):
            return found[:60]
    return ""


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8", errors="replace").split("\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


if __name__ == "__main__":
    os.environ.pop("ANVIL_MEMORY_DB", None)
    main()
