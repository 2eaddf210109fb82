//! One pass over a text that finds where the triggers of all rules stand.
//!
//! Most pairs of letters begin no trigger, so most bytes cost one look into a table of bits.

use std::sync::LazyLock;

use super::rules::RULES;

/// A trigger that stands in a text.
pub(super) struct Occurrence {
    /// The byte offset at which it starts.
    pub(super) at: usize,
    /// The trigger as its rule spells it.
    pub(super) trigger: &'static str,
    /// The index of its rule.
    pub(super) rule: usize,
}

/// Every occurrence of every trigger by position; at the same position, in the order of the rules.
pub(super) fn occurrences(text: &str) -> impl Iterator<Item = Occurrence> {
    let table: &'static Table = &TABLE;
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(1))
        .filter(|&at| table.begins(bytes[at], bytes[at + 1]))
        .flat_map(move |at| table.at(bytes, at))
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::of_rules);

/// The triggers by their first byte, and the pairs of bytes with which any of them begins.
struct Table {
    pairs: Vec<u64>,
    by_first: Vec<Vec<(&'static str, usize)>>,
}

impl Table {
    fn of_rules() -> Self {
        let mut table = Self { pairs: vec![0; 1 << 10], by_first: vec![Vec::new(); 1 << 8] };
        for (rule, entry) in RULES.iter().enumerate() {
            for trigger in entry.triggers {
                table.insert(trigger, rule);
            }
        }
        table
    }

    fn insert(&mut self, trigger: &'static str, rule: usize) {
        let (first, second) = (trigger.as_bytes()[0], trigger.as_bytes()[1]);
        for first in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
            for second in [second.to_ascii_lowercase(), second.to_ascii_uppercase()] {
                let pair = pair(first, second);
                self.pairs[pair / 64] |= 1 << (pair % 64);
            }
        }
        self.by_first[usize::from(first.to_ascii_lowercase())].push((trigger, rule));
    }

    fn begins(&self, first: u8, second: u8) -> bool {
        let pair = pair(first, second);
        self.pairs[pair / 64] & (1 << (pair % 64)) != 0
    }

    fn at<'b>(&'static self, bytes: &'b [u8], at: usize) -> impl Iterator<Item = Occurrence> + use<'b> {
        let candidates = &self.by_first[usize::from(bytes[at].to_ascii_lowercase())];
        candidates
            .iter()
            .filter(move |(trigger, rule)| {
                let Some(found) = bytes.get(at..at + trigger.len()) else { return false };
                if RULES[*rule].exact {
                    found == trigger.as_bytes()
                } else {
                    found.eq_ignore_ascii_case(trigger.as_bytes())
                }
            })
            .map(move |&(trigger, rule)| Occurrence { at, trigger, rule })
    }
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}
