// Two members of a team, each with a home and a project: what one shares is in the other's brief, through git, and through a server.
//
//   usage: node team.mjs VERSION CLIENT BINARIES SCRATCH SERVER
//
// SERVER serves a team; see tests/src/bin/team.rs.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { Host, commandOf, environmentOf } from "./host.mjs";
import { Model } from "./model.mjs";

const [version, client, binaries, scratch, server] = process.argv.slice(2);
const outputs = join(scratch, "outputs");
mkdirSync(outputs);
const model = new Model({ summary: "", reports: [] }, outputs);
await model.listen();
const faults = [];

/** A machine: a home and a project. */
class Machine {
    constructor(name) {
        this.name = name;
        this.project = join(scratch, name);
        mkdirSync(this.project);
        const of = environmentOf({ binaries, scratch, home: `${name}-home`, url: model.url });
        this.environment = { ...of, JIKIME_TEAM_SHARE_BY_MODEL: "on", GIT_CONFIG_GLOBAL: "/dev/null" };
    }

    run(program, args, more = {}) {
        const options = { cwd: this.project, env: { ...this.environment, ...more }, encoding: "utf8" };
        return execFileSync(program, args, options);
    }

    git(...args) {
        const as = ["-c", `user.name=${this.name}`, "-c", "user.email=member@example.com", "-c", "init.defaultBranch=main"];
        return this.run("git", [...as, ...args]);
    }

    memory(...args) {
        return this.run(join(binaries, "jikime-memory"), args);
    }

    push() {
        this.git("add", "--all");
        this.git("commit", "--quiet", "--message", "shared");
        this.git("push", "--quiet", "origin", "HEAD:main");
    }

    /** A session in which the user says something, and the model does what `turns` say. */
    async play(says, turns) {
        const host = new Host(`${this.name}: ${says.slice(0, 12)}`, {
            command: commandOf(client),
            options: [],
            project: this.project,
            environment: this.environment,
            outputs,
        });
        try {
            model.turns = [...turns];
            await host.say(says);
            await host.end();
        } finally {
            host.kill();
        }
        faults.push(...host.trouble());
    }

    /** The model saves a decision and shares it. */
    async share(content) {
        const save = ["mcp__jikime-memory__memory_save", { type: "decision", content, share: true }];
        await this.play("Note that for the team", [{ calls: [save] }, { results: ["proposed to the team"], says: "It is noted." }]);
    }

    /** The member approves what is proposed, and the next session begins with it. */
    async approveAndBegin(content, author) {
        const [{ id }] = JSON.parse(this.memory("team", "--json"));
        this.memory("approve", id);
        await this.play("What is decided?", [{ context: [`- ${content} (${author}, `], says: "See above." }]);
    }
}

const PNPM = "We use pnpm for all packages, because npm loses workspaces.";
const REDIS = "세션은 Redis에 저장한다, because two servers share them.";

async function throughGit() {
    const hub = join(scratch, "hub.git");
    const [minji, jun] = ["minji", "jun"].map((name) => new Machine(name));
    minji.git("init", "--quiet", "--bare", hub);
    minji.git("clone", "--quiet", hub, ".");
    minji.memory("init", "--yes");
    minji.memory("team", "init", "--author", "minji");
    minji.push();
    jun.git("clone", "--quiet", "--branch", "main", hub, ".");
    jun.memory("team", "init", "--author", "jun");
    await minji.share(PNPM);
    minji.push();
    jun.git("pull", "--quiet", "origin", "main");
    await jun.approveAndBegin(PNPM, "minji");
}

async function throughServer({ url, ...tokens }) {
    const [minji, jun] = ["minji", "jun"].map((name) => {
        const machine = new Machine(`${name}-elsewhere`);
        machine.git("init", "--quiet");
        machine.memory("init", "--yes");
        machine.memory("team", "init", "--author", name);
        machine.run(join(binaries, "jikime-memory"), ["team", "connect", url], { JIKIME_TEAM_TOKEN: tokens[name] });
        return machine;
    });
    await minji.share(REDIS);
    minji.memory("team", "sync");
    jun.memory("team", "sync");
    await jun.approveAndBegin(REDIS, "minji");
}

const serving = spawn(server, { stdio: ["pipe", "pipe", "inherit"] });
try {
    const [line] = await new Promise((resolve) => createInterface({ input: serving.stdout }).once("line", (...got) => resolve(got)));
    await throughGit();
    const served = JSON.parse(line);
    if (served) await throughServer(served);
    else console.log("skipped: PostgreSQL is not installed, so no team has a server");
} catch (error) {
    faults.push(error.message);
}
serving.stdin.end();
model.close();
faults.push(...model.faults);
if (faults.length) {
    console.error(`claude-code ${version}: not as expected:\n${faults.map((fault) => `- ${fault}`).join("\n")}`);
    process.exit(1);
}
console.log(`claude-code ${version}: what one member shares is in the other's brief, after ${model.requests} requests`);
