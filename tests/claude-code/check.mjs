// Plays the story in the client, then compares what it left with what it should have.
//
//   usage: node check.mjs VERSION CLIENT BINARIES SCRATCH

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { Host, commandOf, environmentOf } from "./host.mjs";
import { Model } from "./model.mjs";
import { story } from "./story.mjs";

const [version, client, binaries, scratch] = process.argv.slice(2);
const january = version === "2.1.20";
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const [project, outputs] = ["project", "outputs"].map((name) => {
    mkdirSync(join(scratch, name));
    return join(scratch, name);
});
const start = performance.now();
const faults = [];

const { sessions, ...answers } = story({ january, project });
const model = new Model(answers, outputs);
await model.listen();
const environment = environmentOf({ binaries, scratch, home: "home", url: model.url });

execFileSync("git", ["init", "--quiet"], { cwd: project, env: environment });
writeFileSync(join(project, ".mcp.json"), readFileSync(join(root, "mcp.example.json")));
mkdirSync(join(project, ".claude"));

const hosts = [];
try {
    for (const session of sessions) await play(session);
    compareMemories();
} catch (error) {
    faults.push(error.message);
}
model.close();
faults.push(...model.faults, ...hosts.flatMap((host) => host.trouble()));
if (faults.length) {
    console.error(`claude-code ${version}: not as expected:\n${faults.map((fault) => `- ${fault}`).join("\n")}`);
    process.exit(1);
}
const hooks = hosts.flatMap((host) => host.hooks).length;
const seconds = ((performance.now() - start) / 1000).toFixed(1);
const seen = [
    `${sessions.length} sessions`,
    `${model.requests} requests`,
    `${hooks} hooks reported`,
    `${remembered().length} memories`,
];
console.log(`claude-code ${version}: ${seen.join(", ")}, as expected in ${seconds} s`);

/** One session from its start to its end. */
async function play({ name, steps, options = [], hooks, files = {} }) {
    for (const [file, text] of Object.entries(files)) writeFileSync(join(project, file), text);
    if (hooks === "init") initialise();
    else writeFileSync(join(project, ".claude/settings.json"), JSON.stringify(settings(hooks), null, 2));
    // Before its time, the option is unknown.
    const reporting = january ? [] : ["--include-hook-events"];
    const command = commandOf(client);
    const host = new Host(name, { command, options: [...reporting, ...options], project, environment, outputs });
    hosts.push(host);
    try {
        for (const step of steps) {
            model.turns = [...(step.model ?? [])];
            if (step.cutShort) await host.sayAndTerminate(step.says, model.hanging());
            else await host.say(step.says, step.answers);
            const left = model.turns.length;
            if (left) throw new Error(`${name}: ${step.says}: the last ${left} turns were not asked for`);
        }
        await host.end();
    } finally {
        host.kill();
    }
    if (host.version !== version) faults.push(`${name}: the client is ${host.version}`);
}

/** From here on the project is as `jikime-memory init` sets it up; a client skips a file with an event that it does not know. */
function initialise() {
    for (const file of [".mcp.json", ".claude/settings.json"]) rmSync(join(project, file));
    const told = execFileSync(join(binaries, "jikime-memory"), ["init", "--yes"], { cwd: project, env: environment, encoding: "utf8" });
    if (!told.includes("lists 6 tools")) throw new Error(`init did not try the server out: ${told}`);
    for (const file of [".mcp.json", ".claude/settings.json", "CLAUDE.md"])
        if (!existsSync(join(project, file))) throw new Error(`init did not write ${file}: ${told}`);
    if (!january) return;
    const file = join(project, ".claude/settings.json");
    const written = JSON.parse(readFileSync(file, "utf8"));
    delete written.hooks.PostCompact;
    writeFileSync(file, JSON.stringify(written));
}

/** The hooks that docs/setup.md tells, with commands as lines for a shell or as programs with arguments. */
function settings(form = "shell") {
    const blocks = [...readFileSync(join(root, "docs/setup.md"), "utf8").matchAll(/^```json\n(.*?)^```/gms)];
    const told = blocks.map(([, json]) => JSON.parse(json)).find(({ hooks }) => hooks);
    if (!told) throw new Error("docs/setup.md has no block of JSON with hooks");
    for (const [event, groups] of Object.entries(told.hooks)) {
        // A client skips a file of settings that names an event it does not know.
        if (january && event === "PostCompact") delete told.hooks[event];
        for (const hook of groups.flatMap((group) => group.hooks)) {
            const [program, ...args] = [...hook.command.split(" "), ...(hook.args ?? [])];
            delete hook.args;
            // Clients of January do not know `args`.
            if (form === "exec" && !january) Object.assign(hook, { command: program, args });
            else hook.command = [program, ...args].join(" ");
        }
    }
    return told;
}

function list() {
    const args = ["list", "--json", "--limit", "1000", "--project", project];
    return JSON.parse(execFileSync(join(binaries, "jikime-memory"), args, { env: environment, encoding: "utf8" }));
}

/** What is remembered, a line for each memory, in the order of the alphabet. */
function remembered() {
    const nameOf = (id) => hosts.find((host) => host.id === id)?.name ?? id;
    return list().map(({ type, content, session_id }) => line(nameOf(session_id), type, content)).sort();
}

function line(session, type, content) {
    return `${session}: ${type}: ${JSON.stringify(content)}`;
}

/** Every memory of the story is there, once, and no other; and the logs alone give all of them again. */
function compareMemories() {
    const expected = sessions.flatMap(({ name, continues, steps }) =>
        steps.flatMap(({ remembers }) =>
            remembers.map(([type, content, session = continues ?? name]) => line(session, type, content)),
        ),
    );
    const found = remembered();
    compare("the store", expected, found);
    const store = join(project, ".jikime/memory");
    for (const name of readdirSync(store)) if (/^(memory|index)\.db/.test(name)) rmSync(join(store, name));
    compare("the daily logs without the databases", found, remembered());
    const complaints = join(store, "hook.log");
    if (existsSync(complaints)) faults.push(`hook.log: ${readFileSync(complaints, "utf8")}`);
}

function compare(where, expected, found) {
    const rest = [...found];
    for (const memory of expected) {
        const at = rest.indexOf(memory);
        if (at < 0) faults.push(`${where}: missing: ${memory}`);
        else rest.splice(at, 1);
    }
    faults.push(...rest.map((memory) => `${where}: not expected: ${memory}`));
}
