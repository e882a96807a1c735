"""What the Python scripts share: a belljar to judge, one line for each check, the checks themselves.

It knows nothing of a client library: each script hands in its own client as an `Asker`. A check
that fails ends the script with exit code 1.
"""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import Any, Awaitable, Callable, Iterator, NoReturn, Protocol

import anyio
from jsonschema import Draft202012Validator

TOKEN = "client-of-the-tests"
# An unoptimised build compiles each builtin in seconds where it was never run before.
START_SECONDS = 120
COMMAND_SECONDS = 120
# A call that was cancelled has to be on record as ended after this, on a busy machine too.
END_SECONDS = 20
# Two programs start before a request is there; `approvals.hand_back` of `belljar.toml` is less than
# what clients wait for an answer.
ASK_SECONDS = 120

BUILTINS = {"codec_hash", "codec_encode", "files_read", "files_write", "search_grep"}
HASH_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
JSONRPC_INVALID_PARAMS = -32602


def fail(sentence: str) -> NoReturn:
    print(f"FAILED {sentence}", flush=True)
    sys.exit(1)


def check(name: str, holds: bool, seen: Any = None) -> None:
    """Prints the check's line, or ends the script with what was seen instead."""
    if not holds:
        fail(f"{name}: {seen!r}")
    print(f"ok {name}", flush=True)


class Belljar:
    """The binary under judgement and the folder that holds its configuration and state."""

    def __init__(self, binary: str, folder: str) -> None:
        self.binary = os.path.abspath(binary)
        self.folder = os.path.abspath(folder)
        self.config = os.path.join(self.folder, "belljar.toml")

    def serve(self, *way: str) -> list[str]:
        return [self.binary, "serve", *way, "--config", self.config]

    def stdio(self) -> list[str]:
        return self.serve("--stdio", "--as", "client")

    @contextmanager
    def http(self) -> Iterator[str]:
        """Serves on a free port, and gives the address without a path."""
        command = self.serve("--http", "127.0.0.1:0")
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        said: list[str] = []
        found = threading.Event()
        address: list[str] = []

        def listen() -> None:
            for line in process.stderr:
                said.append(line)
                if "listening on http://" in line and not address:
                    address.append(line.split("listening on ")[1].split()[0])
                    found.set()
            found.set()

        threading.Thread(target=listen, daemon=True).start()
        try:
            if not found.wait(START_SECONDS) or not address:
                fail(f"belljar serve never listened: {''.join(said)}")
            yield address[0]
        finally:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                fail(f"belljar serve went on after SIGTERM: {''.join(said[-20:])}")

    def said(self, *words: str) -> Any:
        """What a command of another process says, as JSON."""
        command = [self.binary, *words, "--json", "--config", self.config]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS)
        if ran.returncode != 0:
            fail(f"`{' '.join(words)}` ended with {ran.returncode}: {ran.stdout}{ran.stderr}")
        return json.loads(ran.stdout)

    def answer_next(self, verb: str) -> None:
        """Waits until a request waits for a person, and answers it as that person would."""
        waiting = until(lambda: self.said("approvals", "list"), "no request for an approval came up")
        self.said("approvals", verb, waiting[0]["id"])

    def records(self, tool: str) -> list[dict[str, Any]]:
        return self.said("audit", "show", "--tool", tool)

    def count(self, tool: str, kind: str, outcome: str | None = None) -> int:
        """How many records of a tool's calls there are, with this outcome where one is named."""
        kinds = [one for one in self.records(tool) if one["type"] == kind]
        return sum(outcome in (None, one.get("outcome")) for one in kinds)


def until(look: Callable[[], Any], otherwise: str, seconds: float = ASK_SECONDS) -> Any:
    """Looks again until something is seen. The other process tells nobody when it is there."""
    end = time.monotonic() + seconds
    while not (seen := look()):
        if time.monotonic() > end:
            fail(otherwise)
        time.sleep(0.1)
    return seen


class Asker(Protocol):
    """A client library's client, in the shapes of the wire."""

    async def tools(self) -> list[dict[str, Any]]: ...

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]: ...

    async def refusal(self, name: str, arguments: dict[str, Any]) -> int | None:
        """The code of the JSON-RPC error that the call ends with, if it does."""

    async def cancelled(self, name: str, started: Callable[[], Awaitable[None]]) -> None:
        """Begins a call and cancels it once `started` returns."""


