//! Settings: what people decide, from defaults, the user's file, the project's file and the environment, the later over the
//! earlier. docs/config.md is generated from the table in `settings/catalogue.rs`.
//!
//! Settings of what may be kept are promises: where they cannot be understood, nothing is captured until they can.

mod catalogue;
mod origins;
mod value;

pub use origins::{Explained, Origin, Setting, SettingsFile, explain};

use std::fmt::Display;
use std::io;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable as Table, DeValue as Value};

use crate::layout::Layout;
use crate::own_file::verify;
pub use crate::project::settings_file as user_file;
use crate::regular_file;
use crate::screen::Screen;
use crate::trust;
use catalogue::{KEYS, Key};
use origins::NO_HISTORY;
pub use value::{bytes, days};
use value::{number, switch, texts, unless_never, weights, word};

/// Bytes of a settings file that are read; a longer one is refused.
const FILE_LIMIT: u64 = 64 * 1024;

/// Characters of a brief: fewer say nothing, and of more the host shows the beginning only.
const BRIEF_SIZES: std::ops::RangeInclusive<usize> = 200..=9_000;

/// Dimensions of vectors: fewer tell little apart, and no model makes more.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 32..=8_192;

/// What is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Hooks do nothing at all.
    pub disabled: bool,
    /// Events are remembered.
    pub capture: bool,
    /// When a session begins with a brief.
    pub brief: Brief,
    /// Characters of a brief at most.
    pub brief_size: usize,
    /// A prompt is answered with memories that fit it.
    pub recall: bool,
    /// Globs of files, relative to the project, of which nothing is remembered.
    pub exclude: Vec<String>,
    /// Patterns of further secrets.
    pub redact: Vec<String>,
    /// Who makes the embeddings.
    pub embedding_provider: Provider,
    /// The provider's name of the model, or the path of a local one; `None` is the provider's usual one.
    pub embedding_model: Option<String>,
    /// What each leg of a search weighs; `None` is what did best with the kind of model that is in use.
    pub search_weights: Option<Weights>,
    /// Where a service is that speaks like OpenAI, or like the provider that is named.
    pub embedding_base_url: Option<String>,
    /// Dimensions of vectors; `None` is what the model makes.
    pub embedding_dimensions: Option<usize>,
    /// The server clears what is older than so many days, once a day.
    pub gc_older_than: Option<u32>,
    /// The server clears the oldest until the logs have at most so many bytes, once a day.
    pub gc_keep_bytes: Option<u64>,
}

/// What each leg of a search weighs, in any unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    pub words: u16,
    /// Words that mean much the same.
    pub kin: u16,
    pub vector: u16,
}

impl Weights {
    /// What did best on the development sets with the model inside the binary.
    pub const MEASURED: Self = Self { words: 65, kin: 35, vector: 5 };
    /// The weights that other products state: 0.7 for vectors and 0.3 for words.
    pub const STATED: Self = Self { words: 30, kin: 0, vector: 70 };
}

/// Who makes the embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// A service whose key is set, else the model inside the binary.
    Auto,
    OpenAi,
    Gemini,
    /// The model inside the binary, or one in a file.
    Local,
    /// Nobody: search goes by words alone.
    None,
}

impl Provider {
    const ALL: [Self; 5] = [Self::Auto, Self::OpenAi, Self::Gemini, Self::Local, Self::None];

    /// The name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Local => "local",
            Self::None => "none",
        }
    }
}

impl Display for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// When a session begins with a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brief {
    Always,
    /// Only after a compaction.
    AfterCompaction,
    Never,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            disabled: false,
            capture: true,
            brief: Brief::Always,
            brief_size: 2_000,
            recall: false,
            exclude: Vec::new(),
            redact: Vec::new(),
            embedding_provider: Provider::Auto,
            embedding_model: None,
            search_weights: None,
            embedding_base_url: None,
            embedding_dimensions: None,
            gc_older_than: None,
            gc_keep_bytes: None,
        }
    }
}

/// Settings, and what could not be understood of them.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    pub settings: Settings,
    /// Made of `redact` and `exclude`.
    pub screen: Screen,
    /// In words for people, each with the file or variable that it is about.
    pub problems: Vec<String>,
}

/// Reads the settings of a project as this process sees them.
pub fn load(layout: &Layout) -> Loaded {
    combine(user_file().as_deref(), &layout.settings(), |name| std::env::var(name).ok())
}

fn combine(user: Option<&Path>, project: &Path, variable: impl Fn(&str) -> Option<String>) -> Loaded {
    let mut layers = Layers::default();
    user.into_iter().for_each(|path| layers.add_file(path, Writer::User));
    let is_allowed = layers.settings.capture;
    layers.add_file(project, Writer::Project);
    // A project comes from anywhere: it may turn capture off, and not on again when its user does not want it.
    layers.settings.capture &= is_allowed;
    for (key, name) in KEYS.iter().filter_map(|key| Some((key, key.variable?))) {
        if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
            layers.set(key, &Value::String(value.into()), &name);
        }
    }
    layers.settings.disabled = is_set(&variable, "JIKIME_MEMORY_DISABLED");
    layers.settings.capture &= !is_set(&variable, NO_HISTORY);
    layers.finish()
}

/// Whether a variable that is a switch is on.
fn is_set(variable: &impl Fn(&str) -> Option<String>, name: &str) -> bool {
    let off = ["", "0", "false", "no", "off"];
    variable(name).is_some_and(|value| !off.iter().any(|off| value.trim().eq_ignore_ascii_case(off)))
}

/// Who wrote a file. A project comes from anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    User,
    Project,
}

