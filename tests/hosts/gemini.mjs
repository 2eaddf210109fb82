// Gemini CLI: its settings, its command line, the Gemini API, and the tools that the story uses.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const title = "Gemini CLI";

export function prepare({ home, url }) {
    mkdirSync(join(home, ".gemini"));
    const settings = {
        security: { auth: { selectedType: "gemini-api-key" } },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        general: { disableAutoUpdate: true, disableUpdateNag: true },
    };
    writeFileSync(join(home, ".gemini/settings.json"), JSON.stringify(settings));
    return { GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: "true" };
}

export function commandOf(client, prompt) {
    const script = join(client, "node_modules/@google/gemini-cli/bundle/gemini.js");
    return [process.execPath, script, "--approval-mode", "yolo", "--prompt", prompt];
}

export const find = undefined;

export const tools = {
    run: (command) => ["run_shell_command", { command }],
    edit: (file, before, after, project) => [
        "replace",
        { file_path: join(project, file), instruction: "Change it", old_string: before, new_string: after },
    ],
    memory: (tool, input) => [`mcp_jikime-memory_${tool}`, input],
};

export const protocol = {
    /** Requests beside the conversation: the choice of a model, and counts. */
    side(url) {
        if (url.includes("streamGenerateContent")) return undefined;
        if (url.includes("countTokens")) return { totalTokens: 1000 };
        const text = JSON.stringify({ reasoning: "none", model_choice: "pro", complexity_score: 10, complexity_reasoning: "none" });
        return answer([{ text }]);
    },

    isCompaction: () => false,

    stream(response, { says, calls = [] }) {
        const parts = says === undefined ? [] : [{ text: says }];
        parts.push(...calls.map(([name, args]) => ({ functionCall: { name, args } })));
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(`data: ${JSON.stringify(answer(parts))}\r\n\r\n`);
    },
};

function answer(parts) {
    const usageMetadata = { promptTokenCount: 1000, candidatesTokenCount: 10, totalTokenCount: 1010 };
    return { candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }], usageMetadata };
}
