//! A client of the team's server: exchanges the lines of the team's files with it. Everything is read from the local store, also without
//! the server.
//!
//! Nothing is queued. Each exchange asks which of the user's lines the server lacks, so it can be interrupted, and a server that was
//! restored from a backup gets the lines of its members back.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Method;
use reqwest::blocking::Client;
use schema::files::regular_file;
use schema::files::store_file::options_for_private;
use schema::model::sharing::is_author;
use schema::privacy::output_text::clean_line;
use schema::settings::user_file;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tools::embed::remote::is_loopback;
use tools::engine::{Engine, TeamLine};
use tools::error::ToolError;

use crate::network::build_client;
use crate::setup::settings_file::edit_file;
use crate::team_wire::{
    Cursor, Membership, MissingRequest, PullResponse, PulledRecord, PushRequest, PushResponse, RefusedLine,
};

/// The file beside the user's settings with the address and the token of each project.
const FILE: &str = "team.json";
const FILE_LIMIT: u64 = 1024 * 1024;

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How many keys a request has, how many lines, and about how many bytes of lines.
const MAX_KEYS: usize = 5_000;
const MAX_LINES: usize = 200;
const MAX_BYTES: usize = 1024 * 1024;

/// The most bytes of an answer that are read.
const MAX_ANSWER_BYTES: u64 = 16 * 1024 * 1024;

/// When a server of MCP exchanges: some time after its start, which must be quick, and then regularly.
const FIRST_EXCHANGE: Duration = Duration::from_secs(5);
const EXCHANGE_INTERVAL: Duration = Duration::from_mins(10);

/// The server of a project, and who the user is there.
pub(crate) struct TeamConnection {
    address: TeamAddress,
    client: Client,
}

/// An entry of the file.
#[derive(Serialize, Deserialize)]
struct TeamAddress {
    /// Without a slash at the end.
    url: String,
    token: String,
}

/// The result of an exchange.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Exchanged {
    pub(crate) sent: usize,
    pub(crate) received: usize,
    /// Lines that the server does not take, and why.
    pub(crate) refused: Vec<String>,
}

/// Up to where the records of a server were read.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    epoch: String,
    cursor: Cursor,
    /// How many records the files had then. If they have fewer, another program removed some, such as git with another branch.
    lines: usize,
}

