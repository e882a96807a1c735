// Judges `belljar serve` with the npm package `@modelcontextprotocol/sdk`, by the handshake of
// 2025-11-25.
//
// Usage: node node_legacy.mjs BELLJAR FOLDER

import { TOKEN, check, judge, packages } from "./judge.mjs";

const { Client } = packages("@modelcontextprotocol/sdk/client");
const { StdioClientTransport } = packages("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = packages("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { ElicitRequestSchema } = packages("@modelcontextprotocol/sdk/types.js");

const REVISION = "2025-11-25";

/** Keeps what was agreed on, since the library's client doesn't tell. */
function watched(transport) {
  const agreed = {};
  const told = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    agreed.version = version;
    told?.(version);
  };
  return [transport, agreed];
}

function transport(belljar, address) {
  if (!address) return new StdioClientTransport({ ...belljar.stdio(), env: process.env, stderr: "ignore" });
  const headers = { Authorization: `Bearer ${TOKEN}` };
  return new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit: { headers } });
}

async function connect(way, belljar, address, person) {
  const capabilities = person ? { elicitation: { form: {} } } : {};
  const client = new Client({ name: "judge", version: "1.0.0" }, { capabilities });
  if (person) client.setRequestHandler(ElicitRequestSchema, person);
  const [wire, agreed] = watched(transport(belljar, address));
  await client.connect(wire);
  check(`${way}: speaks ${REVISION}`, agreed.version === REVISION, agreed.version);
  return {
    tools: async () => (await client.listTools()).tools,
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    close: () => client.close(),
  };
}

await judge(connect);
