//! A client of the team's server: exchanges the lines of the team's files with it. Everything is read from the local store, also without
//! the server.
//!
//! Nothing is queued. What has to be sent is what the server lacks of the user's own file, so an interrupted exchange just begins again,
//! and a server that was restored from an older backup gets everything back from its members.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Method;
use reqwest::blocking::Client;
use schema::files::regular_file;
use schema::files::store_file::options_for_private;
use schema::model::memory::content_hash;
use schema::privacy::output_text::clean_line;
use schema::settings::user_file;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tools::engine::{Engine, TeamLine};
use tools::error::ToolError;

use crate::network::build_client;
use crate::setup::settings_file::edit_file;

/// The file beside the user's settings with the address and the token of each project.
const FILE: &str = "team.json";
const FILE_LIMIT: u64 = 1024 * 1024;

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How many keys and lines a request has.
const KEYS: usize = 5_000;
const LINES: usize = 200;

/// When a server of MCP exchanges: some time after its start, which must be quick, and then regularly.
const SOON: Duration = Duration::from_secs(5);
const EVERY: Duration = Duration::from_mins(10);

/// The server of a project, and who the user is there.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct TeamServer {
    /// Without a slash at the end.
    url: String,
    token: String,
    #[serde(skip)]
    client: Option<Client>,
}

/// What the server says about the token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Membership {
    pub(crate) project: String,
    pub(crate) member: String,
    pub(crate) role: String,
    epoch: String,
}

/// What an exchange did.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Exchanged {
    pub(crate) sent: usize,
    pub(crate) received: usize,
    /// Lines that the server does not take, and why.
    pub(crate) refused: Vec<String>,
}

#[derive(Deserialize)]
struct Pulled {
    restarted: bool,
    records: Vec<PulledRecord>,
    more: bool,
}

#[derive(Deserialize)]
struct PulledRecord {
    seq: i64,
    key: String,
    author: String,
    line: String,
}

#[derive(Deserialize)]
struct Pushed {
    added: usize,
    refused: Vec<RefusedLine>,
}

#[derive(Deserialize)]
struct RefusedLine {
    line: usize,
    why: String,
}

/// Up to where the records of a server were read.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    epoch: String,
    after: i64,
    key: String,
}