impl TeamConnection {
    /// Checks an address. Without encryption, only this machine is accepted.
    pub(crate) fn new(url: &str, token: &str) -> Result<Self, ToolError> {
        let invalid = |text: &str| Err(ToolError::Invalid(text.to_owned()));
        let (url, token) = (url.trim().trim_end_matches('/'), token.trim());
        let Ok(address) = url.parse::<reqwest::Url>() else { return invalid("this is no address of a server") };
        if !address.username().is_empty() || address.password().is_some() || address.query().is_some() {
            return invalid("the address must be without a user, a password and a query");
        }
        let is_local = is_loopback(address.host_str().unwrap_or_default());
        if address.scheme() != "https" && !(address.scheme() == "http" && is_local) {
            return invalid("the address must begin with https://, except on this machine");
        }
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return invalid("the token is missing or has spaces");
        }
        let client = build_client(is_local).map_err(ToolError::Unavailable)?;
        Ok(Self { address: TeamAddress { url: url.to_owned(), token: token.to_owned() }, client })
    }

    /// The server of a project, if it has one.
    pub(crate) fn of_project(project: &Path) -> Result<Option<Self>, ToolError> {
        let Some(file) = user_file() else { return Ok(None) };
        let text = match regular_file::read_text(&file.with_file_name(FILE), FILE_LIMIT) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| ToolError::Unavailable(format!("cannot read {FILE}: {error}")))?,
        };
        let servers: Map<String, Value> = parse_servers(&text)?;
        let Some(found) = servers.get(&project_key(project)) else { return Ok(None) };
        let TeamAddress { url, token } =
            TeamAddress::deserialize(found).map_err(|error| ToolError::Invalid(format!("{FILE}: {error}")))?;
        Self::new(&url, &token).map(Some)
    }

    /// Whether a project uses a team server, so that no commit is needed.
    pub(crate) fn has_server(project: &Path) -> bool {
        Self::of_project(project).is_ok_and(|server| server.is_some())
    }

    /// Remembers this as the server of a project, for this user only.
    pub(crate) fn remember(&self, project: &Path) -> Result<(), ToolError> {
        let missing = || ToolError::Invalid("cannot find your settings; set HOME".to_owned());
        let path = user_file().ok_or_else(missing)?.with_file_name(FILE);
        // The file holds tokens, so others must not read it, also while it is written.
        let unwritable = |error| ToolError::Unavailable(format!("cannot write {}: {error}", path.display()));
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(unwritable)?;
        }
        let file = options_for_private().append(true).create(true).open(&path).map_err(unwritable)?;
        // Also if it was made by hand.
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(unwritable)?;
        drop(file);
        edit_file(&path, None, |text| {
            let mut servers = parse_servers(text)?;
            servers.insert(project_key(project), json!(self.address));
            Ok(format!("{:#}\n", Value::Object(servers)))
        })
    }

    /// Asks the server who the user is there.
    pub(crate) fn membership(&self) -> Result<Membership, ToolError> {
        let Membership { project, member, role, epoch } = self.call(Method::GET, "me", None)?;
        if !is_author(&member) {
            return Err(ToolError::Unavailable(format!("{} sent an invalid name of a member", self.address.url)));
        }
        let [project, role] = [project, role].map(|text| clean_line(&text));
        Ok(Membership { project, member, role, epoch })
    }

    /// Sends a request to `/v1/PATH`, and reads the JSON of the answer.
    pub(crate) fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, ToolError> {
        let TeamAddress { url, token } = &self.address;
        let unreachable =
            |error: reqwest::Error| ToolError::Unavailable(format!("cannot reach {url}: {}", error.without_url()));
        let mut request = self.client.request(method, format!("{url}/v1/{path}")).timeout(TIMEOUT).bearer_auth(token);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().map_err(unreachable)?;
        let status = answer.status();
        let mut text = String::new();
        let read = answer.take(MAX_ANSWER_BYTES).read_to_string(&mut text);
        read.map_err(|error| ToolError::Unavailable(format!("{url} broke off: {error}")))?;
        if status.is_success() {
            let strange = |error| ToolError::Unavailable(format!("{url} sent an invalid answer: {error}"));
            return serde_json::from_str(&text).map_err(strange);
        }
        let why = serde_json::from_str::<Value>(&text).ok().and_then(|json| Some(json["error"].as_str()?.to_owned()));
        let text = format!("{url}: {}", clean_line(&why.unwrap_or_else(|| status.to_string())));
        Err(if status.is_client_error() { ToolError::Invalid(text) } else { ToolError::Unavailable(text) })
    }

    /// Sends what the server lacks of the user's own file, and receives what is new.
    pub(crate) fn exchange(&self, engine: &mut Engine) -> Result<Exchanged, ToolError> {
        let membership = self.membership()?;
        let author = engine.author()?;
        if author != membership.member {
            let member = membership.member;
            let text = format!(
                "the server knows you as {member}, and this project as {author}; run `jikime-memory team init --author {member}`"
            );
            return Err(ToolError::Invalid(text));
        }
        let mut exchanged = Exchanged { received: self.receive(engine, &membership.epoch)?, ..Exchanged::default() };
        if membership.role != "reader" {
            self.send(engine, &mut exchanged)?;
        }
        Ok(exchanged)
    }

    fn send(&self, engine: &mut Engine, exchanged: &mut Exchanged) -> Result<(), ToolError> {
        for own in engine.own_team_lines()?.chunks(MAX_KEYS) {
            let keys: Vec<String> = own.iter().map(TeamLine::key).collect();
            let missing: HashSet<String> =
                self.call(Method::POST, "missing", Some(&json!(MissingRequest { keys: keys.clone() })))?;
            let lacking = own.iter().zip(&keys).filter(|(_, key)| missing.contains(*key));
            let lines: Vec<String> = lacking.map(|(own, _)| own.line.clone()).collect();
            for lines in pieces(&lines) {
                let push = PushRequest { lines: lines.to_vec() };
                let PushResponse { added, refused } = self.call(Method::POST, "push", Some(&json!(push)))?;
                exchanged.sent += added;
                exchanged.refused.extend(refused.iter().map(|RefusedLine { line, why }| {
                    let text: String = lines.get(*line).map_or("", String::as_str).chars().take(80).collect();
                    format!("{}: {}", clean_line(why), clean_line(&text))
                }));
            }
        }
        Ok(())
    }

    fn receive(&self, engine: &mut Engine, epoch: &str) -> Result<usize, ToolError> {
        let known = engine.team_position()?.and_then(|text| serde_json::from_str::<Position>(&text).ok());
        let present = engine.count_team_lines()?;
        let is_current = |position: &Position| position.epoch == epoch && position.lines <= present;
        let mut position = known.filter(is_current).unwrap_or_default();
        epoch.clone_into(&mut position.epoch);
        let (mut received, mut has_restarted) = (0, false);
        loop {
            let Cursor { after, chain } = &position.cursor;
            let path = format!("pull?after={after}&chain={chain}");
            let PullResponse { restarted, records, more } = self.call(Method::GET, &path, None)?;
            let goes_on = records.last().map_or(!more, |last| restarted || last.seq > *after);
            if !goes_on || restarted && has_restarted {
                return Err(ToolError::Unavailable(format!("{} does not continue", self.address.url)));
            }
            has_restarted |= restarted;
            if let Some(last) = records.last() {
                position.cursor = Cursor { after: last.seq, chain: last.chain.clone() };
            }
            let lines: Vec<TeamLine> =
                records.into_iter().map(|PulledRecord { author, line, .. }| TeamLine { author, line }).collect();
            received += engine.add_team_lines(&lines)?;
            position.lines = engine.count_team_lines()?;
            engine.set_team_position(&json!(position).to_string())?;
            if !more {
                return Ok(received);
            }
        }
    }
}

