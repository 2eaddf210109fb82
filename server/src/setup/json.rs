//! Edits of JSON with or without comments, through a tree that keeps every space: what is not ours stays as it was written.

mod append;

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::cst::{CstContainerNode, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use append::{append, append_line};

use super::hooks::{HOOKS, Hook, program_of};
use super::part::{EditError, Shape};
use super::server_entry::{Entry, Listed};

/// What hosts take: comments and trailing commas, and no other liberties.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn set_server(text: &str, shape: Shape, entry: &Entry) -> Result<String, EditError> {
    let root = parse_plain(text, shape.key)?;
    let servers = root.object_value().and_then(|object| object.object_value(shape.key));
    let listed = servers.as_ref().map(listed).unwrap_or_default();
    let mut ours: Vec<_> = listed.iter().filter(|(_, server)| server.stands_for(entry)).collect();
    if ours.is_empty() {
        let others: Vec<Listed> = listed.iter().map(|(_, server)| server.clone()).collect();
        return append(text, &[shape.key], Some(&entry.free_name(&others)), new_entry(shape, entry));
    }
    // The one with our name is kept, else the first; there is no use for two.
    let kept = ours.iter().position(|(_, server)| server.name == super::server_entry::NAME).unwrap_or(0);
    let (property, server) = ours.swap_remove(kept);
    for (double, _) in ours {
        double.clone().remove();
    }
    if let (Some(updated), Some(value)) = (server.updated(entry), property.object_value()) {
        set(&value, "command", CstInputValue::String(updated.command));
        if server.args != updated.args {
            set(&value, "args", strings(&updated.args));
        }
    }
    Ok(root.to_string())
}

pub(super) fn remove_server(text: &str, shape: Shape, entry: &Entry) -> Result<String, EditError> {
    let root = parse_plain(text, shape.key)?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(servers) = object.object_value(shape.key) else { return Ok(text.to_owned()) };
    let listed = listed(&servers);
    let ours: Vec<_> = listed.into_iter().filter(|(_, server)| server.stands_for(entry)).collect();
    if ours.is_empty() {
        return Ok(text.to_owned());
    }
    ours.into_iter().for_each(|(property, _)| property.remove());
    remove_if_empty(&object, shape.key);
    Ok(root.to_string())
}

/// The servers that a text lists, those without a command and a URL left out.
pub(super) fn servers(text: &str, shape: Shape) -> Result<Vec<Listed>, EditError> {
    let servers = parse_plain(text, shape.key)?.object_value().and_then(|object| object.object_value(shape.key));
    Ok(servers.map(|servers| listed(&servers)).unwrap_or_default().into_iter().map(|(_, server)| server).collect())
}

pub(super) fn set_hooks(text: &str, program: &str) -> Result<String, EditError> {
    let root = parse_plain(text, "hooks")?;
    let hooks = root.object_value().and_then(|object| object.object_value("hooks"));
    let is_right = |event: &str| {
        let hook = HOOKS.iter().find(|hook| hook.event == event);
        let ours = hooks.as_ref().map(|hooks| groups_of_ours(hooks, event)).unwrap_or_default();
        let says = |hook: &Hook, group: &CstNode| group.to_serde_value().is_some_and(|group| hook.is(&group, program));
        matches!((hook, &ours[..]), (Some(hook), [group]) if says(hook, group))
    };
    let wrong: Vec<&Hook> = HOOKS.iter().filter(|hook| !is_right(hook.event)).collect();
    if let Some(hooks) = &hooks {
        let is_meant = |event: &str| !HOOKS.iter().any(|hook| hook.event == event && !wrong.contains(&hook));
        remove_handlers(hooks, is_meant);
    }
    wrong
        .iter()
        .try_fold(root.to_string(), |text, hook| append_line(&text, &["hooks", hook.event], &hook.group(program)))
}

pub(super) fn remove_hooks(text: &str) -> Result<String, EditError> {
    let root = parse_plain(text, "hooks")?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(hooks) = object.object_value("hooks") else { return Ok(text.to_owned()) };
    if remove_handlers(&hooks, |_| true) == 0 {
        return Ok(text.to_owned());
    }
    for event in hooks.properties().iter().filter_map(CstObjectProp::decoded_name) {
        if hooks.array_value(&event).is_some_and(|groups| groups.elements().is_empty() && !has_comment(&groups.into()))
        {
            hooks.get(&event).into_iter().for_each(CstObjectProp::remove);
        }
    }
    remove_if_empty(&object, "hooks");
    Ok(root.to_string())
}

/// The events that call our hooks client, with the program that each calls.
pub(super) fn hook_programs(text: &str) -> Result<Vec<(String, String)>, EditError> {
    let value = parse_plain(text, "hooks")?.to_serde_value().unwrap_or_default();
    let events = value.get("hooks").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut found = Vec::new();
    for (event, groups) in &events {
        let handlers = groups.as_array().into_iter().flatten().filter_map(|group| group.get("hooks")?.as_array());
        found.extend(handlers.flatten().filter_map(program_of).map(|program| (event.clone(), program)));
    }
    Ok(found)
}

