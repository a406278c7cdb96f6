"""Which server is asked, and with which key: nothing leaves the machine without leave."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline import assemble, cli
from pipeline.config import Config, load_config
from pipeline.errors import ConfigFault, ModelFault
from pipeline.models.address import address
from pipeline.models.keys import server_key
from pipeline.status import gather
from pipeline.system import NOT_THERE, Answer, Ask
from pipeline.tables import ServerConfig
from tests.support_server import Fault, reply, serving

KEY = "k-7Tq0vXw2ZrN4mB8c"


def no_program(argv: Sequence[str]) -> Answer:
    raise AssertionError(f"{argv} was asked for")


def keychain(answer: Answer) -> Ask:
    """`security` as it answered for the item nightly-memory."""

    def ask(argv: Sequence[str]) -> Answer:
        assert list(argv) == ["security", "find-generic-password", "-s", "nightly-memory", "-w"]
        return answer

    return ask


# ------------------------------------------------------------------ the address


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/v1", "http://localhost:1234/v1/", "http://[::1]:8080/v1"]
)
def test_a_server_on_this_machine_needs_no_leave(url: str) -> None:
    """Loopback by number or by its name, with or without a key."""
    for keyed in (True, False):
        assert str(address(url, remote=False, keyed=keyed)) == url.rstrip("/")


@pytest.mark.parametrize(
    "host",
    [
        "studio.example",
        "192.0.2.7",
        "127.0.0.1.example",
        "localhost.example",
        "0.0.0.0",
        "[2001:db8::1]",
        "127.1.example",
    ],
)
def test_another_machine_needs_leave(host: str) -> None:
    """P12: conversations stay here unless the user says otherwise."""
    with pytest.raises(ConfigFault, match="stay on this machine") as caught:
        address(f"https://{host}/v1", remote=False, keyed=False)
    assert "server.remote = true" in caught.value.mend
    there = address(f"https://{host}/v1", remote=True, keyed=True)
    assert (str(there), there.port) == (f"https://{host}:443/v1", 443)


def test_a_key_does_not_cross_the_network_in_plain_sight() -> None:
    """Over http to another machine; without a key that is the user's choice."""
    with pytest.raises(ConfigFault, match="plain sight"):
        address("http://studio.example:8080/v1", remote=True, keyed=True)
    assert address("http://studio.example:8080/v1", remote=True, keyed=False).port == 8080


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8080",
        "ftp://127.0.0.1/v1",
        "http:///v1",
        "http://127.0.0.1:x/v1",
        "http://127.0.0.1/v1?key=1",
        "http://[::1/v1",
    ],
)
def test_what_is_no_address(url: str) -> None:
    """The message says how one is written."""
    with pytest.raises(ConfigFault, match="no address") as caught:
        address(url, remote=True, keyed=False)
    assert "http://HOST:PORT/v1" in caught.value.mend


def test_an_address_holds_no_password() -> None:
    """And the message does not repeat it."""
    with pytest.raises(ConfigFault) as caught:
        address("https://me:hunter2secret@127.0.0.1/v1", remote=True, keyed=False)
    assert "hunter2secret" not in str(caught.value) + caught.value.mend


# ------------------------------------------------------------------ the key


def test_without_a_place_there_is_no_key() -> None:
    """Nothing is looked up."""
    assert server_key(ServerConfig(), {"OPENAI_API_KEY": KEY}, no_program) == ""


def test_the_key_is_in_the_variable_that_is_named() -> None:
    """The keychain is then not asked."""
    server = ServerConfig(key_variable="MODEL_KEY", key_item="nightly-memory")
    assert server_key(server, {"MODEL_KEY": f"{KEY}\n"}, no_program) == KEY


def test_the_key_is_in_the_keychain() -> None:
    """As `security` prints it: the password and a line end."""
    server = ServerConfig(key_item="nightly-memory")
    assert server_key(server, {}, keychain(Answer(0, f"{KEY}\n"))) == KEY


@pytest.mark.parametrize(
    "answer",
    [
        Answer(
            44,
            err="security: SecKeychainSearchCopyNext: The specified item could not be found in the "
            "keychain.",
        ),
        Answer(36, err="security: SecKeychainItemCopyContent: User interaction is not allowed."),
        Answer(NOT_THERE, err="security: No such file or directory"),
        Answer(0, "\n"),
    ],
)
def test_a_keychain_without_the_key(answer: Answer) -> None:
    """The fault names the setting and the command that stores one."""
    with pytest.raises(ConfigFault, match=r"server\.key_item") as caught:
        server_key(ServerConfig(key_item="nightly-memory"), {}, keychain(answer))
    assert "security add-generic-password" in caught.value.mend