/// Exchanges with the server of a project again and again, if it has one.
pub(crate) async fn exchange_regularly(project: PathBuf) {
    sleep(FIRST_EXCHANGE).await;
    loop {
        let project = project.clone();
        let exchange = move || {
            let Some(server) = TeamConnection::of_project(&project)? else { return Ok(Exchanged::default()) };
            server.exchange(&mut Engine::open(&project, None, None)?)
        };
        match spawn_blocking(exchange).await {
            Ok(Ok(exchanged)) => exchanged.refused.iter().for_each(|line| tracing::warn!("team: not taken: {line}")),
            Ok(Err(error)) => tracing::warn!("team: {error}"),
            Err(failed) => tracing::error!("team: {failed}"),
        }
        sleep(EXCHANGE_INTERVAL).await;
    }
}

/// Splits lines into the pieces of requests.
fn pieces(lines: &[String]) -> Vec<&[String]> {
    let (mut pieces, mut first, mut bytes) = (Vec::new(), 0, 0);
    for (at, line) in lines.iter().enumerate() {
        if at > first && (at - first == MAX_LINES || bytes + line.len() > MAX_BYTES) {
            pieces.push(&lines[first..at]);
            (first, bytes) = (at, 0);
        }
        bytes += line.len();
    }
    pieces.extend((first < lines.len()).then(|| &lines[first..]));
    pieces
}

fn parse_servers(text: &str) -> Result<Map<String, Value>, ToolError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(text).map_err(|error| ToolError::Invalid(format!("{FILE}: {error}; fix or delete it")))
}

/// The name of a project in the file.
fn project_key(project: &Path) -> String {
    project.canonicalize().unwrap_or_else(|_| project.to_owned()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn pieces_have_all_lines_in_order_and_fit_a_request() {
        let lines: Vec<String> = (0..500).map(|number| "x".repeat(number * 40)).collect();
        let pieces = pieces(&lines);
        assert_eq!(pieces.concat(), lines);
        assert!(
            pieces.len() > 3
                && pieces.iter().all(|piece| piece.len() <= MAX_LINES && piece.concat().len() <= MAX_BYTES)
        );
        assert!(super::pieces(&[]).is_empty());
    }

    #[rstest]
    #[case::encrypted("https://memory.example.com/", true)]
    #[case::this_machine("http://127.0.0.1:7700", true)]
    #[case::this_machine_by_ipv6("http://[::1]:7700", true)]
    #[case::unencrypted("http://memory.example.com", false)]
    #[case::looks_like_this_machine("http://localhost.example.com", false)]
    #[case::with_a_password("https://a:b@memory.example.com", false)]
    #[case::no_address("memory", false)]
    fn tokens_are_sent_only_encrypted(#[case] url: &str, #[case] is_accepted: bool) {
        assert_eq!(TeamConnection::new(url, "jkm_0").is_ok(), is_accepted);
    }
}
