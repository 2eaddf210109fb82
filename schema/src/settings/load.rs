//! Loads settings from all sources. Later sources override earlier ones.

use std::fmt::Display;
use std::io;
use std::path::Path;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable as Table, DeValue as Value};

use super::catalogue::{KEYS, KeyRule, SettingKey};
use super::value::{
    BriefMode, Edits, EmbeddingProvider, LegWeights, SettingOrigin, parse_bytes, parse_days, parse_number, parse_score,
    parse_switch, parse_text, parse_texts, parse_unless_never, parse_weights, to_json,
};
use crate::files::environment;
use crate::files::layout::Layout;
use crate::files::project::user_settings_file as user_file;
use crate::files::regular_file;
use crate::files::store_file::{read_or_create_key, verify};
use crate::files::trust;
use crate::model::sharing::is_author;
use crate::privacy::anonymiser::Anonymiser;
use crate::privacy::sanitizer::Sanitizer;

/// Claude Code's own switch for people who want no record of their prompts.
pub(super) const NO_HISTORY: &str = "CLAUDE_CODE_SKIP_PROMPT_HISTORY";

/// The maximum size of a settings file, in bytes. A longer file is an error.
const FILE_LIMIT: u64 = 64 * 1024;

/// The allowed sizes of a brief, in characters. A shorter one says nothing, and of a longer one the host shows only the beginning.
pub const BRIEF_SIZES: std::ops::RangeInclusive<usize> = 200..=9_000;

/// The allowed dimensions of vectors. Fewer dimensions distinguish too little, and no model has more.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 32..=8_192;

/// The default number of hits of a search.
pub const SEARCH_RESULTS: usize = 6;

/// The default length of a search result, in tokens of about four bytes.
pub const SEARCH_TOKENS: usize = 1_000;

/// Estimated characters of a token.
pub const CHARACTERS_PER_TOKEN: usize = 4;

/// The hits of a search: as many as `maxResults` allows.
const RESULTS: std::ops::RangeInclusive<usize> = 1..=50;

/// The length of a search result, in tokens of about four bytes.
const RESULT_TOKENS: std::ops::RangeInclusive<usize> = 100..=100_000;

/// The settings of a project, with all sources applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Whether hooks do nothing at all.
    pub disabled: bool,
    /// Whether events are recorded.
    pub capture: bool,
    /// The cases in which a session starts with a brief.
    pub brief: BriefMode,
    /// The maximum length of a brief, in characters.
    pub brief_size: usize,
    /// Whether memories that match a prompt are added to it.
    pub recall: bool,
    /// The least score of such a memory, from 0 to 1. With the default, recall finds a memory for 20 of the 25 prompts in its test table
    /// that need one, also across languages, and none for the other 33.
    pub recall_min_score: f64,
    /// Whether memories that name a file are shown when a tool opens it.
    pub file_recall: bool,
    /// Whether the model is reminded once to save memories before a long session is compacted.
    pub reminder: bool,
    /// The details that are recorded about edits.
    pub edits: Edits,
    /// Whether conclusions in prompts and answers are recorded.
    pub conclusions: bool,
    /// Globs of files that are not recorded, relative to the project.
    pub exclude: Vec<String>,
    /// Patterns of additional secrets.
    pub redact: Vec<String>,
    /// Whether what identifies people and machines is replaced before it is recorded.
    pub anonymise: bool,
    /// Whether this project and the user's other memories may see each other.
    pub other_projects: bool,
    /// The user's name as an author of shared memories.
    pub team_author: Option<String>,
    /// Whether authors may approve their own shared memories.
    pub team_own_approval: bool,
    /// Whether the model may share memories.
    pub team_share_by_model: bool,
    /// The source of embeddings.
    pub embedding_provider: EmbeddingProvider,
    /// The provider's name of the model, or the path of a local model. `None` is the provider's default.
    pub embedding_model: Option<String>,
    /// The weights of the search legs. `None` is the best measured choice for the kind of model in use.
    pub search_weights: Option<LegWeights>,
    /// The hits of a search that names no number.
    pub search_results: usize,
    /// The least score of a hit of a search that names none, from 0 to 1. `None` is 0.35, or less if there are few hits.
    pub search_min_score: Option<f64>,
    /// The length of a search result for a model, in tokens.
    pub search_tokens: usize,
    /// The URL of a service with the OpenAI protocol, or that of the chosen provider.
    pub embedding_base_url: Option<String>,
    /// The dimensions of vectors. `None` is the default of the model.
    pub embedding_dimensions: Option<usize>,
    /// Once a day, the server summarises days that are older than this number of days.
    pub day_summary_after: Option<u32>,
    /// Once a day, the server deletes memories that are older than this number of days.
    pub gc_older_than: Option<u32>,
    /// Once a day, the server deletes the oldest memories until the logs, with their part of the databases, have at most this
    /// size, in bytes.
    pub gc_keep_bytes: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            disabled: false,
            capture: true,
            brief: BriefMode::Always,
            brief_size: 4_000,
            recall: false,
            recall_min_score: 0.62,
            file_recall: false,
            reminder: false,
            edits: Edits::Full,
            conclusions: true,
            exclude: Vec::new(),
            redact: Vec::new(),
            anonymise: false,
            other_projects: false,
            team_author: None,
            team_own_approval: false,
            team_share_by_model: false,
            embedding_provider: EmbeddingProvider::Auto,
            embedding_model: None,
            search_weights: None,
            search_results: SEARCH_RESULTS,
            search_min_score: None,
            search_tokens: SEARCH_TOKENS,
            embedding_base_url: None,
            embedding_dimensions: None,
            day_summary_after: None,
            gc_older_than: None,
            gc_keep_bytes: None,
        }
    }
}

