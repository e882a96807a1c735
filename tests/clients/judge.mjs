// What the Node.js scripts share: a belljar to judge, one line for each check, the checks themselves.
// It knows nothing of a client library: each script hands in its own client, in the shapes of the
// wire. A check that fails ends the script with exit code 1. `judge.py` is its twin.

import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

// The packages that `tests/clients/setup` installed, which don't lie above this file.
export const packages = createRequire(new URL("../../target/foreign/clients/npm/package.json", import.meta.url));

export const TOKEN = "client-of-the-tests";
// The same bounds as in `judge.py`, in milliseconds.
const START = 120_000;
const COMMAND = 120_000;
const END = 20_000;
const ASK = 120_000;

const BUILTINS = ["codec_hash", "codec_encode", "files_read", "files_write", "search_grep"];
const HASH_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const JSONRPC_INVALID_PARAMS = -32602;

export function fail(sentence) {
  console.log(`FAILED ${sentence}`);
  process.exit(1);
}

/** Prints the check's line, or ends the script with what was seen instead. */
export function check(name, holds, seen) {
  if (!holds) fail(`${name}: ${JSON.stringify(seen)}`);
  console.log(`ok ${name}`);
}

/** Looks again until something is seen. The other process tells nobody when it is there. */
async function until(look, otherwise, patience = ASK) {
  const end = Date.now() + patience;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) fail(otherwise);
    await pause(100);
  }
}

/** The binary under judgement and the folder that holds its configuration and state. */
export class Belljar {
  constructor(binary, folder) {
    this.binary = resolve(binary);
    this.folder = resolve(folder);
    this.config = join(this.folder, "belljar.toml");
  }

  stdio() {
    return { command: this.binary, args: ["serve", "--stdio", "--as", "client", "--config", this.config] };
  }

  /** Serves on a free port while `use` runs with the address, which has no path. */
  async http(use) {
    const args = ["serve", "--http", "127.0.0.1:0", "--config", this.config];
    const child = spawn(this.binary, args, { stdio: ["ignore", "ignore", "pipe"] });
    const ended = new Promise((tell) => child.once("close", tell));
    // A failed check ends this process at once, and must not leave the server behind.
    process.once("exit", () => child.kill("SIGKILL"));
    let said = "";
    child.stderr.on("data", (bytes) => (said += bytes));
    const listening = () => /listening on (http:\/\/\S+)/.exec(said)?.[1];
    try {
      await use(await until(listening, "belljar serve never listened", START));
    } finally {
      child.kill("SIGTERM");
      const late = await Promise.race([ended.then(() => false), pause(END, true, { ref: false })]);
      if (late) {
        child.kill("SIGKILL");
        fail(`belljar serve went on after SIGTERM: ${said.slice(-2000)}`);
      }
    }
  }

  /** What a command of another process says, as JSON. */
  async said(...words) {
    const args = [...words, "--json", "--config", this.config];
    const ran = await promisify(execFile)(this.binary, args, { timeout: COMMAND, maxBuffer: 64 << 20 });
    return JSON.parse(ran.stdout);
  }

  /** Waits until a request waits for a person, and answers it as that person would. */
  async answerNext(verb) {
    const first = async () => (await this.said("approvals", "list"))[0];
    const request = await until(first, "no request for an approval came up");
    await this.said("approvals", verb, request.id);
  }

  async count(tool, type, outcome) {
    const records = await this.said("audit", "show", "--tool", tool);
    return records.filter((it) => it.type === type && (outcome === undefined || it.outcome === outcome)).length;
  }
}

