// A model on loopback that gives the turns of a story, and notes where the requests are not as the story has them. The protocol is that of
// the client.

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

export class Model {
    requests = 0;
    faults = [];
    /** Turns that are still to come. */
    turns = [];
    #server = createServer((request, response) => this.#serve(request, response));

    constructor(protocol, folder) {
        Object.assign(this, { protocol, folder });
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

    async #serve(request, response) {
        const chunks = [];
        for await (const chunk of request) chunks.push(chunk);
        const text = Buffer.concat(chunks).toString();
        const side = this.protocol.side(request.url, text);
        if (side) return json(response, side);
        this.requests += 1;
        this.file = `request-${String(this.requests).padStart(2, "0")}.json`;
        writeFileSync(join(this.folder, this.file), text);
        this.protocol.stream(response, this.#turn(text), this.requests);
    }

    #turn(text) {
        if (this.protocol.isCompaction(text)) return { says: this.summary };
        const turn = this.turns.shift();
        if (!turn) {
            this.faults.push(`${this.file}: the story has no such turn`);
            return { says: "ok" };
        }
        // Texts of requests are JSON within JSON, and some clients escape tags.
        const plain = text.replaceAll("&lt;", "<").replaceAll("&gt;", ">");
        for (const expected of turn.sees ?? []) {
            if (!plain.includes(JSON.stringify(expected).slice(1, -1))) this.faults.push(`${this.file}: does not have: ${expected}`);
        }
        for (const other of turn.seesNot ?? []) {
            if (plain.includes(JSON.stringify(other).slice(1, -1))) this.faults.push(`${this.file}: should not have: ${other}`);
        }
        return turn;
    }
}

function json(response, value) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
}
