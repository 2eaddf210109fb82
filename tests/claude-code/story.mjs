// What is said and done in the sessions, what the model is shown, and what must be remembered of it: this and nothing else.

const TITLE = "Limit the retries of the uploader and check them";
const BACKUPS = "We decided to keep backups in the object store because the local disk fills up.";
const RETRIES = "업로드 재시도는 세 번으로 제한하기로 했다.";
const FIX = "The root cause was a loop without an end. Fixed by counting the tries.";
const CONVENTION = "커밋 메시지는 명령형으로 쓴다";
const REPORT = "The limit holds: the third failure is reported to the caller.";
const LATE_REPORT = "The backups of this week are complete.";

const PLAN = "Plan the alerts for sold-out items";
const QUEUE = "We decided to queue the alerts in PostgreSQL, because the shop runs no Redis.";
const DAILY = "알림 메일은 하루에 한 번으로 제한하기로 했다.";
const SMALL = "I prefer small pull requests, one for each change.";
const LINK = "Still open: the unsubscribe link of the alert.";
const BUILT = [
    "Write the query for the alerts and test it",
    `Outcome: The query is written, but test-alerts.sh does not exist yet. ${LINK}`,
    `Open: ${LINK}`,
    "Changed: alerts.sql",
    "Failed: Bash failed: bash test-alerts.sh Exit code 127 bash: test-alerts.sh: No such file or directory (open)",
    "About: alert, query, test",
].join("\n");
const WORKED = [
    TITLE,
    `Outcome: The uploader stops after three tries. ${FIX}`,
    "Changed: check.sh",
    "Ran: bash check.sh && git add check.sh",
    "Failed: Bash failed: bash check.sh Exit code 3 retries: unlimited (resolved: check.sh)",
    "About: backup, uploader",
].join("\n");
const PROBE = "We decided that `probe` in health.sh makes no network calls, because it runs offline.";
const CHANGED = "probe in health.sh changed";

/** Characters of six hits, which cost a model at most 600 tokens. */
const SIX_HITS = 2400;

const PROSE = "The shop runs on one server in Seoul; the warehouse sends its stock every ten minutes.";

/**
 * The sessions, in order. A step `says` something, which the turns of `model` answer: each `calls` tools or `says`
 * something, and wants the texts of `context` in its request and those of `results` in the results of tools that the
 * request brings, which have at most `within` characters and none of the texts of `lacks`. `remembers` is what the step
 * leaves.
 *
 * Clients of January 2026 tell less: no summaries, no types of subagents, and to a server not which session it serves.
 */