/** Lists, calls, and gets errors as errors. The library itself holds structured output to its schema. */
export async function judgeTools(way, client) {
  const tools = new Map((await client.tools()).map((tool) => [tool.name, tool]));
  check(`${way}: lists the builtin tools`, BUILTINS.every((name) => tools.has(name)), [...tools.keys()]);
  check(`${way}: a tool says what it returns`, tools.get("codec_hash").outputSchema?.type === "object");

  let result = await client.call("codec_hash", { algorithm: "sha256", text: "abc" });
  check(`${way}: calls a tool`, !result.isError && result.content[0].text.includes(HASH_OF_ABC), result);
  check(`${way}: gets structured output`, result.structuredContent.hex === HASH_OF_ABC, result);
  result = await client.call("files_read", { path: "../belljar.toml" });
  check(`${way}: a tool's error is an error`, result.isError === true && result.content.length > 0, result);
  result = await client.call("codec_hash", { algorithm: "none", text: "abc" });
  const named = result.isError && result.content[0].text.includes("algorithm");
  check(`${way}: wrong arguments are an error that names them`, named, result);
  const code = await client.call("no_such_tool", {}).then(() => undefined, (error) => error.code);
  check(`${way}: an unknown tool is a protocol error`, code === JSONRPC_INVALID_PARAMS, code);
}

/** Cancels a call that would never end, and calls the same plugin again. */
export async function judgeCancel(way, client, belljar) {
  const tool = "conformance.spin";
  const before = await belljar.count(tool, "CallStarted");
  const ended = await belljar.count(tool, "CallFinished", "interrupted");
  const cancel = new AbortController();
  const call = client.call("conformance_spin", {}, { signal: cancel.signal }).then(() => false, () => true);
  const started = async () => (await belljar.count(tool, "CallStarted")) > before;
  await until(started, `${way}: the call to cancel never started`);
  cancel.abort();
  const stopped = async () => (await belljar.count(tool, "CallFinished", "interrupted")) > ended;
  await until(stopped, `${way}: a cancelled call is on record as interrupted`, END);
  check(`${way}: a cancelled call is stopped`, await call);
  const result = await client.call("conformance_test-simple-text", {});
  check(`${way}: its plugin works afterwards`, !result.isError, result);
}

/** A call waits for `belljar approvals` of another process, which lets it through or doesn't. */
export async function judgeQueue(way, client, belljar) {
  for (const verb of ["approve", "deny"]) {
    const path = `queued-${verb}-${way}`;
    const call = client.call("files_write", { path, content: "x" });
    await belljar.answerNext(verb);
    judgeWrite(`${way}: a call waits for \`approvals ${verb}\``, belljar, path, await call, verb === "approve");
  }
}

/** A call whose client asks its own person, who answers at once. */
export async function judgeAsked(way, client, belljar, letsThrough) {
  const path = `asked-${letsThrough}-${way}`;
  const result = await client.call("files_write", { path, content: "x" });
  const what = letsThrough ? "lets through" : "declines";
  judgeWrite(`${way}: a call that the client's person ${what}`, belljar, path, result, letsThrough);
}

function judgeWrite(what, belljar, path, result, letsThrough) {
  const there = existsSync(join(belljar.folder, "files", path));
  check(what, there === letsThrough && Boolean(result.isError) !== letsThrough, { there, result });
}

/** A person at the client who answers the form of an approval: each choice by its name. */
export function person(letsThrough) {
  const words = letsThrough ? ["allow", "approve", "once", "yes"] : ["deny", "decline", "no"];
  return async ({ params }) => {
    if (!letsThrough) return { action: "decline" };
    const content = {};
    for (const [name, field] of Object.entries(params.requestedSchema.properties)) {
      const choices = field.enum ?? field.oneOf?.map((one) => one.const);
      if (choices) content[name] = choices.find((one) => words.some((word) => one.includes(word)));
      else if (field.type === "boolean") content[name] = letsThrough;
    }
    return { action: "accept", content };
  };
}

/** Judges over stdio and over http. `connect` takes the way, the address or nothing, and a person or nobody. */
export async function judge(connect) {
  const [binary, folder] = process.argv.slice(2);
  if (!folder) fail(`usage: ${process.argv[1]} BELLJAR FOLDER`);
  const belljar = new Belljar(binary, folder);
  const judgeWay = async (way, address) => {
    const client = await connect(way, belljar, address);
    await judgeTools(way, client);
    await judgeCancel(way, client, belljar);
    await judgeQueue(way, client, belljar);
    await client.close();
    for (const letsThrough of [true, false]) {
      const asked = await connect(way, belljar, address, person(letsThrough));
      await judgeAsked(way, asked, belljar, letsThrough);
      await asked.close();
    }
  };
  await judgeWay("stdio");
  await belljar.http((address) => judgeWay("http", address));
}
