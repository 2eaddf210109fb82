// Plays a host with the official TypeScript client: what it lists, calls, reads and is told, in one era over one transport.
//
//   usage: node check.mjs MODULES BINARY SCRATCH ERA TRANSPORT
//
// MODULES is the folder with the packages, ERA legacy or modern, TRANSPORT stdio or http. The client checks every answer against the
// schema of the protocol by itself, and every result of a tool against the tool's.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";

const [modules, binary, scratch, era, transport] = process.argv.slice(2);
const require = createRequire(path.join(modules, "check.cjs"));

const TOOLS = ["memory_get", "memory_load", "memory_reindex", "memory_save", "memory_search", "memory_stats"];
const PROMPTS = ["recall", "remember", "review-memory", "summarize-session"];
const TOKEN = "a-token-of-this-check-only";
const DECISION = "Cache the session tokens in Redis with a time to live of five minutes";
const NOTES = 400;
const PATIENCE = 30_000;

const project = path.join(scratch, "project");
const home = path.join(scratch, "home");
const store = path.join(project, ".jikime", "memory");
const environment = { PATH: process.env.PATH, HOME: home, JIKIME_HTTP_TOKEN: TOKEN };

/** The two releases of the client: the one that hosts have had for long, and that of today. */
const clients = {
  legacy: () => {
    const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { ResourceUpdatedNotificationSchema } = require("@modelcontextprotocol/sdk/types.js");
    const client = new Client({ name: "check", version: "1" });
    return {
      client,
      StdioClientTransport,
      StreamableHTTPClientTransport,
      call: (parameters, options) => client.callTool(parameters, undefined, options),
      follow: async (uri, told) => {
        client.setNotificationHandler(ResourceUpdatedNotificationSchema, (notice) => told(notice.params.uri));
        await client.subscribeResource({ uri });
        return () => client.unsubscribeResource({ uri });
      },
    };
  },
  modern: () => {
    const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
    const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
    const client = new Client({ name: "check", version: "1" }, { versionNegotiation: { mode: "auto" } });
    return {
      client,
      StdioClientTransport,
      StreamableHTTPClientTransport,
      call: (parameters, options) => client.callTool(parameters, options),
      follow: async (uri, told) => {
        client.setNotificationHandler("notifications/resources/updated", (notice) => told(notice.params.uri));
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        assert.deepEqual(subscription.honoredFilter.resourceSubscriptions, [uri]);
        return () => subscription.close();
      },
    };
  },
};

