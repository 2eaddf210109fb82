// Codex CLI: its settings, its command line, the Responses API, and the tools that the story uses.

import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const MEMORY = "mcp__jikime_memory";

export const title = "Codex";

export function prepare({ home, project, url }) {
    mkdirSync(join(home, ".codex"));
    const settings = `
        model = "gpt-5.5"
        model_provider = "scripted"
        model_auto_compact_token_limit = 100000
        [model_providers.scripted]
        name = "scripted"
        base_url = "${url}/v1"
        wire_api = "responses"
        env_key = "SCRIPTED_KEY"
        [projects."${project}"]
        trust_level = "trusted"
        [analytics]
        enabled = false
    `;
    writeFileSync(join(home, ".codex/config.toml"), settings.replace(/^ +/gm, ""));
    return { SCRIPTED_KEY: "none" };
}

export function commandOf(client, prompt) {
    const scope = join(client, "node_modules/@openai");
    const found = readdirSync(scope).flatMap((name) => {
        const vendor = join(scope, name, "vendor");
        return existsSync(vendor) ? readdirSync(vendor).map((target) => join(vendor, target, "bin/codex")) : [];
    });
    // A person trusts the hooks once in the dialogue of the client; a session without a terminal cannot.
    const trusted = ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"];
    return [found.find((path) => existsSync(path)), "exec", "--json", ...trusted, prompt];
}

/** Tools of a server must be found before they are called. */
export const find = [["tool_search", { query: "memory", limit: 8 }]];

export const tools = {
    run: (command) => ["exec_command", { cmd: command }],
    edit: (file, before, after) => ["apply_patch", `*** Begin Patch\n*** Update File: ${file}\n@@\n-${before}\n+${after}\n*** End Patch`],
    memory: (tool, input) => [tool, input, MEMORY],
};

export const protocol = {
    side: (url) => (url.endsWith("/responses") ? undefined : { object: "list", data: [], models: [] }),

    isCompaction: (text) => /CONTEXT CHECKPOINT COMPACTION/.test(text.slice(-20000)),

    stream(response, { says, calls = [], tokens = 1000 }, number) {
        const send = (type, fields) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
        const id = `resp_${number}`;
        const message = { type: "message", role: "assistant", id: `msg_${number}`, content: [{ type: "output_text", text: says }] };
        const items = [...(says === undefined ? [] : [message]), ...calls.map((call, n) => item(call, `call_${number}_${n}`))];
        response.writeHead(200, { "content-type": "text/event-stream" });
        send("response.created", { response: { id } });
        items.forEach((item, output_index) => send("response.output_item.done", { output_index, item }));
        const usage = { input_tokens: tokens, output_tokens: 10, total_tokens: tokens + 10 };
        send("response.completed", { response: { id, usage } });
        response.end();
    },
};

function item([name, input, namespace], call_id) {
    if (name === "tool_search") {
        return { type: "tool_search_call", call_id, execution: "client", status: "completed", arguments: input };
    }
    if (typeof input === "string") return { type: "custom_tool_call", call_id, name, input };
    return { type: "function_call", call_id, name, namespace, arguments: JSON.stringify(input) };
}