/// Settings, and the problems found while loading them.
#[derive(Debug, Clone, Default)]
pub struct LoadedSettings {
    pub settings: Settings,
    /// Created from `redact` and `exclude`.
    pub sanitizer: Sanitizer,
    /// Messages for people. Each names the file or variable.
    pub problems: Vec<String>,
    /// The valid and permitted values of all sources, in the order of the sources.
    pub(super) accepted: Vec<AcceptedValue>,
}

impl From<Settings> for LoadedSettings {
    fn from(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }
}

/// The value of a setting in one source.
#[derive(Debug, Clone)]
pub(super) struct AcceptedValue {
    pub(super) name: &'static str,
    pub(super) value: Json,
    pub(super) origin: SettingOrigin,
}

/// Loads the settings of a project, including the environment of this process.
pub fn load(layout: &Layout) -> LoadedSettings {
    let mut loaded = combine(user_file().as_deref(), &layout.settings_file(), environment::text);
    if loaded.settings.anonymise {
        loaded.sanitizer.anonymise(Anonymiser::new(read_or_create_key(&layout.anonymous_key())));
    }
    loaded
}

pub(super) fn combine(
    user: Option<&Path>,
    project: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> LoadedSettings {
    let mut layers = SettingsLayers::default();
    user.into_iter().for_each(|path| layers.add_file(path, SettingsOwner::User));
    let user = layers.settings.clone();
    // A project's file can turn `other_projects` off, which the environment cannot overrule, but not on.
    layers.settings.other_projects = true;
    layers.add_file(project, SettingsOwner::Project);
    let may_be_read = std::mem::replace(&mut layers.settings.other_projects, user.other_projects);
    // A project may be a stranger's: it can turn recording down, but not up against the user's settings.
    let settings = &mut layers.settings;
    let refused = [
        ("capture", settings.capture && !user.capture),
        ("edits", settings.edits > user.edits),
        ("conclusions", settings.conclusions && !user.conclusions),
        ("anonymise", !settings.anonymise && user.anonymise),
        ("other_projects", may_be_read),
    ];
    let refused: Vec<&str> = refused.into_iter().filter(|(_, is_refused)| *is_refused).map(|(name, _)| name).collect();
    settings.capture &= user.capture;
    settings.edits = settings.edits.min(user.edits);
    settings.conclusions &= user.conclusions;
    settings.anonymise |= user.anonymise;
    for (key, name) in KEYS.iter().filter_map(|key| Some((key, key.variable?))) {
        if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
            layers.set(key, &Value::String(value.into()), SettingOrigin::Environment(name), &name);
        }
    }
    layers.settings.other_projects &= may_be_read;
    layers.accepted.retain(|value| match value.origin {
        SettingOrigin::Project(_) => !refused.contains(&value.name),
        SettingOrigin::Environment(_) => may_be_read || value.name != "other_projects",
        _ => true,
    });
    layers.settings.disabled = is_set(&variable, "JIKIME_MEMORY_DISABLED");
    layers.settings.capture &= !is_set(&variable, NO_HISTORY);
    layers.finish()
}

