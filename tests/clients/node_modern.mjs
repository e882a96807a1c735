// Judges `belljar serve` with the npm package `@modelcontextprotocol/client`, by the revision
// 2026-07-28.
//
// Usage: node node_modern.mjs BELLJAR FOLDER

import { TOKEN, check, judge, packages } from "./judge.mjs";

const { Client, StreamableHTTPClientTransport } = packages("@modelcontextprotocol/client");
const { StdioClientTransport } = packages("@modelcontextprotocol/client/stdio");

const REVISION = "2026-07-28";

function transport(belljar, address) {
  if (!address) return new StdioClientTransport({ ...belljar.stdio(), env: process.env, stderr: "ignore" });
  const headers = { Authorization: `Bearer ${TOKEN}` };
  return new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit: { headers } });
}

async function connect(way, belljar, address, person) {
  const capabilities = person ? { elicitation: { form: {} } } : {};
  const versionNegotiation = { mode: "auto" };
  const client = new Client({ name: "judge", version: "1.0.0" }, { capabilities, versionNegotiation });
  if (person) client.setRequestHandler("elicitation/create", person);
  await client.connect(transport(belljar, address));
  const version = client.getNegotiatedProtocolVersion();
  check(`${way}: speaks ${REVISION}`, version === REVISION, version);
  return {
    tools: async () => (await client.listTools()).tools,
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    close: () => client.close(),
  };
}

await judge(connect);
