//! @modelcontextprotocol/server-memory: a graph of entities and relations as JSON lines, without times and projects.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schema::files::environment;
use schema::host::hook::deserialize_lenient;
use schema::host::transcript::line_reader::ForwardLines;
use schema::model::memory::MemoryType;
use serde::Deserialize;

use super::foreign::{
    ForeignMemory, ImportScope, Receiver, Source, SourceError, changed_at, configured_paths, kind_named,
};

pub(super) const SOURCE: Source =
    Source { name: "server-memory", program: "@modelcontextprotocol/server-memory", places, read };

/// The folder of the program below `node_modules`, where it keeps its file by default.
const PACKAGE: &str = "node_modules/@modelcontextprotocol/server-memory/dist";

/// The user's name in the prompt that the program recommends.
const USER: &str = "default_user";

/// An entity or a relation.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GraphLine {
    #[serde(rename = "type", deserialize_with = "deserialize_lenient")]
    kind: Option<String>,
    #[serde(deserialize_with = "deserialize_lenient")]
    name: Option<String>,
    #[serde(deserialize_with = "deserialize_lenient")]
    entity_type: Option<String>,
    #[serde(deserialize_with = "deserialize_lenient")]
    observations: Option<Vec<serde_json::Value>>,
    #[serde(deserialize_with = "deserialize_lenient")]
    from: Option<String>,
    #[serde(deserialize_with = "deserialize_lenient")]
    to: Option<String>,
    #[serde(deserialize_with = "deserialize_lenient")]
    relation_type: Option<String>,
}

fn places(home: &Path, scope: &ImportScope<'_>) -> Vec<PathBuf> {
    const VARIABLE: &str = "MEMORY_FILE_PATH";
    let mut places: Vec<PathBuf> = environment::path(VARIABLE).into_iter().collect();
    places.extend(configured_paths(home, scope.project, VARIABLE));
    let mut packages = vec![scope.project.join(PACKAGE)];
    // npx installs into a folder of its own for each set of packages.
    let npx = fs::read_dir(home.join(".npm/_npx")).into_iter().flatten();
    packages.extend(npx.filter_map(|item| Some(item.ok()?.path().join(PACKAGE))));
    places.extend(packages.iter().flat_map(|package| ["memory.jsonl", "memory.json"].map(|name| package.join(name))));
    places
}

fn read(path: &Path, _: &ImportScope<'_>, receiver: &mut dyn Receiver) -> Result<(), SourceError> {
    let unreadable = |error: std::io::Error| SourceError::unreadable(path, &error);
    let mut lines = ForwardLines::open(path, 0).map_err(unreadable)?;
    let (mut entities, mut relations, mut bad) = (Vec::new(), BTreeMap::<String, Vec<String>>::new(), 0);
    while let Some(line) = lines.next_line().map_err(unreadable)? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line: GraphLine = serde_json::from_slice(line).unwrap_or_default();
        match (line.kind.as_deref(), line.name, line.from, line.to) {
            (Some("entity"), Some(name), _, _) => {
                entities.push((name, line.entity_type.unwrap_or_default(), line.observations.unwrap_or_default()));
            }
            (Some("relation"), _, Some(from), Some(to)) => {
                let relation = line.relation_type.unwrap_or_default().replace('_', " ");
                relations.entry(from.clone()).or_default().push(format!("{from} {relation} {to}"));
            }
            _ => bad += 1,
        }
    }
    if bad > 0 {
        receiver.skip(format!("{}: {bad} lines are neither entities nor relations; skipped", path.display()));
    }
    let at = changed_at(path);
    for (name, entity_type, observations) in entities {
        let mut lines: Vec<String> =
            observations.iter().filter_map(|text| Some(format!("- {}", text.as_str()?))).collect();
        lines.extend(relations.get(&name).into_iter().flatten().map(|relation| format!("- {relation}")));
        if lines.is_empty() {
            continue;
        }
        let heading = if entity_type.is_empty() { name.clone() } else { format!("{name} ({entity_type})") };
        let (id, content) = (format!("entity/{name}"), format!("{heading}\n{}", lines.join("\n")));
        let memory = ForeignMemory::new(id, entity_kind(&name, &entity_type), content, at);
        let tags = Some(entity_type).filter(|tag| !tag.is_empty()).into_iter().collect();
        receiver.add(ForeignMemory { tags, ..memory })?;
    }
    Ok(())
}

/// The type of an entity. Facts about the user are preferences.
fn entity_kind(name: &str, entity_type: &str) -> MemoryType {
    let is_user = name == USER || entity_type.eq_ignore_ascii_case("user");
    if is_user { MemoryType::Preference } else { kind_named(entity_type).unwrap_or(MemoryType::Learning) }
}
