//! Settings: what people decide, from defaults, the user's file, the project's file and the environment, the later over the
//! earlier. docs/reference/config.md is generated from the table in `settings/catalogue.rs`.
//!
//! Settings of what may be kept are promises: where they cannot be understood, nothing is captured until they can.

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
