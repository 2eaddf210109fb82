//! One pass over a text that finds where the triggers of all rules stand.
//!
//! Most pairs of letters begin no trigger, so most bytes cost one lookup in a table of bits.

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

/// The triggers by the pair of bytes with which they begin.
struct Table {
    /// The pairs with which any trigger begins: small enough to stay in the nearest cache.
    pairs: Vec<u64>,
    /// For such a pair, its place in `lists`.
    places: Vec<u8>,
    lists: Vec<Vec<(&'static str, usize)>>,
}

impl Table {
    fn of_rules() -> Self {
        let mut table = Self { pairs: vec![0; 1 << 10], places: vec![0; 1 << 16], lists: Vec::new() };
        for (rule, entry) in RULES.iter().enumerate() {
            for trigger in entry.triggers {
                table.insert(trigger, rule);
            }
        }
        table
    }

    fn insert(&mut self, trigger: &'static str, rule: usize) {
        let (first, second) = (trigger.as_bytes()[0], trigger.as_bytes()[1]);
        let folded = pair(first.to_ascii_lowercase(), second.to_ascii_lowercase());
        if !self.begins(first.to_ascii_lowercase(), second.to_ascii_lowercase()) {
            self.places[folded] = u8::try_from(self.lists.len()).expect("a test counts the pairs of the rules");
            self.lists.push(Vec::new());
        }
        let place = self.places[folded];
        for first in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
            for second in [second.to_ascii_lowercase(), second.to_ascii_uppercase()] {
                let pair = pair(first, second);
                self.pairs[pair / 64] |= 1 << (pair % 64);
                self.places[pair] = place;
            }
        }
        self.lists[usize::from(place)].push((trigger, rule));
    }

    fn begins(&self, first: u8, second: u8) -> bool {
        let pair = pair(first, second);
        self.pairs[pair / 64] & (1 << (pair % 64)) != 0
    }

    fn at<'b>(&'static self, bytes: &'b [u8], at: usize) -> impl Iterator<Item = Occurrence> + use<'b> {
        let candidates = &self.lists[usize::from(self.places[pair(bytes[at], bytes[at + 1])])];
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
