//! A server that is measured, ours or another one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::evaluation::{DocumentShape, EvalGroup, EvalStore};
use crate::mcp_client::is_indexed;
use crate::peer::{Peer, PeerError, TimedServer};
use crate::polling::poll;
use crate::sandbox::Binaries;

/// The time limit of indexing.
const INDEXING: Duration = Duration::from_mins(2);

/// A server that can be started with new stores.
#[derive(Debug)]
pub struct MemoryServer {
    pub peer: Peer,
    /// The programs of our product, whose stores are filled as its hooks fill them.
    pub ours: Option<Binaries>,
}

impl MemoryServer {
    /// Our product; copies the programs to a new folder.
    pub fn ours(binaries: &Binaries, bin: &Path) -> Result<Self, PeerError> {
        let ours = binaries.copy_to(bin);
        Ok(Self { peer: Peer::named("jikime-memory", bin)?, ours: Some(ours) })
    }

    /// A described server, whose stores are filled by its tool.
    pub fn described(peer: Peer) -> Self {
        Self { peer, ours: None }
    }

    /// Starts the server with an empty store.
    pub fn open(&self) -> Result<OpenServer<'_>, PeerError> {
        let home = tempfile::tempdir()?;
        Ok(OpenServer { peer: &self.peer, server: self.peer.start(home.path())?, home })
    }

    /// Starts the server with the documents of a group. A server that needs longer than the limit is too slow.
    pub fn open_filled(
        &self,
        group: &EvalGroup,
        shape: DocumentShape,
        limit: Duration,
    ) -> Result<OpenServer<'_>, PeerError> {
        if self.ours.is_some() {
            let home = tempfile::tempdir()?;
            EvalStore::in_project(&Peer::project(home.path()), group, shape).map_err(PeerError::Failed)?;
            let mut open = OpenServer { peer: &self.peer, server: self.peer.start(home.path())?, home };
            open.wait_until_indexed()?;
            return Ok(open);
        }
        let mut open = self.open()?;
        let started = Instant::now();
        for document in &group.documents {
            if started.elapsed() > limit {
                return Err(PeerError::TooSlow { method: self.peer.description.save.tool.clone(), limit });
            }
            open.save(&document.text)?;
        }
        Ok(open)
    }
}

/// A running server with a store of its own.
#[derive(Debug)]
pub struct OpenServer<'p> {
    peer: &'p Peer,
    server: TimedServer,
    home: TempDir,
}

impl OpenServer<'_> {
    pub fn project(&self) -> PathBuf {
        Peer::project(self.home.path())
    }

    pub fn save(&mut self, text: &str) -> Result<(), PeerError> {
        self.peer.save(&mut self.server, text).map(drop)
    }

    /// Returns the text of the answer. A refused question has an empty answer.
    pub fn ask(&mut self, question: &str) -> Result<String, PeerError> {
        match self.peer.search(&mut self.server, question) {
            Err(PeerError::Refused { .. }) => Ok(String::new()),
            answer => Ok(answer?.1),
        }
    }

    /// Waits until our server has indexed everything.
    fn wait_until_indexed(&mut self) -> Result<(), PeerError> {
        let indexed = poll(INDEXING, || match self.server.call("memory_stats", &json!({})) {
            Ok((_, answer)) => is_indexed(&answer["structuredContent"]).then_some(Ok(())),
            Err(error) => Some(Err(error)),
        });
        indexed.unwrap_or(Err(PeerError::TooSlow { method: "memory_stats".to_owned(), limit: INDEXING }))
    }
}
