//! Parses and formats JSON, reports texts with a structure that hosts do not accept, and appends values to objects and lists. A multi-line
//! container gets a new line; a one-line container stays on one line.

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::setup::settings_text::EditError;

/// Hosts accept comments and trailing commas, but no other extensions.
pub(super) const OPTIONS: ParseOptions = ParseOptions {
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

pub(super) fn parse_json(text: &str) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| EditError::Syntax {
        line: error.line_display(),
        column: error.column_display(),
        what: error.kind().to_string(),
    })
}

/// The outermost object. An empty file counts as an empty object.
fn root_object(root: &CstRootNode) -> Result<CstObject, EditError> {
    let what = "it should be an object, as in { … }".to_owned();
    root.object_value_or_create().ok_or(EditError::Shape { line: 1, what })
}

fn shape_error(text: &str, key: &str, wanted: &str) -> EditError {
    let quoted = format!("\"{key}\"");
    let line = text.lines().position(|line| line.contains(&quoted)).map_or(1, |line| line + 1);
    EditError::Shape { line, what: format!("{quoted} should be {wanted}") }
}

/// Formats a value on one line.
pub(in crate::setup) fn to_one_line(value: &CstInputValue) -> String {
    match value {
        CstInputValue::Null => "null".to_owned(),
        CstInputValue::Bool(value) => value.to_string(),
        CstInputValue::Number(value) => value.clone(),
        CstInputValue::String(value) => quote(value),
        CstInputValue::Array(values) => format!("[{}]", values.iter().map(to_one_line).collect::<Vec<_>>().join(", ")),
        CstInputValue::Object(properties) => {
            let property = |(key, value): &(String, CstInputValue)| format!("{}: {}", quote(key), to_one_line(value));
            format!("{{ {} }}", properties.iter().map(property).collect::<Vec<_>>().join(", "))
        }
    }
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Appends `value` to the container at `path`, with the property name `key` or as a list element. Creates missing containers.
pub(super) fn append_value(
    text: &str,
    path: &[&str],
    key: Option<&str>,
    value: CstInputValue,
) -> Result<String, EditError> {
    let root = parse_json(text)?;
    // Fails if the text is not an object. An empty file gets an object.
    let mut object = root_object(&root)?;
    let text = if text.trim().is_empty() { root.to_string() } else { text.to_owned() };
    let wanted = if key.is_some() { "an object" } else { "a list" };
    let Some((last, way)) = path.split_last() else {
        return Ok(append_after_last(&text, path, key, &value).unwrap_or_else(|| {
            object.append(key.unwrap_or_default(), value);
            root.to_string()
        }));
    };
    let mut is_missing = false;
    for step in way {
        match object.get(step) {
            Some(property) => object = property.object_value().ok_or_else(|| shape_error(&text, step, "an object"))?,
            None => {
                is_missing = true;
                break;
            }
        }
    }
    if is_missing || object.get(last).is_none() {
        let inner = match key {
            Some(key) => CstInputValue::Object(vec![(key.to_owned(), value)]),
            None => CstInputValue::Array(vec![value]),
        };
        return append_value(&text, way, Some(last), inner);
    }
    if let Some(done) = append_after_last(&text, path, key, &value) {
        return Ok(done);
    }
    match (key, object.object_value(last), object.array_value(last)) {
        (Some(key), Some(inner), _) => drop(inner.append(key, value)),
        (None, _, Some(list)) => drop(list.append(value)),
        _ => return Err(shape_error(&text, last, wanted)),
    }
    Ok(root.to_string())
}

/// Placeholder for a value that is written on one line afterwards.
const PLACEHOLDER: &str = "jikime-memory: a value on one line";

/// Appends a list element on one line, so that people can read it easily before they confirm.
pub(super) fn append_line(text: &str, path: &[&str], value: &CstInputValue) -> Result<String, EditError> {
    let text = append_value(text, path, None, PLACEHOLDER.into())?;
    Ok(text.replacen(&quote(PLACEHOLDER), &to_one_line(value), 1))
}

fn value_at<'v, 't>(value: &'v Value<'t>, path: &[&str]) -> Option<&'v Value<'t>> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Object(object) => {
            object.properties.iter().find(|property| property.name.as_str() == *step).map(|property| &property.value)
        }
        _ => None,
    })
}