@pytest.mark.parametrize("held", ["", "  ", f"{KEY}\nX-Other: 1", f"{KEY} {KEY}", f"{KEY}é"])
def test_a_variable_without_a_key(held: str) -> None:
    """Empty, or what no header can carry; what it holds is not shown."""
    with pytest.raises(ConfigFault, match=r"server\.key_variable") as caught:
        server_key(ServerConfig(key_variable="MODEL_KEY"), {"MODEL_KEY": held}, no_program)
    assert KEY not in str(caught.value) + caught.value.mend


def test_a_key_in_the_place_of_its_variables_name() -> None:
    """A mistake that is easily made, and no message repeats it."""
    for server in (ServerConfig(key_variable=KEY), ServerConfig(key_item=KEY)):
        with pytest.raises(ConfigFault, match="holds no key") as caught:
            server_key(server, {}, lambda argv: Answer(44))
        assert KEY not in str(caught.value) + caught.value.mend


def test_a_file_with_a_key_is_refused(home: Path) -> None:
    """There is no setting that could hold one."""
    file = home / ".config" / "nightly-memory" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[server]\nkey = "{KEY}"\n')
    with pytest.raises(ConfigFault, match=r"server\.key"):
        load_config()


# ------------------------------------------------------------------ put together


def test_the_settings_are_refused_before_a_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server elsewhere, a key that is nowhere, a model without a name."""
    monkeypatch.setenv("MEMORY_EMBEDDER", "none")
    far = load_config(model="openai:m", server={"url": "https://studio.example/v1"})
    unkeyed = load_config(model="openai:m", server={"key_variable": "NO_SUCH_KEY"})
    for config in (far, unkeyed):
        with pytest.raises(ConfigFault, match="server"):
            assemble.real_models(config)
    with pytest.raises(ModelFault, match="names no model"):
        assemble.real_models(load_config(model="openai:"))
    assert assemble.real_models(load_config(model="openai:m")).embedder is None


def test_a_model_on_a_server_wears_no_adapter(tmp_path: Path) -> None:
    """It would be silently without."""
    for name in ("adapter_config.json", "adapters.safetensors"):
        (tmp_path / name).touch()
    config = load_config(model="openai:m", adapters={"chunk": str(tmp_path)})
    with pytest.raises(ConfigFault, match=r"adapters\.chunk"):
        assemble.real_models(config)


def test_the_default_asks_no_server() -> None:
    """Nobody who sets nothing ever talks to one."""
    config = Config()
    assert not config.model.startswith("openai:") and not config.server.remote


def test_what_a_server_runs_is_not_missed_here(home: Path) -> None:
    """Status does not tell the user to fetch it, and its weights weigh nothing here."""
    config = load_config(model="openai:org/m")
    assert gather(config, ask=lambda argv: Answer(NOT_THERE))["model_fetched"]
    assert not assemble.place("openai:org/m", config).exists()


def test_the_check_of_a_model_on_a_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`memory model check` says what it can do; one that gives no JSON is not usable."""

    def upstream(body: dict[str, Any]) -> dict[str, Any]:
        wanted = "response_format" in body
        return reply('{"word": "red"}' if wanted else "Yes.", logprobs=None)

    with serving(upstream) as place:
        monkeypatch.setenv("MEMORY_SERVER__URL", place.url)
        done = CliRunner().invoke(cli.app, ["model", "check", "openai:m"])
        place.faults[:] = [Fault("status", 401)] * 9
        refused = CliRunner().invoke(cli.app, ["model", "check", "openai:m"])
    assert done.exit_code == 0, done.output
    lines = [line.partition(": ")[0] for line in done.stdout.splitlines()]
    assert lines[:2] == ["ok  choose", "ok  chooses"] and "lists no likely tokens" in done.stdout
    assert 'ok  grammar: {"word": "red"}' in done.stdout and "ok  verdict: usable" in done.stdout
    assert isinstance(refused.exception, ModelFault) and "BAD fault" in refused.stdout


def test_the_environment_is_where_a_run_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable of the process itself."""
    monkeypatch.setenv("MODEL_KEY", KEY)
    config = load_config(model="openai:m", server={"key_variable": "MODEL_KEY"})
    server = assemble.model_server(config)
    assert KEY not in repr(server) and str(server.at) == "http://127.0.0.1:8080/v1"
    assert os.environ["MODEL_KEY"] == KEY
