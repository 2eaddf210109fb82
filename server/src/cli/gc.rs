//! `gc`: deletes old memories.

use clap::Args;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::settings::{self, ExplainedSettings, Setting, SettingOrigin};
use tools::engine::{Engine, ForgetExtent, OldDatabases, RetentionPolicy};

use super::filter_arguments::MemoryTypeParser;
use super::forget::{ConsentArguments, ForgetPlan};
use super::output::Printer;
use super::preview::DeletionReport;

#[derive(Debug, Args)]
pub(crate) struct GcArguments {
    /// Delete memories older than this, such as 36h, 180d, 26w, 6mo or 1y [default: the setting gc_older_than]
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    older_than: Option<u32>,
    /// Delete the oldest memories until the daily logs, with their part of the databases, are at most this large, such as 50MB
    /// [default: the setting gc_keep_bytes]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    keep_bytes: Option<u64>,
    /// Also delete these types, which are kept by default: `decision`, `convention`, `preference`; separated by commas
    #[arg(
        long,
        value_name = "TYPE",
        value_parser = MemoryTypeParser,
        value_delimiter = ',',
        hide_possible_values = true
    )]
    also: Vec<MemoryType>,
    #[command(flatten)]
    pub(super) consent: ConsentArguments,
}

fn parse_age(text: &str) -> Result<u32, String> {
    settings::parse_days(text).ok_or_else(|| "give an age such as 36h, 180d, 26w, 6mo or 1y".to_owned())
}

fn parse_size(text: &str) -> Result<u64, String> {
    settings::parse_bytes(text).ok_or_else(|| "give a size such as 500KB, 50MB or 1GB".to_owned())
}

/// The settings that decide if no option is given, with their sources.
fn describe_settings(explained: &ExplainedSettings) -> String {
    let meant: Vec<&Setting> = explained.settings.iter().filter(|setting| setting.name.starts_with("gc_")).collect();
    let texts: Vec<String> = meant.iter().map(|setting| format!("{} = {}", setting.name, setting.value)).collect();
    let are_defaults = meant.iter().all(|setting| setting.origins == [SettingOrigin::Default]);
    let source = if are_defaults { " (the defaults)" } else { "" };
    format!("Uses the settings {}{source}.", texts.join(" and "))
}

/// Deletes old memories, after a preview.
pub(crate) fn run_gc(engine: &mut Engine, printer: &Printer, arguments: GcArguments) -> anyhow::Result<()> {
    let GcArguments { mut older_than, mut keep_bytes, also, consent } = arguments;
    if older_than.is_none() && keep_bytes.is_none() {
        let layout = engine.store().layout().clone();
        if !printer.is_json() {
            printer.print_wrapped(&describe_settings(&settings::explain(&layout)))?;
        }
        let settings = settings::load(&layout).settings;
        (older_than, keep_bytes) = (settings.gc_older_than, settings.gc_keep_bytes);
    }
    if older_than.is_none() && keep_bytes.is_none() {
        let nothing = DeletionReport { dry_run: consent.dry_run, ..DeletionReport::default() };
        let text = "No limit is set, so nothing is deleted. Give --older-than 180d or --keep-bytes 50MB, or set one: \
                    jikime-memory config set --user gc_older_than 180d";
        return printer.print_sentence(&nothing, text);
    }
    engine.finish_forgetting()?;
    let selected =
        engine.select_expired(&RetentionPolicy { older_than, keep_bytes, included_kinds: also }, &Moment::now())?;
    let (extent, old) = (ForgetExtent::Memories, OldDatabases::Keep);
    ForgetPlan { selected, extent, old, needs_all: false }.carry_out(engine, printer, &consent)
}