impl TeamServer {
    /// Checks an address. Without encryption, only this machine is accepted.
    pub(crate) fn new(url: &str, token: &str) -> Result<Self, ToolError> {
        let invalid = |text: &str| Err(ToolError::Invalid(text.to_owned()));
        let (url, token) = (url.trim().trim_end_matches('/'), token.trim());
        let Ok(address) = url.parse::<reqwest::Url>() else { return invalid("this is no address of a server") };
        if !address.username().is_empty() || address.password().is_some() || address.query().is_some() {
            return invalid("the address must be without a user, a password and a query");
        }
        if address.scheme() != "https" && !(address.scheme() == "http" && is_loopback(&address)) {
            return invalid("the address must begin with https://, except on this machine");
        }
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return invalid("the token is missing or has spaces");
        }
        let client = build_client(is_loopback(&address)).map_err(ToolError::Unavailable)?;
        Ok(Self { url: url.to_owned(), token: token.to_owned(), client: Some(client) })
    }

    /// The server of a project, if it has one.
    pub(crate) fn of_project(project: &Path) -> Result<Option<Self>, ToolError> {
        let Some(file) = user_file() else { return Ok(None) };
        let text = match regular_file::read_text(&file.with_file_name(FILE), FILE_LIMIT) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| ToolError::Unavailable(format!("cannot read {FILE}: {error}")))?,
        };
        let servers: Map<String, Value> = parse_servers(&text)?;
        let Some(found) = servers.get(&key_of(project)) else { return Ok(None) };
        let Self { url, token, .. } =
            Self::deserialize(found).map_err(|error| ToolError::Invalid(format!("{FILE}: {error}")))?;
        Self::new(&url, &token).map(Some)
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
        options_for_private().append(true).create(true).open(&path).map_err(unwritable)?;
        edit_file(&path, None, |text| {
            let mut servers = parse_servers(text)?;
            servers.insert(key_of(project), json!(self));
            Ok(format!("{:#}\n", Value::Object(servers)))
        })
    }

    pub(crate) fn membership(&self) -> Result<Membership, ToolError> {
        self.call(Method::GET, "me", None)
    }

    /// Sends a request to `/v1/PATH`, and reads the JSON of the answer.
    pub(crate) fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, ToolError> {
        let unreachable = |error: reqwest::Error| {
            ToolError::Unavailable(format!("cannot reach {}: {}", self.url, error.without_url()))
        };
        let client = self.client.as_ref().ok_or_else(|| ToolError::Unavailable("no client".to_owned()))?;
        let mut request =
            client.request(method, format!("{}/v1/{path}", self.url)).timeout(TIMEOUT).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().map_err(unreachable)?;
        let status = answer.status();
        let text = answer.text().map_err(unreachable)?;
        if status.is_success() {
            let strange = |error| ToolError::Unavailable(format!("{} answered something strange: {error}", self.url));
            return serde_json::from_str(&text).map_err(strange);
        }
        let why = serde_json::from_str::<Value>(&text).ok().and_then(|json| Some(json["error"].as_str()?.to_owned()));
        let text = format!("{}: {}", self.url, clean_line(&why.unwrap_or_else(|| status.to_string())));
        Err(if status.is_client_error() { ToolError::Invalid(text) } else { ToolError::Unavailable(text) })
    }

    /// Sends what the server lacks of the user's own file, and receives what is new.
    pub(crate) fn exchange(&self, engine: &mut Engine) -> Result<Exchanged, ToolError> {
        let membership = self.membership()?;
        let author = engine.author()?;
        if author != membership.member {
            let member = clean_line(&membership.member);
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
        let own = engine.own_team_lines()?;
        let keyed: Vec<(String, &str)> = own
            .iter()
            .map(|TeamLine { author, line }| (content_hash(&format!("{author}\n{line}")), line.as_str()))
            .collect();
        for some in keyed.chunks(KEYS) {
            let keys: Vec<&str> = some.iter().map(|(key, _)| key.as_str()).collect();
            let missing: Vec<String> = self.call(Method::POST, "missing", Some(&json!({"keys": keys})))?;
            let lines: Vec<&str> =
                some.iter().filter(|(key, _)| missing.contains(key)).map(|(_, line)| *line).collect();
            for lines in lines.chunks(LINES) {
                let Pushed { added, refused } = self.call(Method::POST, "push", Some(&json!({"lines": lines})))?;
                exchanged.sent += added;
                exchanged.refused.extend(refused.iter().map(|RefusedLine { line, why }| {
                    let text: String = lines.get(*line).unwrap_or(&"").chars().take(80).collect();
                    format!("{}: {}", clean_line(why), clean_line(&text))
                }));
            }
        }
        Ok(())
    }

    fn receive(&self, engine: &mut Engine, epoch: &str) -> Result<usize, ToolError> {
        let known = engine.team_position()?.and_then(|text| serde_json::from_str::<Position>(&text).ok());
        let mut position = known
            .filter(|position| position.epoch == epoch)
            .unwrap_or_else(|| Position { epoch: epoch.to_owned(), ..Position::default() });
        let mut received = 0;
        loop {
            let path = format!("pull?after={}&key={}", position.after, position.key);
            let Pulled { restarted, records, more } = self.call(Method::GET, &path, None)?;
            // A server that cannot continue begins once at the first record.
            if restarted && position.after == 0 {
                return Err(ToolError::Unavailable(format!("{} does not continue", self.url)));
            }
            let Some(last) = records.last() else { break };
            (position.after, position.key) = (last.seq, last.key.clone());
            let lines: Vec<TeamLine> =
                records.into_iter().map(|PulledRecord { author, line, .. }| TeamLine { author, line }).collect();
            received += engine.add_team_lines(&lines)?;
            engine.set_team_position(&json!(position).to_string())?;
            if !more {
                break;
            }
        }
        Ok(received)
    }
}

/// Exchanges with the server of a project again and again, if it has one.
pub(crate) async fn exchange_regularly(project: PathBuf) {
    sleep(SOON).await;
    loop {
        let project = project.clone();
        let exchange = move || {
            let Some(server) = TeamServer::of_project(&project)? else { return Ok(()) };
            server.exchange(&mut Engine::open(&project, None, None)?).map(drop)
        };
        if let Ok(Err(error)) = spawn_blocking(exchange).await {
            tracing::warn!("team: {error}");
        }
        sleep(EVERY).await;
    }
}

impl std::fmt::Debug for TeamServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TeamServer").field("url", &self.url).finish_non_exhaustive()
    }
}

fn parse_servers(text: &str) -> Result<Map<String, Value>, ToolError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(text).map_err(|error| ToolError::Invalid(format!("{FILE}: {error}; fix or delete it")))
}

/// The name of a project in the file.
fn key_of(project: &Path) -> String {
    project.canonicalize().unwrap_or_else(|_| project.to_owned()).to_string_lossy().into_owned()
}

fn is_loopback(address: &reqwest::Url) -> bool {
    let host = address.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::encrypted("https://memory.example.com/", true)]
    #[case::this_machine("http://127.0.0.1:7700", true)]
    #[case::unencrypted("http://memory.example.com", false)]
    #[case::looks_like_this_machine("http://localhost.example.com", false)]
    #[case::with_a_password("https://a:b@memory.example.com", false)]
    #[case::no_address("memory", false)]
    fn tokens_are_sent_only_encrypted(#[case] url: &str, #[case] is_accepted: bool) {
        assert_eq!(TeamServer::new(url, "jkm_0").is_ok(), is_accepted);
    }
}
