// Starts the page of a project and a browser that is signed in to it.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";

/** The packages of the checks, from their folder. */
export function packages(modules) {
  return createRequire(path.join(modules, "page.cjs"));
}

/** Starts `view` and returns the address that it prints, and how to end it. */
export async function startPage(server, { project, environment }) {
  const child = spawn(server, ["view", "--no-open"], { cwd: project, env: environment, stdio: ["ignore", "ignore", "pipe"] });
  const lines = createInterface({ input: child.stderr });
  const address = await new Promise((resolve, reject) => {
    lines.on("line", (line) => line.startsWith("Open ") && resolve(line.slice(5)));
    child.on("exit", (code) => reject(new Error(`view ended with ${code}`)));
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  return { address, base: address.split("#")[0], stop };
}

/** Starts the browser. The switches keep it from asking the network for anything. */
export async function startBrowser(modules, program) {
  const { chromium } = packages(modules)("playwright-core");
  const quiet = ["background-networking", "component-update", "sync", "gpu", "quic"].map((part) => `--disable-${part}`);
  return chromium.launch({ executablePath: program, args: ["--no-first-run", "--no-sandbox", ...quiet] });
}
