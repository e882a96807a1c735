"""Judges `belljar serve` with LangChain's MCP adapters, as an agent uses them: each tool is a
LangChain tool, each call comes as a tool call of a model, and each answer is a tool message.

Usage: langchain.py BELLJAR FOLDER
"""

import os
from typing import Any, Awaitable, Callable

import anyio
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.types import ElicitResult

import judge
import notified


class Agent:
    """The tools of one server, called by name; of `judge.Asker` only what is needed here."""

    def __init__(self, tools: list[BaseTool]) -> None:
        self.tools = {tool.name: tool for tool in tools}

    async def message(self, name: str, arguments: dict[str, Any]) -> ToolMessage:
        call = {"type": "tool_call", "id": "call-1", "name": name, "args": arguments}
        return await self.tools[name].ainvoke(call)

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        message = await self.message(name, arguments)
        return {"isError": message.status == "error", "content": message.content}


class Cancelling(Agent):
    """An agent that also can cancel, in a session that it holds itself."""

    def __init__(self, client: MultiServerMCPClient, tools: list[BaseTool]) -> None:
        super().__init__(tools)
        self.client = client

    async def cancelled(self, name: str, started: Callable[[], Awaitable[None]]) -> None:
        async with self.client.session("belljar") as session:
            agent = Agent(await load_mcp_tools(session))
            await notified.cancelled(session, agent.message, name, {}, started=started)


def connection(belljar: judge.Belljar, address: str | None) -> dict[str, Any]:
    if address is None:
        command, *arguments = belljar.stdio()
        return {"transport": "stdio", "command": command, "args": arguments, "env": dict(os.environ)}
    headers = {"Authorization": f"Bearer {judge.TOKEN}"}
    return {"transport": "streamable_http", "url": f"{address}/mcp", "headers": headers}


def person(lets_through: bool) -> Callbacks:
    async def answer(_session: Any, params: Any, _context: Any) -> ElicitResult:
        form = judge.form_answer(params.requestedSchema, lets_through)
        return ElicitResult(action="accept" if lets_through else "decline", content=form if lets_through else None)

    return Callbacks(on_elicitation=answer)


async def judge_way(way: str, belljar: judge.Belljar, address: str | None) -> None:
    servers = {"belljar": connection(belljar, address)}
    client = MultiServerMCPClient(servers)
    agent = Cancelling(client, await client.get_tools())
    judge.check(f"{way}: the builtin tools become tools", judge.BUILTINS <= set(agent.tools), sorted(agent.tools))

    message = await agent.message("codec_hash", {"algorithm": "sha256", "text": "abc"})
    right = message.status == "success" and judge.HASH_OF_ABC in message.text
    judge.check(f"{way}: a call of a model gets its message", right and message.tool_call_id == "call-1", message)
    structured = (message.artifact or {}).get("structured_content", {})
    judge.check(f"{way}: structured output is the artifact", structured.get("hex") == judge.HASH_OF_ABC, message)
    message = await agent.message("files_read", {"path": "../belljar.toml"})
    judge.check(f"{way}: a tool's error is an error message", message.status == "error" and message.text, message)

    await judge.judge_cancel(way, agent, belljar)
    await judge.judge_queue(way, agent, belljar)
    for lets_through in (True, False):
        tools = await MultiServerMCPClient(servers, callbacks=person(lets_through)).get_tools()
        await judge.judge_asked(way, Agent(tools), belljar, lets_through)


def main() -> None:
    belljar = judge.arguments()
    anyio.run(judge_way, "stdio", belljar, None)
    with belljar.http() as address:
        anyio.run(judge_way, "http", belljar, address)


main()
