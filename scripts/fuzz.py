"""Feed each parser damaged and invented transcripts for a while: it may refuse them, never crash.

    python scripts/fuzz.py [--seconds 60]
    python scripts/fuzz.py --again PARSER INPUT     what a crash printed, once more

Each parser is fed in a process of its own, all of them side by side; the seconds are the
processor's, so that two cores are done with five parsers after two and a half times as many. What
is made: lines of true transcripts, some of them torn, doubled, swapped or glued, records with
fields of wrong types, and any bytes at all. What must hold: only a SourceFault is raised, what is
said is text that can be stored, and reading on from the offset a parser gives neither crashes nor
gives what the whole file does not.
"""

from __future__ import annotations

import argparse
import base64
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pipeline.errors import SourceFault
from pipeline.sources import Source
from pipeline.sources.chatgpt import ChatGpt
from pipeline.sources.claude_ai import ClaudeAi
from pipeline.sources.claude_code import ClaudeCode
from pipeline.sources.codex import Codex
from pipeline.sources.pi import Pi

FIXTURES = Path(__file__).parents[1] / "fixtures" / "sources"
ROUND = 100  # examples between two looks at the clock

TEXT = st.text(max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
WHEN = st.sampled_from(["2025-03-04T09:00:00.000Z", "2025-03-04T09:01:00+02:00", "never", ""])


def odd(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The value as a rule, and now and then something of another type."""
    return st.one_of(value, value, value, value, JSON)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A JSON object with these fields; each may be odd or missing."""
    return st.fixed_dictionaries({}, optional={name: odd(value) for name, value in fields.items()})


BLOCK_TYPES = ["text", "tool_use", "toolCall", "tool_result", "thinking", "image"]
CLAUDE_TYPES = ["user", "assistant", "system", "attachment", "queue-operation", "summary"]
CODEX_TYPES = ["message", "user_message", "agent_message", "item_completed", "function_call"]
BLOCKS = st.lists(
    record(
        type=st.sampled_from([*BLOCK_TYPES, "input_text", "output_text"]),
        text=TEXT,
        name=TEXT,
        input=JSON,
        arguments=JSON,
    ),
    max_size=3,
)  # fmt: skip
CONTENT = TEXT | BLOCKS
ROLE = st.sampled_from(["user", "assistant", "toolResult", "system", "human"])
MESSAGE = record(role=ROLE, content=CONTENT, id=TEXT, model=TEXT, timestamp=st.integers())
PI = record(
    type=st.sampled_from(["session", "message", "session_info", "compaction"]),
    id=TEXT, parentId=TEXT, timestamp=WHEN, cwd=TEXT, name=TEXT, parentSession=TEXT,
    message=MESSAGE,
)  # fmt: skip
CLAUDE = record(
    type=st.sampled_from([*CLAUDE_TYPES, "ai-title", "progress"]),
    uuid=TEXT, sessionId=TEXT, timestamp=WHEN, cwd=TEXT, message=MESSAGE, isMeta=st.booleans(),
    operation=st.sampled_from(["enqueue", "dequeue", "remove", "popAll"]), content=CONTENT,
    attachment=record(type=st.just("queued_command"), prompt=CONTENT), summary=TEXT, leafUuid=TEXT,
)  # fmt: skip
CODEX = record(
    type=st.sampled_from(["session_meta", "turn_context", "response_item", "event_msg"]),
    timestamp=WHEN,
    payload=record(
        type=st.sampled_from(CODEX_TYPES),
        id=TEXT, role=ROLE, content=CONTENT, message=TEXT, cwd=TEXT, name=TEXT, turn_id=TEXT,
        arguments=TEXT, source=JSON, forked_from_id=TEXT,
        item=record(type=st.just("UserMessage"), content=CONTENT),
    ),
)  # fmt: skip
CODEX_FIRST = record(
    session=record(id=TEXT, timestamp=WHEN),
    items=st.lists(
        record(type=st.sampled_from(CODEX_TYPES), role=ROLE, content=CONTENT, name=TEXT), max_size=3
    ),
)
CLAUDE_AI = record(
    uuid=TEXT, name=TEXT,
    chat_messages=st.lists(
        record(uuid=TEXT, sender=ROLE, text=TEXT, content=CONTENT, created_at=WHEN), max_size=4
    ),
)  # fmt: skip
NODE = record(
    id=TEXT, parent=st.sampled_from(["a", "b", "c", None]),
    message=record(
        author=record(role=ROLE), create_time=st.floats() | st.none(), recipient=TEXT,
        metadata=JSON,
        content=record(content_type=TEXT, parts=st.lists(TEXT | JSON, max_size=2), text=TEXT),
    ),
)  # fmt: skip
CHATGPT = record(
    id=TEXT, title=TEXT, current_node=st.sampled_from(["a", "b", "c"]),
    mapping=st.dictionaries(st.sampled_from(["a", "b", "c"]), NODE, max_size=3),
)  # fmt: skip


def true_lines(name: str) -> st.SearchStrategy[str]:
    """Lines of the hand-made transcripts of this source, of all of them in any order; some torn."""
    files = sorted((FIXTURES / name).rglob("*.jsonl"))
    texts = [path.read_text("utf-8", errors="replace") for path in files]
    lines = st.sampled_from([line for text in texts for line in text.split("\n")])
    return lines | lines | st.builds(lambda line, end: line[:end], lines, st.integers(0, 300))


@st.composite
def transcripts(draw: st.DrawFn, name: str, records: st.SearchStrategy[Any]) -> bytes:
    """JSON Lines as they are left behind by crashes, editors and full disks."""
    lines = draw(st.lists(true_lines(name) | records.map(json.dumps), max_size=8))
    ends = st.sampled_from(["\n", "\n", "\n", "\r\n", "", "\n\n"])
    data = "".join(line + draw(ends) for line in lines).encode("utf-8", "surrogatepass")
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=4)) + data[at + draw(st.integers(0, 9)) :]
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + data


