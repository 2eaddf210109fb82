//! Settings from defaults, the user's file, the project's file and the environment. Later sources override earlier ones.
//! docs/reference/config.md is generated from the table in `settings/catalogue.rs`.
//!
//! Settings that limit what is recorded are promises: while they cannot be understood, nothing is captured.

mod catalogue;
mod load;
mod origins;
mod value;

pub use crate::files::project::user_settings_file as user_file;
pub use load::{LoadedSettings, Settings, load};
pub use origins::{ExplainedSettings, Setting, SettingOrigin, SettingsFile, explain};
pub use value::{BriefMode, Edits, EmbeddingProvider, LegWeights, parse_bytes, parse_days};

#[cfg(test)]
mod tests;
