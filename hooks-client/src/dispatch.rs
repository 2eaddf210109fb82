//! Chooses what to record of an event, and what to print for the host.

#[cfg(unix)]
use std::os::unix::process::parent_id;
use std::path::Path;
// The standard library does not know the parent elsewhere.
#[cfg(not(unix))]
use std::process::id as parent_id;

use schema::files::environment;
use schema::files::layout::Layout;
use schema::host::hook::{EventKind, HookHost, HookPayload, HostEvent, is_edit_tool};
use schema::host::track_buffer;
use schema::host::transcript::TranscriptThread;
use schema::model::moment::Moment;
use schema::settings::{Edits, LoadedSettings};
use schema::store::{StoreError, hook_log};

use crate::backfill;
use crate::hook_session::HookSession;
use crate::turn::{SavedPart, TurnEnd, last_answer_of};

/// Records the event of a payload, and returns what to print for the host.
pub(crate) fn dispatch(
    host: HookHost,
    payload: &HookPayload,
    layout: &Layout,
    loaded: &LoadedSettings,
) -> Result<Option<String>, StoreError> {
    let sanitizer = &loaded.sanitizer;
    let Some(HostEvent { session_id, kind: event }) = HostEvent::from_payload(payload, layout.project(), sanitizer)
    else {
        return Ok(None);
    };
    let session_id = if session_id.is_empty() { session_id_of_process() } else { session_id };
    let mut session = HookSession {
        host,
        layout,
        directory: payload.cwd.as_deref().map_or(layout.project(), Path::new),
        session_id,
        now: Moment::now(),
        sanitizer,
        settings: &loaded.settings,
        store: None,
    };
    let transcript = payload.transcript_path.as_deref();
    match event {
        EventKind::SessionStart(source) => {
            let context = session.start_context(source, &loaded.problems);
            session.begin_session(payload);
            return context;
        }
        EventKind::Prompt(text) => {
            let saved =
                if loaded.settings.capture { session.begin_turn(&text, SavedPart::Prompt, transcript) } else { Ok(()) };
            if loaded.settings.recall {
                // If something is printed, a failed save is only logged: the text does not depend on it.
                log_failure(layout, saved);
                return Ok(session.prompt_context(&text));
            }
            saved
        }
        EventKind::FileOpen(path) => {
            return if loaded.settings.file_recall { session.file_context(&path) } else { Ok(None) };
        }
        EventKind::TurnEnd(answer) => {
            let saved = if loaded.settings.capture { session.end_turn(answer, transcript) } else { Ok(()) };
            if loaded.settings.reminder {
                log_failure(layout, saved);
                let is_continued = payload.stop_hook_active == Some(true);
                return Ok(transcript.filter(|_| !is_continued).and_then(|path| session.reminder(path)));
            }
            saved
        }
        _ if !loaded.settings.capture => Ok(()),
        EventKind::Acknowledgement(text) => session.begin_turn(&text, SavedPart::Conclusions, transcript),
        EventKind::ToolUse(used) => session.track_use(used),
        // Failed edits name their files.
        EventKind::Failure(_)
            if loaded.settings.edits == Edits::Off && payload.tool_name.as_deref().is_some_and(is_edit_tool) =>
        {
            Ok(())
        }
        EventKind::Failure(text) => session.save_failure(&text),
        EventKind::Report { agent_type, text } => {
            let text =
                text.or_else(|| last_answer_of(payload.agent_transcript_path.as_deref(), TranscriptThread::Subagent));
            text.map_or(Ok(()), |text| session.save_subagent_report(agent_type, &text))
        }
        EventKind::BeforeCompaction => {
            let open_turn = session.save_turn(None, TurnEnd::Compacted);
            let open_prompt = open_turn.as_ref().ok().and_then(|turn| turn.prompt.as_ref()?.memory.clone());
            let concluded = session.prepare_conclusions_since_compaction(transcript, open_prompt.as_ref());
            let saved = session.save_prepared(&concluded);
            open_turn.map(drop).and(saved)
        }
        EventKind::Summary(text) => session.save_summary(&text),
        EventKind::SessionEnd => {
            track_buffer::remove_old_files(layout);
            let saved = session.save_open_turn(transcript).map(drop).and(session.close_session(payload));
            // Close the store first: the last process to close a database checkpoints it, and that should be the backfill.
            drop(session);
            backfill::start_backfill(layout, &loaded.settings);
            saved
        }
    }
    .map(|()| None)
}

fn log_failure(layout: &Layout, saved: Result<(), StoreError>) {
    if let Err(error) = saved {
        hook_log::append_error(layout, &error);
    }
}

/// Names the session after the process if the host gives neither its id nor its transcript.
fn session_id_of_process() -> String {
    let named = |name| environment::text(name).filter(|value| !value.trim().is_empty());
    named("CLAUDE_CODE_SESSION_ID").unwrap_or_else(|| {
        let process = named("CLAUDE_PID").unwrap_or_else(|| parent_id().to_string());
        format!("process-{process}")
    })
}
