//! Loads settings from defaults, the user's file, the project's file and the environment. Later sources override earlier ones.
//! docs/reference/config.md is generated from the table in `settings/catalogue.rs`.
//!
//! Settings that restrict recording are promises: if one of them is invalid, nothing is captured until it is fixed.

mod assign;
mod catalogue;
mod load;
mod origins;
mod value;

pub use crate::files::project::user_settings_file as user_file;
pub use assign::{check_name, toml_literal};
pub use load::{
    BRIEF_SIZES, CHARACTERS_PER_TOKEN, LoadedSettings, SEARCH_RESULTS, SEARCH_TOKENS, Settings, SettingsOwner, load,
};
pub use origins::{ExplainedSettings, Setting, SettingsFile, explain};
pub use value::{BriefMode, Edits, EmbeddingProvider, LegWeights, SettingOrigin, parse_bytes, parse_days};

#[cfg(test)]
mod tests;
