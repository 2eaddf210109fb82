// Plays the story in a client, then compares what it left with what it should have.
//
//   usage: node check.mjs codex|gemini CLIENT BINARIES SCRATCH

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Model } from "./model.mjs";
import { files, story, summary } from "./story.mjs";

/** How long a session may take, in milliseconds. */
const PATIENCE = 100_000;

const [name, client, binaries, scratch] = process.argv.slice(2);
const host = await import(`./${name}.mjs`);
const [project, home, temporary, outputs] = ["project", "home", "tmp", "outputs"].map((folder) => {
    mkdirSync(join(scratch, folder));
    return join(scratch, folder);
});
const start = performance.now();
const faults = [];

const model = new Model(host.protocol, outputs);
model.summary = summary;
await model.listen();
const environment = {
    HOME: home,
    PATH: `${binaries}:${process.env.PATH}`,
    SHELL: "/bin/bash",
    LANG: "C.UTF-8",
    TERM: "dumb",
    TMPDIR: temporary,
    HTTPS_PROXY: model.url,
    NO_PROXY: "127.0.0.1",
    ...host.prepare({ home, project, url: model.url }),
};
const sessions = story({ client: name, tools: host.tools, find: host.find, project });

execFileSync("git", ["init", "--quiet"], { cwd: project, env: environment });
for (const [file, text] of Object.entries(files)) writeFileSync(join(project, file), text);
try {
    memory("init", "--yes", "--host", name);
    for (const [number, session] of sessions.entries()) await play(session, number + 1);
    compareMemories();
    memory("uninstall", "--yes");
    compare("the project after uninstall", left(), [".git", ".jikime", ...sessions.length > 2 ? ["retries.sh"] : ["check.sh"]]);
} catch (error) {
    faults.push(error.message);
}
model.close();
faults.push(...model.faults);
if (faults.length) {
    console.error(`${host.title}: not as expected:\n${faults.map((fault) => `- ${fault}`).join("\n")}`);
    process.exit(1);
}
const seconds = ((performance.now() - start) / 1000).toFixed(1);
const { dependencies } = JSON.parse(readFileSync(join(client, "package.json"), "utf8"));
const seen = [`${sessions.length} sessions`, `${model.requests} requests`, `${list().length} memories`];
console.log(`${host.title} ${Object.values(dependencies)}: ${seen.join(", ")}, as expected in ${seconds} s`);

/** One session without a terminal, from its start to its end. */
async function play({ prompt, turns }, number) {
    model.turns = [...turns];
    const [program, ...args] = host.commandOf(client, prompt);
    const child = spawn(program, args, { cwd: project, env: environment, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
    const ended = new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ?? code)));
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
    const code = await ended;
    clearTimeout(timer);
    writeFileSync(join(outputs, `session-${number}.log`), output);
    if (code !== 0) throw new Error(`session ${number} ended with ${code}: ${output.slice(-2000)}`);
    if (model.turns.length) faults.push(`session ${number}: the last ${model.turns.length} turns were not asked for`);
}

function memory(...args) {
    return execFileSync(join(binaries, "jikime-memory"), args, { cwd: project, env: environment, encoding: "utf8" });
}

function list() {
    return JSON.parse(memory("list", "--json", "--limit", "1000"));
}

function left() {
    return readdirSync(project).sort();
}

/** Every memory of the story is there, once and with the others of its session, and no other; and the logs alone give all of them again. */
function compareMemories() {
    const found = list();
    const ids = new Set(found.map(({ session_id }) => session_id).filter(Boolean));
    if (ids.size !== sessions.length) faults.push(`${sessions.length} sessions have the ids ${[...ids]}`);
    const expected = sessions.flatMap(({ remembers }) => remembers);
    compare("the store", found.map(({ type, content }) => [type, content]), expected);
    const store = join(project, ".jikime/memory");
    for (const file of readdirSync(store)) if (/^(memory|index)\.db/.test(file)) rmSync(join(store, file));
    compare("the daily logs without the databases", list().map(({ type, content }) => [type, content]), expected);
    const complaints = join(store, "hook.log");
    if (existsSync(complaints)) faults.push(`hook.log: ${readFileSync(complaints, "utf8")}`);
}

function compare(where, found, expected) {
    const rest = [...found];
    for (const wanted of expected) {
        const at = rest.findIndex((item) => isSame(item, wanted));
        if (at < 0) faults.push(`${where}: missing: ${show(wanted)}`);
        else rest.splice(at, 1);
    }
    faults.push(...rest.map((item) => `${where}: not expected: ${show(item)}`));
}

function isSame(found, wanted) {
    if (typeof wanted === "string") return found === wanted;
    const [type, content] = wanted;
    return found[0] === type && (content instanceof RegExp ? content.test(found[1]) : found[1] === content);
}

function show(item) {
    return Array.isArray(item) ? `${item[0]}: ${item[1] instanceof RegExp ? item[1] : JSON.stringify(item[1])}` : item;
}
