"""A real `mlx_lm.server` on loopback, with the smallest model, in good and in bad weather."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from pipeline.models import Ask, Grammar
from pipeline.models.address import address
from pipeline.models.check import check_served
from pipeline.models.mlx import MlxModel
from pipeline.models.openai_api import ServedModel
from pipeline.models.server import Server
from pipeline.records import Call
from tests.support_night import NIGHT, make_vault, write_session
from tests.support_server import Fault, forward, serving

# in one process: the server is started once
pytestmark = [pytest.mark.model, pytest.mark.xdist_group("server")]

SYSTEM = "You are a terse assistant that answers in one sentence."
PROMPTS = ("What is the capital of France?", "Name a colour.", "Why is the sky blue?")
# the program with the library that computes fast on this machine, if it is there
START = (
    "from pipeline.models import blas; blas.load();"
    "import sys; sys.argv[0] = 'mlx_lm.server';"
    "from mlx_lm.server import main; main()"
)


@pytest.fixture(scope="module")
def port(smollm: MlxModel, models_dir: Path) -> Iterator[int]:
    """Where it listens; stopped after the last test."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    arguments = ["--model", str(models_dir / "smollm2-135m"), "--host", "127.0.0.1"]
    server = subprocess.Popen(
        [sys.executable, "-c", START, *arguments, "--port", str(number)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    try:
        for _ in range(600):
            assert server.poll() is None, "the server ended by itself"
            try:
                with urlopen(f"http://127.0.0.1:{number}/health", timeout=5):
                    break
            except (URLError, OSError):
                time.sleep(0.2)
        yield number
    finally:
        server.terminate()
        server.wait(timeout=30)


def served(url: str, calls: list[Call] | None = None) -> ServedModel:
    """The model of a server at `url`; its own name for it is what it was started with."""
    server = Server(address(url, remote=False, keyed=False), "", seconds=120, pause=0.0)
    account = (calls if calls is not None else []).append
    return ServedModel("openai:default_model", "default_model", server, account=account)


def test_it_says_what_the_model_says_here(port: int, smollm: MlxModel) -> None:
    """Greedy text and token counts are those of the same weights in this process."""
    asks = [Ask(SYSTEM, prompt) for prompt in PROMPTS]
    calls: list[Call] = []
    model = served(f"http://127.0.0.1:{port}/v1", calls)
    there = model.write(asks, stage="s", purpose="p", max_tokens=24)
    here = smollm.write(asks, stage="s", purpose="p", max_tokens=24)
    assert [reply.text for reply in there] == [reply.text for reply in here]
    assert [reply.finish for reply in there] == [reply.finish for reply in here]
    assert [call.prompt_tokens for call in calls] == [reply.prompt_tokens for reply in here]
    assert all(model.count(ask.prompt) >= smollm.count(ask.prompt) for ask in asks)


def test_it_chooses_what_the_model_chooses_here(port: int, smollm: MlxModel) -> None:
    """By listed tokens, where examples show the options, as all prompts that are shipped do."""
    options = ("sport", "cooking", "weather")
    examples = (("Stir the soup.", "cooking"), ("They ran a mile.", "sport"), ("Hail.", "weather"))
    asks = [
        Ask("You sort sentences by topic.", prompt, examples, options)
        for prompt in ("The goalkeeper saved a penalty.", "It snows and the wind blows.")
    ]
    model = served(f"http://127.0.0.1:{port}/v1")
    there = model.choose(asks, stage="s", purpose="p")
    here = smollm.choose(asks, stage="s", purpose="p")
    assert model.without == frozenset()
    # ten tokens are listed and others are not, so that the probabilities are not the same
    assert [choice.best for choice in there] == [choice.best for choice in here]
    assert [choice.best for choice in here] == ["sport", "weather"]


def test_bad_weather_changes_no_text(port: int) -> None:
    """Every passing fault once, in the way to the real server."""
    asks = [Ask(SYSTEM, prompt) for prompt in PROMPTS]
    faults = [
        Fault("status", 429, headers={"Retry-After": "0"}),
        Fault("status", 500),
        Fault("cut"),
        Fault("garbage"),
        Fault("reset"),
    ]
    plain = served(f"http://127.0.0.1:{port}/v1")
    straight = plain.write(asks, stage="s", purpose="p", max_tokens=12)
    # one at a time: which of several requests meets a fault, or all of them, is chance
    for fault in faults:
        with serving(forward("127.0.0.1", port), [fault]) as place:
            texts = [
                reply.text
                for reply in served(place.url).write(asks, stage="s", purpose="p", max_tokens=12)
            ]
        assert texts == [reply.text for reply in straight]
        assert len(place.asked) == len(asks) + 1


def test_a_form_is_kept_though_the_server_binds_nothing(port: int) -> None:
    """Whatever comes back has the form, or was cut, which callers know how to take."""
    grammar = Grammar("regex", r"[^\n]{1,400}")
    model = served(f"http://127.0.0.1:{port}/v1")
    (reply,) = model.write(
        [Ask(SYSTEM, PROMPTS[1])], stage="s", purpose="p", max_tokens=60, grammar=grammar
    )
    assert reply.finish == "stop" and "\n" not in reply.text


def test_the_check_names_what_the_server_can_do(port: int) -> None:
    """It chooses by likely tokens; and this small a model, bound by nothing, gives no JSON."""
    findings = check_served(served(f"http://127.0.0.1:{port}/v1"))
    found = {finding.what: finding.result for finding in findings}
    assert found["chooses"] == "by likely tokens"
    assert "tokens a second" in found["speed"] and "has not the form" in found["fault"]
    assert findings[-1] == ("verdict", "not usable: fault", False)


def test_a_night_on_a_server(port: int, home: Path) -> None:
    """The command, whole: a conversation is read and worked on, and what it cost is kept."""
    said = [
        ("user", "The Orchard pump runs for 12 minutes at dawn."),
        ("assistant", "The Orchard pump is set to 12 minutes."),
    ]
    write_session(home, "claude-code", "3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f6a00", NIGHT, said)
    make_vault()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pipeline",
            "synthesize",
            "--model",
            "openai:default_model",
            "--json",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
        env={
            **os.environ,
            "MEMORY_EMBEDDER": "none",
            "MEMORY_SINCE_DAYS": "all",
            "MEMORY_SERVER__URL": f"http://127.0.0.1:{port}/v1",
        },
    )
    assert done.returncode in (0, 9), done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["model"] == "openai:default_model"
    assert told["counts"]["messages"] == 2 and told["spent"]["calls"] > 0
