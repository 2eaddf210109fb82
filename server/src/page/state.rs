//! The state that all requests share, their way to the engine, and errors as answers.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tools::control::Control;
use tools::engine::{Engine, ForgetExtent, OldDatabases, Selection};
use tools::error::{ToolError, join_causes};

use super::access::PageAccess;
use super::content::digest_of;
use super::deletions::{PendingDeletions, UNDO_TIME};
use super::open_pages::OpenPages;
use crate::dispatcher::{Dispatcher, ReadNeed};
use crate::exit::print_warning;

/// How often the shutdown checks whether deletions are done.
const DELETION_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What each request gets: the one state of the page.
#[derive(Clone)]
pub(super) struct PageHandle(pub(super) Arc<PageState>);

pub(super) struct PageState {
    pub(super) project: PathBuf,
    dispatcher: Dispatcher,
    pub(super) access: PageAccess,
    pub(super) deletions: PendingDeletions,
    pub(super) open_pages: OpenPages,
    /// Cancelled when the server ends.
    pub(super) stop: CancellationToken,
}

/// A page, or an error.
pub(super) type PageResult = Result<Html<String>, PageError>;

pub(super) struct PageError(pub(super) ToolError);

/// The text of an error as an extension of its answer. `page::check` reads it and shows it as a page.
#[derive(Clone)]
pub(super) struct ErrorText(pub(super) String);

impl PageHandle {
    pub(super) fn new(project: PathBuf, dispatcher: Dispatcher, access: PageAccess, stop: CancellationToken) -> Self {
        let (deletions, open_pages) = (PendingDeletions::default(), OpenPages::new());
        Self(Arc::new(PageState { project, dispatcher, access, deletions, open_pages, stop }))
    }

    /// Runs a read with the ids of memories that are being deleted, which lists do not show.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        need: ReadNeed,
        work: impl FnOnce(&mut Engine, &HashSet<String>) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, PageError> {
        let hidden = self.0.deletions.hidden();
        Ok(self.0.dispatcher.read(need, None, move |engine, _| work(engine, &hidden)).await?)
    }

    pub(super) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, PageError> {
        Ok(self.0.dispatcher.change(work).await?)
    }

    /// Hides a memory, and deletes it after [`UNDO_TIME`] unless its text, identified by `digest`, changes.
    pub(super) fn delete_later(&self, id: String, digest: String) {
        let (page, deleted) = (self.clone(), id.clone());
        let timer = tokio::spawn(async move {
            sleep(UNDO_TIME).await;
            page.delete_now(&deleted).await;
        });
        self.0.deletions.begin(id, digest, timer.abort_handle());
        self.0.open_pages.report_change();
    }

    /// Performs all pending deletions at shutdown.
    pub(super) async fn finish_deletions(&self) {
        // One may be under way, and one may just begin.
        while !self.0.deletions.hidden().is_empty() {
            for id in self.0.deletions.waiting() {
                self.delete_now(&id).await;
            }
            sleep(DELETION_POLL_INTERVAL).await;
        }
        self.0.deletions.failures().iter().for_each(|why| print_warning(why));
    }

    async fn delete_now(&self, id: &str) {
        let Some(digest) = self.0.deletions.start(id) else { return };
        let deleted = id.to_owned();
        if let Err(PageError(error)) = self.change(move |engine| delete(engine, deleted, &digest)).await {
            self.0.deletions.record_failure(id, format!("{id} was not deleted: {}", join_causes(&error)));
        }
        self.0.deletions.finish(id);
        // If the deletion failed, the memory is shown again.
        self.0.open_pages.report_change();
    }
}

fn delete(engine: &mut Engine, id: String, digest: &str) -> Result<(), ToolError> {
    engine.finish_forgetting()?;
    // An editor may have changed the file just now.
    engine.refresh(&mut Control::default())?;
    // Its file may be away for a moment, as while git switches branches.
    if engine.peek(&id)?.is_none() {
        let text = "it was not there any more; if it comes back, delete it again";
        return Err(ToolError::NotFound(text.to_owned()));
    }
    let selected = engine.select(&Selection { ids: vec![id], ..Selection::default() })?;
    let changed = || ToolError::Invalid("it was changed meanwhile".to_owned());
    if selected.rows.first().is_none_or(|row| digest_of(row) != digest) {
        return Err(changed());
    }
    let forgot = engine.forget(&selected, ForgetExtent::Memories, OldDatabases::Remove)?;
    if forgot.memories == 0 { Err(changed()) } else { Ok(()) }
}

impl From<ToolError> for PageError {
    fn from(error: ToolError) -> Self {
        Self(error)
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let status = match self.0 {
            ToolError::NotFound(_) => StatusCode::NOT_FOUND,
            ToolError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            ToolError::Unavailable(_) | ToolError::Interrupted => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let text = join_causes(&self.0);
        let mut response = (status, text.clone()).into_response();
        response.extensions_mut().insert(ErrorText(text));
        response
    }
}
