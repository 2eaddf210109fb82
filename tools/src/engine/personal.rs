//! The user's personal memory next to that of the project, if the setting `other_projects` allows it.

use schema::files::database::LockTimeout;
use schema::files::layout::Layout;
use schema::files::project::personal_project;
use schema::model::memory::{MemoryAttributes, MemoryType};
use schema::settings::{self, CHARACTERS_PER_TOKEN};
use schema::store::{MemoryRow, Store};
use schema::tool::{Confidence, Hit, SaveInput, SaveOutput, SearchInput, SearchOutput};

use super::{Engine, open_index};
use crate::control::Control;
use crate::error::{ToolError, join_causes};
use crate::index::{TAGS, metadata_tags};
use crate::search::{Asker, append_notice, hit_cost};

/// The most personal hits of a search.
const MAX_PERSONAL_HITS: usize = 2;

/// How many hits of the personal memory these are chosen from.
const PERSONAL_CANDIDATES: i64 = 10;

/// At most one in so many results is a personal hit.
const SHARE: usize = 3;

/// A search for fewer tokens gets no personal hits.
const LEAST_TOKENS: usize = 600;

/// The flag of a personal hit.
const FLAG: &str = "personal";

/// The tag of learnings that hold in all projects.
const GENERAL: &str = "general";

impl Engine {
    /// Adds the best hits of the personal memory behind those of the project: preferences, conventions, and learnings with the tag
    /// `general`. They take the places of the last hits and are never mixed with the others. If the personal memory cannot be read, the
    /// notice says so.
    pub(super) fn add_personal_hits(
        &mut self,
        asker: Asker,
        input: &SearchInput,
        output: &mut SearchOutput,
        control: &Control<'_>,
    ) {
        let input = self.with_defaults(input);
        let non_negative = |limit: Option<i64>| limit.map_or(0, |limit| usize::try_from(limit).unwrap_or_default());
        let (limit, tokens) = (non_negative(input.max_results), non_negative(input.max_tokens));
        let concerns_the_project = input.session_id.is_some() || input.path.is_some();
        if concerns_the_project || tokens < LEAST_TOKENS {
            return;
        }
        let mut hits = match self.personal_hits(asker, &input, MAX_PERSONAL_HITS.min(limit / SHARE), control) {
            Ok(hits) => hits,
            Err(error) => {
                let text = format!("the personal memory cannot be searched: {}", join_causes(&error));
                append_notice(&mut output.notice, &text);
                Vec::new()
            }
        };
        if !hits.is_empty() {
            let mut left = (tokens * CHARACTERS_PER_TOKEN).saturating_sub(hits.iter().map(hit_cost).sum());
            output.results.truncate(limit - hits.len());
            output.results.retain(|hit| {
                let cost = hit_cost(hit);
                let fits = cost <= left;
                left = if fits { left - cost } else { 0 };
                fits
            });
            output.results.append(&mut hits);
            output.count = output.results.len();
        }
    }

    fn personal_hits(
        &mut self,
        asker: Asker,
        input: &SearchInput,
        most: usize,
        control: &Control<'_>,
    ) -> Result<Vec<Hit>, ToolError> {
        let Some(personal) = self.personal()? else { return Ok(Vec::new()) };
        // A search does not wait for another process that indexes.
        personal.refresh_to_read(&mut control.without_progress().yielding_if(|| true))?;
        let wanted = SearchInput { max_results: Some(PERSONAL_CANDIDATES), explain: false, ..input.clone() };
        let mut found = personal.search_project(Asker::Person, &wanted, &mut control.without_progress())?;
        let mut hits: Vec<Hit> = Vec::new();
        for hit in found.results {
            // In a small store, hits of any score are only suggested.
            let is_sure = Confidence::from_score(hit.score) == Confidence::High && hits.len() < most;
            if is_sure && personal.peek(&hit.id)?.is_some_and(|row| holds_everywhere(&row)) {
                hits.push(hit);
            }
        }
        found.results = hits;
        if asker == Asker::Model {
            personal.make_compact(&mut found)?;
        }
        let root = personal.store.layout().project().to_owned();
        for hit in &mut found.results {
            hit.flags.push(FLAG.to_owned());
            hit.path = root.join(&hit.path).to_string_lossy().into_owned();
        }
        Ok(found.results)
    }

    /// Copies a memory into the personal memory, as another type if one is given. A learning gets the tag `general`.
    pub fn copy_to_personal(&mut self, id: &str, kind: Option<MemoryType>) -> Result<SaveOutput, ToolError> {
        let row = self.find_by_prefix(id)?;
        let kind = kind.unwrap_or(row.memory.kind);
        if kind.is_event() {
            let (id, own) = (&row.memory.id, row.memory.kind);
            let text = format!("{id} is a {own}; --as names the type of the copy, such as preference");
            return Err(ToolError::Invalid(text));
        }
        let MemoryAttributes { metadata, also, .. } = &row.memory.attributes;
        let mut tags: Vec<String> = metadata.get(TAGS).into_iter().flat_map(metadata_tags).map(str::to_owned).collect();
        if kind == MemoryType::Learning && !tags.iter().any(|tag| tag == GENERAL) {
            tags.push(GENERAL.to_owned());
        }
        let root = personal_project().map_err(|error| ToolError::NotFound(error.to_string()))?.root;
        let sanitizer = settings::load(self.store.layout()).sanitizer;
        let cleaned = |text: &String| sanitizer.clean(text).text.into_owned();
        let (content, also) = (cleaned(&row.memory.content), also.as_ref().map(cleaned));
        tags = tags.iter().map(cleaned).filter(|tag| !tag.trim().is_empty()).collect();
        let input = SaveInput { also, tags, ..SaveInput::new(kind, content) };
        Engine::open(&root, None, None)?.save(&input)
    }

    /// The engine of the personal memory, unless it does not exist, is this one, or the setting is off.
    pub(super) fn personal(&mut self) -> Result<Option<&mut Engine>, ToolError> {
        if !self.loaded.settings.other_projects {
            return Ok(None);
        }
        if self.personal.is_none() {
            let Ok(place) = personal_project() else { return Ok(None) };
            if place.root == self.store.layout().project() || !Layout::new(&place.root).store_dir().is_dir() {
                return Ok(None);
            }
            let mut loaded = self.loaded.clone();
            loaded.settings.other_projects = false;
            let store = Store::open(&place.root, LockTimeout::Server)?;
            self.personal = Some(Box::new(Engine::open_as(store, None, loaded, self.model.clone(), open_index)?));
        }
        Ok(self.personal.as_deref_mut())
    }
}

/// Whether a personal memory is about how the user works, and not about one matter.
pub(super) fn holds_everywhere(row: &MemoryRow) -> bool {
    if row.superseded_by.is_some() {
        return false;
    }
    let tags = row.memory.attributes.metadata.get(TAGS);
    match row.memory.kind {
        MemoryType::Preference | MemoryType::Convention => true,
        MemoryType::Learning => tags.into_iter().flat_map(metadata_tags).any(|tag| tag == GENERAL),
        _ => false,
    }
}
