"""What an agent is told at the start: within its budget, the most needed first."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from pipeline.models import fetch
from pipeline.project import place, vocabulary
from pipeline.project.observations import NewObservation
from pipeline.spans import CONTEXT_TAG, without_spans
from pipeline.store import Store
from tests.support_project import Project, git, new_project


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    return new_project(tmp_path / "garden", capsys, monkeypatch)


def _text(project: Project, *flags: str) -> str:
    return str(project.ask("context", *flags)["text"])


def test_an_empty_store_has_nothing_to_say(project: Project) -> None:
    """No heading, no advice: not a token for nothing."""
    assert _text(project) == ""
    assert project.call("context", "--format", "inject")[1] == ""


def test_the_order_is_that_of_need(project: Project) -> None:
    """Where the work stands, what must be kept in mind, what was lately, how to get more."""
    project.observe("Beds are on sand", "--concept", "context-critical")
    project.observe("Peas sown")
    project.ask("checkpoint", "--level", "L2", "--task", "Sow beans", "--summary", "Water them")
    text = _text(project)
    places = [text.index(one) for one in (
        "Where the work stands", "Task: Sow beans", "Next: Water them", "Keep in mind",
        "#1", "Beds are on sand", "Lately", "#2", "Peas sown", "anvil-memory get",
    )]  # fmt: skip
    assert places == sorted(places)
    assert text.count("Beds are on sand") == 1
    assert text.count("Sow beans") == 1


def test_work_that_was_taken_up_elsewhere_is_told_on_request(project: Project) -> None:
    """A later session that did something closes it; --resume tells of it all the same."""
    project.observe("a", "--session", "one")
    project.ask("checkpoint", "--level", "L3", "--task", "Sow beans")
    project.ask("session", "--end")
    assert "Sow beans" in _text(project)
    project.observe("b", "--session", "two")
    project.ask("session", "--end")
    assert "Where the work stands" not in _text(project)
    assert "Task: Sow beans" in _text(project, "--resume")


def test_resume_without_a_checkpoint_tells_of_the_last_session(project: Project) -> None:
    """What was asked, decided and went wrong in it."""
    project.observe("Sow late", "--session", "one", kind="decision")
    store = project.store()
    store.sessions.ask(1, "Plan the spring beds", "garden")
    store.close()
    text = _text(project, "--resume")
    assert "Task: Plan the spring beds" in text
    assert "Last decision: #1" in text and "Sow late" in text


def test_what_is_taken_in_later_is_not_newer(project: Project, tmp_path: Path) -> None:
    """An older export's checkpoints and prompts keep their time, whatever number they get here."""
    project.ask("checkpoint", "--level", "L2", "--task", "Weed", "--session", "one")
    store = project.store()
    store.sessions.ask(1, "Weed now", "garden")
    store.close()
    at = {"created_at": "2000-01-01T00:00:00.000Z"}
    old = tmp_path / "old.json"
    old.write_text(json.dumps({
        "format": "anvil-memory", "version": 1,
        "sessions": [{"id": 1, "claude_session_id": "one", **at}],
        "checkpoints": [{"id": 9, "session_id": 1, "level": "L1", "trigger": "manual",
                         "files_in_progress": [], "current_task": "Sow beans",
                         "handoff_file": "gone.md", **at}],
        "prompts": [{"id": 9, "session_id": 1, "prompt": "Sow beans now", **at}],
    }))  # fmt: skip
    project.ask("import", str(old))
    text = _text(project, "--resume")
    assert "Task: Weed" in text and "Sow beans\n" not in text
    assert "Asked last: Weed now | Sow beans now" in text


def test_the_last_work_is_told_however_much_came_between(project: Project, tmp_path: Path) -> None:
    """Sessions of other worktrees, and those that did nothing, are passed over; so are handoffs."""
    elsewhere = tmp_path / "elsewhere"
    (project.root / "a").write_text("a")
    git(project.root, "add", "a")
    git(project.root, "commit", "-qm", "a")
    git(project.root, "worktree", "add", "-q", str(elsewhere), "-b", "other")
    project.observe("Fence half done", "--session", "one")
    store = project.store()
    here, there = (place.find(folder, {}, tmp_path) for folder in (project.root, elsewhere))
    for number in range(50):
        store.sessions.open(f"empty {number}", here)
        work = store.sessions.open(f"elsewhere {number}", there)
        store.sessions.ask(work, "Mow", "garden")
    store.close()
    assert "Session of" in _text(project, "--resume")
    assert "Mow" not in _text(project, "--resume")
    assert "Asked last" not in _text(project, "--resume")
    project.observe("Paint the fence", "--session", "one", kind="handoff")
    store = project.store()
    for number in range(50):
        store.observations.add(NewObservation("handoff", f"Mow {number}", session_id=work))
    store.close()
    assert "Task: Paint the fence" in _text(project)


def test_a_handoff_file_that_is_gone_is_called_so(project: Project) -> None:
    """Nobody looks for what is not there."""
    handoff = project.root / "HANDOFF.md"
    handoff.write_text("x")
    project.ask("checkpoint", "--level", "L1", "--handoff", "HANDOFF.md")
    assert "Handoff: `HANDOFF.md`\n" in _text(project)
    handoff.unlink()
    assert "`HANDOFF.md` (no longer there)" in _text(project)


