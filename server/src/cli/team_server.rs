//! The commands of `team` for a team with a server.

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::Path;

use clap::Subcommand;
use reqwest::Method;
use schema::files::environment;
use schema::model::sharing::author_from_name;
use serde_json::{Value, json};
use tools::error::ToolError;

use super::opening::{CommonArguments, require_store, resolve_project, resolve_project_to_write, with_engine};
use super::output::{DIM, Printer, STRONG};
use super::terminal_text::{clean_for_terminal, count_with_unit};
use crate::exit;
use crate::team_client::{Exchanged, TeamConnection};
#[cfg(feature = "team-server")]
use crate::team_server;
use crate::team_wire::{AuditLine, InviteRequest, InviteResponse, ListedMember, Membership};

/// The token of `connect`.
const TOKEN_VARIABLE: &str = "JIKIME_TEAM_TOKEN";

#[derive(Debug, Subcommand)]
pub(crate) enum TeamServerCommand {
    /// Connect this project to a team server
    #[command(
        after_help = "The token comes from JIKIME_TEAM_TOKEN or from standard input. Only you can read it afterwards."
    )]
    Connect {
        /// The address, such as https://memory.example.com
        url: String,
    },
    /// Send what you shared to the server, and receive what is new
    Sync,
    /// List the members
    Members,
    /// Add a member, or give one a new role and token; prints the token once
    Invite {
        /// The name, as in `team init --author`
        name: String,
        /// The rights of the member
        #[arg(long, default_value = "writer", value_parser = ["reader", "writer", "approver", "admin"])]
        role: String,
        /// For how many days the token is valid, at most 366
        #[arg(long, default_value_t = 90, value_name = "N")]
        days: u32,
    },
    /// End a member's access; what they shared stays
    Revoke {
        /// The name of the member
        name: String,
    },
    /// Show who shared, approved, retired, forgot and invited
    Audit,
    /// Create a project on a server, or add an admin to one; prints the admin's token once
    #[command(after_help = "JIKIME_TEAM_OWNER_DATABASE has the address of the database for the owner of its tables.")]
    Create {
        /// The name of the project on the server
        #[arg(value_name = "PROJECT")]
        name: String,
        /// The name of the admin
        #[arg(long)]
        admin: String,
    },
    /// Run the team server
    #[command(after_help = "JIKIME_TEAM_DATABASE has the address of the database for the role jikime_app.")]
    Serve {
        /// The address to listen on, such as 127.0.0.1:7700
        #[arg(long, value_name = "ADDRESS:PORT")]
        http: SocketAddr,
    },
}

pub(super) fn run(common: CommonArguments, printer: &Printer, command: TeamServerCommand) -> anyhow::Result<()> {
    match command {
        TeamServerCommand::Connect { url } => {
            let project = resolve_project_to_write(common)?;
            let server = TeamConnection::new(&url, &read_token()?)?;
            let membership = server.membership()?;
            server.remember(&project)?;
            let Membership { project, member, role, .. } = &membership;
            let text = format!(
                "You are {member} in {project}, with the role {role}. `jikime-memory team sync` sends and receives changes.\n"
            );
            printer.print_value(&membership, || clean_for_terminal(&text))
        }
        TeamServerCommand::Sync => {
            let project = require_store(resolve_project(common)?)?;
            let server = connected(&project)?;
            with_engine(&project, |engine| print_exchanged(printer, &server.exchange(engine)?))
        }
        TeamServerCommand::Members => {
            let members: Vec<ListedMember> = of_project(common)?.call(Method::GET, "members", None)?;
            printer.print_value(&members, || members.iter().map(member_line).collect())
        }
        TeamServerCommand::Invite { name, role, days } => {
            let invitation = json!(InviteRequest { name, role, days });
            let invited: InviteResponse = of_project(common)?.call(Method::POST, "members", Some(&invitation))?;
            let InviteResponse { name, role, token } = &invited;
            let text = format!(
                "{name} has the role {role}. Give them this token in private; it is not shown again:\n{token}\n"
            );
            printer.print_value(&invited, || clean_for_terminal(&text))
        }
        TeamServerCommand::Revoke { name } => {
            let server = of_project(common)?;
            let invalid = || ToolError::Invalid(format!("{name:?} is not a valid member name"));
            let name = author_from_name(&name).ok_or_else(invalid)?;
            let _: Value = server.call(Method::DELETE, &format!("members/{name}"), None)?;
            printer.print_line(&format!("{name} no longer has access."))
        }
        TeamServerCommand::Audit => {
            let lines: Vec<AuditLine> = of_project(common)?.call(Method::GET, "audit", None)?;
            printer.print_paged(&lines, |_| lines.iter().map(audit_line).collect())
        }
        TeamServerCommand::Create { name, admin } => create_project(printer, &name, &admin),
        TeamServerCommand::Serve { http } => serve_teams(http),
    }
}

