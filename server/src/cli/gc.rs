//! `gc`: memories that are old, or too many, go.

use clap::Args;
use schema::memory::MemoryType;
use schema::moment::Moment;
use schema::settings;
use tools::engine::{Clearing, Engine, Extent, OldDatabases};
use tools::error::ToolError;

use super::forget::{Consent, Plan};
use super::narrow::memory_type;
use super::output::Printer;

#[derive(Debug, Args)]
pub(crate) struct GcArguments {
    /// Memories older than this, such as 36h, 180d, 26w, 6mo or 1y [default: the setting gc_older_than]
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<u32>,
    /// The oldest, until the daily logs have at most this size, such as 50MB [default: the setting gc_keep_bytes]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    keep_bytes: Option<u64>,
    /// Types that are spared otherwise: decision, convention, preference
    #[arg(long, value_name = "TYPE", value_parser = memory_type(), value_delimiter = ',')]
    also: Vec<MemoryType>,
    #[command(flatten)]
    pub(super) consent: Consent,
}

fn age(text: &str) -> Result<u32, String> {
    settings::days(text).ok_or_else(|| "give an age such as 36h, 180d, 26w, 6mo or 1y".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    settings::bytes(text).ok_or_else(|| "give a size such as 500KB, 50MB or 1GB".to_owned())
}

/// Clears what is old or too much, after a preview.
pub(crate) fn gc(engine: &mut Engine, printer: &Printer, arguments: GcArguments) -> anyhow::Result<()> {
    let GcArguments { mut older_than, mut keep_bytes, also, consent } = arguments;
    if older_than.is_none() && keep_bytes.is_none() {
        let settings = settings::load(engine.store().layout()).settings;
        (older_than, keep_bytes) = (settings.gc_older_than, settings.gc_keep_bytes);
    }
    if older_than.is_none() && keep_bytes.is_none() {
        let text =
            "say what is to go: --older-than 180d, --keep-bytes 50MB, or the settings gc_older_than and gc_keep_bytes";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    engine.finish_forgetting()?;
    let selected = engine.clearable(&Clearing { older_than, keep_bytes, also }, &Moment::now())?;
    let (extent, old) = (Extent::Memories, OldDatabases::Keep);
    let plan = Plan { words: ["Clear", "Cleared"], selected, extent, old, needs_all: false };
    plan.carry_out(engine, printer, &consent)
}
