//! Parses and formats JSON, and reports texts with a structure that hosts do not accept.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};

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
pub(super) fn root_object(root: &CstRootNode) -> Result<CstObject, EditError> {
    let what = "it should be an object, as in { … }".to_owned();
    root.object_value_or_create().ok_or(EditError::Shape { line: 1, what })
}

pub(super) fn shape_error(text: &str, key: &str, wanted: &str) -> EditError {
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

pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