async def judge_tools(way: str, client: Asker, belljar: Belljar) -> None:
    """Lists, calls, and gets errors as errors."""
    tools = {tool["name"]: tool for tool in await client.tools()}
    check(f"{way}: lists the builtin tools", BUILTINS <= set(tools), sorted(tools))
    plain = [t["name"] for t in tools.values() if t["inputSchema"].get("type") != "object" or not t.get("description")]
    check(f"{way}: each tool has a description and takes an object", not plain, plain)

    result = await client.call("codec_hash", {"algorithm": "sha256", "text": "abc"})
    check(f"{way}: calls a tool", not result.get("isError") and HASH_OF_ABC in result["content"][0]["text"], result)
    structured = result["structuredContent"]
    schema = tools["codec_hash"]["outputSchema"]
    Draft202012Validator.check_schema(schema)
    wrong = [error.message for error in Draft202012Validator(schema).iter_errors(structured)]
    check(f"{way}: structured output meets its schema", structured["hex"] == HASH_OF_ABC and not wrong, wrong)

    result = await client.call("files_read", {"path": "../belljar.toml"})
    check(f"{way}: a tool's error is an error", result.get("isError") is True and result["content"], result)
    result = await client.call("codec_hash", {"algorithm": "none", "text": "abc"})
    said = result["content"][0]["text"]
    check(f"{way}: wrong arguments are an error that names them", result.get("isError") and "algorithm" in said, result)
    code = await client.refusal("no_such_tool", {})
    check(f"{way}: an unknown tool is a protocol error", code == JSONRPC_INVALID_PARAMS, code)


async def judge_cancel(way: str, client: Asker, belljar: Belljar) -> None:
    """Cancels a call that would never end, and calls the same plugin again."""
    tool = "conformance.spin"
    before = await anyio.to_thread.run_sync(belljar.count, tool, "CallStarted")
    ended = await anyio.to_thread.run_sync(belljar.count, tool, "CallFinished", "interrupted")

    async def started() -> None:
        look = lambda: belljar.count(tool, "CallStarted") > before  # noqa: E731
        await anyio.to_thread.run_sync(until, look, f"{way}: the call to cancel never started")

    await client.cancelled("conformance_spin", started)
    look = lambda: belljar.count(tool, "CallFinished", "interrupted") > ended  # noqa: E731
    await anyio.to_thread.run_sync(until, look, f"{way}: a cancelled call is on record as interrupted", END_SECONDS)
    check(f"{way}: a cancelled call is stopped", True)
    result = await client.call("conformance_test-simple-text", {})
    check(f"{way}: its plugin works afterwards", not result.get("isError"), result)


async def judge_queue(way: str, client: Asker, belljar: Belljar) -> None:
    """A call waits for `belljar approvals` of another process, which lets it through or doesn't."""
    for verb, lets_through in [("approve", True), ("deny", False)]:
        name = f"queued-{verb}-{way.replace(' ', '-')}"
        results: list[dict[str, Any]] = []

        async def write(name: str = name, results: list[dict[str, Any]] = results) -> None:
            results.append(await client.call("files_write", {"path": name, "content": "x"}))

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await anyio.to_thread.run_sync(belljar.answer_next, verb)
        judge_write(f"{way}: a call waits for `approvals {verb}`", belljar, name, results[0], lets_through)


async def judge_asked(way: str, client: Asker, belljar: Belljar, lets_through: bool) -> None:
    """A call whose client asks its own person, who answers at once."""
    name = f"asked-{lets_through}-{way.replace(' ', '-')}".lower()
    result = await client.call("files_write", {"path": name, "content": "x"})
    what = "lets through" if lets_through else "declines"
    judge_write(f"{way}: a call that the client's person {what}", belljar, name, result, lets_through)


def judge_write(what: str, belljar: Belljar, name: str, result: dict[str, Any], lets_through: bool) -> None:
    there = os.path.exists(os.path.join(belljar.folder, "files", name))
    check(what, there == lets_through and bool(result.get("isError")) != lets_through, (there, result))


def form_answer(schema: dict[str, Any], lets_through: bool) -> dict[str, Any]:
    """Fills in the form of an approval: each choice by its name, everything else left out."""
    words = ("allow", "approve", "once", "yes") if lets_through else ("deny", "decline", "no")
    answer: dict[str, Any] = {}
    for name, field in schema["properties"].items():
        choices = field.get("enum") or [one["const"] for one in field.get("oneOf", [])]
        if choices:
            fitting = [one for one in choices if any(word in one for word in words)]
            if not fitting:
                fail(f"the form of an approval has no choice for {words}: {schema}")
            answer[name] = fitting[0]
        elif field["type"] == "boolean":
            answer[name] = lets_through
    return answer


def arguments() -> Belljar:
    if len(sys.argv) != 3:
        fail(f"usage: {sys.argv[0]} BELLJAR FOLDER")
    return Belljar(sys.argv[1], sys.argv[2])