/// Inserts the value directly after the last one if the closing bracket is on the same line.
fn append_after_last(text: &str, path: &[&str], key: Option<&str>, value: &CstInputValue) -> Option<String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).ok()?;
    let (start, end, first, last) = match (value_at(parsed.value.as_ref()?, path)?, key) {
        (Value::Object(object), Some(_)) => {
            let (first, last) = (object.properties.first()?, object.properties.last()?);
            (object.range.start, object.range.end, first.range.start, last.range.end)
        }
        (Value::Array(list), None) => {
            let (first, last) = (list.elements.first()?, list.elements.last()?);
            (list.range.start, list.range.end, first.start(), last.end())
        }
        _ => return None,
    };
    let has_lines = text[start..first].contains('\n') && text[last..end].contains('\n');
    let key = key.map(|key| format!("{}: ", quote(key))).unwrap_or_default();
    (!has_lines).then(|| format!("{}, {key}{}{}", &text[..last], to_one_line(value), &text[last..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_containers_stay_on_one_line() {
        let value = || CstInputValue::Object(vec![("a".to_owned(), CstInputValue::Bool(true))]);
        for (text, path, key, expected) in [
            (r#"{"x": 1}"#, &[][..], Some("n"), r#"{"x": 1, "n": { "a": true }}"#),
            (r#"{"x": 1}"#, &["s"], Some("n"), r#"{"x": 1, "s": { "n": { "a": true } }}"#),
            (r#"{"x": {"l": [1, 2,]}}"#, &["x", "l"], None, r#"{"x": {"l": [1, 2, { "a": true },]}}"#),
            (r#"{"x": {"y": 1 /* c */}}"#, &["x"], Some("n"), r#"{"x": {"y": 1, "n": { "a": true } /* c */}}"#),
            ("{\"x\": [\n  1\n]}", &["y"], None, "{\"x\": [\n  1\n], \"y\": [{ \"a\": true }]}"),
            ("{\n  \"x\": [1]\n}\n", &["x"], None, "{\n  \"x\": [1, { \"a\": true }]\n}\n"),
            (
                "{\n  \"x\": {}\n}\n",
                &["x", "y"],
                None,
                "{\n  \"x\": {\n    \"y\": [\n      {\n        \"a\": true\n      }\n    ]\n  }\n}\n",
            ),
        ] {
            assert_eq!(append_value(text, path, key, value()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn element_is_appended_on_one_line() {
        let value = CstInputValue::Object(vec![("a".to_owned(), CstInputValue::Bool(true))]);
        for (text, expected) in [
            ("{}\n", "{\n  \"x\": {\n    \"y\": [{ \"a\": true }]\n  }\n}\n"),
            (
                "{\n\t\"x\": {\n\t\t\"z\": [1], // last\n\t},\n}\n",
                "{\n\t\"x\": {\n\t\t\"z\": [1], // last\n\t\t\"y\": [{ \"a\": true }],\n\t},\n}\n",
            ),
            (
                "{ \"x\": {\n  \"y\": [\n    { \"b\": 1 }\n  ]\n} }",
                "{ \"x\": {\n  \"y\": [\n    { \"b\": 1 },\n    { \"a\": true }\n  ]\n} }",
            ),
        ] {
            assert_eq!(append_line(text, &["x", "y"], &value).unwrap(), expected);
        }
    }

    #[test]
    fn wrong_container_kind_is_rejected() {
        for (text, path, key, what) in [
            ("[]", &["x"][..], Some("n"), "it should be an object"),
            ("{\n\"x\": []}", &["x"], Some("n"), "line 2: \"x\" should be an object"),
            ("{\"x\": {}}", &["x"], None, "\"x\" should be a list"),
            ("{\"x\": 1}", &["x", "y"], None, "\"x\" should be an object"),
        ] {
            let error = append_value(text, path, key, CstInputValue::Null).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