export function story({ january, project }) {
    const subagent = (task, more) => [
        january ? "Task" : "Agent",
        { subagent_type: "general-purpose", description: "A task", prompt: task, ...more },
    ];
    const report = (text) => ["subagent_result", january ? text : `general-purpose: ${text}`];

    // Two sessions without a compaction, and what the next one begins with.
    const plan = [
        {
            says: `${PLAN}. ${SMALL}`,
            model: [{ says: `${QUEUE}\n\n${DAILY}` }],
            remembers: [
                ["user_prompt", `${PLAN}. ${SMALL}`],
                ["preference", SMALL],
                ["assistant_response", `${QUEUE}\n\n${DAILY}`],
                ["decision", QUEUE],
                ["decision", DAILY],
                ["session_summary", `${PLAN}. ${SMALL}\nOutcome: ${QUEUE} ${DAILY}\nAbout: alert`],
            ],
        },
    ];
    const build = [
        {
            says: "Write the query for the alerts and test it",
            model: [
                { calls: [["Write", { file_path: `${project}/alerts.sql`, content: "SELECT email FROM waiting_list;\n" }]] },
                { calls: [["Bash", { command: "bash test-alerts.sh", description: "Test" }]] },
                { says: `The query is written, but test-alerts.sh does not exist yet. ${LINK}` },
            ],
            remembers: [
                ["user_prompt", "Write the query for the alerts and test it"],
                ["tool_usage", "Files modified: alerts.sql\n+ SELECT email FROM waiting_list;"],
                ["error", "Bash failed: bash test-alerts.sh\nExit code 127\nbash: test-alerts.sh: No such file or directory"],
                ["assistant_response", `The query is written, but test-alerts.sh does not exist yet. ${LINK}`],
                ["task", LINK],
                ["session_summary", BUILT],
            ],
        },
    ];

    const work = [
        {
            says: TITLE,
            model: [
                {
                    context: [
                        'source="startup"',
                        PROSE,
                        `- ${QUEUE}`,
                        `- ${DAILY}`,
                        `- ${SMALL}`,
                        LINK,
                        "bash test-alerts.sh",
                        `"${PLAN}`,
                    ],
                    calls: [["Write", { file_path: `${project}/check.sh`, content: "echo retries: unlimited >&2\nexit 3\n" }]],
                },
                { calls: [["Bash", { command: "bash check.sh", description: "Check" }]] },
                {
                    results: ["retries: unlimited"],
                    calls: [["Edit", { file_path: `${project}/check.sh`, old_string: "exit 3", new_string: "exit 0" }]],
                },
                { calls: [["Bash", { command: "bash check.sh && git add check.sh", description: "Check and add" }]] },
                { says: `The uploader stops after three tries. ${FIX}` },
            ],
            remembers: [
                ["user_prompt", TITLE],
                ["error", "Bash failed: bash check.sh\nExit code 3\nretries: unlimited"],
                ["tool_usage", "Files modified: check.sh\n+ echo retries: unlimited >&2\n+ exit 3"],
                ["tool_usage", "Files modified: check.sh\nCommands: bash check.sh && git add check.sh\n- exit 3\n+ exit 0"],
                ["assistant_response", `The uploader stops after three tries. ${FIX}`],
            ],
        },
        {
            says: "백업을 둘 곳을 정하고 커밋 규칙을 기억해 줘.",
            model: [
                { calls: [["mcp__jikime-memory__memory_save", { type: "convention", content: CONVENTION }]] },
                { results: ["saved"], says: `${BACKUPS}\n\n${RETRIES}` },
            ],
            remembers: [
                ["user_prompt", "백업을 둘 곳을 정하고 커밋 규칙을 기억해 줘."],
                ["convention", CONVENTION, january ? "" : undefined],
                ["assistant_response", `${BACKUPS}\n\n${RETRIES}`],
            ],
        },
        {
            says: "Have the change reviewed",
            model: [
                { calls: [subagent("Review the retries.", { run_in_background: false })] },
                { results: [REPORT], says: "The review found nothing." },
            ],
            remembers: [
                ["user_prompt", "Have the change reviewed"],
                report(REPORT),
                ["assistant_response", "The review found nothing."],
            ],
        },
        {
            says: "/compact keep the decisions",
            remembers: [
                ["error_fix", FIX],
                ["decision", BACKUPS],
                ["decision", RETRIES],
                ...(january ? [] : [["session_summary", "1. The retries of the uploader are limited."]]),
            ],
        },
        {
            says: "How often is an upload tried?",
            model: [
                {
                    context: ['source="compact"', `Asked in this session:\n- ${TITLE}`, RETRIES],
                    says: "Three times.",
                },
            ],
            remembers: [
                ["user_prompt", "How often is an upload tried?"],
                ["assistant_response", "Three times."],
                ["session_summary", WORKED],
            ],
        },
    ];
    // The end of a task in the background arrives as a prompt, which nobody wrote.
    const background = {
        says: "Check the backups meanwhile",
        answers: 2,
        model: [
            { calls: [subagent("Check the backups.")] },
            { says: "The check is on its way." },
            { context: [LATE_REPORT], says: "The backups are fine." },
        ],
        remembers: [
            ["user_prompt", "Check the backups meanwhile"],
            ["assistant_response", "The check is on its way."],
            report(LATE_REPORT),
            ["assistant_response", "The backups are fine."],
        ],
    };
    if (!january) work.splice(3, 0, background);

    const restart = [
        {
            says: "백업은 어디에 두기로 했지?",
            model: [
                {
                    context: ['source="startup"', `"${TITLE}"`, "Changed: check.sh", BACKUPS, CONVENTION],
                    calls: [["mcp__jikime-memory__memory_search", { query: "where do the backups go?" }]],
                },
                {
                    results: [BACKUPS],
                    calls: [
                        [
                            "mcp__jikime-memory__memory_search",
                            { query: "품절 소식은 어떻게 나가지?", also: ["알림을 쌓아 두는 대기열", "알림 대기열 데이터베이스"] },
                        ],
                    ],
                },
                { results: [QUEUE], within: SIX_HITS, says: "In the object store." },
            ],
            remembers: [
                ["user_prompt", "백업은 어디에 두기로 했지?"],
                ["assistant_response", "In the object store."],
            ],
        },
    ];

    // Cut short in the middle of a turn: what was changed is remembered all the same.
    const resumed = [
        {
            says: "Write that into the notes",
            cutShort: true,
            model: [
                {
                    context: ['source="resume"', `"${TITLE}"`],
                    calls: [["Write", { file_path: `${project}/notes.md`, content: "Backups: object store\n" }]],
                },
                { hangs: true },
            ],
            remembers: [
                ["user_prompt", "Write that into the notes"],
                ["tool_usage", "Files modified: notes.md\n+ Backups: object store"],
                ["session_summary", "백업은 어디에 두기로 했지?\nChanged: notes.md"],
            ],
        },
    ];

    // A decision about a function, which changes in a later session.
    const stay = [
        {
            says: "May the probe call the server?",
            model: [{ says: PROBE }],
            remembers: [
                ["user_prompt", "May the probe call the server?"],
                ["assistant_response", PROBE],
                ["decision", PROBE],
                ["session_summary", `May the probe call the server?\nOutcome: ${PROBE}\nAbout: probe`],
            ],
        },
    ];
    const search = ["mcp__jikime-memory__memory_search", { query: "does probe in health.sh make network calls?" }];
    const change = [
        {
            says: "Shorten the probe",
            model: [
                { calls: [["Read", { file_path: `${project}/health.sh` }]] },
                { calls: [["Edit", { file_path: `${project}/health.sh`, old_string: "test -s out.log", new_string: "[ -s out.log ]" }]] },
                { calls: [search] },
                { results: [PROBE, CHANGED], calls: [["mcp__jikime-memory__memory_save", { type: "decision", content: PROBE }]] },
                { calls: [search] },
                { results: [PROBE], lacks: [CHANGED], says: "The probe is one line shorter." },
            ],
            remembers: [
                ["user_prompt", "Shorten the probe"],
                ["tool_usage", "Files modified: health.sh\n- test -s out.log\n+ [ -s out.log ]"],
                ["assistant_response", "The probe is one line shorter."],
                ["session_summary", "Shorten the probe\nOutcome: The probe is one line shorter.\nChanged: health.sh\nAbout: probe"],
            ],
        },
    ];

    return {
        summary: "<analysis>\nthoughts\n</analysis>\n\n<summary>\n1. The retries of the uploader are limited.\n</summary>",
        reports: [
            { task: "Review the retries.", says: REPORT },
            { task: "Check the backups.", says: LATE_REPORT, takes: 1000 },
        ],
        sessions: [
            { name: "plan", steps: plan },
            { name: "build", steps: build },
            { name: "work", steps: work, files: { ".jikime/memory/MEMORY.md": `# Memory\n\n${PROSE}\n` } },
            { name: "restart", steps: restart, hooks: "init" },
            { name: "resumed", steps: resumed, options: ["--continue"], continues: "restart", hooks: "exec" },
            { name: "stay", steps: stay, files: { "health.sh": "probe() {\n    test -s out.log\n}\n" }, hooks: "exec" },
            { name: "change", steps: change, hooks: "exec" },
        ],
    };
}
