//! Reads SQLite databases of other programs. Never writes them, and accepts missing tables and columns.
//!
//! While such a program runs, most of its data may be in the write-ahead log. SQLite cannot read that without writing next to
//! the database, so a database with a log is read from a private copy.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::private_temp_dir::PrivateTempDir;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use schema::files::regular_file;
use schema::model::moment::Moment;

use super::foreign::{SourceError, is_plausible, parse_time};

/// The start of every SQLite database.
const HEADER: &[u8; 16] = b"SQLite format 3\0";

/// How often a copy is repeated because the program wrote meanwhile.
const TRIES: usize = 5;

/// The files next to a database that hold a part of its data.
const SIDE_FILES: [&str; 2] = ["-wal", "-journal"];

/// The name of the copy.
const COPY_NAME: &str = "copy.db";

/// A database of another program.
#[derive(Debug)]
pub(super) struct ForeignDatabase {
    path: PathBuf,
    connection: Connection,
    /// Dropped after the connection.
    _copy: Option<PrivateTempDir>,
}

/// A row; missing columns are empty.
pub(super) struct ForeignRow<'r> {
    names: &'r [&'r str],
    row: &'r rusqlite::Row<'r>,
}

impl ForeignDatabase {
    /// Opens a database that has one of these tables of a program.
    pub(super) fn open(path: &Path, program: &str, tables: &[&str]) -> Result<Self, SourceError> {
        let unreadable = |error: io::Error| SourceError::unreadable(path, &error);
        let mut header = Vec::new();
        regular_file::open(path).and_then(|file| file.take(16).read_to_end(&mut header)).map_err(unreadable)?;
        if header != HEADER {
            return Err(SourceError::unreadable(path, "it is not a SQLite database"));
        }
        let has_log =
            SIDE_FILES.iter().any(|side| fs::metadata(with_suffix(path, side)).is_ok_and(|file| file.len() > 0));
        let copy = has_log.then(|| copy_database(path)).transpose().map_err(unreadable)?;
        let connection = match &copy {
            Some(copy) => Connection::open_with_flags(copy.path().join(COPY_NAME), OpenFlags::SQLITE_OPEN_READ_WRITE),
            None => Connection::open_with_flags(
                immutable_uri(path).map_err(unreadable)?,
                OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            ),
        };
        let connection = connection.map_err(|error| SourceError::unreadable(path, &error))?;
        let restrict = connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;");
        restrict.map_err(|error| SourceError::unreadable(path, &error))?;
        let db = Self { path: path.to_owned(), connection, _copy: copy };
        let has_one = tables.iter().any(|table| db.columns(table).is_ok_and(|columns| !columns.is_empty()));
        if has_one { Ok(db) } else { Err(SourceError::unreadable(path, &format!("it has no table of {program}"))) }
    }

    /// The columns of a table; none if it does not exist. A view or a virtual table may run code, so it does not count.
    fn columns(&self, table: &str) -> rusqlite::Result<Vec<String>> {
        let mut statement = self.connection.prepare(
            "SELECT name FROM pragma_table_info(?1) WHERE EXISTS (SELECT 1 FROM sqlite_schema \
             WHERE type = 'table' AND name = ?1 AND sql LIKE 'CREATE TABLE%')",
        )?;
        statement.query_map([table], |row| row.get(0))?.collect()
    }