@st.composite
def exports(draw: st.DrawFn, name: str, records: st.SearchStrategy[Any]) -> bytes:
    """A list of conversations, or one of them, whole or torn."""
    true = json.loads((FIXTURES / name / "conversations.json").read_text("utf-8"))
    items = draw(st.lists(records | JSON | st.sampled_from(true), max_size=4))
    data = json.dumps(items if draw(st.booleans()) else items[:1]).encode()
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


PARSERS: dict[str, tuple[Callable[[list[Path]], Source], st.SearchStrategy[bytes], str]] = {
    "pi": (Pi, transcripts("pi", PI) | st.binary(max_size=200), "a.jsonl"),
    "claude-code": (
        ClaudeCode,
        transcripts("claude-code", CLAUDE) | st.binary(max_size=200),
        "a.jsonl",
    ),
    "codex": (
        Codex,
        transcripts("codex", CODEX | CODEX_FIRST) | st.binary(max_size=200),
        "rollout-a.jsonl",
    ),
    "claude-ai": (
        ClaudeAi,
        exports("claude-ai", CLAUDE_AI) | st.binary(max_size=200),
        "conversations.json",
    ),
    "chatgpt": (
        ChatGpt,
        exports("chatgpt", CHATGPT) | st.binary(max_size=200),
        "conversations.json",
    ),
}


def main() -> None:
    """Feed every parser; the exit code is 1 if one of them crashed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--seconds", type=float, default=60.0, help="of processor time, for each"
    )
    arguments.add_argument("--again", nargs=2, metavar=("PARSER", "INPUT"), help="one input alone")
    given = arguments.parse_args()
    if given.again:
        name, packed = given.again
        again(name, base64.b64decode(packed))
        return
    with multiprocessing.get_context("spawn").Pool(len(PARSERS)) as pool:
        runs = [pool.apply_async(feed, (name, given.seconds)) for name in PARSERS]
        told = [run.get() for run in runs]
    for name, examples, fault in told:
        print(f"{name:<12} {examples:>8} inputs  {fault or 'ok'}")
    sys.exit(any(fault for _, _, fault in told))


def again(name: str, data: bytes) -> None:
    """Feed the parser this one input; what it raises goes through."""
    make, _, file = PARSERS[name]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / file
        path.write_bytes(data)
        _must_hold(make([Path(place)]), path)


def feed(name: str, seconds: float) -> tuple[str, int, str]:
    """Feed the parser for so long: its name, how many inputs, and what crashed it, "" if nothing
    did: the smallest such input that was found, and how to repeat it."""
    make, inputs, file = PARSERS[name]
    fed = 0
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / file
        source = make([Path(place)])

        @settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(inputs)
        def one_round(data: bytes) -> None:
            nonlocal fed
            fed += 1
            path.write_bytes(data)
            _must_hold(source, path)

        end = time.process_time() + seconds
        try:
            one_round()
            while time.process_time() < end:
                one_round()
        except Exception as error:
            data = path.read_bytes()  # the smallest, which comes last
            repeat = f"python scripts/fuzz.py --again {name} {base64.b64encode(data).decode()}"
            return name, fed, f"{type(error).__name__}: {error}\n  on {data!r}\n  again: {repeat}"
    return name, fed, ""


def _must_hold(source: Source, path: Path) -> None:
    try:
        sessions = list(source.read(path))
    except SourceFault as fault:
        assert str(path) in str(fault)
        return
    for session in sessions:
        assert isinstance(session.session_id, str)
        texts = [utterance.text for utterance in session.utterances]
        assert all(isinstance(text, str) for text in texts)
        assert 0 <= session.read_offset <= path.stat().st_size
        if session.read_offset:
            (rest,) = source.read(path, session.read_offset)
            whole = [(u.role, u.text) for u in session.utterances]
            assert all((u.role, u.text) in whole for u in rest.utterances)


if __name__ == "__main__":
    main()
