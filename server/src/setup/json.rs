//! Edits JSON with or without comments through a syntax tree that keeps every space, so that everything else stays as written.

pub(super) mod tree;

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::cst::{CstContainerNode, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::{CollectOptions, parse_to_ast};
use schema::host::hook::HookHost;
use serde_json::Value;

use tree::{OPTIONS, append_line, append_value, parse_json};

use super::hook_entries::{HookEntry, HookSet, hook_program};
use super::server_entry::{ListedServer, ServerEntry};
use super::settings_text::EditError;

/// A JSON file that lists servers below a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonServerList {
    pub(crate) key: &'static str,
    /// An extra field that the host requires in an entry.
    pub(crate) kind: Option<(&'static str, &'static str)>,
}

pub(super) fn set_server(text: &str, shape: JsonServerList, entry: &ServerEntry) -> Result<String, EditError> {
    let root = parse_without_duplicates(text, shape.key)?;
    let servers = root.object_value().and_then(|object| object.object_value(shape.key));
    let listed = servers.iter().flat_map(listed_servers);
    let (mut ours, others): (Vec<_>, Vec<_>) = listed.partition(|(_, server)| server.is_same_server(entry));
    if ours.is_empty() {
        let others: Vec<ListedServer> = others.into_iter().map(|(_, server)| server).collect();
        return append_value(text, &[shape.key], Some(&entry.unused_name(&others)), entry_value(shape, entry));
    }
    // Keeps the entry with our name, else the first one.
    let kept = ours.iter().position(|(_, server)| server.name == super::server_entry::NAME).unwrap_or(0);
    let (property, server) = ours.swap_remove(kept);
    ours.into_iter().for_each(|(double, _)| double.remove());
    if let (Some(updated), Some(value)) = (server.updated(entry), property.object_value()) {
        set_property(&value, "command", updated.command.into());
        if server.args != updated.args {
            set_property(&value, "args", updated.args.into());
        }
    }
    Ok(root.to_string())
}

pub(super) fn remove_server(text: &str, shape: JsonServerList, entry: &ServerEntry) -> Result<String, EditError> {
    let root = parse_without_duplicates(text, shape.key)?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(servers) = object.object_value(shape.key) else { return Ok(text.to_owned()) };
    let listed = listed_servers(&servers);
    let ours: Vec<_> = listed.into_iter().filter(|(_, server)| server.is_same_server(entry)).collect();
    if ours.is_empty() {
        return Ok(text.to_owned());
    }
    ours.into_iter().for_each(|(property, _)| property.remove());
    remove_if_empty(&object, shape.key);
    Ok(root.to_string())
}

/// The servers in a text that have a command or a URL.
pub(super) fn list_servers(text: &str, shape: JsonServerList) -> Result<Vec<ListedServer>, EditError> {
    let root = parse_without_duplicates(text, shape.key)?;
    let servers = root.object_value().and_then(|object| object.object_value(shape.key));
    Ok(servers.iter().flat_map(listed_servers).map(|(_, server)| server).collect())
}

pub(super) fn set_hooks(text: &str, host: HookHost, wanted: &HookSet) -> Result<String, EditError> {
    let root = parse_without_duplicates(text, "hooks")?;
    let hooks = root.object_value().and_then(|object| object.object_value("hooks"));
    let (entries, program) = (wanted.entries(host), wanted.program.as_str());
    let is_right = |event: &str| {
        let hook = entries.iter().find(|hook| hook.event == event);
        let ours = hooks.as_ref().map(|hooks| own_elements(hooks, event)).unwrap_or_default();
        let says = |hook: &HookEntry, element: &CstNode| {
            element.to_serde_value().is_some_and(|element| hook.matches(&element, host, program))
        };
        matches!((hook, &ours[..]), (Some(hook), [element]) if says(hook, element))
    };
    let wrong: Vec<&HookEntry> = entries.iter().filter(|hook| !is_right(hook.event)).collect();
    if let Some(hooks) = &hooks {
        let is_meant = |event: &str| !entries.iter().any(|hook| hook.event == event && !wrong.contains(&hook));
        remove_handlers(hooks, is_meant);
    }
    let mut text = root.to_string();
    // Cursor requires the version of the format.
    if host == HookHost::Cursor && root.object_value().is_none_or(|object| object.get("version").is_none()) {
        text = append_value(&text, &[], Some("version"), 1.into())?;
    }
    wrong
        .iter()
        .try_fold(text, |text, hook| append_line(&text, &["hooks", hook.event], &hook.to_element(host, program)))
}

/// Whether a text has only the version of its format.
pub(super) fn has_only_version(text: &str) -> bool {
    let object = parse_json(text).ok().and_then(|root| root.object_value());
    object.is_some_and(|object| object.properties().len() == 1 && object.get("version").is_some())
}

pub(super) fn remove_hooks(text: &str) -> Result<String, EditError> {
    let root = parse_without_duplicates(text, "hooks")?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(hooks) = object.object_value("hooks") else { return Ok(text.to_owned()) };
    if remove_handlers(&hooks, |_| true) == 0 {
        return Ok(text.to_owned());
    }
    for event in hooks.properties() {
        if event.array_value().is_some_and(|groups| groups.elements().is_empty() && !has_comment(&groups.into())) {
            event.remove();
        }
    }
    remove_if_empty(&object, "hooks");
    Ok(root.to_string())
}

