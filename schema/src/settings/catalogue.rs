//! The table of settings: what may be set, where, and what it means. docs/config.md is made of it.

use crate::trust::{SETTING, VARIABLE};

/// One setting.
#[derive(Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "some of it is for the document only"))]
pub(super) struct Key {
    /// Its name in files.
    pub(super) name: &'static str,
    /// The variable that sets it for one process.
    pub(super) variable: Option<&'static str>,
    /// What it may be, in TOML.
    pub(super) values: &'static str,
    pub(super) default: &'static str,
    pub(super) meaning: &'static str,
    /// Whether it says what may be kept: where it cannot be understood, nothing is.
    pub(super) guards: bool,
    /// Whether only the user's file and the environment may set it: a project must not say where data goes.
    pub(super) of_the_user: bool,
}

pub(super) const KEYS: [Key; 14] = [
    Key {
        name: "capture",
        variable: Some("JIKIME_CAPTURE"),
        values: "`true` or `false`",
        default: "`true`",
        meaning: "Whether hooks remember events. What was remembered is found either way, and `memory_save` goes on. \
                  A project's file can turn it off, but not on when the user's turns it off.",
        guards: true,
        of_the_user: false,
    },
    Key {
        name: "brief",
        variable: Some("JIKIME_BRIEF"),
        values: "`\"on\"`, `\"compact-only\"` or `\"off\"`",
        default: "`\"on\"`",
        meaning: "Whether a session begins with a brief: always, only after a compaction, or never.",
        guards: false,
        of_the_user: false,
    },
    Key {
        name: "brief_size",
        variable: Some("JIKIME_BRIEF_SIZE"),
        values: "a number from 200 to 9000",
        default: "`2000`",
        meaning: "Characters of a brief at most.",
        guards: false,
        of_the_user: false,
    },
    Key {
        name: "recall",
        variable: Some("JIKIME_RECALL"),
        values: "`\"on\"` or `\"off\"`",
        default: "`\"off\"`",
        meaning: "Whether a prompt brings along up to three memories that fit it well, each once in a session. \
                  Needs the running server.",
        guards: false,
        of_the_user: false,
    },
    Key {
        name: "exclude",
        variable: None,
        values: "a list of at most 100 globs such as `\"secrets/**\"`",
        default: "`[]`",
        meaning: "Files of the project of which nothing is remembered. Lists of both files count.",
        guards: true,
        of_the_user: false,
    },
    Key {
        name: "redact",
        variable: None,
        values: "a list of at most 100 regular expressions such as `'ACME-[0-9]{8}'`",
        default: "`[]`",
        meaning: "Further secrets, taken out like those that are known. Lists of both files count.",
        guards: true,
        of_the_user: false,
    },
    Key {
        name: "embedding_provider",
        variable: Some("JIKIME_EMBEDDING_PROVIDER"),
        values: "`\"auto\"`, `\"openai\"`, `\"gemini\"`, `\"local\"` or `\"none\"`",
        default: "`\"auto\"`",
        meaning: "Who makes the vectors by which search finds what is meant. `local` is the model inside the binary, which needs \
                  no network; `none` searches by words alone.",
        guards: false,
        of_the_user: true,
    },
    Key {
        name: "embedding_model",
        variable: Some("JIKIME_EMBEDDING_MODEL"),
        values: "a name, or with `local` the path of a model file",
        default: "the provider's",
        meaning: "Which model makes the vectors. With another one they are made again, in the background.",
        guards: false,
        of_the_user: true,
    },
    Key {
        name: "search_weights",
        variable: Some("JIKIME_SEARCH_WEIGHTS"),
        values: "`\"measured\"`, `\"stated\"` or three numbers up to 100 such as `\"65/35/5\"`",
        default: "`\"measured\"`",
        meaning: "What words, words that mean much the same, and vectors weigh in a search. `measured` is 65/35/5 with the model \
                  inside the program or another that adds up words, and 65/35/25 with one that reads sentences; `stated` is 0.7 \
                  for vectors and 0.3 for words.",
        guards: false,
        of_the_user: false,
    },
    Key {
        name: "embedding_base_url",
        variable: Some("JIKIME_EMBEDDING_BASE_URL"),
        values: "an address such as `\"http://localhost:11434/v1\"`",
        default: "the provider's",
        meaning: "Where a service is that speaks like OpenAI: Ollama, LM Studio, llama.cpp, vLLM. Texts are sent there.",
        guards: false,
        of_the_user: true,
    },
    Key {
        name: "embedding_dimensions",
        variable: Some("JIKIME_EMBEDDING_DIMENSIONS"),
        values: "a number from 32 to 8192",
        default: "the model's",
        meaning: "How long vectors of a service are, where its model can make shorter ones.",
        guards: false,
        of_the_user: true,
    },
    Key {
        name: "gc_older_than",
        variable: Some("JIKIME_GC_OLDER_THAN"),
        values: "`\"never\"` or an age such as `\"180d\"`, `\"26w\"`, `\"6mo\"` or `\"1y\"`",
        default: "`\"never\"`",
        meaning: "What is older is cleared by the server, once a day: never decisions, conventions, preferences, `MEMORY.md` or what is \
                  pinned.",
        guards: false,
        of_the_user: true,
    },
    Key {
        name: "gc_keep_bytes",
        variable: Some("JIKIME_GC_KEEP_BYTES"),
        values: "`\"never\"` or a size such as `\"500KB\"`, `\"50MB\"` or `\"1GB\"`",
        default: "`\"never\"`",
        meaning: "Until the daily logs have at most this size the server clears the oldest, once a day, sparing the same.",
        guards: false,
        of_the_user: true,
    },
    Key {
        name: SETTING,
        variable: Some(VARIABLE),
        values: "a list of project directories, in the environment separated like those of `PATH`; `\"*\"` is every one",
        default: "`[]`",
        meaning: "Projects whose memory is used although another user owns it or every user may change it. \
                  `jikime-memory config trust` adds one.",
        guards: false,
        of_the_user: true,
    },
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn document() -> String {
        let mut text = String::from(
            "# Settings\n\n\
             Nothing has to be set. What is set is read anew by every hook and by every start of the server; the later of these\n\
             wins over the earlier:\n\n\
             1. the user's file: `$XDG_CONFIG_HOME/jikime-memory/memory.toml`, else `~/.config/jikime-memory/memory.toml`;\n   \
             on Windows `%APPDATA%\\jikime-memory\\memory.toml`\n\
             2. the project's file: `.jikime/memory.toml`, which may be committed\n\
             3. the environment\n\n\
             `jikime-memory config show` tells every value and where it comes from, `jikime-memory config check` what is wrong with the\n\
             two files, and `jikime-memory config path` where they are.\n\n\
             | setting | is | default | environment | meaning |\n| --- | --- | --- | --- | --- |\n",
        );
        for Key { name, variable, values, default, meaning, of_the_user, .. } in KEYS {
            let limit = if of_the_user { " Not in a project's file." } else { "" };
            let variable = variable.map_or_else(|| "–".to_owned(), |variable| format!("`{variable}`"));
            text.push_str(&format!("| `{name}` | {values} | {default} | {variable} | {meaning}{limit} |\n"));
        }
        text.push_str(
            "\nOnly in the environment: `JIKIME_MEMORY_DISABLED=1` makes hooks do nothing at all, and\n\
             `CLAUDE_CODE_SKIP_PROMPT_HISTORY=1`, the host's own switch, turns capture off. Keys of services that make vectors:\n\
             `OPENAI_API_KEY`, `GEMINI_API_KEY`, and `JIKIME_EMBEDDING_API_KEY`, which goes before both and belongs to whatever service\n\
             is in use. `JIKIME_EMBED_BACKFILL=0`: at the end of a session no process is started that makes vectors of what is new when no\n\
             server runs.\n\n\
             A setting that cannot be understood is told by `memory_stats` and by the brief, and has its default. Where it is one of\n",
        );
        let guards: Vec<_> = KEYS.iter().filter(|key| key.guards).map(|key| format!("`{}`", key.name)).collect();
        text.push_str(&format!(
            "{}, or a file that is no TOML, nothing is captured until it is mended:\nit may have been what forbids it.\n",
            guards.join(", ")
        ));
        text
    }

    #[test]
    fn the_document_is_generated_from_this_table() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/config.md");
        let current = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        let document = document();
        if current != document {
            std::fs::write(&path, &document).unwrap();
        }
        assert_eq!(current, document, "docs/config.md was out of date and has been written anew");
    }
}
