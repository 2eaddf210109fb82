// A project with a year of memories and two sessions played through the hooks, for checks and pictures of the page.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const DAY = 86_400_000;

/** What was concluded, in the order of time: days ago, type, text, and optional fields. */
const CONCLUSIONS = [
  [331, "decision", "Payments go through one queue with retries, because the provider times out at night"],
  [318, "architecture", "The shop is three services: catalogue, checkout and mail; only checkout writes orders"],
  [300, "convention", "Every migration has a way back and is tested on a copy of the production data"],
  [291, "learning", "The provider repeats webhooks for a day, so handlers must be idempotent"],
  [262, "decision", "장바구니는 서버에 저장한다. 기기를 바꿔도 남아야 하기 때문"],
  [240, "preference", "Prefers small pull requests with one concern each"],
  [221, "error_fix", "Orders were charged twice: the retry did not send the idempotency key. Fixed in src/payment.ts"],
  [199, "decision", "The session timeout is 30 minutes"],
  [170, "pattern", "External calls are wrapped in `withDeadline(seconds, call)`"],
  [151, "decision", "Images are resized on upload, not on request"],
  [122, "learning", "Redis evicts sessions first when memory is short; raise maxmemory before a sale"],
  [97, "decision", "We use pnpm for all packages", { tags: ["build"] }],
  [64, "convention", "커밋 메시지는 영어로, 명령형으로 쓴다"],
  [41, "decision", "Search uses Postgres full text; Elasticsearch costs more than it brings"],
  [30, "task", "Write the runbook for failed payments"],
  [22, "task", "Remove the old mail templates"],
  [12, "decision", "A page of the catalogue shows 20 items"],
  [11, "decision", "Refunds are possible for 14 days"],
  [10, "decision", "A page of the catalogue shows 48 items"],
  [9, "decision", "The session timeout is 45 minutes"],
  [8, "decision", "Refunds are possible for 30 days"],
  [7, "decision", "The upload limit of the shop is 10 MB"],
  [4, "decision", "The upload limit of the shop is 25 MB"],
  [6, "decision", "All packages are installed with pnpm", { tags: ["build"] }],
  [5, "preference", "Wants small pull requests with one concern each"],
  [3, "learning", "`vitest --changed` misses tests that read fixtures; CI runs all of them"],
];

/** What people asked and heard in between. */
const TURNS = [
  ["why do webhooks arrive twice?", "The provider repeats them until it gets a 200 within five seconds. The handler answered after the charge."],
  ["결제 재시도는 어떻게 하고 있지?", "큐에서 세 번까지 다시 시도하고, 그 뒤에는 담당자에게 알립니다."],
  ["make the order list faster", "Added an index on (customer_id, created_at); the list takes 12 ms now."],
  ["add a test for refunds", "refund.test.ts covers full and partial refunds, and a refund after a chargeback."],
  ["the build is red on main", "A snapshot contained today's date. It is fixed to a day now."],
  ["메일 템플릿 정리해줘", "쓰지 않는 템플릿 일곱 개를 찾았습니다. 지우기 전에 확인해 주세요."],
];

function lines() {
  const rows = [];
  let number = 0;
  const add = (days, type, content, more = {}) => {
    const at = new Date(Date.now() - days * DAY + number * 61_000).toISOString().replace(/\.\d+Z$/, "Z");
    const id = createHash("sha256").update(String(++number)).digest("hex").slice(0, 32);
    rows.push({ id, type, content, at, session: `session-${Math.floor(days)}`, ...more });
  };
  for (const [days, type, content, fields] of CONCLUSIONS) add(days, type, content, fields && { metadata: fields });
  for (let days = 350, turn = 0; days > 2; days -= 1 + ((turn * 5) % 9), turn += 1) {
    for (let again = 0; again <= turn % 3; again += 1) {
      const [asked, answered] = TURNS[(turn + again) % TURNS.length];
      add(days, "user_prompt", asked);
      add(days, "assistant_response", answered);
    }
  }
  return rows.map((row) => JSON.stringify(row)).join("\n") + "\n";
}

/** Makes the project in `scratch` and returns how to run the programs in it. */
export function makeStore({ server, hook, scratch }) {
  const project = path.join(scratch, "shop");
  const home = path.join(scratch, "home");
  for (const folder of [path.join(project, ".git"), path.join(project, "src"), home]) mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(project, ".git", "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(path.join(project, "src", "payment.ts"), "export async function charge(order: Order) {\n  return call(order);\n}\n");
  writeFileSync(path.join(scratch, "memories.jsonl"), lines());
  const environment = { PATH: process.env.PATH, HOME: home, TZ: process.env.TZ ?? "UTC" };
  const run = (program, args, input = "") => {
    const done = spawnSync(program, args, { cwd: project, env: environment, input, encoding: "utf8", timeout: 60_000 });
    if (done.status !== 0) throw new Error(`${program} ${args[0]}: ${done.status}\n${done.stdout}${done.stderr}`);
    return done.stdout;
  };
  run(server, ["import", "jsonl", path.join(scratch, "memories.jsonl")]);
  playSessions((command, payload) => run(hook, [command], JSON.stringify({ cwd: project, ...payload })), project);
  return { project, home, environment, run };
}

function playSessions(hook, project) {
  const file = path.join(project, "src", "payment.ts");
  const transcript = path.join(project, "..", "transcript.jsonl");
  writeFileSync(transcript, "");
  const session = (id, turns) => {
    const send = (command, event, fields = {}) =>
      hook(command, { session_id: id, transcript_path: transcript, hook_event_name: event, ...fields });
    send("memory-load", "SessionStart", { source: "startup" });
    for (const { prompt, edit, failure, answer } of turns) {
      send("memory-prompt-save", "UserPromptSubmit", { prompt });
      if (failure) {
        send("memory-track", "PostToolUseFailure", { tool_name: "Bash", tool_input: { command: "pnpm test payment" }, error: failure });
      }
      if (edit) {
        const tool_input = { file_path: file, old_string: edit[0], new_string: edit[1] };
        send("memory-track", "PostToolUse", { tool_name: "Edit", tool_input, tool_response: { filePath: file } });
      }
      send("memory-complete", "Stop", { last_assistant_message: answer });
    }
    send("memory-save", "SessionEnd", { reason: "prompt_input_exit" });
  };
  session("3f1c0a52-payment", [
    {
      prompt: "decided: charges get a deadline of 8 seconds, longer ones go to the queue",
      edit: ["return call(order);", "return withDeadline(8, () => call(order));"],
      answer: "Done: `charge` gives up after 8 seconds and queues the order. Left: tell support about the new state \"queued\".",
    },
    {
      prompt: "run the tests",
      failure: "Exit code 1\nFAIL src/payment.test.ts > charge > queues slow orders\nAssertionError: expected 'pending' to be 'queued'",
      answer: "One test fails: it expects the old state. I will change it next.",
    },
  ]);
  session("9b27d6e1-search", [
    { prompt: "앞으로 검색 결과는 항상 20개씩 보여줘", answer: "알겠습니다. 한 페이지에 20개로 정했습니다." },
    { prompt: "what did we decide about Elasticsearch?", answer: "Postgres full text is used; Elasticsearch costs more than it brings." },
  ]);
}
