//! The contents of the page as JSON, only for reading. docs/reference/openapi.json describes it.

use std::collections::HashSet;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use chrono::NaiveDate;
use schema::privacy::output_text::clean_json;
use serde::{Deserialize, Serialize};
use tools::engine::Engine;
use tools::error::ToolError;

use super::content::{health, history, memory, search::SearchForm};
use super::state::{PageError, PageHandle};
use crate::dispatcher::ReadNeed;

pub(super) fn router() -> Router<PageHandle> {
    Router::new()
        .route("/search", get(search))
        .route("/memories/{id}", get(memory_by_id))
        .route("/citations/{id}", get(citation))
        .route("/sessions", get(sessions))
        .route("/sessions/{id}", get(session))
        .route("/timeline", get(timeline))
        .route("/tasks", get(tasks))
        .route("/stats", get(stats))
}

/// The result of a read as JSON.
async fn json<T: Serialize + Send + 'static>(
    page: &PageHandle,
    need: ReadNeed,
    read: impl FnOnce(&mut Engine, &HashSet<String>) -> Result<T, ToolError> + Send + 'static,
) -> Result<Response, PageError> {
    let found = page.read(need, read).await?;
    let cleaned = serde_json::to_value(found).map(clean_json).unwrap_or_default();
    Ok(([(header::CONTENT_TYPE, "application/json")], cleaned.to_string()).into_response())
}

async fn search(State(page): State<PageHandle>, Query(form): Query<SearchForm>) -> Result<Response, PageError> {
    json(&page, ReadNeed::CaughtUpIndex, move |engine, hidden| form.answer(engine, hidden)).await
}

async fn memory_by_id(State(page): State<PageHandle>, Path(id): Path<String>) -> Result<Response, PageError> {
    json(&page, ReadNeed::CaughtUpIndex, move |engine, _| memory::open(engine, &id)).await
}

async fn citation(State(page): State<PageHandle>, Path(id): Path<String>) -> Result<Response, PageError> {
    json(&page, ReadNeed::OpenStore, move |engine, _| memory::cite(engine, &id)).await
}

async fn sessions(State(page): State<PageHandle>) -> Result<Response, PageError> {
    json(&page, ReadNeed::OpenStore, |engine, _| history::sessions(engine)).await
}

async fn session(State(page): State<PageHandle>, Path(id): Path<String>) -> Result<Response, PageError> {
    json(&page, ReadNeed::OpenStore, move |engine, hidden| history::session(engine, &id, hidden)).await
}

#[derive(Deserialize)]
struct TimelineQuery {
    before: Option<String>,
}

async fn timeline(State(page): State<PageHandle>, Query(query): Query<TimelineQuery>) -> Result<Response, PageError> {
    let wrong = |_| ToolError::Invalid("before is a date such as 2026-01-28".to_owned());
    let before: Option<NaiveDate> = query.before.map(|before| before.parse().map_err(wrong)).transpose()?;
    json(&page, ReadNeed::OpenStore, move |engine, hidden| history::timeline(engine, before, hidden)).await
}

async fn tasks(State(page): State<PageHandle>) -> Result<Response, PageError> {
    json(&page, ReadNeed::OpenStore, history::tasks).await
}

async fn stats(State(page): State<PageHandle>) -> Result<Response, PageError> {
    json(&page, ReadNeed::OpenStore, |engine, _| health::growth(engine)).await
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
    use serde_json::{Map, Value, json};

    use super::super::content::{
        health::Growth,
        history::{OpenedSession, SessionItem, TaskItem, Timeline},
        memory::{Citation, OpenedMemory},
        search::SearchAnswer,
    };

    const FILTERS: [(&str, &str); 8] = [
        ("q", "Words or a question; empty for the newest memories"),
        ("type", "Only this type, such as `decision`"),
        ("tag", "Only this tag"),
        ("since", "A date, a time, or an age such as `7d`"),
        ("session", "The id of a session or its beginning"),
        ("file", "A file or folder of the project, or of the store"),
        ("standing", "`confirmed` or `core`"),
        ("superseded", "`hide` or `only`"),
    ];

    struct OpenApiDocument {
        generator: SchemaGenerator,
        paths: Map<String, Value>,
    }

    impl OpenApiDocument {
        /// Adds a path. Parameters in braces are part of it, the others follow a question mark.
        fn add<T: JsonSchema>(&mut self, path: &str, summary: &str, query: &[(&str, &str)]) {
            let parameter = |name: &str, place: &str, about: &str| {
                json!({
                    "name": name, "in": place, "required": place == "path", "description": about, "schema": { "type": "string" },
                })
            };
            let within = path.split(['{', '}']).skip(1).step_by(2);
            let within = within.map(|name| parameter(name, "path", "The id, or its unique beginning"));
            let query = query.iter().map(|(name, about)| parameter(name, "query", about));
            let parameters: Vec<Value> = within.chain(query).collect();
            let schema = self.generator.subschema_for::<T>();
            let found = json!({ "description": "Found", "content": { "application/json": { "schema": schema } } });
            let responses = json!({
                "200": found,
                "401": { "description": "The cookie is missing" },
                "404": { "description": "There is nothing with this id" },
                "422": { "description": "A parameter is wrong; the text says how to fix it" },
            });
            let get = json!({ "summary": summary, "parameters": parameters, "responses": responses });
            self.paths.insert(path.to_owned(), json!({ "get": get }));
        }
    }

    fn document() -> String {
        let generator = SchemaSettings::openapi3().with(|settings| settings.meta_schema = None).into_generator();
        let mut document = OpenApiDocument { generator, paths: Map::new() };
        document.add::<SearchAnswer>("/search", "Hits, or the newest memories", &FILTERS);
        document.add::<OpenedMemory>("/memories/{id}", "One memory with everything that is known about it", &[]);
        document.add::<Citation>("/citations/{id}", "The lines of the log around a memory", &[]);
        document.add::<Vec<SessionItem>>("/sessions", "The last sessions", &[]);
        document.add::<OpenedSession>("/sessions/{id}", "One session with its memories", &[]);
        document.add::<Timeline>("/timeline", "The last days", &[("before", "Only days before this date")]);
        document.add::<Vec<TaskItem>>("/tasks", "Open and finished tasks", &[]);
        document.add::<Growth>("/stats", "Numbers, growth and problems", &[]);
        let OpenApiDocument { mut generator, paths } = document;
        let about = "What `jikime-memory view` shows, only for reading. The folder is the one in the address that the command prints. \
             A client sends the token of that address once, as the form field `token` with the header `Origin`, to `/FOLDER/enter`, and \
             then the cookie that it gets.";
        let whole = json!({
            "openapi": "3.0.3",
            "info": { "title": "jikime-memory", "version": "1", "description": about },
            "servers": [{
                "url": "http://127.0.0.1:{port}/{folder}/api",
                "variables": { "port": { "default": "7700" }, "folder": { "default": "0000000000000000" } },
            }],
            "paths": paths,
            "components": { "schemas": generator.take_definitions(true) },
        });
        serde_json::to_string_pretty(&whole).unwrap() + "\n"
    }

    #[test]
    fn the_document_is_generated_from_the_types() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/openapi.json");
        let current = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        let document = document();
        if current != document {
            std::fs::write(&path, &document).unwrap();
        }
        assert_eq!(current, document, "docs/reference/openapi.json was out of date and has been rewritten");
    }
}