fn member_line(member: &ListedMember) -> String {
    let ListedMember { name, role, expires, is_revoked } = member;
    let until =
        if *is_revoked { "revoked".to_owned() } else { format!("until {}", expires.get(..10).unwrap_or(expires)) };
    let [name, role, until] = [name, role, &until].map(|text| clean_for_terminal(text));
    format!("{STRONG}{name}{STRONG:#}  {role}  {DIM}{until}{DIM:#}\n")
}

fn audit_line(line: &AuditLine) -> String {
    let AuditLine { at, member, act, about } = line;
    clean_for_terminal(&format!("{at}  {member}  {act}  {about}")) + "\n"
}

fn print_exchanged(printer: &Printer, exchanged: &Exchanged) -> anyhow::Result<()> {
    printer.print_value(exchanged, || {
        let Exchanged { sent, received, refused } = exchanged;
        let mut text = format!("Sent {}, received {received}.\n", count_with_unit(*sent as u64, "line"));
        text.extend(refused.iter().map(|line| format!("Rejected by the server: {}\n", clean_for_terminal(line))));
        text
    })
}

fn of_project(common: CommonArguments) -> anyhow::Result<TeamConnection> {
    Ok(connected(&require_store(resolve_project(common)?)?)?)
}

fn connected(project: &Path) -> Result<TeamConnection, ToolError> {
    let missing =
        || ToolError::NotFound("this project has no team server; run `jikime-memory team connect URL`".to_owned());
    TeamConnection::of_project(project)?.ok_or_else(missing)
}

fn read_token() -> Result<String, ToolError> {
    if let Some(token) = environment::text(TOKEN_VARIABLE).filter(|token| !token.is_empty()) {
        return Ok(token);
    }
    if io::stdin().is_terminal() {
        exit::print_status("Paste the token and press Enter:");
    }
    let mut token = String::new();
    io::stdin().read_line(&mut token).map_err(|error| ToolError::Unavailable(error.to_string()))?;
    Ok(token)
}

/// Most people need no server, so it is not in every program.
#[cfg(not(feature = "team-server"))]
fn missing_server() -> ToolError {
    let text = "this program has no team server; install it with `cargo install --path server --features team-server`";
    ToolError::Invalid(text.to_owned())
}

#[cfg(not(feature = "team-server"))]
fn create_project(_: &Printer, _: &str, _: &str) -> anyhow::Result<()> {
    Err(missing_server().into())
}

#[cfg(not(feature = "team-server"))]
fn serve_teams(_: SocketAddr) -> anyhow::Result<()> {
    Err(missing_server().into())
}

#[cfg(feature = "team-server")]
fn create_project(printer: &Printer, name: &str, admin: &str) -> anyhow::Result<()> {
    let invalid = || ToolError::Invalid(format!("{admin:?} does not begin with a letter"));
    let admin = author_from_name(admin).ok_or_else(invalid)?;
    let token = team_server::create_project(&required("JIKIME_TEAM_OWNER_DATABASE")?, name, &admin)?;
    let created = InviteResponse { name: admin, role: team_server::Role::Admin.name().to_owned(), token };
    let InviteResponse { name: admin, token, .. } = &created;
    printer.print_value(&created, || {
        format!("{admin} is an admin of {name}. This is the token; it is not shown again:\n{token}\n")
    })
}

#[cfg(feature = "team-server")]
fn serve_teams(address: SocketAddr) -> anyhow::Result<()> {
    team_server::run(address, &required("JIKIME_TEAM_DATABASE")?)
}

#[cfg(feature = "team-server")]
fn required(variable: &str) -> Result<String, ToolError> {
    let given = environment::text(variable).filter(|text| !text.is_empty());
    given.ok_or_else(|| ToolError::Invalid(format!("set {variable}")))
}