/// The events that call our hooks client, each with its program.
pub(super) fn own_hook_programs(text: &str) -> Result<Vec<(String, String)>, EditError> {
    let value = parse_without_duplicates(text, "hooks")?.to_serde_value().unwrap_or_default();
    let events = value.get("hooks").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut found = Vec::new();
    for (event, groups) in &events {
        // In some hosts, the elements are handlers and not groups of them.
        let handlers = groups.as_array().into_iter().flatten().flat_map(|element| match element.get("hooks") {
            Some(handlers) => handlers.as_array().map(Vec::as_slice).unwrap_or_default(),
            None => std::slice::from_ref(element),
        });
        found.extend(handlers.filter_map(hook_program).map(|program| (event.clone(), program)));
    }
    Ok(found)
}

/// The value of a key of the outermost object.
pub(super) fn top_level_value(text: &str, key: &str) -> Option<Value> {
    parse_json(text).ok()?.object_value()?.get(key)?.to_serde_value()
}

/// Whether a text has only brackets.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '{' | '}'))
}

/// Parses a text. Fails if `key`, or a key directly below it, is there twice, because hosts differ in which one they read.
fn parse_without_duplicates(text: &str, key: &str) -> Result<CstRootNode, EditError> {
    let root = parse_json(text)?;
    let Ok(parsed) = parse_to_ast(text, &CollectOptions::default(), &OPTIONS) else { return Ok(root) };
    let Some(Node::Object(object)) = &parsed.value else { return Ok(root) };
    refuse_duplicates(text, object, |name| name == key)?;
    for property in object.properties.iter().filter(|property| property.name.as_str() == key) {
        if let Node::Object(inner) = &property.value {
            refuse_duplicates(text, inner, |_| true)?;
        }
    }
    Ok(root)
}

fn refuse_duplicates(text: &str, object: &Object<'_>, is_meant: impl Fn(&str) -> bool) -> Result<(), EditError> {
    let mut seen: Vec<&str> = Vec::new();
    for property in &object.properties {
        let name = property.name.as_str();
        if seen.contains(&name) && is_meant(name) {
            let what = format!("{name:?} is there twice, and hosts differ in which one they read; keep one");
            return Err(EditError::syntax_at(text, property.start(), what));
        }
        seen.push(name);
    }
    Ok(())
}

fn listed_servers(servers: &CstObject) -> Vec<(CstObjectProp, ListedServer)> {
    let read = |property: CstObjectProp| {
        let listed = ListedServer::from_json(property.decoded_name()?, &property.to_serde_value()?);
        Some((property, listed))
    };
    servers.properties().into_iter().filter_map(read).collect()
}

fn entry_value(shape: JsonServerList, entry: &ServerEntry) -> CstInputValue {
    let kind = shape.kind.map(|(key, kind)| (key.to_owned(), kind.into()));
    let command = ("command".to_owned(), entry.command.as_str().into());
    let args = ("args".to_owned(), entry.args.clone().into());
    CstInputValue::Object(kind.into_iter().chain([command, args]).collect())
}

fn set_property(object: &CstObject, key: &str, value: CstInputValue) {
    match object.get(key) {
        Some(property) => property.set_value(value),
        None => drop(object.append(key, value)),
    }
}

/// The elements of an event that are or contain our handlers.
fn own_elements(hooks: &CstObject, event: &str) -> Vec<CstNode> {
    let elements = hooks.array_value(event).map(|elements| elements.elements()).unwrap_or_default();
    elements.into_iter().filter(|element| !own_handlers(element).is_empty()).collect()
}

fn own_handlers(element: &CstNode) -> Vec<CstNode> {
    let group = element.as_object().and_then(|group| group.array_value("hooks"));
    let handlers = group.map_or_else(|| vec![element.clone()], |handlers| handlers.elements());
    let is_ours = |handler: &CstNode| handler.to_serde_value().is_some_and(|handler| hook_program(&handler).is_some());
    handlers.into_iter().filter(is_ours).collect()
}

/// Removes our handlers from the selected events, and groups that become empty. Returns the number of handlers.
fn remove_handlers(hooks: &CstObject, meant: impl Fn(&str) -> bool) -> usize {
    let mut removed = 0;
    for event in hooks.properties().iter().filter_map(CstObjectProp::decoded_name).filter(|event| meant(event)) {
        for element in own_elements(hooks, &event) {
            let ours = own_handlers(&element);
            removed += ours.len();
            let all = element.as_object().and_then(|group| group.array_value("hooks"));
            if all.is_none_or(|all| all.elements().len() == ours.len()) {
                element.remove();
            } else {
                ours.into_iter().for_each(CstNode::remove);
            }
        }
    }
    removed
}

fn remove_if_empty(object: &CstObject, key: &str) {
    let is_empty = |inner: CstObject| inner.properties().is_empty() && !has_comment(&inner.into());
    if object.object_value(key).is_some_and(is_empty) {
        object.get(key).into_iter().for_each(CstObjectProp::remove);
    }
}

fn has_comment(container: &CstContainerNode) -> bool {
    container.children().iter().any(CstNode::is_comment)
}
