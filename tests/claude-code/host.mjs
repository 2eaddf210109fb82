// The client: how it is started, told something, and ended; and what it reports of its hooks.

import { spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** How long an answer, or an end, may take, in milliseconds. */
const PATIENCE = 60_000;

/** How the client's debug log tells trouble with hooks that it does not report in its messages. */
const TROUBLE = /completed with status [^0]|\] cancelled|Adding stderr to/;

/** The command line of an installed client: a program of its platform, or, before there were any, a script. */
export function commandOf(client) {
    const scope = join(client, "node_modules/@anthropic-ai");
    const native = readdirSync(scope).map((name) => join(scope, name, "claude"));
    const found = native.find((path) => existsSync(path));
    return found ? [found] : [process.execPath, join(scope, "claude-code/cli.js")];
}

/** The variables of a client with a home of its own, which asks the model at `url`. */
export function environmentOf({ binaries, scratch, home, url }) {
    const [own, temporary] = [home, "tmp"].map((name) => {
        mkdirSync(join(scratch, name), { recursive: true });
        return join(scratch, name);
    });
    return {
        HOME: own,
        PATH: `${binaries}:${process.env.PATH}`,
        SHELL: "/bin/bash",
        LANG: "C.UTF-8",
        TMPDIR: temporary,
        CLAUDE_CODE_TMPDIR: temporary,
        // Lets the client run without asking for permissions also as root.
        IS_SANDBOX: "1",
        ANTHROPIC_API_KEY: "sk-ant-none",
        ANTHROPIC_BASE_URL: url,
        HTTPS_PROXY: url,
        NO_PROXY: "127.0.0.1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
        DISABLE_ERROR_REPORTING: "1",
        DISABLE_TELEMETRY: "1",
    };
}

/** One session: a client that is told one thing after the other. */
export class Host {
    messages = [];
    stderr = "";
    #waiting;
    #terminated = false;

    constructor(name, { command, options, project, environment, outputs }) {
        this.name = name;
        this.debugLog = join(outputs, `${name}.debug.log`);
        const [program, ...first] = command;
        const ours = ["-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"];
        const rest = ["--permission-mode", "bypassPermissions", "--debug-file", this.debugLog, ...options];
        this.child = spawn(program, [...first, ...ours, ...rest], { cwd: project, env: environment });
        this.child.stdin.on("error", () => {});
        this.ended = new Promise((resolve) => this.child.on("close", (code, signal) => resolve(signal ?? code)));
        this.child.stderr.on("data", (data) => (this.stderr += data));
        const file = createWriteStream(join(outputs, `${name}.stdout.jsonl`));
        createInterface({ input: this.child.stdout }).on("line", (line) => {
            file.write(`${line}\n`);
            const message = JSON.parse(line);
            this.messages.push(message);
            if (message.type === "result") this.#waiting?.();
        });
    }

    /** Says something and waits until it was answered, `answers` times. */
    async say(content, answers = 1) {
        const wanted = this.#results() + answers;
        this.#send(content);
        const answered = new Promise((resolve) => {
            this.#waiting = () => this.#results() >= wanted && resolve();
        });
        await this.#within(answered, `an answer to ${JSON.stringify(content)}`);
        const failed = this.messages.find((message) => message.is_error);
        if (failed) throw this.#error(`${content}: ${failed.result}`);
    }

    /** Says something, and ends the client in the middle of the turn, when `asked` is. */
    async sayAndTerminate(content, asked) {
        this.#send(content);
        await this.#within(asked, `the model to be asked ${JSON.stringify(content)}`);
        this.#terminated = this.child.kill("SIGTERM");
        await this.end();
    }

    /** Ends the session as its user does. */
    async end() {
        this.child.stdin.end();
        const code = await this.#within(this.ended, "the client to end");
        if (code !== 0 && !this.#terminated) throw this.#error(`the client ended with ${code}`);
    }

    kill() {
        this.child.kill("SIGKILL");
    }

    get id() {
        return this.#started?.session_id;
    }

    get version() {
        return this.#started?.claude_code_version;
    }

    get #started() {
        return this.messages.find(({ subtype }) => subtype === "init");
    }

    /** The runs of hooks that the client reports. */
    get hooks() {
        return this.messages.filter(({ subtype }) => subtype === "hook_response");
    }

    /** What the client reports of hooks that failed or complained, in its messages, its debug log and to its user. */
    trouble() {
        const reported = this.hooks
            .filter((hook) => hook.exit_code !== 0 || hook.outcome !== "success" || hook.stderr !== "")
            .map(({ hook_name, exit_code, outcome, stderr }) => `${hook_name}: ${outcome} ${exit_code}: ${stderr.trim()}`);
        const logged = existsSync(this.debugLog)
            ? readFileSync(this.debugLog, "utf8").split("\n").filter((line) => TROUBLE.test(line))
            : ["wrote no debug log"];
        const told = this.stderr.split("\n").filter(Boolean);
        return [...reported, ...logged, ...told].map((line) => `${this.name}: ${line}`);
    }

    #error(text) {
        return new Error(`${this.name}: ${text}\n${this.stderr}`.trimEnd());
    }

    #send(content) {
        this.child.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`);
    }

    #results() {
        return this.messages.filter(({ type }) => type === "result").length;
    }

    async #within(work, what) {
        let timer;
        const limit = new Promise((_, reject) => {
            timer = setTimeout(() => reject(this.#error(`waited ${PATIENCE / 1000} s for ${what}`)), PATIENCE);
        });
        const gone = this.ended.then((code) => {
            throw this.#error(`the client ended with ${code} before ${what}`);
        });
        gone.catch(() => {});
        try {
            return await Promise.race(work === this.ended ? [work, limit] : [work, limit, gone]);
        } finally {
            clearTimeout(timer);
        }
    }
}
