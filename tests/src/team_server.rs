//! A team's server under test, with its database.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::http_server::{HttpAnswer, send_request};
use crate::postgres::Postgres;
use crate::program_output::end;

/// A server on a free port, ended on drop.
#[derive(Debug)]
pub struct TeamServer {
    child: Child,
    authority: String,
}

impl TeamServer {
    /// Starts `PROGRAM team serve` on the database of a PostgreSQL server, and waits until it listens.
    #[track_caller]
    pub fn start(program: &str, postgres: &Postgres) -> Self {
        let mut child = command(program, &["team", "serve", "--http", "127.0.0.1:0"], postgres, "jikime_app")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let stderr = child.stderr.take().expect("standard error is piped");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.split_once("http://").map(|(_, authority)| authority.to_owned()));
        Self { child, authority: url.expect("the server tells its address") }
    }

    /// Creates a project with its admin, and returns the admin's token.
    #[track_caller]
    pub fn create_project(program: &str, postgres: &Postgres, project: &str, admin: &str) -> String {
        let arguments = ["team", "create", project, "--admin", admin, "--json"];
        let created =
            command(program, &arguments, postgres, "jikime_owner").output().expect("the program can be started");
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        let json: Value = serde_json::from_slice(&created.stdout).expect("the answer is JSON");
        json["token"].as_str().expect("there is a token").to_owned()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.authority)
    }

    /// Sends a request with a token to `/v1/PATH`.
    #[track_caller]
    pub fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> HttpAnswer {
        let token = format!("Bearer {token}");
        let headers = [("Authorization", token.as_str()), ("Content-Type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        HttpAnswer::read_from(send_request(&self.authority, method, &format!("/v1/{path}"), &headers, body.as_bytes()))
    }
}

/// A command with the database of a role.
fn command(program: &str, arguments: &[&str], postgres: &Postgres, role: &str) -> Command {
    let mut command = Command::new(program);
    let variable = if role == "jikime_owner" { "JIKIME_TEAM_OWNER_DATABASE" } else { "JIKIME_TEAM_DATABASE" };
    command.args(arguments).env_clear().env(variable, postgres.address(role));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Drop for TeamServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
