//! Values of settings, as they stand in files and, as text, in the environment.

use std::ops::RangeInclusive;

use toml::Value;

/// The most patterns or globs of one file, and the longest of them in bytes.
const MOST_TEXTS: usize = 100;
const LONGEST_TEXT: usize = 1_000;

pub(super) fn word(value: &Value) -> Option<&str> {
    value.as_str()
}

pub(super) fn switch(value: &Value) -> Option<bool> {
    match (value, word(value)) {
        (Value::Boolean(on), _) => Some(*on),
        (_, Some("on" | "true" | "1")) => Some(true),
        (_, Some("off" | "false" | "0")) => Some(false),
        _ => None,
    }
}

pub(super) fn number(value: &Value, range: RangeInclusive<usize>) -> Option<usize> {
    let number = match value {
        Value::Integer(number) => usize::try_from(*number).ok(),
        _ => word(value)?.parse().ok(),
    };
    number.filter(|number| range.contains(number))
}

pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array().filter(|list| list.len() <= MOST_TEXTS)?;
    let is_fit = |text: &&str| !text.is_empty() && text.len() <= LONGEST_TEXT;
    list.iter().map(|item| word(item).filter(is_fit).map(str::to_owned)).collect()
}