    /// Calls `work` with each row of a table in the order of its insertion. A missing table has no rows.
    pub(super) fn for_each_row(
        &self,
        table: &str,
        names: &[&str],
        work: impl FnMut(&ForeignRow<'_>) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        self.for_each_match(table, names, None, work)
    }

    /// Calls `work` with each row, or with those in which a column has the value of the filter.
    pub(super) fn for_each_match(
        &self,
        table: &str,
        names: &[&str],
        filter: Option<(&str, &str)>,
        mut work: impl FnMut(&ForeignRow<'_>) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        let unreadable = |error: rusqlite::Error| SourceError::unreadable(&self.path, &format!("{table}: {error}"));
        let columns = self.columns(table).map_err(unreadable)?;
        let is_known = |name: &str| columns.iter().any(|column| column == name);
        if columns.is_empty() || filter.is_some_and(|(column, _)| !is_known(column)) {
            return Ok(());
        }
        let selected: Vec<String> =
            names.iter().map(|name| if is_known(name) { format!("\"{name}\"") } else { "NULL".to_owned() }).collect();
        let condition = filter.map(|(column, _)| format!(" WHERE \"{column}\" = ?1")).unwrap_or_default();
        let query = format!("SELECT {} FROM \"{table}\"{condition}", selected.join(", "));
        let ordered = self.connection.prepare(&format!("{query} ORDER BY rowid"));
        // A table may have no row ids.
        let mut statement = ordered.or_else(|_| self.connection.prepare(&query)).map_err(unreadable)?;
        let mut rows =
            statement.query(rusqlite::params_from_iter(filter.map(|(_, value)| value))).map_err(unreadable)?;
        while let Some(row) = rows.next().map_err(unreadable)? {
            work(&ForeignRow { names, row })?;
        }
        Ok(())
    }
}

impl ForeignRow<'_> {
    /// A value as text. Empty for NULL, bytes and missing columns.
    pub(super) fn text(&self, name: &str) -> String {
        let index = self.names.iter().position(|known| *known == name);
        match index.and_then(|index| self.row.get_ref(index).ok()) {
            Some(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            Some(ValueRef::Integer(number)) => number.to_string(),
            Some(ValueRef::Real(number)) => number.to_string(),
            Some(ValueRef::Null | ValueRef::Blob(_)) | None => String::new(),
        }
    }

    /// The first value that is a plausible time, or the fallback.
    pub(super) fn time(&self, names: &[&str], fallback: Moment) -> Moment {
        names.iter().find_map(|name| parse_time(&self.text(name)).filter(is_plausible)).unwrap_or(fallback)
    }

    /// The texts of a JSON list, or of a list with commas.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let text = self.text(name);
        let parsed = serde_json::from_str::<Vec<String>>(&text);
        let items = parsed.unwrap_or_else(|_| text.split(',').map(str::to_owned).collect());
        items.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
    }
}

/// A URI with which SQLite reads a file without locks and without any file next to it.
fn immutable_uri(path: &Path) -> io::Result<String> {
    let path = std::path::absolute(path)?;
    let path = path.to_string_lossy().replace('\\', "/");
    let mut uri = String::from(if path.starts_with('/') { "file:" } else { "file:/" });
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~' | b':') {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(uri + "?mode=ro&immutable=1")
}

/// Copies a database with its log. Repeats that if the files changed meanwhile.
fn copy_database(path: &Path) -> io::Result<PrivateTempDir> {
    let folder = PrivateTempDir::create("import")?;
    let parts = || ["", SIDE_FILES[0], SIDE_FILES[1]].into_iter();
    let stamp = || -> Vec<Option<(u64, SystemTime)>> {
        let metadata = parts().map(|part| fs::metadata(with_suffix(path, part)).ok());
        metadata.map(|file| file.and_then(|file| Some((file.len(), file.modified().ok()?)))).collect()
    };
    for _ in 0..TRIES {
        let before = stamp();
        for part in parts() {
            copy_file(&with_suffix(path, part), &with_suffix(&folder.path().join(COPY_NAME), part))?;
        }
        if stamp() == before {
            return Ok(folder);
        }
    }
    Err(io::Error::other("its program keeps writing; close that program and try again"))
}

/// Copies the content of a file, if it exists.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    match regular_file::open(from) {
        Ok(mut file) => io::copy(&mut file, &mut fs::File::create(to)?).map(drop),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !to.exists() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::remove_file(to),
        Err(error) => Err(error),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(path: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let db = ForeignDatabase::open(path, "test", &["t", "notes"]).unwrap();
        let read = db.for_each_row("notes", &["id", "missing", "text"], |row| {
            found.push(format!("{}|{}|{}", row.text("id"), row.text("missing"), row.text("text")));
            Ok(())
        });
        read.unwrap();
        found
    }

    /// The names of the files in a folder, with their bytes.
    fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    #[test]
    fn rows_in_an_open_write_ahead_log_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a ? # %41.db");
        let db = Connection::open(&path).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.execute_batch("CREATE TABLE notes (id INTEGER, text); INSERT INTO notes VALUES (1, '메모'), (2, NULL);")
            .unwrap();
        let before = files(folder.path());
        assert_eq!(contents(&path), ["1||메모", "2||"]);
        assert_eq!(files(folder.path()), before);
        drop(db);
        let before = files(folder.path());
        assert_eq!((before.len(), contents(&path)), (1, vec!["1||메모".to_owned(), "2||".to_owned()]));
        assert_eq!(files(folder.path()), before);
    }

    #[test]
    fn views_and_virtual_tables_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch("CREATE TABLE t (id); INSERT INTO t VALUES (1); CREATE VIEW notes AS SELECT id FROM t;")
            .unwrap();
        drop(db);
        assert_eq!(contents(&path), Vec::<String>::new());
    }

    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        fs::write(&path, "not a database at all").unwrap();
        let error = ForeignDatabase::open(&path, "test", &["notes"]).unwrap_err().to_string();
        assert!(error.ends_with("a.db: it is not a SQLite database"), "{error}");
    }
}
