"""Judges `belljar serve` with the Python package `mcp` 1.x, by the handshake of 2025-11-25.

Usage: python_legacy.py BELLJAR FOLDER
"""

import os
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Awaitable, Callable

import anyio
import httpx
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import judge
import notified

REVISION = "2025-11-25"


class Legacy:
    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def tools(self) -> list[dict[str, Any]]:
        tools, cursor = [], None
        while True:
            page = await self.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            tools += [wire(tool) for tool in page.tools]
            if (cursor := page.nextCursor) is None:
                return tools

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return wire(await self.session.call_tool(name, arguments))

    async def refusal(self, name: str, arguments: dict[str, Any]) -> int | None:
        try:
            await self.session.call_tool(name, arguments)
        except McpError as error:
            return error.error.code
        return None

    async def cancelled(self, name: str, started: Callable[[], Awaitable[None]]) -> None:
        await notified.cancelled(self.session, self.session.call_tool, name, {}, started=started)


def wire(model: Any) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def person(lets_through: bool, asked: list[str]) -> Any:
    """The person at the client, who keeps what they were asked in `asked`."""

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        form = judge.form_answer(params.requestedSchema, lets_through)
        return types.ElicitResult(action="accept" if lets_through else "decline", content=form if lets_through else None)

    return answer


@asynccontextmanager
async def connected(belljar: judge.Belljar, address: str | None, **more: Any) -> AsyncIterator[ClientSession]:
    if address is None:
        command, *arguments = belljar.stdio()
        server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        async with stdio_client(server) as (read, write), ClientSession(read, write, **more) as session:
            yield session
        return
    headers = {"Authorization": f"Bearer {judge.TOKEN}"}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        async with streamable_http_client(f"{address}/mcp", http_client=http) as (read, write, _):
            async with ClientSession(read, write, **more) as session:
                yield session


async def judge_way(way: str, belljar: judge.Belljar, address: str | None) -> None:
    async with connected(belljar, address) as session:
        greeting = await session.initialize()
        judge.check(f"{way}: speaks {REVISION}", greeting.protocolVersion == REVISION, greeting.protocolVersion)
        asker = Legacy(session)
        await judge.judge_tools(way, asker, belljar)
        await judge.judge_cancel(way, asker, belljar)
        await judge.judge_queue(way, asker, belljar)
    for lets_through in (True, False):
        asked: list[str] = []
        async with connected(belljar, address, elicitation_callback=person(lets_through, asked)) as session:
            await session.initialize()
            await judge.judge_asked(way, Legacy(session), belljar, lets_through)
        judge.check(f"{way}: the person was shown the tool", "write" in "".join(asked), asked)


def main() -> None:
    belljar = judge.arguments()
    anyio.run(judge_way, "stdio", belljar, None)
    with belljar.http() as address:
        anyio.run(judge_way, "http", belljar, address)


main()
