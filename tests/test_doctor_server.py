"""`memory doctor` asks a configured server whether it is there, and does not wait long for it."""

from __future__ import annotations

import socket

import pytest

from pipeline.config import load_config
from pipeline.doctor import models
from pipeline.doctor.checks import Level, Machine
from pipeline.errors import ModelFault
from tests.support_server import Fault, reply, serving

KEY = "sk-not-a-real-key"


def look(url: str, name: str = "openai:tiny") -> tuple[Level, str]:
    """The verdict on the model; the examination turns a fault into a failure with its words."""
    config = load_config(model=name, server={"url": url, "key_variable": "MODEL_KEY"})
    try:
        verdict = models.model(Machine(config))
    except ModelFault as fault:
        return Level.FAIL, f"{fault} {fault.mend}"
    return verdict.level, verdict.what


def test_a_server_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request, with the key, for the list of its models; nothing is generated."""
    monkeypatch.setenv("MODEL_KEY", KEY)
    with serving(lambda body: reply("x")) as place:
        level, what = look(place.url)
        assert level is Level.OK and "lists it" in what and KEY not in what
        assert "lists 1 models, not this one" in look(place.url, "openai:other")[1]
    assert place.asked == [] and len(place.headers) == 2
    assert place.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_a_server_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not there, not willing, or silent: each is told with the address, in a moment."""
    monkeypatch.setenv("MODEL_KEY", KEY)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    level, what = look(f"http://127.0.0.1:{port}/v1")
    assert level is Level.FAIL and str(port) in what
    with serving(lambda body: reply("x"), [Fault("status", 401, f"bad key {KEY}")]) as place:
        level, what = look(place.url)
        assert level is Level.FAIL and "server.key_variable" in what and KEY not in what
    monkeypatch.setattr(models, "_PATIENCE", 0.3)
    with serving(lambda body: reply("x"), [Fault("hang")] * 3) as place:
        assert look(place.url)[0] is Level.FAIL
