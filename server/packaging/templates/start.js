#!/usr/bin/env node
// Starts the native @PROGRAM@ of the package for this platform. `jikime-memory init` writes the path of the native program into
// the files of hosts, so that they do not start Node.js each time.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");
const path = require("node:path");

const PROGRAM = "@PROGRAM@";

/** The packages that may contain the program, the best one first. */
function candidates() {
  const name = `jikime-memory-${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return [name];
  const usesGlibc = Boolean(process.report?.getReport().header.glibcVersionRuntime);
  return usesGlibc ? [name, `${name}-musl`] : [`${name}-musl`];
}

function findProgram() {
  const file = process.platform === "win32" ? `${PROGRAM}.exe` : PROGRAM;
  for (const candidate of candidates()) {
    try {
      return path.join(path.dirname(require.resolve(`${candidate}/package.json`)), "bin", file);
    } catch {
      // npm did not install this one.
    }
  }
  return undefined;
}

// A hook must never fail a session.
const failure = PROGRAM === "jikime-hook" ? 0 : 1;

const program = findProgram();
if (program === undefined) {
  const names = candidates().join(" or ");
  console.error(`${PROGRAM}: npm did not install ${names}. Install jikime-memory again without --omit=optional.`);
  process.exit(failure);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    // A terminal sends an interrupt to both processes, other senders only to this one.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`${PROGRAM}: cannot start ${program}: ${error.message}`);
  process.exit(failure);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // Some signals do not end Node.js. The exit code says what a shell would say, and a hook says nothing.
  process.exitCode = failure && 128 + os.constants.signals[signal];
  if (!failure) return;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
