"""A model in a process of its own: killed, hung, broken, recycled, and gone with its run."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Timer

import psutil
import pytest

from pipeline import assemble
from pipeline.config import load_config
from pipeline.errors import ModelDied, ModelFault, OutOfMemory
from pipeline.models import Ask
from pipeline.models.child import ChildModel
from pipeline.models.mlx import MlxModel
from pipeline.records import Call
from tests.support_child import BROKEN, CHATTY, DIES, DIES_ONCE, HANGS, POOR, SLOW, Moody

ROOT = Path(__file__).parents[1]
Made = Callable[..., ChildModel]


def processes() -> list[psutil.Process]:
    """The model's processes that this one has started, those that nobody waited for included."""
    return [
        child
        for child in psutil.Process().children()
        if child.status() == psutil.STATUS_ZOMBIE or "pipeline.models.worker" in child.cmdline()
    ]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    """Makes a moody model; at the end none of its processes may be left."""
    models: list[ChildModel] = []

    def make(**more: object) -> ChildModel:
        settings = {"account": lambda call: None, "batch": 8, "silence": 60.0, **more}
        models.append(ChildModel("moody", partial(Moody, tmp_path), **settings))  # type: ignore[arg-type]
        return models[-1]

    yield make
    for model in models:
        model.close()
    assert processes() == []


def say(model: ChildModel, *prompts: str) -> list[tuple[int, int]]:
    """What the process and the batch size were for each prompt."""
    asks = [Ask("system", prompt) for prompt in prompts]
    replies = model.write(asks, stage="chunk", purpose="label", max_tokens=9)
    return [(int(process), int(batch)) for process, batch in (r.text.split() for r in replies)]


def test_it_answers_from_another_process(made: Made) -> None:
    """All three calls; what they cost is accounted here; nothing is started before the first."""
    calls: list[Call] = []
    model = made(account=calls.append)
    assert model.name == "moody" and model.write([], stage="s", purpose="p", max_tokens=1) == []
    assert model.choose([], stage="s", purpose="p") == [] and processes() == []
    assert model.count("one two three") == 3
    (choice,) = model.choose([Ask("s", "p", options=("yes", "no"))], stage="s", purpose="p")
    assert choice.best == "yes"
    (one,) = processes()
    assert say(model, "a", "b") == [(one.pid, 8)] * 2 and one.pid != os.getpid()
    assert calls == [Call("chunk", "label", 3, 1, 2, 0.5, "stop")]


