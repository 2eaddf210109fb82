//! The actions of a person. Each is a form, and its answer is a short message.

use std::collections::HashSet;
use std::path::Path;

use axum::Form;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schema::settings::{SettingsOwner, toml_literal};
use schema::store::MemoryRow;
use serde::{Deserialize, Serialize};
use tools::curation::scrub::ScrubScope;
use tools::engine::{Engine, OldDatabases, REVIEW_PAUSE_DAYS, ShareOptions, TeamOutcome};
use tools::error::ToolError;

use super::content::review::candidate;
use super::content::{digest_of, memory_type};
use super::language::Language;
use super::state::{PageError, PageHandle};
use crate::cli::config_set::write_project_setting;
use crate::dispatcher::ReadNeed;
use crate::team_client::TeamConnection;

/// Settings that the page changes.
const SETTINGS: [&str; 2] = ["brief", "brief_size"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ActionForm {
    action: String,
    id: String,
    /// The other memory of a pair, or the words that close a task.
    other: String,
    /// A new text or value.
    text: String,
    /// The digests of the memories as the person saw them, if the action depends on them.
    seen: String,
    seen_other: String,
    /// The type to promote to, or the kind of a candidate.
    kind: String,
    /// The name of the setting that gets the text.
    setting: String,
}

#[derive(Debug, Serialize)]
struct ActionDone {
    message: String,
    /// A memory whose deletion can be undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<String>,
    /// The digest of the memory that was saved, for forms that are still open.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
}

impl ActionDone {
    fn with_message(message: impl Into<String>) -> Self {
        Self { message: message.into(), undo: None, seen: None }
    }
}

/// Carries out an action.
pub(super) async fn act(State(page): State<PageHandle>, language: Language, Form(form): Form<ActionForm>) -> Response {
    let done = match form.action.as_str() {
        "forget" => page.forget(form, language).await,
        "undo" => page.undo(&form.id, language),
        "set" => {
            let project = page.0.project.clone();
            page.change(move |_| set(&project, &form, language)).await
        }
        _ => {
            let hidden = page.0.deletions.hidden();
            page.change(move |engine| form.carry_out(engine, &hidden, language)).await
        }
    };
    match done {
        Ok(done) => {
            let json = serde_json::to_string(&done).unwrap_or_default();
            (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], json).into_response()
        }
        Err(error) => error.into_response(),
    }
}

impl PageHandle {
    async fn forget(&self, form: ActionForm, language: Language) -> Result<ActionDone, PageError> {
        let found = self.read(ReadNeed::OpenStore, move |engine, _| {
            engine.store().require_writable()?;
            if !form.other.is_empty() {
                form.seen_row(engine, &form.other, &form.seen_other, language)?;
            }
            form.seen_row(engine, &form.id, &form.seen, language)
        });
        let row = found.await?;
        if self.0.stop.is_cancelled() {
            return Err(PageError(ToolError::Unavailable("the server is shutting down".to_owned())));
        }
        let id = row.memory.id.to_string();
        self.delete_later(id.clone(), digest_of(&row));
        Ok(ActionDone { undo: Some(id), ..ActionDone::with_message(language.of("Deleted.", "삭제했습니다.")) })
    }

    fn undo(&self, id: &str, language: Language) -> Result<ActionDone, PageError> {
        if !self.0.deletions.undo(id) {
            return Err(language.invalid("there is no deletion to undo any more", "되돌릴 삭제가 없습니다").into());
        }
        self.0.open_pages.report_change();
        Ok(ActionDone::with_message(language.of("It is back.", "되돌렸습니다.")))
    }
}

