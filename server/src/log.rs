//! What the server says of itself: warnings on standard error, and what happened in a file a day beside what is remembered.
//!
//! Ids, places and sizes, never content: whoever logs more than that does so at the level `trace`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use chrono::{Days, NaiveDate};
use schema::layout::Layout;
use schema::moment::Moment;
use schema::own_file::{private_file, verify};
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// Bytes of a day's file. What comes then is not written.
const LIMIT: u64 = 1024 * 1024;

/// Days that are kept, today included.
const KEPT: u64 = 7;

/// The files of the server that this process is, once it is one.
static FILES: OnceLock<Mutex<Files>> = OnceLock::new();

/// Begins to log. Standard output belongs to answers and to the protocol; what the program has to say of itself goes elsewhere.
pub(crate) fn begin(wish: Option<&str>) {
    let on_standard_error = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false)
        // It would tell on standard error that standard error is closed, and panic over that.
        .log_internal_errors(false)
        .with_filter(filter(wish, "warn"));
    let in_files = tracing_subscriber::fmt::layer()
        .with_writer(|| ToFiles)
        .with_ansi(false)
        .log_internal_errors(false)
        .with_filter(filter(wish, "info"));
    tracing_subscriber::registry().with(on_standard_error).with(in_files).init();
    // What a panic says may quote the text that it was about.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!("a fault in jikime-memory at {place}");
        tracing::trace!("{panic}");
    }));
}

/// Logs into the files of a store from now on.
pub(crate) fn into_files(layout: &Layout) {
    let files = Files { directory: layout.server_logs(), today: None };
    // A process serves one store.
    let _ = FILES.set(Mutex::new(files));
}

/// What is logged. The library that speaks the protocol logs whole messages, which hold memories: only who names it hears it.
fn filter(wish: Option<&str>, otherwise: &str) -> EnvFilter {
    let wish = wish.filter(|wish| EnvFilter::try_new(wish).is_ok()).unwrap_or(otherwise);
    EnvFilter::new(format!("rmcp=off,{wish}"))
}

/// Where events go that are for the files.
struct ToFiles;

impl Write for ToFiles {
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

/// One file a day, for a week.
#[derive(Debug)]
struct Files {
    directory: PathBuf,
    /// The day of the last line, and its file unless that cannot be written.
    today: Option<(NaiveDate, Option<File>)>,
}

impl Files {
    /// Writes a line. A log that cannot be written is given up in silence until the next day: there is nowhere left to tell it.
    fn write(&mut self, line: &[u8], day: NaiveDate) {
        if self.today.as_ref().is_none_or(|(known, _)| *known != day) {
            self.today = match open(&self.directory, day) {
                // There is no store yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                opened => Some((day, opened.ok())),
            };
            remove_old(&self.directory, day);
        }
        let Some((_, Some(file))) = &mut self.today else { return };
        // Several servers write to it, each a line at a time.
        if file.metadata().is_ok_and(|metadata| metadata.len() + line.len() as u64 <= LIMIT) {
            let _ = file.write_all(line);
        }
    }
}

fn open(directory: &Path, day: NaiveDate) -> io::Result<File> {
    let path = directory.join(format!("{day}.log"));
    verify(&path)?;
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    private_file().append(true).create(true).open(path)
}

/// Deletes the files of days that are over for a week. Files by other names are not ours.
fn remove_old(directory: &Path, today: NaiveDate) {
    if verify(&directory.join("file")).is_err() {
        return;
    }
    let oldest = today.checked_sub_days(Days::new(KEPT - 1)).unwrap_or(today);
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

    fn files() -> (tempfile::TempDir, Files) {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create().unwrap();
        (project, Files { directory: layout.server_logs(), today: None })
    }

    fn names(files: &Files) -> Vec<String> {
        let items = fs::read_dir(&files.directory).unwrap();
        let mut names: Vec<String> = items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn whole_messages_are_logged_only_for_who_names_the_library() {
        for (wish, expected) in [
            (None, "rmcp=off,warn"),
            (Some("debug"), "rmcp=off,debug"),
            (Some("no=such=filter"), "rmcp=off,warn"),
            (Some("info,rmcp=debug"), "rmcp=debug,info"),
        ] {
            assert_eq!(filter(wish, "warn").to_string(), expected, "{wish:?}");
        }
    }

    #[test]
    fn there_is_a_private_file_for_each_day_of_a_week() {
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
    fn a_file_stays_within_its_limit() {
        let (_project, mut files) = files();
        let line = [b'x'; 100_000];
        (0..20).for_each(|_| files.write(&line, day("2026-01-01")));
        let length = fs::metadata(files.directory.join("2026-01-01.log")).unwrap().len();
        assert!((LIMIT - 100_000..=LIMIT).contains(&length), "{length}");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_or_deleted_through_a_link() {
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
