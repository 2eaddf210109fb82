//! Logging: warnings to standard error, and events to one file a day in the store.
//!
//! Logs have ids, places and sizes, never content. Content may be logged only at the level `trace`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use chrono::{Days, NaiveDate};
use schema::files::layout::{Layout, private_dir_builder};
use schema::files::store_file::{options_for_private, verify};
use schema::model::moment::Moment;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// Bytes of one day's file. Later lines are dropped.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Days of logs to keep, including today.
const KEPT_DAYS: u64 = 7;

/// Set only if this process is a server.
static FILES: OnceLock<Mutex<DailyFiles>> = OnceLock::new();

/// Starts logging. Standard output is reserved for results and the protocol.
pub(crate) fn init_logging(wish: Option<&str>) {
    let on_standard_error = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false)
        // Such an error would panic if standard error is closed.
        .log_internal_errors(false)
        .with_filter(log_filter(wish, "warn"));
    let in_files = tracing_subscriber::fmt::layer()
        .with_writer(|| FileMakeWriter)
        .with_ansi(false)
        .log_internal_errors(false)
        .with_filter(log_filter(wish, "info"));
    tracing_subscriber::registry().with(on_standard_error).with(in_files).init();
    // A panic message may quote memories.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!("internal error in jikime-memory at {place}");
        tracing::trace!("{panic}");
    }));
}

/// Also logs to files in the store from now on.
pub(crate) fn log_to_files(layout: &Layout) {
    let files = DailyFiles { directory: layout.server_log_dir(), today: None };
    // A process serves only one store.
    let _ = FILES.set(Mutex::new(files));
}

/// The protocol library logs whole messages, which contain memories. Its logs are off unless the filter names it.
fn log_filter(wish: Option<&str>, otherwise: &str) -> Targets {
    // An empty directive would log everything.
    let is_complete = |wish: &&str| wish.split(',').all(|directive| !directive.trim().is_empty());
    let parse = |wish: &str| format!("rmcp=off,{wish}").parse();
    let wished = wish.filter(is_complete).and_then(|wish| parse(wish).ok());
    wished.or_else(|| parse(otherwise).ok()).unwrap_or_default()
}

struct FileMakeWriter;

impl Write for FileMakeWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(files) = FILES.get() {
            files.lock().unwrap_or_else(PoisonError::into_inner).write(line, Moment::now().date());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One file a day; files are deleted after a week.
#[derive(Debug)]
struct DailyFiles {
    directory: PathBuf,
    /// The day of the last line, and its file if it can be written.
    today: Option<(NaiveDate, Option<File>)>,
}

impl DailyFiles {
    /// Writes a line. If the file cannot be opened, logging stops until the next day, because there is nowhere to report the error.
    fn write(&mut self, line: &[u8], day: NaiveDate) {
        if self.today.as_ref().is_none_or(|(known, _)| *known != day) {
            self.today = match open_log_file(&self.directory, day) {
                // The store does not exist yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                opened => Some((day, opened.ok())),
            };
            remove_old(&self.directory, day);
        }
        let Some((_, Some(file))) = &mut self.today else { return };
        // Several servers append whole lines to the same file.
        if file.metadata().is_ok_and(|metadata| metadata.len() + line.len() as u64 <= MAX_FILE_BYTES) {
            let _ = file.write_all(line);
        }
    }
}

fn open_log_file(directory: &Path, day: NaiveDate) -> io::Result<File> {
    let path = directory.join(format!("{day}.log"));
    verify(&path)?;
    match private_dir_builder().create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    options_for_private().append(true).create(true).open(path)
}

/// Deletes files older than [`KEPT_DAYS`] days. Files with other names are not ours.
fn remove_old(directory: &Path, today: NaiveDate) {
    if verify(&directory.join("file")).is_err() {
        return;
    }
    let oldest = today.checked_sub_days(Days::new(KEPT_DAYS - 1)).unwrap_or(today);
    for path in fs::read_dir(directory).into_iter().flatten().filter_map(|item| Some(item.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".log"));
        let day = name.and_then(|name| name.parse::<NaiveDate>().ok());
        if day.is_some_and(|day| day < oldest) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn files() -> (tempfile::TempDir, DailyFiles) {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        (project, DailyFiles { directory: layout.server_log_dir(), today: None })
    }

    fn names(files: &DailyFiles) -> Vec<String> {
        let items = fs::read_dir(&files.directory).unwrap();
        let mut names: Vec<String> = items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn library_logs_are_off_unless_named() {
        for (wish, expected) in [
            (None, "rmcp=off,warn"),
            (Some("debug"), "rmcp=off,debug"),
            (Some("no=such=filter"), "rmcp=off,warn"),
            (Some(""), "rmcp=off,warn"),
            (Some("info,"), "rmcp=off,warn"),
            (Some("info,rmcp=debug"), "rmcp=debug,info"),
        ] {
            assert_eq!(log_filter(wish, "warn").to_string(), expected, "{wish:?}");
        }
    }

    #[test]
    fn log_files_are_private_and_kept_for_a_week() {
        let (_project, mut files) = files();
        for date in 1..=9 {
            files.write(b"line\n", day(&format!("2026-01-{date:02}")));
        }
        fs::write(files.directory.join("2020-01-01.txt"), "theirs").unwrap();
        files.write(b"line\n", day("2026-01-10"));
        let mut expected = vec!["2020-01-01.txt".to_owned()];
        expected.extend((4..=10).map(|date| format!("2026-01-{date:02}.log")));
        assert_eq!(names(&files), expected);
        assert_eq!(fs::read_to_string(files.directory.join("2026-01-10.log")).unwrap(), "line\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            let file = files.directory.join("2026-01-10.log");
            assert_eq!((mode(&files.directory), mode(&file)), (0o700, 0o600));
        }
    }

    #[test]
    fn log_file_stays_within_its_limit() {
        let (_project, mut files) = files();
        let line = [b'x'; 100_000];
        (0..20).for_each(|_| files.write(&line, day("2026-01-01")));
        let length = fs::metadata(files.directory.join("2026-01-01.log")).unwrap().len();
        assert!((MAX_FILE_BYTES - 100_000..=MAX_FILE_BYTES).contains(&length), "{length}");
    }

    #[cfg(unix)]
    #[test]
    fn logging_does_not_follow_links() {
        let (project, mut files) = files();
        let outside = project.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("2020-01-01.log"), "theirs").unwrap();
        std::os::unix::fs::symlink(&outside, &files.directory).unwrap();
        files.write(b"line\n", day("2026-01-01"));
        assert_eq!(names(&files), ["2020-01-01.log"]);
        fs::remove_file(&files.directory).unwrap();
        fs::create_dir(&files.directory).unwrap();
        std::os::unix::fs::symlink(outside.join("target"), files.directory.join("2026-01-02.log")).unwrap();
        files.write(b"line\n", day("2026-01-02"));
        assert!(!outside.join("target").exists());
    }
}