/// Writes a setting of the brief to the project's file.
fn set(project: &Path, form: &ActionForm, language: Language) -> Result<ActionDone, ToolError> {
    let name = SETTINGS.into_iter().find(|name| *name == form.setting);
    let name = name.ok_or_else(|| ToolError::Invalid(format!("the page does not change {:?}", form.setting)))?;
    let literal = toml_literal(name, std::slice::from_ref(&form.text), SettingsOwner::Project);
    let literal = literal.map_err(ToolError::Invalid)?;
    let overriding = write_project_setting(project, name, &literal)?;
    let message = match overriding {
        Some(source) => format!("{name} = {literal}; {source} decides"),
        None => language.of(format!("Saved: {name} = {literal}"), format!("저장했습니다: {name} = {literal}")),
    };
    Ok(ActionDone::with_message(message))
}

/// Says what was done for the team, and what takes it to the others.
fn of_team(engine: &Engine, done: &str, language: Language) -> ActionDone {
    let next = if TeamConnection::has_server(engine.store().layout().project()) {
        "."
    } else {
        language.of("; commit the file.", ". 파일을 커밋하세요.")
    };
    ActionDone::with_message(format!("{done}{next}"))
}

impl ActionForm {
    /// Returns a memory, given by the beginning of its id, unless it was changed since the person saw it.
    fn seen_row(&self, engine: &mut Engine, id: &str, seen: &str, language: Language) -> Result<MemoryRow, ToolError> {
        if id.trim().is_empty() {
            return Err(language.invalid("the id is missing", "id가 없습니다"));
        }
        let id = engine.resolve_id(id)?;
        let missing =
            || ToolError::NotFound(format!("there is no memory with the id {id:?}; it may have been deleted"));
        let row = engine.peek(&id)?.ok_or_else(missing)?;
        if !seen.is_empty() && digest_of(&row) != seen {
            return Err(language.invalid(
                "it was changed meanwhile; copy your text, reload, and try again",
                "그사이 기억이 바뀌었습니다. 쓰던 내용을 복사하고 새로 고침한 뒤 다시 시도하세요",
            ));
        }
        Ok(row)
    }

    /// Carries out an action on memories that are not `hidden`, because those are being deleted.
    fn carry_out(
        &self,
        engine: &mut Engine,
        hidden: &HashSet<String>,
        language: Language,
    ) -> Result<ActionDone, ToolError> {
        let row = self.seen_row(engine, &self.id, &self.seen, language)?;
        let other = match self.other.as_str() {
            "" => None,
            // A task can be closed by a few words.
            words if self.action == "close" && self.seen_other.is_empty() => Some(words.to_owned()),
            other => Some(self.seen_row(engine, other, &self.seen_other, language)?.memory.id.to_string()),
        };
        let id = row.memory.id.to_string();
        if hidden.contains(&id) || other.as_ref().is_some_and(|other| hidden.contains(other)) {
            return Err(language.invalid("it is being deleted; undo that first", "삭제하는 중입니다. 먼저 되돌리세요"));
        }
        self.act_on(engine, &row, other.as_deref(), language)
    }

