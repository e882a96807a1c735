"""Judges `belljar serve` with the MCP inspector's command line, in both eras.

Usage: inspector.py BELLJAR FOLDER

The inspector is a program and no library: each check is one run of it. It is run by the Node.js that
`tests/clients/setup` installed, and keeps its own files in FOLDER.
"""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import anyio

import judge

PACKAGES = Path(__file__).resolve().parents[2] / "target/foreign/clients"
NODE = PACKAGES / "node/node"
INSPECTOR = PACKAGES / "npm/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
# The inspector's own exit code for a result with `isError`, and for a tool that isn't there.
TOOL_ERROR = 5


class Inspector:
    """One way to one server in one era."""

    def __init__(self, belljar: judge.Belljar, era: str, address: str | None) -> None:
        self.environment = dict(os.environ, HOME=belljar.folder, NO_COLOR="1")
        self.options = ["--protocol-era", era, "--format", "json", "--quiet"]
        # The inspector hands a server few variables of its own environment: without these it would
        # compile all plugins once more, into the folder.
        passed = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("XDG_")]
        self.server = ["--", "env", *passed, *belljar.stdio()]
        if address is not None:
            header = ["--header", f"Authorization: Bearer {judge.TOKEN}"]
            self.server = [*header, "--transport", "http", "--server-url", f"{address}/mcp"]

    def command(self, *words: str) -> list[str]:
        return [str(NODE), str(INSPECTOR), "--cli", *self.options, *words, *self.server]

    def run(self, *words: str) -> tuple[int, Any, str]:
        """The exit code, the result, and what was said of an error."""
        ran = subprocess.run(
            self.command(*words), env=self.environment, capture_output=True, text=True, timeout=judge.COMMAND_SECONDS
        )
        result = json.loads(ran.stdout).get("result") if ran.stdout.strip() else None
        return ran.returncode, result, ran.stderr

    def words(self, tool: str, arguments: dict[str, Any]) -> list[str]:
        return ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        _, result, said = await anyio.to_thread.run_sync(self.run, *self.words(name, arguments))
        return result or {"isError": True, "content": [{"type": "text", "text": said}]}

    async def cancelled(self, name: str, started: Any) -> None:
        # A person cancels a run of the inspector by Ctrl-C.
        process = subprocess.Popen(
            self.command(*self.words(name, {})), env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            await started()
            process.send_signal(signal.SIGINT)
            await anyio.to_thread.run_sync(process.wait, judge.END_SECONDS)
        finally:
            process.kill()


def judge_way(way: str, inspector: Inspector, belljar: judge.Belljar) -> None:
    # `--strict` ends with another code where a schema would trouble a client or a model.
    code, result, said = inspector.run("--method", "tools/list", "--strict")
    names = {tool["name"] for tool in (result or {}).get("tools", [])}
    judge.check(f"{way}: lists the builtin tools, with schemas that travel", code == 0 and judge.BUILTINS <= names, (code, said))

    code, result, said = inspector.run(*inspector.words("codec_hash", {"algorithm": "sha256", "text": "abc"}))
    judge.check(f"{way}: calls a tool", code == 0 and not result.get("isError"), (code, result, said))
    structured = result.get("structuredContent", {})
    judge.check(f"{way}: gets structured output", structured.get("hex") == judge.HASH_OF_ABC, result)
    code, result, said = inspector.run(*inspector.words("files_read", {"path": "../belljar.toml"}))
    judge.check(f"{way}: a tool's error is an error", code == TOOL_ERROR and result["isError"], (code, result, said))
    code, result, said = inspector.run(*inspector.words("no_such_tool", {}))
    judge.check(f"{way}: an unknown tool is told", code == TOOL_ERROR and result is None, (code, result, said))
    anyio.run(judge.judge_queue, way, inspector, belljar)


def main() -> None:
    belljar = judge.arguments()
    for era in ("legacy", "modern"):
        stdio = Inspector(belljar, era, None)
        judge_way(f"{era} stdio", stdio, belljar)
        anyio.run(judge.judge_cancel, f"{era} stdio", stdio, belljar)
        with belljar.http() as address:
            judge_way(f"{era} http", Inspector(belljar, era, address), belljar)


main()