/// Whether a variable that works as a switch is on.
pub(super) fn is_set(variable: &impl Fn(&str) -> Option<String>, name: &str) -> bool {
    let off = ["", "0", "false", "no", "off"];
    variable(name).is_some_and(|value| !off.iter().any(|off| value.trim().eq_ignore_ascii_case(off)))
}

/// The owner of a settings file. A project may be a stranger's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsOwner {
    User,
    Project,
}

#[derive(Debug, Default)]
pub(super) struct SettingsLayers {
    pub(super) settings: Settings,
    pub(super) problems: Vec<String>,
    accepted: Vec<AcceptedValue>,
    /// Whether a setting that may restrict recording is invalid.
    has_unclear_guard: bool,
}

impl SettingsLayers {
    pub(super) fn add_file(&mut self, path: &Path, owner: SettingsOwner) {
        let place = path.display();
        let added = match read_file(path) {
            Err(error) if is_absent(&error) => return,
            Err(error) => Err(error.to_string()),
            Ok(text) => parse_file(&text).map(|table| {
                for (name, value) in &table {
                    let before = text.get(..name.span().start).unwrap_or_default();
                    let place = format!("{place}: line {}", before.matches('\n').count() + 1);
                    self.add_value(name.as_ref(), value.as_ref(), (path, owner), &place);
                }
            }),
        };
        if let Err(problem) = added {
            self.has_unclear_guard = true;
            self.problems.push(format!("{place}: {problem}"));
        }
    }

    fn add_value(
        &mut self,
        name: &str,
        value: &Value<'_>,
        (path, owner): (&Path, SettingsOwner),
        place: &impl Display,
    ) {
        let problem = match KEYS.iter().find(|key| key.name == name) {
            Some(key) if key.rule == KeyRule::UserOnly && owner == SettingsOwner::Project => format!(
                "a project cannot set {name}, because it could {}; set it in the user's file or the environment",
                danger(name)
            ),
            Some(key) => {
                let origin = match owner {
                    SettingsOwner::User => SettingOrigin::User,
                    SettingsOwner::Project => SettingOrigin::Project,
                };
                return self.set(key, value, origin(path.to_owned()), place);
            }
            None if looks_like_key(name) => format!(
                "unknown setting {name}: keys are read only from the environment, such as JIKIME_EMBEDDING_API_KEY"
            ),
            None => {
                self.has_unclear_guard |= looks_like_guard(name, value);
                unknown_setting(name)
            }
        };
        self.problems.push(format!("{place}: {problem}"));
    }

    fn set(&mut self, key: &SettingKey, value: &Value<'_>, origin: SettingOrigin, place: &impl Display) {
        if self.settings.set(key.name, value).is_none() {
            self.has_unclear_guard |= key.rule == KeyRule::Guard;
            self.problems.push(format!("{place}: {} must be {}", key.name, key.values));
            return;
        }
        self.accepted.push(AcceptedValue { name: key.name, value: to_json(value), origin });
    }

    fn finish(mut self) -> LoadedSettings {
        let (sanitizer, problems) = Sanitizer::new(&self.settings.redact, &self.settings.exclude);
        self.has_unclear_guard |= !problems.is_empty();
        self.problems.extend(problems);
        if self.has_unclear_guard {
            self.settings.capture = false;
            self.settings.other_projects = false;
            self.problems.push("nothing is recorded until this is fixed".to_owned());
        }
        LoadedSettings { settings: self.settings, sanitizer, problems: self.problems, accepted: self.accepted }
    }
}