    fn act_on(
        &self,
        engine: &mut Engine,
        row: &MemoryRow,
        other: Option<&str>,
        language: Language,
    ) -> Result<ActionDone, ToolError> {
        let id = row.memory.id.as_str();
        let missing = || ToolError::Invalid("the other memory is missing".to_owned());
        let message = match self.action.as_str() {
            "edit" => return self.edit(engine, row, language),
            "pin" => engine.set_pinned(id, true).map(|_| language.of("Pinned.", "고정했습니다."))?,
            "unpin" => engine.set_pinned(id, false).map(|_| language.of("Unpinned.", "고정을 해제했습니다."))?,
            "promote" => {
                engine.promote(id, memory_type(&self.kind)?)?;
                language.of("It is in MEMORY.md now.", "MEMORY.md로 옮겼습니다.")
            }
            "supersede" => {
                engine.supersede(id, other.ok_or_else(missing)?)?;
                language.of("Marked as replaced.", "대체됨으로 표시했습니다.")
            }
            "replace" => {
                engine.replace(row, self.new_text(language)?)?;
                language.of("Saved; it replaces the old one.", "저장했고, 이전 기억을 대체합니다.")
            }
            "confirm" => {
                engine.confirm(id)?;
                language.of("Confirmed today.", "오늘 확인했습니다.")
            }
            "close" => {
                engine.close_task(id, other)?;
                language.of("Done.", "완료했습니다.")
            }
            "reopen" => engine.reopen_task(id).map(|_| language.of("Open again.", "다시 열었습니다."))?,
            "unblock" => {
                engine.unblock_task(id)?;
                language.of("It is no longer blocked.", "더는 기다리지 않습니다.")
            }
            "keep" => {
                let candidate = candidate(engine, &self.kind, id, other)?;
                engine.dismiss(&candidate, None)?;
                language.of("Kept; you will not be asked again.", "그대로 두고, 다시 묻지 않습니다.")
            }
            "later" => {
                let candidate = candidate(engine, &self.kind, id, other)?;
                engine.put_off(&candidate)?;
                return Ok(ActionDone::with_message(language.of(
                    format!("You will be asked again in {REVIEW_PAUSE_DAYS} days."),
                    format!("{REVIEW_PAUSE_DAYS}일 뒤에 다시 물어봅니다."),
                )));
            }
            "merge" => {
                let merged = engine.merge(row, other.ok_or_else(missing)?, self.new_text(language)?.trim_end())?;
                return Ok(ActionDone {
                    seen: Some(digest_of(&merged)),
                    ..ActionDone::with_message(language.of("Merged into one.", "하나로 합쳤습니다."))
                });
            }
            "redact" => {
                engine.scrub(ScrubScope::for_path(&row.path), OldDatabases::Remove)?;
                language.of(
                    "Removed all secrets. Rotate them: copies may exist elsewhere.",
                    "비밀을 모두 지웠습니다. 복사본이 있을 수 있으니 바꾸세요.",
                )
            }
            "share" => match engine.propose(id, &ShareOptions::default())?.1 {
                TeamOutcome::Recorded => {
                    return Ok(of_team(engine, language.of("Proposed to the team", "팀에 제안했습니다"), language));
                }
                TeamOutcome::Unchanged => language.of("It was shared before.", "이미 공유한 적이 있습니다."),
            },
            "approve" => {
                engine.approve(id)?;
                return Ok(of_team(engine, language.of("Approved", "승인했습니다"), language));
            }
            "retire" => {
                engine.retire(id)?;
                return Ok(of_team(engine, language.of("Retired", "종료했습니다"), language));
            }
            other => return Err(ToolError::Invalid(format!("unknown action {other:?}"))),
        };
        Ok(ActionDone::with_message(message))
    }

    /// Changes a text.
    fn edit(&self, engine: &mut Engine, before: &MemoryRow, language: Language) -> Result<ActionDone, ToolError> {
        let text = self.new_text(language)?;
        let edited = engine.edit_text(before, text.trim_end())?;
        let message = match (edited.redactions, language) {
            (0, _) if text.contains("private") && edited.row.memory.content != text.trim() => {
                language.of("Saved without its private parts.", "비공개 부분을 빼고 저장했습니다.").to_owned()
            }
            (0, _) => language.of("Saved.", "저장했습니다.").to_owned(),
            (count, Language::English) => format!("Saved; {count} secrets were removed."),
            (count, Language::Korean) => format!("저장했고, 비밀 {count}개를 지웠습니다."),
        };
        let seen = Some(digest_of(&edited.row));
        Ok(ActionDone { seen, ..ActionDone::with_message(message) })
    }

    /// The text of the form, with the line ends of a log.
    fn new_text(&self, language: Language) -> Result<String, ToolError> {
        let empty = "the text is empty; Delete removes the memory";
        let text = self.text.replace("\r\n", "\n");
        match text.trim().is_empty() {
            true => Err(language.invalid(empty, "본문이 비어 있습니다. 지우려면 삭제를 누르세요")),
            false => Ok(text),
        }
    }
}
