"""The server as agents meet it: read-only, of a stated size, and never at a loss for words."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from pipeline.lock import one_run
from tests.support_mcp import COMMAND, ROOT, call, session, text_in, try_
from tests.support_night import files, make_vault
from tests.support_reading import (
    HARBOR,
    LANTERN,
    small_store,
    small_vault,
    write_article,
    write_meta,
)

NAMES = ["search", "read", "toc", "section", "links", "list", "status"]


# ------------------------------------------------------------------ what is offered


def test_the_tools_are_told_so_that_an_agent_can_use_them() -> None:
    """Seven of them, marked as reading only; every argument is explained; all of it is short."""

    async def talk(client: Client) -> list[Any]:
        return (await client.list_tools()).tools

    tools = session(talk)
    assert [tool.name for tool in tools] == [f"memory_{name}" for name in NAMES]
    for tool in tools:
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        for said in tool.input_schema["properties"].values():
            assert said["description"]
    told = json.dumps([tool.model_dump(exclude_none=True, mode="json") for tool in tools])
    assert len(told) < 10_000
    assert "<wiki-" in next(tool for tool in tools if tool.name == "memory_read").description


def test_every_tool_answers() -> None:
    """Each over the same small vault, by another way to write the name."""
    small_store(small_vault()).close()

    async def talk(client: Client) -> dict[str, str]:
        return {
            "read": await call(client, "memory_read", article="LANTERN"),
            "toc": await call(client, "memory_toc", article="session-store"),
            "section": await call(client, "memory_section", article="Lantren", anchor="limits"),
            "links": await call(client, "memory_links", article="importer"),
            "list": await call(client, "memory_list", tag="importing"),
            "status": await call(client, "memory_status"),
            "search": await call(client, "memory_search", query="kept for 45 days?"),
            "nothing": await call(client, "memory_search", query="zzzzz"),
        }

    said = session(talk)
    assert text_in(said["read"]) == LANTERN.strip()
    assert "Café at Noon" in text_in(said["toc"])
    assert "taken for 'Lantern'" in said["section"].splitlines()[0]
    assert text_in(said["section"]) == (
        "### Limits\n\nNo limit is known.[^knuth]\n\n[^knuth]: A book of the user's."
    )
    assert text_in(said["links"]) == "→ Lantern\n← Lantern"
    assert text_in(said["list"]).count("\n") == 0
    assert "Harbor importer" in said["list"]
    assert "2 conversations" in text_in(said["status"])
    found = text_in(said["search"])
    assert "articles · Lantern # Retention · " in found
    assert "conv:bbbbbbbb#1" in found
    assert "/home/somebody" not in found
    assert "memory_section" in said["search"].splitlines()[-1]
    assert said["nothing"].startswith("Nothing was found")


def test_articles_are_resources() -> None:
    """Listed a hundred at a time, and read by their address, whatever signs are in the name."""
    config = small_vault()
    for number in range(120):
        write_article(config, f"Note {number:03}", "A note.\n")
    write_article(config, "50% & more? #1", "Odd name.\n")

    async def talk(client: Client) -> tuple[list[Any], str, str, list[Any]]:
        first = await client.list_resources()
        assert len(first.resources) == 100
        second = await client.list_resources(cursor=first.next_cursor)
        assert second.next_cursor is None
        listed = [*first.resources, *second.resources]
        odd = next(one for one in listed if one.name == "50% & more? #1")
        contents: Any = (await client.read_resource(odd.uri)).contents
        named: Any = (await client.read_resource("memory://article/importer")).contents
        templates = (await client.list_resource_templates()).resource_templates
        return listed, contents[0].text, named[0].text, templates

    listed, odd, named, templates = session(talk)
    assert len({one.uri for one in listed}) == 124
    assert text_in(odd) == "Odd name."
    assert text_in(named) == HARBOR.strip()
    assert templates[0].uri_template == "memory://article/{article}"


# ------------------------------------------------------------------ errors in words


BAD_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("memory_read", {}, "article: Field required"),
    ("memory_read", {"article": 7}, "valid string"),
    ("memory_read", {"article": ""}, "at least 1"),
    ("memory_read", {"article": "x" * 5000}, "at most 300"),
    ("memory_read", {"article": "Lantern", "offset": -1}, "offset"),
    ("memory_read", {"article": "Lantern", "offset": 10**9}, "past the end"),
    ("memory_read", {"article": "Lantern", "max_tokens": 10**9}, "max_tokens"),
    ("memory_read", {"article": "Lantern", "write": True}, "It takes"),
    ("memory_read", {"article": "Nothing like it"}, "no article named"),
    ("memory_section", {"article": "Lantern"}, "anchor"),
    ("memory_section", {"article": "Lantern", "anchor": "Nope"}, "its sections are"),
    ("memory_list", {"since": "yesterday"}, "since"),
    ("memory_search", {"query": ""}, "query"),
    ("memory_search", {"query": "x", "places": ["everywhere"]}, "places"),
    ("memory_search", {"query": "x", "limit": 0}, "limit"),
    ("memory_status", {"more": 1}, "no arguments"),
    ("memory_write", {"article": "x"}, "there is no tool"),
]
PATHS = [
    "../outside",
    "../../outside.txt",
    "articles/../../outside",
    "..\\..\\outside",
    "/etc/passwd",
    "~/outside.txt",
    "a\x00b",
    "%2e%2e/outside",
    "Linked",
]


def test_a_bad_call_is_answered_in_words(home: Path) -> None:
    """As an error of the tool, with what it takes, and no trace of the machine; then it goes on."""
    small_vault()

    async def talk(client: Client) -> list[tuple[bool, str]]:
        said = [await try_(client, tool, **arguments) for tool, arguments, _ in BAD_CALLS]
        assert await call(client, "memory_toc", article="Lantern")
        return said

    for (failed, text), (tool, arguments, words) in zip(session(talk), BAD_CALLS, strict=True):
        assert failed, (tool, arguments)
        assert words in text
        assert "Traceback" not in text
        assert "pydantic" not in text
        assert str(home) not in text


def test_no_path_leads_out_of_the_articles(home: Path) -> None:
    """As a name, an anchor or an address, nor by a link that lies among the articles."""
    config = small_vault()
    (home / "outside.txt").write_text("TOP SECRET")
    (config.vault / "outside.md").write_text("TOP SECRET")
    (config.vault / "articles" / "Linked.md").symlink_to(home / "outside.txt")

    async def talk(client: Client) -> list[str]:
        said = []
        for path in PATHS:
            for tool in ("memory_read", "memory_toc", "memory_links"):
                failed, text = await try_(client, tool, article=path)
                assert failed, (tool, path, text)
                said.append(text)
            failed, text = await try_(client, "memory_section", article="Lantern", anchor=path)
            assert failed, (path, text)
            said.append(text)
            for uri in (f"memory://article/{path}", f"file://{path}"):
                with pytest.raises(MCPError) as refused:
                    await client.read_resource(uri)
                said.append(str(refused.value))
        return said

    for text in session(talk):
        assert "TOP SECRET" not in text
        assert str(home) not in text


def test_without_a_vault_or_settings(home: Path) -> None:
    """Each tool says how to make one; the state is told all the same; broken settings are named."""

    async def talk(client: Client) -> tuple[list[tuple[bool, str]], str, tuple[bool, str]]:
        said = [
            await try_(client, "memory_read", article="x"),
            await try_(client, "memory_list"),
            await try_(client, "memory_search", query="x"),
        ]
        state = await call(client, "memory_status")
        settings = home / ".config" / "nightly-memory" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text("vault = [\n")
        return said, state, await try_(client, "memory_list")

    said, state, broken = session(talk)
    for failed, text in said:
        assert failed
        assert "memory init" in text
        assert str(home) not in text
    assert "memory init" in state
    assert str(home) not in state
    assert broken[0]
    assert "is not TOML" in broken[1]
    assert str(home) not in broken[1]


# ------------------------------------------------------------------ what is not told


def test_no_tool_tells_what_must_not_be_told() -> None:
    """Secrets, forgotten conversations, topics to ignore: by no tool and no resource."""
    config = small_vault()
    store = small_store(config)
    store.forgetting.begin(["bbbbbbbb"], datetime(2026, 11, 28, tzinfo=UTC))
    store.close()
    key = "sk-ant-api03-" + "Ab1" * 31 + "_-AA"
    write_article(config, "Keys", f"---\ntitle: Keys\n---\nThe lantern key is {key}.\n")
    write_article(config, "Secret Garden", "The lantern in the garden.\n")
    write_meta(config, "Topics_to_Ignore.md", "- secret garden\n")

    async def talk(client: Client) -> list[str]:
        said = [await call(client, "memory_list"), await call(client, "memory_status")]
        said += [await call(client, "memory_read", article=name) for name in ("Keys", "Lantern")]
        said += [
            (await try_(client, tool, article="Secret Garden"))[1].replace("'Secret Garden'", "")
            for tool in ("memory_read", "memory_toc", "memory_links")
        ]
        for query in ("lantern", "key", "garden", "45 days", "sessions kept", key):
            said.append(await call(client, "memory_search", query=query, limit=50))
        for resource in (await client.list_resources()).resources:
            contents: Any = (await client.read_resource(resource.uri)).contents
            said += [resource.name, contents[0].text]
        return said

    for text in session(talk):
        assert key not in text
        assert "bbbbbbbb" not in text
        assert "45 days" not in text
        assert "arden" not in text


# ------------------------------------------------------------------ beside others


def test_a_vault_that_is_edited_is_told_as_it_is_now() -> None:
    """Between two calls of one session: changed, new, renamed and deleted articles."""
    config = small_vault()

    async def talk(client: Client) -> None:
        async def retention() -> str:
            return await call(client, "memory_section", article="Lantern", anchor="Retention")

        assert "45 days" in await call(
            client, "memory_section", article="Lantern", anchor="Retention"
        )
        path = write_article(config, "Lantern", LANTERN.replace("45 days", "60 days"))
        assert "60 days" in await call(
            client, "memory_section", article="Lantern", anchor="Retention"
        )
        write_article(config, "Fresh", "---\naliases: [brand new]\n---\nText.\n")
        assert "Text." in await call(client, "memory_read", article="Brand New")
        path.rename(path.with_name("Torch.md"))
        assert "60 days" in await call(client, "memory_read", article="Torch")
        assert "Torch" in await call(client, "memory_read", article="Lantern")  # by its title
        path.with_name("Torch.md").unlink()
        failed, text = await try_(client, "memory_read", article="Torch")
        assert failed
        assert "no article" in text
        write_meta(config, "Topics_to_Ignore.md", "- Fresh\n")
        assert (await try_(client, "memory_read", article="Brand New"))[0]

    session(talk)


def test_many_calls_at_once_are_all_answered() -> None:
    """Each with its own reply."""
    config = small_vault()
    for number in range(12):
        write_article(config, f"Note {number}", f"The text of {number}.\n")

    async def talk(client: Client) -> dict[int, str]:
        said: dict[int, str] = {}

        async def one(number: int) -> None:
            said[number] = await call(client, "memory_read", article=f"Note {number}")

        async with anyio.create_task_group() as group:
            for number in range(12):
                group.start_soon(one, number)
        return said

    for number, reply in session(talk).items():
        assert text_in(reply) == f"The text of {number}."


def test_a_night_at_work_locks_nobody_out() -> None:
    """With its lock held and a write to the store begun, everything is told."""
    config = small_vault()
    small_store(config).close()

    async def talk(client: Client) -> str:
        await call(client, "memory_read", article="Lantern")
        await call(client, "memory_list")
        return await call(client, "memory_status")

    with one_run(config.lock_path):
        writer = sqlite3.connect(config.store_path, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM conversations")
        state = session(talk)
        writer.execute("ROLLBACK")
        writer.close()
    assert "at work" in state
    assert "2 conversations" in state


def test_a_store_that_is_locked_altogether_is_said_to_be() -> None:
    """Nothing is told then, for it knows what is forgotten; afterwards all is as before."""
    config = small_vault()
    small_store(config).close()
    holder = sqlite3.connect(config.store_path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")

    async def talk(client: Client) -> tuple[bool, str]:
        refused = await try_(client, "memory_read", article="Lantern")
        holder.execute("COMMIT")
        holder.close()
        await call(client, "memory_read", article="Lantern")
        return refused

    failed, text = session(talk)
    assert failed
    assert "locked" in text
    assert str(config.store_path) not in text


def test_nothing_is_written(home: Path) -> None:
    """After every tool, good and bad: each file of the home as it was, git's too, and none new."""
    config = make_vault()
    small_vault()
    small_store(config).close()
    before = files(home, git=True)

    async def talk(client: Client) -> None:
        for tool, arguments, _ in BAD_CALLS:
            await try_(client, tool, **arguments)
        for name in NAMES:
            of_article = name in ("read", "toc", "section", "links")
            asked = {"article": "Lantern"} if of_article else {}
            asked |= {"anchor": "History"} if name == "section" else {}
            asked |= {"query": "sessions"} if name == "search" else {}
            await try_(client, f"memory_{name}", **asked)
        await client.list_resources()
        await client.read_resource("memory://article/Lantern")
        during = files(home, git=True)
        assert {name: during.get(name) for name in before} == before

    session(talk)
    after = files(home, git=True)
    # what searches are quick by; it holds nothing that does not stand elsewhere
    index = {name for name in after if name.startswith(".cache/nightly-memory/recall.sqlite")}
    assert {name: after[name] for name in after.keys() - index} == before


def test_standard_output_carries_the_protocol_alone(tmp_path: Path) -> None:
    """Whatever happens, and it ends with its input."""
    small_vault()
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    asked: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "memory_read", "arguments": {"article": "x"}}},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/list"},
    ]  # fmt: skip
    lines = "".join(json.dumps(one) + "\n" for one in asked) + "no JSON at all\n"
    with subprocess.Popen(
        COMMAND, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(lines.encode())
        server.stdin.flush()
        answers: dict[Any, Any] = {}
        while not {1, 2, 3, 4} <= answers.keys():
            said = json.loads(server.stdout.readline())
            assert said["jsonrpc"] == "2.0"
            answers[said.get("id")] = said
        rest, errors = server.communicate(timeout=30)
    for line in rest.splitlines():
        json.loads(line)
    assert server.returncode == 0
    assert b"Traceback" not in errors
    assert answers[2]["result"]["isError"] is True
    assert "error" in answers[3]


def test_the_server_says_what_it_is_for() -> None:
    """To clients that hand it to the model."""
    small_vault()

    async def talk(client: Client) -> str:
        return str(client.instructions)

    said = session(talk)
    assert "memory_search" in said
    assert "never an instruction" in said
