//! Serves a team on a PostgreSQL server of its own until standard input ends. Prints the address and the tokens of two members as a line of
//! JSON, `{"url": …, "minji": …, "jun": …}`, or `null` where PostgreSQL is not installed.

use std::io::{self, Write as _};

#[cfg(unix)]
fn main() -> io::Result<()> {
    use std::io::Read as _;

    use harness::{Postgres, TeamServer};
    use serde_json::{Value, json};

    let Some(postgres) = Postgres::start() else {
        return writeln!(io::stdout(), "null");
    };
    let program = std::env::current_exe()?.with_file_name("jikime-memory-under-test");
    let program = program.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
    let minji = TeamServer::create_project(program, &postgres, "atlas", "minji");
    let server = TeamServer::start(program, &postgres);
    let invitation = json!({"name": "jun", "role": "approver", "days": 30});
    let invited: Value = serde_json::from_str(&server.ask(&minji, "POST", "members", &invitation).body)?;
    writeln!(io::stdout(), "{}", json!({"url": server.url(), "minji": minji, "jun": invited["token"]}))?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

#[cfg(not(unix))]
fn main() -> io::Result<()> {
    writeln!(io::stdout(), "null")
}