impl Settings {
    /// Sets a value, or returns `None` if the setting does not allow it.
    pub(super) fn set(&mut self, name: &str, value: &Value<'_>) -> Option<()> {
        match name {
            "capture" => self.capture = parse_switch(value)?,
            "recall" => self.recall = parse_switch(value)?,
            "recall_min_score" => self.recall_min_score = parse_score(value)?,
            "file_recall" => self.file_recall = parse_switch(value)?,
            "reminder" => self.reminder = parse_switch(value)?,
            "edits" => {
                self.edits = match value.as_str()? {
                    "full" => Edits::Full,
                    "names" => Edits::Names,
                    "off" => Edits::Off,
                    _ => return None,
                }
            }
            "conclusions" => self.conclusions = parse_switch(value)?,
            "brief" => {
                let word = value.as_str()?;
                self.brief = BriefMode::ALL.into_iter().find(|mode| mode.name() == word)?;
            }
            "brief_size" => self.brief_size = parse_number(value, BRIEF_SIZES)?,
            // A project adds to the user's lists and removes nothing.
            "exclude" => self.exclude.extend(parse_texts(value)?),
            "other_projects" => self.other_projects = parse_switch(value)?,
            "team_author" => self.team_author = Some(parse_text(value).filter(|name| is_author(name))?),
            "team_own_approval" => self.team_own_approval = parse_switch(value)?,
            "team_share_by_model" => self.team_share_by_model = parse_switch(value)?,
            "anonymise" => self.anonymise = parse_switch(value)?,
            "redact" => self.redact.extend(parse_texts(value)?),
            "embedding_provider" => {
                let name = value.as_str()?;
                self.embedding_provider =
                    EmbeddingProvider::ALL.into_iter().find(|provider| provider.as_str() == name)?;
            }
            "day_summary_after" => self.day_summary_after = parse_unless_never(value, parse_days)?,
            "gc_older_than" => self.gc_older_than = parse_unless_never(value, parse_days)?,
            "gc_keep_bytes" => self.gc_keep_bytes = parse_unless_never(value, parse_bytes)?,
            "search_weights" => self.search_weights = parse_weights(value)?,
            "search_results" => self.search_results = parse_number(value, RESULTS)?,
            "search_min_score" => {
                self.search_min_score = if value.as_str() == Some("auto") { None } else { Some(parse_score(value)?) }
            }
            "search_tokens" => self.search_tokens = parse_number(value, RESULT_TOKENS)?,
            "embedding_model" => self.embedding_model = Some(parse_text(value)?),
            "embedding_base_url" => self.embedding_base_url = Some(parse_text(value)?),
            "embedding_dimensions" => self.embedding_dimensions = Some(parse_number(value, DIMENSIONS)?),
            // Only checked here. It is read when a store is opened, before the project's settings.
            trust::SETTING => drop(trust::parse_trusted_paths(value)?),
            _ => return None,
        }
        Some(())
    }
}

/// Says that a setting is unknown, and which ones there are.
pub(super) fn unknown_setting(name: &str) -> String {
    let known: Vec<_> = KEYS.iter().map(|key| key.name).collect();
    format!("unknown setting {name}; the settings are {}", known.join(", "))
}

/// What a project could do with a setting that only the user may set.
pub(super) fn danger(name: &str) -> &'static str {
    match name {
        _ if name.starts_with("gc_") => "delete your memories",
        "team_author" => "write in your name",
        _ => "send your memories to others",
    }
}

/// Whether a setting looks like an API key. Files are committed and copied, so they must not contain keys.
pub(super) fn looks_like_key(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["api_key", "apikey", "api-key", "token", "secret"].iter().any(|part| name.contains(part))
}

/// Whether a name may be meant as a setting that restricts recording or reading: in other capitals or with other marks, without its plural,
/// as a variable, or inside a table.
fn looks_like_guard(name: &str, value: &Value<'_>) -> bool {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_ascii_lowercase();
    let given = letters(name);
    let is_meant = |known: &str| {
        let known = letters(known);
        given == known || known.strip_prefix(given.as_str()).is_some_and(|rest| rest == "s")
    };
    let is_guard =
        KEYS.iter().any(|key| key.rule == KeyRule::Guard && (is_meant(key.name) || key.variable.is_some_and(is_meant)));
    let in_table = value.as_table().into_iter().flatten();
    let in_list = value.as_array().into_iter().flatten();
    is_guard
        || in_table.into_iter().any(|(name, value)| looks_like_guard(name.as_ref(), value.as_ref()))
        || in_list.into_iter().any(|value| looks_like_guard("", value.as_ref()))
}

pub(super) fn read_file(path: &Path) -> io::Result<String> {
    // A project's file comes with the repository, but users often link their own file to another place.
    if path.parent().is_some_and(|parent| parent.ends_with(".jikime")) {
        verify(path)?;
    }
    regular_file::read_text(path, FILE_LIMIT)
}

pub(super) fn parse_file(text: &str) -> Result<Table<'_>, String> {
    Table::parse(text).map(Spanned::into_inner).map_err(|error| {
        let before = error.span().map_or("", |span| &text[..span.start.min(text.len())]);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {}, column {column}: {}", before.matches('\n').count() + 1, error.message())
    })
}

/// Whether a file is missing, also because a parent directory is a file.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