#[derive(Debug, Default)]
struct Layers {
    settings: Settings,
    problems: Vec<String>,
    /// Whether something that may forbid capture could not be understood.
    in_doubt: bool,
}

impl Layers {
    fn add_file(&mut self, path: &Path, writer: Writer) {
        let place = path.display();
        let text = match read(path) {
            Err(error) if is_absent(&error) => return,
            read => read.map_err(|error| error.to_string()),
        };
        let table = text.as_deref().map_err(String::clone).and_then(parse);
        match table {
            Ok(table) => table.iter().for_each(|(name, value)| {
                let before = text.as_deref().unwrap_or_default().get(..name.span().start).unwrap_or_default();
                let place = format!("{place}: line {}", before.matches('\n').count() + 1);
                self.add(name.as_ref(), value.as_ref(), writer, &place);
            }),
            Err(problem) => {
                self.in_doubt = true;
                self.problems.push(format!("{place}: {problem}"));
            }
        }
    }

    fn add(&mut self, name: &str, value: &Value<'_>, writer: Writer, place: &impl Display) {
        match KEYS.iter().find(|key| key.name == name) {
            Some(key) if key.of_the_user && writer == Writer::Project => {
                let danger =
                    if name.starts_with("gc_") { "have your memories deleted" } else { "send your memories to others" };
                self.problems.push(format!(
                    "{place}: {name} is not for a project to set, which could {danger}; set it in the user's file or the environment"
                ));
            }
            None if may_mean_a_key(name) => self.problems.push(format!(
                "{place}: no setting {name}: keys come from the environment alone, such as JIKIME_EMBEDDING_API_KEY"
            )),
            Some(key) => self.set(key, value, place),
            None => {
                self.in_doubt |= may_mean_a_guard(name, value);
                let known: Vec<_> = KEYS.iter().map(|key| key.name).collect();
                self.problems.push(format!("{place}: no setting {name}; there is {}", known.join(", ")));
            }
        }
    }

    fn set(&mut self, key: &Key, value: &Value<'_>, place: &impl Display) {
        if self.settings.set(key.name, value).is_none() {
            self.in_doubt |= key.guards;
            self.problems.push(format!("{place}: {} must be {}", key.name, key.values));
        }
    }

    fn finish(mut self) -> Loaded {
        let (screen, errors) = Screen::new(&self.settings.redact, &self.settings.exclude);
        self.in_doubt |= !errors.is_empty();
        self.problems.extend(errors.iter().map(ToString::to_string));
        if self.in_doubt {
            self.settings.capture = false;
            self.problems.push("nothing is captured until this is mended".to_owned());
        }
        Loaded { settings: self.settings, screen, problems: self.problems }
    }
}

impl Settings {
    /// Takes a value over when it is one that the setting may have.
    fn set(&mut self, name: &str, value: &Value<'_>) -> Option<()> {
        match name {
            "capture" => self.capture = switch(value)?,
            "recall" => self.recall = switch(value)?,
            "brief" => {
                self.brief = match word(value)? {
                    "on" => Brief::Always,
                    "compact-only" => Brief::AfterCompaction,
                    "off" => Brief::Never,
                    _ => return None,
                }
            }
            "brief_size" => self.brief_size = number(value, BRIEF_SIZES)?,
            // A project adds to what its user keeps out; it takes nothing away.
            "exclude" => self.exclude.extend(texts(value)?),
            "redact" => self.redact.extend(texts(value)?),
            "embedding_provider" => {
                let name = word(value)?;
                self.embedding_provider = Provider::ALL.into_iter().find(|provider| provider.as_str() == name)?;
            }
            "gc_older_than" => self.gc_older_than = unless_never(value, days)?,
            "gc_keep_bytes" => self.gc_keep_bytes = unless_never(value, bytes)?,
            "search_weights" => self.search_weights = weights(value)?,
            "embedding_model" => self.embedding_model = Some(word(value).filter(|name| !name.is_empty())?.to_owned()),
            "embedding_base_url" => {
                self.embedding_base_url = Some(word(value).filter(|url| !url.is_empty())?.to_owned());
            }
            "embedding_dimensions" => self.embedding_dimensions = Some(number(value, DIMENSIONS)?),
            // It is read when a store is opened, before the settings of its project.
            trust::SETTING => drop(trust::paths(value)?),
            _ => unreachable!("every name of the catalogue is handled above"),
        }
        Some(())
    }
}

/// Files are committed and copied, so that no key has a place in one.
fn may_mean_a_key(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["api_key", "apikey", "api-key", "token", "secret"].iter().any(|part| name.contains(part))
}

/// Whether somebody may have meant to say what may be kept: other capitals, or a table around it.
fn may_mean_a_guard(name: &str, value: &Value<'_>) -> bool {
    let is_guard = KEYS.iter().any(|key| key.guards && key.name.eq_ignore_ascii_case(name.trim()));
    let inside = value.as_table().into_iter().flatten();
    is_guard || inside.into_iter().any(|(name, value)| may_mean_a_guard(name.as_ref(), value.as_ref()))
}

fn read(path: &Path) -> io::Result<String> {
    // A project's file comes with the repository; a user's own may well be a link to where such files are kept.
    if path.parent().is_some_and(|parent| parent.ends_with(".jikime")) {
        verify(path)?;
    }
    regular_file::read_text(path, FILE_LIMIT)
}

fn parse(text: &str) -> Result<Table<'_>, String> {
    Table::parse(text).map(Spanned::into_inner).map_err(|error| {
        let before = error.span().map_or("", |span| &text[..span.start.min(text.len())]);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {}, column {column}: {}", before.matches('\n').count() + 1, error.message())
    })
}

/// Also when a directory above is a file.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