def test_a_handoff_is_taken_up_like_a_checkpoint(project: Project) -> None:
    """The newer of the two is told of, until a later session has done something."""
    (project.root / "HANDOFF.md").write_text("x")
    project.ask("checkpoint", "--level", "L1", "--task", "Sow beans", "--session", "one")
    project.observe(
        "Fence half done", "--content", "Paint it next", "--file", "HANDOFF.md", kind="handoff"
    )
    text = _text(project)
    assert "Task: Fence half done" in text and "Next: Paint it next" in text
    assert "Handoff: `HANDOFF.md`\n" in text and "Handoff #2" in text
    assert text.count("Fence half done") == 1
    project.ask("session", "--end")
    project.observe("Fence painted", "--session", "two")
    project.ask("session", "--end")
    assert "Where the work stands" not in _text(project)


def test_filters_choose_what_is_shown(project: Project) -> None:
    """By kind, file, concept and date."""
    project.observe("one", "--file", "beds.py", kind="decision")
    project.observe("two", "--concept", "gotcha")
    assert [row["title"] for row in project.ask("context", "--type", "decision")["recent"]] == [
        "one"
    ]
    assert [row["title"] for row in project.ask("context", "--file", "beds")["recent"]] == ["one"]
    assert "two" in _text(project, "--concept", "gotcha")
    assert "one" not in _text(project, "--concept", "gotcha")
    assert _text(project, "--until", "2001-01-01") == ""
    assert len(project.ask("context", "--limit", "1")["recent"]) == 1


def test_forms(project: Project) -> None:
    """Markdown, the same between tags that ingest leaves out, and JSON."""
    project.observe("one")
    markdown = project.call("context", "--format", "markdown")[1]
    injected = project.call("context", "--format", "inject")[1]
    assert injected == f"<{CONTEXT_TAG}>\n{markdown}</{CONTEXT_TAG}>\n"
    assert without_spans(injected).strip() == ""
    assert json.loads(project.call("context", "--format", "json")[1]) == project.ask("context")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(60, 3000),
    st.lists(st.text(min_size=1, max_size=400).map(lambda text: f"t {text}"), max_size=8),
    st.text(max_size=3000),
)
def test_it_keeps_within_its_budget(
    project: Project, budget: int, titles: list[str], task: str
) -> None:
    """Whatever is in the store: never more tokens than allowed, nor 10,000 characters."""
    for title in titles:
        project.observe(title.replace("\ud800", ""), "--concept", "context-critical")
    project.ask("checkpoint", "--level", "L3", "--task", task, "--summary", task)
    made = project.ask("context", "--budget", str(budget), "--limit", "50")
    assert vocabulary.tokens(made["text"]) <= budget
    assert len(made["text"]) < 9_900


def test_articles_of_the_project_are_named(project: Project, home: Path) -> None:
    """Those its conversations went into, the fullest first; not those of other projects."""
    cache = home / ".cache" / "nightly-memory"
    store = Store(cache / "memory.sqlite")
    store.close()
    database = sqlite3.connect(cache / "memory.sqlite")
    for number, (folder, article) in enumerate(
        [(project.root, "peas"), (project.root, "beds"), (project.root, "beds"),
         ("/other", "fences"), (project.root, "gone")]
    ):  # fmt: skip
        conv = f"c{number}"
        database.execute(
            """INSERT INTO conversations (conv, source, session_id, title, project, started_at,
                   updated_at, content_hash) VALUES (?, 'pi', ?, '', ?, '2026', '2026', '')""",
            (conv, conv, str(folder)),
        )
        database.execute(
            """INSERT INTO chunks (id, conv, ordinal, first, last, label, keep)
               VALUES (?, ?, 0, 0, 0, '', 1)""",
            (conv, conv),
        )
        database.execute(
            "INSERT INTO synthesized_bucket_chunks VALUES (?, ?, 'r', ?, '', 'folded', '2026')",
            (article, conv, article),
        )
    database.commit()
    database.close()
    articles = home / "MemoryVault" / "articles"
    articles.mkdir(parents=True)
    for name in ("peas", "beds", "fences"):
        (articles / f"{name}.md").write_text("x")
    project.observe("one")
    made = project.ask("context")
    assert [one["article"] for one in made["articles"]] == ["beds", "peas"]
    assert f"beds: {articles}/beds.md" in made["text"]
    (cache / "memory.sqlite").write_bytes(b"damaged" * 1000)
    assert project.ask("context")["articles"] == []


@pytest.mark.model
def test_the_estimate_of_tokens_is_on_the_safe_side(models_dir: Path, project: Project) -> None:
    """Never fewer than a current tokenizer counts; of a context not half as many more."""
    folder = fetch.fetch("qwen-0.5b", models_dir, offline=False, progress=lambda *_: None)
    real = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for number in range(5):
        project.observe(
            f"Session table {number} is read in blocks of 64 MB by db/sessions_{number}.sql",
            "--file", f"src/lantern/importer_{number}.py", "--linear", "ENG-12", kind="bugfix",
        )  # fmt: skip
    project.ask(
        "checkpoint", "--level", "L2", "--percent", "87", "--task", "Store the sessions",
        "--files", '[{"path": "src/lantern/importer.py", "lines": "12-48"}]',
    )  # fmt: skip
    ours = Path(vocabulary.__file__).read_text()
    german = "Die Sitzungen werden fünfundvierzig Tage aufbewahrt, danach gelöscht. " * 5
    japanese = "セッションは四十五日間保存され、夜間のジョブが削除します。" * 5
    for text in (_text(project), ours, german, japanese, "01 234 56-7_8 {}[]()/\\" * 20):
        assert len(real.encode(text).ids) <= vocabulary.tokens(text), text
    text = _text(project)
    assert vocabulary.tokens(text) <= 1.5 * len(real.encode(text).ids)
