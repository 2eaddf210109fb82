// A Messages API on loopback that answers what a story tells it to, and notes where the requests are not as the story has them.

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

/** What the host asks for when it compacts a conversation. */
const SUMMARY = /create a detailed summary of/;

export class Model {
    requests = 0;
    faults = [];
    /** Turns of the main conversation that are still to come. */
    turns = [];
    #hangs;
    #server = createServer((request, response) => this.#serve(request, response));

    /** `summary` answers a compaction, `reports` what subagents are given to do: `{ task, says }`. */
    constructor({ summary, reports }, folder) {
        Object.assign(this, { summary, reports, folder });
        // A client that wants any other host comes here as to a proxy, and gets nowhere.
        this.#server.on("connect", (_, socket) => socket.destroy());
    }

    async listen() {
        await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
        this.url = `http://127.0.0.1:${this.#server.address().port}`;
    }

    close() {
        this.#server.closeAllConnections();
        this.#server.close();
    }

    /** Ends when a turn is asked for that `hangs`. */
    hanging() {
        return new Promise((resolve) => (this.#hangs = resolve));
    }

    async #serve(request, response) {
        const chunks = [];
        for await (const chunk of request) chunks.push(chunk);
        const body = chunks.length ? JSON.parse(Buffer.concat(chunks)) : {};
        if (!request.url.startsWith("/v1/messages")) return json(response, {});
        if (request.url.includes("count_tokens")) return json(response, { input_tokens: 1000 });

        this.requests += 1;
        this.file = `request-${String(this.requests).padStart(2, "0")}.json`;
        writeFileSync(join(this.folder, this.file), JSON.stringify(body, null, 1));
        const turn = this.#turn(body);
        // A model takes a while: hooks that run beside it have some of the time that they would have.
        await new Promise((resolve) => setTimeout(resolve, turn.takes ?? 200));
        if (turn.hangs) return this.#hangs();
        const message = messageOf(turn, body.model, this.requests);
        return body.stream ? stream(response, message) : json(response, message);
    }

    #turn({ messages, tools = [] }) {
        const asked = messages.filter(({ role }) => role === "user").map(({ content }) => textOf(content));
        if (SUMMARY.test(asked.at(-1))) return { says: this.summary };
        const report = this.reports.find(({ task }) => asked[0].includes(task));
        if (report) return report;
        // Titles and the like, which the host asks for beside the conversation.
        if (!tools.some(({ name }) => name === "Bash")) return { says: "ok" };

        const turn = this.turns.shift() ?? { says: "" };
        if (turn.says === "") this.#fault("a turn in the story", asked.at(-1));
        const whole = messages.map(({ content }) => textOf(content)).join("\n");
        const brief = whole.match(/.*(<memory-context.*<\/memory-context>)/s)?.[1] ?? "no <memory-context>";
        for (const text of turn.context ?? []) if (!whole.includes(text)) this.#fault(text, brief);
        for (const text of turn.results ?? []) if (!asked.at(-1).includes(text)) this.#fault(text, asked.at(-1));
        for (const text of turn.lacks ?? []) if (asked.at(-1).includes(text)) this.#fault(`no ${text}`, asked.at(-1));
        const length = asked.at(-1).length;
        if (length > (turn.within ?? Infinity)) this.#fault(`at most ${turn.within} characters`, `${length}: ${asked.at(-1)}`);
        return turn;
    }

    #fault(expected, found) {
        const shown = [expected, found.slice(0, 2000)].map((text) => text.replaceAll("\n", "\n    "));
        this.faults.push(`${this.file}: expected: ${shown[0]}\n  but found: ${shown[1]}`);
    }
}

/** The text of a message, of its tool results too. */
function textOf(content) {
    if (typeof content === "string") return content;
    return (content ?? []).map((block) => block.text ?? textOf(block.content)).join("\n");
}

function messageOf({ says, calls = [] }, model, number) {
    const content = says === undefined ? [] : [{ type: "text", text: says }];
    calls.forEach(([name, input], n) => content.push({ type: "tool_use", id: `toolu_${number}_${n}`, name, input }));
    return {
        id: `msg_${number}`,
        type: "message",
        role: "assistant",
        model,
        content,
        stop_reason: calls.length ? "tool_use" : "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 1000, output_tokens: 100 },
    };
}

function json(response, value) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
}

function stream(response, message) {
    const send = (type, fields) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
    response.writeHead(200, { "content-type": "text/event-stream" });
    send("message_start", { message: { ...message, content: [], stop_reason: null } });
    message.content.forEach((block, index) => {
        const isText = block.type === "text";
        const delta = isText
            ? { type: "text_delta", text: block.text }
            : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
        const empty = isText ? { text: "" } : { input: {} };
        send("content_block_start", { index, content_block: { ...block, ...empty } });
        send("content_block_delta", { index, delta });
        send("content_block_stop", { index });
    });
    send("message_delta", { delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage: message.usage });
    send("message_stop", {});
    response.end();
}
