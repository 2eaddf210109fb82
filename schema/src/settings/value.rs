//! Values of settings, as they stand in files and, as text, in the environment.

use std::ops::RangeInclusive;

use toml::de::DeValue as Value;

use super::Weights;
use crate::age::Age;

/// The most patterns or globs of one file, and the longest of them in bytes.
const MOST_TEXTS: usize = 100;
const LONGEST_TEXT: usize = 1_000;

pub(super) fn word<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    value.as_str()
}

pub(super) fn switch(value: &Value<'_>) -> Option<bool> {
    match (value, word(value)) {
        (Value::Boolean(on), _) => Some(*on),
        (_, Some("on" | "true" | "yes" | "1")) => Some(true),
        (_, Some("off" | "false" | "no" | "0")) => Some(false),
        _ => None,
    }
}

pub(super) fn number(value: &Value<'_>, range: RangeInclusive<usize>) -> Option<usize> {
    let number = match value {
        Value::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => word(value)?.parse().ok(),
    };
    number.filter(|number| range.contains(number))
}

pub(super) fn texts(value: &Value<'_>) -> Option<Vec<String>> {
    let list = value.as_array().filter(|list| list.len() <= MOST_TEXTS)?;
    let is_fit = |text: &&str| !text.is_empty() && text.len() <= LONGEST_TEXT;
    list.iter().map(|item| word(item.as_ref()).filter(is_fit).map(str::to_owned)).collect()
}

/// What a text says, or nothing where it is `never`.
pub(super) fn unless_never<T>(value: &Value<'_>, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    match word(value)? {
        "never" => Some(None),
        text => read(text).map(Some),
    }
}

/// An age such as `180d`, `26w`, `6mo` or `1y`, in days. What was set before there was one grammar of ages may say `6m` for months.
pub fn days(text: &str) -> Option<u32> {
    let months = text.trim().strip_suffix(['m', 'M']).map(|number| format!("{number}mo"));
    Age::parse(months.as_deref().unwrap_or(text))?.days().filter(|days| *days > 0)
}

/// A size such as `500KB`, `50MB` or `1GB`, in bytes.
pub fn bytes(text: &str) -> Option<u64> {
    let (number, bytes) = with_unit(text, &[("kb", 1_000), ("mb", 1_000_000), ("gb", 1_000_000_000), ("b", 1)])?;
    number.checked_mul(bytes)
}

fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<(u64, u64)> {
    let text = text.trim().to_ascii_lowercase();
    let (number, unit) = units.iter().find_map(|(unit, worth)| Some((text.strip_suffix(unit)?, *worth)))?;
    Some((number.trim().parse().ok()?, unit))
}

/// A named preset, or three numbers such as `65/35/5`; `Some(None)` are those that were measured.
pub(super) fn weights(value: &Value<'_>) -> Option<Option<Weights>> {
    match word(value)? {
        "measured" => Some(None),
        "stated" => Some(Some(Weights::STATED)),
        text => {
            let numbers: Vec<u16> = text.split('/').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
            let [words, kin, vector] = numbers[..] else { return None };
            let is_possible = numbers.iter().all(|number| *number <= 100) && numbers.iter().any(|number| *number > 0);
            is_possible.then_some(Some(Weights { words, kin, vector }))
        }
    }
}
