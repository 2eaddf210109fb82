//! The table of settings: names, values, defaults and descriptions. A test generates docs/reference/config.md from it.
//!
//! A new setting also needs a field, a default and an arm in `load.rs`, and a parser in `value.rs` if its type is new.

use crate::files::trust::{SETTING, VARIABLE};

/// A setting.
#[derive(Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "only the generated reference uses some fields"))]
pub(super) struct SettingKey {
    /// The name in settings files.
    pub(super) name: &'static str,
    /// The environment variable that sets it for one process.
    pub(super) variable: Option<&'static str>,
    /// The allowed values, in TOML.
    pub(super) values: &'static str,
    pub(super) default: &'static str,
    pub(super) description: &'static str,
    pub(super) rule: KeyRule,
}

/// Where a setting may be set, and what an invalid value means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyRule {
    /// Everywhere. Its default replaces an invalid value.
    Free,
    /// Everywhere. It restricts recording: if its value is invalid, nothing is recorded.
    Guard,
    /// Only in the user's file and the environment, because a project must not decide where data goes.
    UserOnly,
}

pub(super) const KEYS: [SettingKey; 28] = [
    SettingKey {
        name: "capture",
        variable: Some("JIKIME_CAPTURE"),
        values: "`true` or `false`",
        default: "`true`",
        description: "Record events of hooks. Search and `memory_save` work either way. If your own file turns it off, a \
                  project's file cannot turn it on.",
        rule: KeyRule::Guard,
    },
    SettingKey {
        name: "brief",
        variable: Some("JIKIME_BRIEF"),
        values: "`\"on\"`, `\"compact-only\"` or `\"off\"`",
        default: "`\"on\"`",
        description: "When a session starts with a brief: always, only after a compaction, or never.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "brief_size",
        variable: Some("JIKIME_BRIEF_SIZE"),
        values: "a number from 200 to 9000",
        default: "`4000`",
        description: "Maximum characters of a brief.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "recall",
        variable: Some("JIKIME_RECALL"),
        values: "`\"on\"` or `\"off\"`",
        default: "`\"off\"`",
        description: "Add up to three memories that fit a prompt well, each once a session. Needs a running server.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "recall_min_score",
        variable: Some("JIKIME_RECALL_MIN_SCORE"),
        values: "a number from 0 to 1",
        default: "`0.62`",
        description: "The score from which a memory is added to a prompt.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "file_recall",
        variable: Some("JIKIME_FILE_RECALL"),
        values: "`\"on\"` or `\"off\"`",
        default: "`\"off\"`",
        description: "Before a tool reads or edits a file, add up to two memories that name the file, each once a session. \
                      Run `jikime-memory init` after a change of this setting: it adds or removes the PreToolUse hook.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "reminder",
        variable: Some("JIKIME_REMINDER"),
        values: "`\"on\"` or `\"off\"`",
        default: "`\"off\"`",
        description: "When the context of a session reaches 120,000 tokens, ask the model once to save what is not saved yet. \
                      Claude Code passes this on by letting the model continue for one more turn.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "edits",
        variable: Some("JIKIME_EDITS"),
        values: "`\"full\"`, `\"names\"` or `\"off\"`",
        default: "`\"full\"`",
        description: "The details recorded about edits: removed and added lines (at most 400 characters per edit), only file names, or nothing. \
                  For files that git ignores, lock files, generated and binary files, only the names are recorded. \
                  A project's file can reduce this, but not increase it.",
        rule: KeyRule::Guard,
    },
    SettingKey {
        name: "conclusions",
        variable: Some("JIKIME_CONCLUSIONS"),
        values: "`\"on\"` or `\"off\"`",
        default: "`\"on\"`",
        description: "Record decisions, learnings, fixes and similar conclusions in prompts and answers. They are marked as automatic and \
                  rank below memories that were saved on purpose. A project's file can turn this off, but not on.",
        rule: KeyRule::Guard,
    },
    SettingKey {
        name: "exclude",
        variable: None,
        values: "a list of at most 100 globs such as `\"secrets/**\"`",
        default: "`[]`",
        description: "Files of the project that are not recorded. The lists of both files apply.",
        rule: KeyRule::Guard,
    },
    SettingKey {
        name: "redact",
        variable: None,
        values: "a list of at most 100 regular expressions such as `'ACME-[0-9]{8}'`",
        default: "`[]`",
        description: "Additional secrets to remove. The lists of both files apply.",
        rule: KeyRule::Guard,
    },
    SettingKey {
        name: "anonymise",
        variable: Some("JIKIME_ANONYMISE"),
        values: "`\"on\"` or `\"off\"`",
        default: "`\"off\"`",
        description: "Replace e-mail addresses, phone numbers, home directories, and your user name and computer name by placeholders \
                      such as `[e-mail 3f2a]` before anything is stored. A project's file can turn this on, but not off.",
        rule: KeyRule::Guard,
    },
    SettingKey {
        name: "other_projects",
        variable: Some("JIKIME_OTHER_PROJECTS"),
        values: "`\"on\"` or `\"off\"`",
        default: "`\"off\"`",
        description: "Let your projects know each other: `init` and `serve` register the project for `search --all-projects`, searches also \
                      return preferences, conventions and general learnings of your personal memory, and the brief has its preferences and \
                      conventions. A project's file can turn this off, but not on.",
        rule: KeyRule::Guard,
    },
    SettingKey {
        name: "team_author",
        variable: Some("JIKIME_TEAM_AUTHOR"),
        values: "letters and digits in lower case and `-`, such as `\"minji\"`",
        default: "none",
        description: "Your name as an author of shared memories. `jikime-memory team init` sets it.",
        rule: KeyRule::UserOnly,
    },
    SettingKey {
        name: "team_own_approval",
        variable: None,
        values: "`\"on\"` or `\"off\"`",
        default: "`\"off\"`",
        description: "Let authors approve their own shared memories. Commit it in the project's file, so that the whole team has the \
                      same rule.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "team_share_by_model",
        variable: Some("JIKIME_TEAM_SHARE_BY_MODEL"),
        values: "`\"on\"` or `\"off\"`",
        default: "`\"off\"`",
        description: "Let the model share: `memory_save` with `share` then also proposes the memory to the team.",
        rule: KeyRule::UserOnly,
    },
    SettingKey {
        name: "embedding_provider",
        variable: Some("JIKIME_EMBEDDING_PROVIDER"),
        values: "`\"auto\"`, `\"openai\"`, `\"gemini\"`, `\"local\"` or `\"none\"`",
        default: "`\"auto\"`",
        description: "The provider of vectors for search by meaning. `local` is the built-in model and needs no network. \
                  `none` searches by words only.",
        rule: KeyRule::UserOnly,
    },
    SettingKey {
        name: "embedding_model",
        variable: Some("JIKIME_EMBEDDING_MODEL"),
        values: "a name, or with `local` the path of a model file",
        default: "the provider's",
        description: "The model that computes the vectors. After a change, vectors are recomputed in the background.",
        rule: KeyRule::UserOnly,
    },
    SettingKey {
        name: "search_weights",
        variable: Some("JIKIME_SEARCH_WEIGHTS"),
        values: "`\"measured\"`, `\"stated\"` or two numbers up to 100 such as `\"65/5\"`",
        default: "`\"measured\"`",
        description: "Weights of words and vectors in a search. `measured` is 65/5 with the built-in model or another static model, and 65/25 \
                  with a transformer. With a static model, the vector weighs 4 times as much in long passages and 6 times in another \
                  script; with a transformer, 0.3 times in long passages. `stated`, the same as `30/70`, is 0.3 of the word score and 0.7 \
                  of the vector score, without context and features.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "search_results",
        variable: Some("JIKIME_SEARCH_RESULTS"),
        values: "a number from 1 to 50",
        default: "`6`",
        description: "Default number of hits of a search.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "search_min_score",
        variable: Some("JIKIME_SEARCH_MIN_SCORE"),
        values: "`\"auto\"` or a number from 0 to 1",
        default: "`\"auto\"`",
        description: "Default score from which a hit is returned. Scores are adjusted for the length of the question and the size of the \
                      store. `auto` is 0.35, and weaker answers may be added if there are fewer than three such hits. A number is exact.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "search_tokens",
        variable: Some("JIKIME_SEARCH_TOKENS"),
        values: "a number from 100 to 100000",
        default: "`1000`",
        description: "Maximum tokens of a search result for a model; a token is about four bytes.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "embedding_base_url",
        variable: Some("JIKIME_EMBEDDING_BASE_URL"),
        values: "an address such as `\"http://localhost:11434/v1\"`",
        default: "the provider's",
        description: "The address of a service that speaks the OpenAI protocol: Ollama, LM Studio, llama.cpp, vLLM. Texts are sent there.",
        rule: KeyRule::UserOnly,
    },
    SettingKey {
        name: "embedding_dimensions",
        variable: Some("JIKIME_EMBEDDING_DIMENSIONS"),
        values: "a number from 32 to 8192",
        default: "the model's",
        description: "The length of vectors, if the service's model can make shorter ones.",
        rule: KeyRule::UserOnly,
    },
    SettingKey {
        name: "day_summary_after",
        variable: Some("JIKIME_DAY_SUMMARY_AFTER"),
        values: "`\"never\"` or an age such as `\"30d\"`, `\"8w\"` or `\"6mo\"`",
        default: "`\"never\"`",
        description: "Once a day, a server adds a summary to each day that is older than this: its sessions and conclusions. A question for \
                      a month or a season finds it. Nothing is deleted.",
        rule: KeyRule::Free,
    },
    SettingKey {
        name: "gc_older_than",
        variable: Some("JIKIME_GC_OLDER_THAN"),
        values: "`\"never\"` or an age such as `\"180d\"`, `\"26w\"`, `\"6mo\"` or `\"1y\"`",
        default: "`\"never\"`",
        description: "Once a day, a server deletes memories older than this. It keeps decisions, conventions, preferences, pinned \
                  memories and `MEMORY.md`.",
        rule: KeyRule::UserOnly,
    },
    SettingKey {
        name: "gc_keep_bytes",
        variable: Some("JIKIME_GC_KEEP_BYTES"),
        values: "`\"never\"` or a size such as `\"500KB\"`, `\"50MB\"` or `\"1GB\"`",
        default: "`\"never\"`",
        description: "Once a day, a server deletes the oldest memories until the daily logs, with their part of the databases, have at \
                      most this size. It keeps the same memories as `gc_older_than`.",
        rule: KeyRule::UserOnly,
    },
    SettingKey {
        name: SETTING,
        variable: Some(VARIABLE),
        values: "a list of project directories, separated in the environment as in `PATH`; `\"*\"` means all",
        default: "`[]`",
        description: "Projects whose store is used even if another user owns it or every user may change it. `jikime-memory config trust` \
                  adds one.",
        rule: KeyRule::UserOnly,
    },
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn document() -> String {
        let mut text = String::from(
            "# Settings\n\n\
             No setting is required. Each hook and each start of a server reads these sources; a later one overrides an earlier one:\n\n\
             1. your own file: `$XDG_CONFIG_HOME/jikime-memory/memory.toml`, else `~/.config/jikime-memory/memory.toml`; on Windows\n   \
             `%APPDATA%\\jikime-memory\\memory.toml`\n\
             2. the project's file: `.jikime/memory.toml`; you can commit it\n\
             3. the environment\n\n\
             `jikime-memory config show` prints each value and its source, `jikime-memory config check` reports errors in the two files,\n\
             and `jikime-memory config path` prints where they are.\n\n\
             | setting | value | default | environment | meaning |\n| --- | --- | --- | --- | --- |\n",
        );
        for SettingKey { name, variable, values, default, description: meaning, rule } in KEYS {
            let limit = if rule == KeyRule::UserOnly { " Not in a project's file." } else { "" };
            let variable = variable.map_or_else(|| "–".to_owned(), |variable| format!("`{variable}`"));
            text.push_str(&format!("| `{name}` | {values} | {default} | {variable} | {meaning}{limit} |\n"));
        }
        text.push_str(
            "\nSome variables have no setting in a file:\n\n\
             | variable | meaning |\n| --- | --- |\n\
             | `JIKIME_MEMORY_DISABLED=1` | Hooks do nothing at all. |\n\
             | `CLAUDE_CODE_SKIP_PROMPT_HISTORY=1` | Nothing is recorded. This is Claude Code's own switch. |\n\
             | `OPENAI_API_KEY`, `GEMINI_API_KEY` | Keys of the services that make vectors. |\n\
             | `JIKIME_EMBEDDING_API_KEY` | The key of the configured service; overrides both. |\n\
             | `JIKIME_EMBED_BACKFILL=0` | If no server runs, make no vectors at the end of a session. |\n\n\
             `memory_stats` and the brief report an invalid setting, and its default applies. If the invalid setting is one of\n",
        );
        let guards: Vec<_> =
            KEYS.iter().filter(|key| key.rule == KeyRule::Guard).map(|key| format!("`{}`", key.name)).collect();
        text.push_str(&format!(
            "{}, or if a file is not valid TOML, nothing is recorded until you correct it,\n\
             because that setting may forbid the recording.\n",
            guards.join(", ")
        ));
        text
    }

    #[test]
    fn reference_is_generated_from_this_table() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/config.md");
        let current = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        let document = document();
        if current != document {
            std::fs::write(&path, &document).unwrap();
        }
        assert_eq!(current, document, "docs/reference/config.md was out of date and has been rewritten");
    }
}