def test_killed_once_it_is_asked_again(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    """kill -9 in mid-batch: another process answers the whole batch, with half as many at once."""
    model = made()
    (first, batch), (other, _) = say(model, "fine", DIES_ONCE)
    assert first == other and batch == 4
    assert "was ended by SIGKILL on label" in caplog.text


def test_killed_twice_it_is_given_up(made: Made) -> None:
    """The fault names the process's end and is one job's own; the next request is answered."""
    model = made()
    with pytest.raises(ModelDied, match=r"moody was ended by SIGKILL twice on label"):
        say(model, DIES)
    assert say(model, "fine")[0][1] == 2


def test_many_deaths_in_a_row_end_the_run(made: Made) -> None:
    """When no request gets through, the model is at fault and not the third job that tried it."""
    model = made(batch=1)
    for _ in range(2):
        with pytest.raises(ModelDied):
            say(model, DIES)
    with pytest.raises(ModelFault, match="6 times in a row") as fault:
        say(model, DIES)
    assert not isinstance(fault.value, ModelDied)


def test_one_answer_between_deaths_starts_the_count_again(made: Made) -> None:
    """Jobs that are too much now and then never end a run in which others get through."""
    model = made(batch=1)
    for _ in range(4):
        with pytest.raises(ModelDied):
            say(model, DIES)
        say(model, "fine")


def test_a_hung_model_is_ended(made: Made) -> None:
    """No sign of life for the time allowed: both processes are killed, and the fault says why."""
    model = made(silence=1.5)
    with pytest.raises(ModelDied, match=r"gave no sign of life for 1\.5 s twice"):
        say(model, HANGS)
    assert processes() == []


def test_one_that_does_not_even_listen_is_ended(
    made: Made, caplog: pytest.LogCaptureFixture
) -> None:
    """A stopped process takes no request larger than the system holds for it: no endless wait."""
    model = made(silence=5.0)
    assert model.count("warm") == 1
    (child,) = processes()
    child.suspend()
    rescue = Timer(40, child.kill)  # else this test itself might never end
    rescue.start()
    ((other, batch),) = say(model, "word " * 500_000)
    rescue.cancel()
    assert other != child.pid and batch == 4
    assert "gave no sign of life for 5 s on label" in caplog.text


def test_a_large_request_and_reply_cross_over(made: Made) -> None:
    """Larger than any buffer between the two, in both directions."""
    long = "a" * 5_000_000
    (choice,) = made().choose([Ask("s", long, options=(long, "b"))], stage="s", purpose="p")
    assert choice.best == long


def test_a_slow_model_is_left_at_work(made: Made) -> None:
    """What takes longer than the time allowed, but goes on step by step, is waited for."""
    model = made(silence=3.0)
    started = time.monotonic()
    ((_, batch),) = say(model, SLOW)
    assert time.monotonic() - started > 3.0 and batch == 8


def test_faults_cross_over(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    """With kind, words and cure; what nobody foresaw with its name; logs too; it goes on."""
    model = made()
    with pytest.raises(OutOfMemory, match="One request is too much") as fault:
        say(model, POOR)
    assert fault.value.mend == "Take less."
    with caplog.at_level(logging.WARNING), pytest.raises(RuntimeError, match="KeyError: 'what'"):
        say(model, BROKEN)
    assert ("moody", logging.WARNING, "about to break") in caplog.record_tuples
    (one,) = processes()
    assert say(model, "fine") == [(one.pid, 8)]


def test_what_libraries_say_harms_nothing(made: Made, capfd: pytest.CaptureFixture[str]) -> None:
    """Not on the standard output, which may be JSON; a broken line of a log fails no job."""
    model = made()
    assert say(model, CHATTY)[0][1] == 8
    said, _ = capfd.readouterr()
    assert said == ""


def test_it_makes_way_for_a_new_process(made: Made) -> None:
    """Once it has lived its time, between two calls; the new one computes as many side by side."""
    model = made(lifetime=0.0)
    (first,), (second,) = say(model, "a"), say(model, "b")
    assert first[0] != second[0] and first[1] == second[1] == 8
    assert [child.pid for child in processes()] == [second[0]]


def test_a_call_left_by_an_exception_leaves_no_answer_behind(made: Made) -> None:
    """What came back for a call that its caller left is never taken for the next one's answer."""

    def full(call: Call) -> None:
        raise LookupError("no room for it")

    model = made(account=full)
    with pytest.raises(LookupError):
        say(model, "a")
    assert model.count("one two") == 2


def test_it_does_not_outlive_its_run(tmp_path: Path) -> None:
    """A run that is killed with -9 while the model computes: its process ends by itself."""
    program = (
        "import sys; from functools import partial; from pathlib import Path;"
        "from pipeline.models import Ask; from pipeline.models.child import ChildModel;"
        "from tests.support_child import Moody, HANGS;"
        f"m = ChildModel('m', partial(Moody, Path({str(tmp_path)!r})), account=print, batch=8,"
        " silence=600);"
        "m.write([Ask('s', HANGS)], stage='s', purpose='p', max_tokens=1)"
    )
    run = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    told = tmp_path / "asked"
    while not (told.is_file() and told.read_text().endswith("\n")):
        assert run.poll() is None
        time.sleep(0.05)
    child = psutil.Process(int(told.read_text().split()[0]))
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    child.wait(timeout=10)  # raises if it is still there


def test_a_run_stopped_as_it_starts_its_model_prints_nothing() -> None:
    """The process finds nobody at the other end, and leaves no traceback in the terminal."""
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        ended = subprocess.run(
            [sys.executable, "-m", "pipeline.models.worker", str(theirs.fileno())],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
            capture_output=True,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_the_users_folder_is_no_place_to_import_from(made: Made, tmp_path: Path) -> None:
    """A folder `pipeline` where the command is called is somebody's project, never run."""
    trap = tmp_path / "here" / "pipeline"
    trap.mkdir(parents=True)
    (trap / "__init__.py").write_text("raise SystemExit('taken from the wrong place')")
    before = Path.cwd()
    os.chdir(trap.parent)
    try:
        assert made().count("one two") == 2
    finally:
        os.chdir(before)


@pytest.mark.model
def test_a_real_model_killed_in_mid_batch(
    home: Path, smollm: MlxModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill -9 while 135M weights write: the texts are those of a model that was left alone."""
    monkeypatch.setenv("MEMORY_EMBEDDER", "none")
    config = load_config(model="smollm2-135m", batch=4)
    model = assemble.real_models(config).model(lambda call: None)
    asks = [Ask("You are terse.", f"Tell me about {thing}.") for thing in ("rain", "snow", "ice")]
    assert model.count("warm") > 0  # loaded by now
    (child,) = processes()
    Timer(0.5, lambda: os.kill(child.pid, signal.SIGKILL)).start()
    try:
        told = model.write(asks, stage="chunk", purpose="p", max_tokens=60)
        (other,) = processes()
        assert other.pid != child.pid, "it had written all before it was killed"
    finally:
        model.close()
    alone = smollm.write(asks, stage="chunk", purpose="p", max_tokens=60)
    assert [reply.text for reply in told] == [reply.text for reply in alone]
    assert processes() == []
