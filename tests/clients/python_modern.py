"""Judges `belljar serve` with the Python package `mcp` 2.x, by the revision 2026-07-28.

Usage: python_modern.py BELLJAR FOLDER
"""

import os
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Awaitable, Callable

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

import judge

REVISION = "2026-07-28"


class Modern:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def tools(self) -> list[dict[str, Any]]:
        tools, cursor = [], None
        while True:
            page = await self.client.list_tools(cursor=cursor)
            tools += [wire(tool) for tool in page.tools]
            if (cursor := page.next_cursor) is None:
                return tools

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return wire(await self.client.call_tool(name, arguments))

    async def refusal(self, name: str, arguments: dict[str, Any]) -> int | None:
        try:
            await self.client.call_tool(name, arguments)
        except MCPError as error:
            return error.error.code
        return None

    async def cancelled(self, name: str, started: Callable[[], Awaitable[None]]) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self.client.call_tool, name, {})
            await started()
            group.cancel_scope.cancel()


def wire(model: Any) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def person(lets_through: bool, asked: list[str]) -> Any:
    """The person at the client, who keeps what they were asked in `asked`."""

    async def answer(_context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        form = judge.form_answer(params.requested_schema, lets_through)
        return ElicitResult(action="accept" if lets_through else "decline", content=form if lets_through else None)

    return answer


@asynccontextmanager
async def connected(belljar: judge.Belljar, address: str | None, **more: Any) -> AsyncIterator[Client]:
    if address is None:
        command, *arguments = belljar.stdio()
        server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        async with Client(server, **more) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {judge.TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(f"{address}/mcp", http_client=http), **more) as client:
            yield client


async def judge_way(way: str, belljar: judge.Belljar, address: str | None) -> None:
    async with connected(belljar, address) as client:
        judge.check(f"{way}: speaks {REVISION}", client.protocol_version == REVISION, client.protocol_version)
        asker = Modern(client)
        await judge.judge_tools(way, asker, belljar)
        await judge_progress(way, client)
        await judge.judge_cancel(way, asker, belljar)
        await judge.judge_queue(way, asker, belljar)
    for lets_through in (True, False):
        asked: list[str] = []
        async with connected(belljar, address, elicitation_callback=person(lets_through, asked)) as client:
            await judge.judge_asked(way, Modern(client), belljar, lets_through)
        judge.check(f"{way}: the person was shown the tool", "write" in "".join(asked), asked)


async def judge_progress(way: str, client: Client) -> None:
    seen: list[tuple[float, float | None]] = []

    async def report(done: float, total: float | None, _message: str | None) -> None:
        seen.append((done, total))

    await client.call_tool("conformance_test-tool-with-progress", {}, progress_callback=report)
    judge.check(f"{way}: progress is reported", seen == [(0, 100), (50, 100), (100, 100)], seen)


def main() -> None:
    belljar = judge.arguments()
    anyio.run(judge_way, "stdio", belljar, None)
    with belljar.http() as address:
        anyio.run(judge_way, "http", belljar, address)


main()
