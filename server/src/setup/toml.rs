//! Edits TOML for Codex. A new entry is appended; removing an entry deletes only its own lines.

use std::path::Path;

use toml_edit::{Document, DocumentMut, Item, Table, TableLike, Value};

use super::server_entry::{ListedServer, NAME, ServerEntry};
use super::settings_text::{EditError, gap_after};

const KEY: &str = "mcp_servers";

pub(super) fn set_server(text: &str, entry: &ServerEntry) -> Result<String, EditError> {
    let listed = list_servers(text)?;
    let ours: Vec<&ListedServer> = listed.iter().filter(|server| server.is_same_server(entry)).collect();
    let Some(kept) = ours.iter().find(|server| server.name == NAME).or(ours.first()) else {
        return append_table(text, &entry.unused_name(&listed), entry);
    };
    let mut text = text.to_owned();
    for double in ours.iter().filter(|server| server.name != kept.name) {
        text = remove_table(&text, &double.name)?;
    }
    let Some(updated) = kept.updated(entry) else { return Ok(text) };
    let mut document = parse_toml(&text)?.into_mut();
    if let Some(server) = server_mut(&mut document, &kept.name) {
        set_value(server, "command", updated.command.into());
        if kept.args != updated.args {
            set_value(server, "args", updated.args.into_iter().collect());
        }
    }
    Ok(document.to_string())
}

pub(super) fn remove_server(text: &str, entry: &ServerEntry) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for server in list_servers(&text)?.iter().filter(|server| server.is_same_server(entry)) {
        text = remove_table(&text, &server.name)?;
    }
    Ok(text)
}

pub(super) fn list_servers(text: &str) -> Result<Vec<ListedServer>, EditError> {
    let document = parse_toml(text)?;
    let Some(listed) = document.get(KEY) else { return Ok(Vec::new()) };
    let listed = listed.as_table_like().ok_or_else(|| shape_error(text))?;
    let read = |(name, server): (&str, &Item)| {
        let args = server.get("args").and_then(Item::as_array);
        ListedServer {
            name: name.to_owned(),
            command: server.get("command").and_then(Item::as_str).map(str::to_owned),
            args: args.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    };
    Ok(listed.iter().map(read).collect())
}

/// How many hooks of a file are trusted. The key of a hook is its file, its event and its place in the file, separated by colons.
pub(super) fn trusted_hooks(text: &str, names: &[&Path]) -> usize {
    let Ok(document) = parse_toml(text) else { return 0 };
    let states = document.get("hooks").and_then(|hooks| hooks.get("state")).and_then(Item::as_table_like);
    let is_of_file = |key: &str| {
        let mut rest = key.rsplitn(4, ':');
        let file = rest.nth(3).map(Path::new);
        file.is_some_and(|file| names.contains(&file))
    };
    let is_trusted = |state: &Item| state.get("trusted_hash").is_some();
    states.map_or(0, |states| states.iter().filter(|(key, state)| is_of_file(key) && is_trusted(state)).count())
}

fn parse_toml(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        EditError::syntax_at(text, at, error.message().replace('\n', "; "))
    })
}

fn shape_error(text: &str) -> EditError {
    let line = text.lines().position(|line| line.contains(KEY)).map_or(1, |line| line + 1);
    EditError::Shape { line, what: format!("{KEY} should be a table") }
}

/// Appends a table. If the servers are an inline table, adds the entry to it.
fn append_table(text: &str, name: &str, entry: &ServerEntry) -> Result<String, EditError> {
    let mut document = parse_toml(text)?.into_mut();
    let (command, args) = (Value::from(entry.command.as_str()), entry.args.iter().collect::<Value>());
    if let Some(servers) = document.get_mut(KEY).filter(|servers| servers.as_table().is_none_or(Table::is_dotted)) {
        let servers = servers.as_table_like_mut().ok_or_else(|| shape_error(text))?;
        let server = [("command", command), ("args", args)].into_iter().collect();
        servers.insert(name, toml_edit::value(Value::InlineTable(server)));
        return Ok(document.to_string());
    }
    Ok(format!("{text}{}[{KEY}.{name}]\ncommand = {command}\nargs = {args}\n", gap_after(text)))
}

/// Removes the tables of a server, and the empty line before each.
fn remove_table(text: &str, name: &str) -> Result<String, EditError> {
    let document = parse_toml(text)?;
    let Some(server) = document.get(KEY).and_then(|servers| servers.get(name)) else { return Ok(text.to_owned()) };
    let mut spans = Vec::new();
    server.as_table().into_iter().for_each(|table| collect_spans(table, &mut spans));
    if spans.is_empty() {
        let mut document = parse_toml(text)?.into_mut();
        document.get_mut(KEY).and_then(Item::as_table_like_mut).and_then(|servers| servers.remove(name));
        return Ok(document.to_string());
    }
    spans.sort_unstable();
    let mut rest = text.to_owned();
    for (start, end) in spans.into_iter().rev() {
        let start = rest[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = rest[end..].find('\n').map_or(rest.len(), |newline| end + newline + 1);
        let start = if rest[..start].ends_with("\n\n") { start - 1 } else { start };
        rest.replace_range(start..end, "");
    }
    Ok(rest)
}

/// The ranges of a table and its subtables, from the header to the end of the last value.
fn collect_spans(table: &Table, spans: &mut Vec<(usize, usize)>) {
    let Some(header) = table.span().filter(|_| !table.is_implicit() && !table.is_dotted()) else {
        table.iter().filter_map(|(_, item)| item.as_table()).for_each(|table| collect_spans(table, spans));
        return;
    };
    let mut end = header.end;
    for (_, item) in table {
        match item.as_table().filter(|table| !table.is_dotted()) {
            Some(table) => collect_spans(table, spans),
            None => end = end.max(item.span().map_or(end, |span| span.end)),
        }
    }
    spans.push((header.start, end));
}

fn server_mut<'d>(document: &'d mut DocumentMut, name: &str) -> Option<&'d mut dyn TableLike> {
    document.get_mut(KEY)?.as_table_like_mut()?.get_mut(name)?.as_table_like_mut()
}

/// Sets a value, and keeps the whitespace and comments around the old one.
fn set_value(table: &mut dyn TableLike, key: &str, mut value: Value) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table.insert(key, toml_edit::value(value));
}