/** Starts the server, or has the client start it, and gives the connection and how to end the server. */
async function connect({ client, StdioClientTransport, StreamableHTTPClientTransport }) {
  if (transport === "stdio") {
    await client.connect(new StdioClientTransport({ command: binary, args: ["serve"], cwd: project, env: environment }));
    return () => {};
  }
  const server = spawn(binary, ["serve", "--http", "127.0.0.1:0"], {
    cwd: project, env: environment, stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: server.stderr }).on("line", (line) => {
      if (line.startsWith("serving ")) resolve(new URL(line.slice("serving ".length)));
    });
    ended.then((code) => reject(new Error(`the server ended with ${code}`)));
  });
  const requestInit = { headers: { Authorization: `Bearer ${TOKEN}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return async () => {
    server.kill("SIGTERM");
    assert.equal(await ended, 0, "the server ends with status 0");
  };
}

async function check(connection) {
  const { client, call } = connection;
  assert.equal(client.getServerVersion().name, "jikime-memory");
  assert.match(client.getInstructions(), /memory_search/);
  assert.ok(client.getServerCapabilities().resources.subscribe, "resources can be subscribed to");

  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name).sort(), TOOLS);
  const saved = await call({ name: "memory_save", arguments: { type: "decision", content: DECISION } });
  assert.equal(saved.structuredContent.saved, true);
  const found = await call({ name: "memory_search", arguments: { query: "session tokens Redis cache" } });
  const [hit] = found.structuredContent.results;
  assert.match(hit.snippet, /Redis/);
  const refused = await call({ name: "memory_search", arguments: {} });
  assert.equal(refused.isError, true);
  await assert.rejects(call({ name: "memory_dance", arguments: {} }), { code: -32602 });

  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((prompt) => prompt.name).sort(), PROMPTS);
  const recall = await client.getPrompt({ name: "recall", arguments: { topic: "the session cache" } });
  assert.match(recall.messages[0].content.text, /the session cache/);
  await assert.rejects(client.getPrompt({ name: "recall", arguments: {} }), { code: -32602 });

  const { resources } = await client.listResources();
  for (const { uri } of resources) {
    const { contents } = await client.readResource({ uri });
    assert.equal(contents[0].uri, uri);
  }
  assert.ok(resources.some(({ uri }) => uri === "memory://today"));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length, 2);
  const memory = await client.readResource({ uri: `memory://memory/${hit.id}` });
  assert.match(memory.contents[0].text, /Redis/);
  const missing = era === "modern" ? -32602 : -32002;
  await assert.rejects(client.readResource({ uri: "memory://daily/1999-01-01" }), { code: missing });

  const complete = async (uri, name, value) => {
    const { completion } = await client.complete({ ref: { type: "ref/resource", uri }, argument: { name, value } });
    return completion.values;
  };
  assert.match((await complete("memory://daily/{date}", "date", "20"))[0], /^20\d\d-\d\d-\d\d$/);
  const completed = await complete("memory://memory/{id}", "id", hit.id.slice(0, 4));
  assert.ok(completed.some((id) => id.startsWith(hit.id)), "results show the beginning of an id");
  assert.deepEqual(await complete("memory://daily/{date}", "date", "1999"), []);

  const steps = [];
  const rebuilt = await call(
    { name: "memory_reindex", arguments: { full: true } },
    { onprogress: ({ progress, total }) => steps.push([progress, total]) },
  );
  assert.equal(rebuilt.structuredContent.files, NOTES + 1);
  assert.ok(steps.length > 1, "progress is told");
  assert.ok(steps.every(([step], n) => n === 0 || step > steps[n - 1][0]), `only forwards: ${steps}`);

  const taken = new AbortController();
  const cancelled = call(
    { name: "memory_reindex", arguments: { full: true } },
    { signal: taken.signal, onprogress: () => taken.abort("the check takes it back") },
  );
  await assert.rejects(cancelled);
  const again = await call({ name: "memory_search", arguments: { query: "session tokens Redis cache" } });
  assert.notEqual(again.structuredContent.count, 0, "the server goes on");

  let told;
  const notice = new Promise((resolve) => (told = resolve));
  const stop = await connection.follow("memory://long-term", told);
  writeFileSync(path.join(store, "MEMORY.md"), "# Memory\n\nThe gateway allows forty requests a second.\n");
  assert.equal(await notice, "memory://long-term");
  await stop();

  const many = Array.from({ length: 50 }, () => call({ name: "memory_stats", arguments: {} }));
  for (const stats of await Promise.all(many)) assert.ok(stats.structuredContent.memories >= 1);
}

for (const folder of [home, path.join(store, "notes")]) mkdirSync(folder, { recursive: true });
for (let n = 0; n < NOTES; n++) {
  const text = `The note ${n} says this and that of its subject. `.repeat(20);
  writeFileSync(path.join(store, "notes", `${n}.md`), `# Note ${n}\n\n${text}\n`);
}
const late = setTimeout(() => {
  console.error(`not done after ${PATIENCE} ms`);
  process.exit(1);
}, PATIENCE * 2);
const connection = clients[era]();
const end = await connect(connection);
// The older release speaks nothing but what it always spoke, and does not tell.
if (era === "modern") assert.equal(connection.client.getNegotiatedProtocolVersion(), "2026-07-28");
await check(connection);
await connection.client.close();
await end();
clearTimeout(late);
