// The sessions: their prompts, the actions of the model, the texts that it must see, and all memories that must exist afterwards.

const TITLE = "Limit the retries of the uploader and check them";
const CONVENTION = "커밋 메시지는 명령형으로 쓴다";
const BACKUPS = "We decided to keep backups in the object store because the local disk fills up.";
const QUESTION = "백업은 어디에 두기로 했지?";
const FAILURE = "Bash failed: bash check.sh\nExit code 3\nretries: unlimited";

export const files = { "check.sh": "echo retries: unlimited >&2\nexit 3\n" };

/** The summary that the model makes when its client compacts a session. */
export const summary = "1. The retries of the uploader are limited.";

/** `tools` and `find` are those of the client. A turn `sees` texts in its request. */
export function story({ client, tools, find, project }) {
    const search = find ? [{ calls: find }] : [];
    const look = [tools.memory("memory_search", { query: "where do the backups go?" })];
    const sessions = [
        {
            prompt: TITLE,
            turns: [
                { seesNot: ['source="startup"'], calls: [tools.run("bash check.sh")] },
                { sees: ["retries: unlimited"], calls: [tools.edit("check.sh", "exit 3", "exit 0", project)] },
                { calls: [tools.run("bash check.sh && git add check.sh")] },
                ...search,
                { calls: [tools.memory("memory_save", { type: "convention", content: CONVENTION })] },
                { sees: ["saved"], says: BACKUPS },
            ],
            remembers: [
                ["user_prompt", TITLE],
                ["error", FAILURE],
                ["tool_usage", "Files modified: check.sh\nCommands: bash check.sh && git add check.sh\n- exit 3\n+ exit 0"],
                ["convention", CONVENTION],
                ["assistant_response", BACKUPS],
                ["decision", BACKUPS],
                ["session_summary", /^Limit the retries of the uploader and check them\nOutcome: We decided to keep backups/],
            ],
        },
        {
            prompt: QUESTION,
            turns: [
                { sees: ["<memory-context", 'source="startup"', BACKUPS, CONVENTION], calls: find ?? look },
                ...(find ? [{ calls: look }] : []),
                { sees: [BACKUPS], says: "In the object store." },
            ],
            remembers: [
                ["user_prompt", QUESTION],
                ["assistant_response", "In the object store."],
            ],
        },
    ];
    // Only Codex tells hooks when it compacts.
    if (client === "codex") {
        sessions.push({
            prompt: "Rename the check",
            turns: [
                { calls: [tools.run("git mv check.sh retries.sh")], tokens: 120_000 },
                { sees: ['source="compact"', BACKUPS], says: "The check is called retries.sh now." },
            ],
            remembers: [
                ["user_prompt", "Rename the check"],
                ["tool_usage", "Commands: git mv check.sh retries.sh"],
                ["session_summary", summary],
                ["assistant_response", "The check is called retries.sh now."],
                ["session_summary", /^Rename the check\n/],
            ],
        });
    }
    return sessions;
}
