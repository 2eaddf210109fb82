//! A PostgreSQL server for tests, on a socket in a folder of its own.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::environment;
use crate::other_user::OWNER;
use crate::polling::eventually;
use crate::program_output::end;

/// The folder with the programs `initdb`, `postgres` and `psql`.
const PROGRAMS: &str = "JIKIME_TEST_POSTGRES";

/// Where Debian and Ubuntu install them, a folder for each version.
const INSTALLED: &str = "/usr/lib/postgresql";

const START_DEADLINE: Duration = Duration::from_mins(1);

/// A server with the roles and the empty database that docs/team-server.md names. Ended on drop.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    child: Child,
}

impl Postgres {
    /// Starts a server, or returns `None` if PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("jikime-pg-").tempdir().expect("a temporary folder");
        let is_superuser = fs::metadata(folder.path()).expect("the folder is there").uid() == 0;
        if is_superuser {
            // PostgreSQL refuses to run as the superuser.
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions can be set");
            chown(folder.path(), Some(OWNER), Some(OWNER)).expect("the superuser can change owners");
        }
        let command = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if is_superuser {
                command.uid(OWNER).gid(OWNER);
            }
            command
        };
        let made = command("initdb")
            .args(["-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"])
            .status()
            .expect("initdb can be started");
        assert!(made.success(), "initdb failed with {made}");
        let child = command("postgres")
            .args(["-D", "data", "-F", "-c", "listen_addresses=", "-k"])
            .arg(folder.path())
            .spawn()
            .expect("postgres can be started");
        let server = Self { programs, folder, child };
        eventually(START_DEADLINE, || server.try_query("postgres", "postgres", "SELECT 1").is_ok());
        for sql in [
            "CREATE ROLE jikime_owner LOGIN",
            "CREATE ROLE jikime_app LOGIN",
            "CREATE DATABASE jikime OWNER jikime_owner",
        ] {
            server.try_query("postgres", "postgres", sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        Some(server)
    }

    /// The address of the database for a role.
    pub fn address(&self, role: &str) -> String {
        format!("host={} user={role} dbname=jikime", self.folder.path().display())
    }

    /// Runs a statement in the database as a role, and returns the rows as lines, or the error.
    pub fn query(&self, role: &str, sql: &str) -> Result<String, String> {
        self.try_query(role, "jikime", sql)
    }

    fn try_query(&self, role: &str, database: &str, sql: &str) -> Result<String, String> {
        let asked = Command::new(self.programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", role, "-d", database, "-c", sql, "-h"])
            .arg(self.folder.path())
            .output()
            .expect("psql can be started");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if asked.status.success() { Ok(text(&asked.stdout)) } else { Err(text(&asked.stderr)) }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// The folder with the programs of the newest version.
fn programs() -> Option<PathBuf> {
    if let Some(given) = environment::variable(PROGRAMS).filter(|given| !given.is_empty()) {
        return Some(given.into());
    }
    let versions = fs::read_dir(INSTALLED).ok()?.filter_map(|item| item.ok()?.file_name().into_string().ok());
    let mut versions: Vec<u32> = versions.filter_map(|name| name.parse().ok()).collect();
    versions.sort_unstable();
    let mut programs = versions.into_iter().map(|version| Path::new(INSTALLED).join(version.to_string()).join("bin"));
    programs.rfind(|programs| has_server(programs))
}

fn has_server(programs: &Path) -> bool {
    ["initdb", "postgres", "psql"].iter().all(|name| programs.join(name).is_file())
}