/// The value below a key of the outermost object.
pub(super) fn value(text: &str, key: &str) -> Option<Value> {
    parse(text).ok()?.object_value()?.get(key)?.to_serde_value()
}

/// Whether a text holds nothing but brackets.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '{' | '}'))
}

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| EditError::Syntax {
        line: error.line_display(),
        column: error.column_display(),
        what: error.kind().to_string(),
    })
}

/// The same, refused where `key` or something directly below it stands there twice: hosts differ in which of the two they read.
fn parse_plain(text: &str, key: &str) -> Result<CstRootNode, EditError> {
    let root = parse(text)?;
    let Ok(parsed) = parse_to_ast(text, &CollectOptions::default(), &OPTIONS) else { return Ok(root) };
    let Some(Node::Object(object)) = &parsed.value else { return Ok(root) };
    refuse_doubles(text, object, |name| name == key)?;
    for property in object.properties.iter().filter(|property| property.name.as_str() == key) {
        if let Node::Object(inner) = &property.value {
            refuse_doubles(text, inner, |_| true)?;
        }
    }
    Ok(root)
}

fn refuse_doubles(text: &str, object: &Object<'_>, is_meant: impl Fn(&str) -> bool) -> Result<(), EditError> {
    let mut seen: Vec<&str> = Vec::new();
    for property in &object.properties {
        let name = property.name.as_str();
        if seen.contains(&name) && is_meant(name) {
            let before = &text[..property.start()];
            return Err(EditError::Syntax {
                line: before.matches('\n').count() + 1,
                column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
                what: format!("{name:?} stands there twice, and hosts differ in which one they read; keep one"),
            });
        }
        seen.push(name);
    }
    Ok(())
}

/// The outermost object; an empty file is as good as an empty one.
fn root_object(root: &CstRootNode) -> Result<CstObject, EditError> {
    let what = "it should be an object, as in { … }".to_owned();
    root.object_value_or_create().ok_or(EditError::Shape { line: 1, what })
}

fn misshapen(text: &str, key: &str, wanted: &str) -> EditError {
    let quoted = format!("\"{key}\"");
    let line = text.lines().position(|line| line.contains(&quoted)).map_or(1, |line| line + 1);
    EditError::Shape { line, what: format!("{quoted} should be {wanted}") }
}

fn listed(servers: &CstObject) -> Vec<(CstObjectProp, Listed)> {
    let read = |property: CstObjectProp| {
        let value = property.to_serde_value()?;
        let texts = |key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let listed = Listed {
            name: property.decoded_name()?,
            command: value.get("command").and_then(Value::as_str).map(str::to_owned),
            args: texts("args").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        };
        Some((property, listed))
    };
    servers.properties().into_iter().filter_map(read).collect()
}

fn new_entry(shape: Shape, entry: &Entry) -> CstInputValue {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let kind = shape.kind.map(|(key, kind)| (key.to_owned(), text(kind)));
    let command = ("command".to_owned(), text(&entry.command));
    CstInputValue::Object(kind.into_iter().chain([command, ("args".to_owned(), strings(&entry.args))]).collect())
}

fn strings(texts: &[String]) -> CstInputValue {
    CstInputValue::Array(texts.iter().cloned().map(CstInputValue::String).collect())
}

fn set(object: &CstObject, key: &str, value: CstInputValue) {
    match object.get(key) {
        Some(property) => property.set_value(value),
        None => drop(object.append(key, value)),
    }
}

/// The groups of an event that have a handler of ours.
fn groups_of_ours(hooks: &CstObject, event: &str) -> Vec<CstNode> {
    let groups = hooks.array_value(event).map(|groups| groups.elements()).unwrap_or_default();
    groups.into_iter().filter(|group| !handlers_of_ours(group).is_empty()).collect()
}

fn handlers_of_ours(group: &CstNode) -> Vec<CstNode> {
    let handlers = group.as_object().and_then(|group| group.array_value("hooks"));
    let handlers = handlers.map(|handlers| handlers.elements()).unwrap_or_default();
    let is_ours = |handler: &CstNode| handler.to_serde_value().is_some_and(|handler| program_of(&handler).is_some());
    handlers.into_iter().filter(is_ours).collect()
}

/// Takes our handlers out of the events that are `meant`, and the groups that had no others. Answers how many it found.
fn remove_handlers(hooks: &CstObject, meant: impl Fn(&str) -> bool) -> usize {
    let mut removed = 0;
    for event in hooks.properties().iter().filter_map(CstObjectProp::decoded_name).filter(|event| meant(event)) {
        for group in groups_of_ours(hooks, &event) {
            let ours = handlers_of_ours(&group);
            removed += ours.len();
            let all = group.as_object().and_then(|group| group.array_value("hooks"));
            if all.is_some_and(|all| all.elements().len() == ours.len()) {
                group.remove();
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
