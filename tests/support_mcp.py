"""The server as a process of its own, driven by the SDK's client over its standard streams."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-m", "pipeline", "mcp"]
_T = TypeVar("_T")


def session(talk: Callable[[Client], Awaitable[_T]], log: Path | None = None) -> _T:
    """What a talk with a fresh server comes to; what the server logs goes to `log`."""

    async def run() -> _T:
        command = StdioServerParameters(
            command=COMMAND[0], args=COMMAND[1:], env=dict(os.environ), cwd=ROOT
        )
        with (log or Path(os.devnull)).open("a") as errors, anyio.fail_after(60):
            async with Client(stdio_client(command, errlog=errors)) as client:
                return await talk(client)

    return anyio.run(run)


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a reply that is no error."""
    failed, text = await try_(client, tool, **arguments)
    assert not failed, text
    return text


async def try_(client: Client, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Whether it is an error, and its text."""
    result: Any = await client.call_tool(tool, arguments)
    (content,) = result.content
    return result.is_error, content.text


def text_in(reply: str) -> str:
    """What stands between the marks."""
    found = re.search(r"<(wiki-[0-9a-f]{8})>\n(.*)\n</\1>", reply, re.DOTALL)
    assert found, reply
    return found[2]
