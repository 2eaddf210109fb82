//! Finds the triggers of all rules in one pass over a text.
//!
//! Most pairs of bytes start no trigger, so most bytes cost one lookup in a bit table.

use super::rules::RULES;

/// Returns all occurrences of all triggers with their byte offsets, ordered by position and then by rule.
pub(super) fn trigger_matches(text: &str) -> impl Iterator<Item = (usize, TriggerEntry)> {
    let table: &'static TriggerTable = &TABLE;
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(1))
        .filter(|&at| table.begins(bytes[at], bytes[at + 1]))
        .flat_map(move |at| table.matches_at(bytes, at).map(move |entry| (at, entry)))
}

/// Built at compile time. At run time it would be half of a hook's instructions.
static TABLE: TriggerTable = TriggerTable::from_rules();

/// The number of triggers of all rules. Any other number fails to compile.
const COUNT: usize = 332;

/// A trigger of a rule.
#[derive(Clone, Copy)]
pub(super) struct TriggerEntry {
    /// The trigger as its rule spells it.
    pub(super) trigger: &'static str,
    /// The index of its rule.
    pub(super) rule: usize,
}

impl TriggerEntry {
    /// Returns the byte of the trigger at `place`, in lower case.
    const fn byte(self, place: usize) -> u8 {
        self.trigger.as_bytes()[place].to_ascii_lowercase()
    }
}

/// The triggers, indexed by their first two bytes.
struct TriggerTable {
    /// A bit for each pair of bytes that starts a trigger. It is small enough for the L1 cache.
    pairs: [u64; 1 << 10],
    /// The position of the first entry for each first byte, in lower case.
    starts: [u16; (1 << 8) + 1],
    /// Sorted by the first two bytes in lower case, then in the order of the rules.
    entries: [TriggerEntry; COUNT],
}

impl TriggerTable {
    const fn from_rules() -> Self {
        let mut entries = [TriggerEntry { trigger: "", rule: 0 }; COUNT];
        let mut pairs = [0; 1 << 10];
        let (mut rule, mut filled) = (0, 0);
        while rule < RULES.len() {
            let triggers = RULES[rule].triggers;
            let mut at = 0;
            while at < triggers.len() {
                entries[filled] = TriggerEntry { trigger: triggers[at], rule };
                mark_pairs(&mut pairs, triggers[at].as_bytes());
                filled += 1;
                at += 1;
            }
            rule += 1;
        }
        assert!(filled == COUNT, "COUNT is not the number of triggers");
        let (entries, _) = sort_entries(&entries, 1);
        let (entries, starts) = sort_entries(&entries, 0);
        Self { pairs, starts, entries }
    }

    fn begins(&self, first: u8, second: u8) -> bool {
        let pair = pair(first, second);
        self.pairs[pair / 64] & (1 << (pair % 64)) != 0
    }

    fn matches_at<'b>(&'static self, bytes: &'b [u8], at: usize) -> impl Iterator<Item = TriggerEntry> + use<'b> {
        let (first, second) = (usize::from(bytes[at].to_ascii_lowercase()), bytes[at + 1].to_ascii_lowercase());
        let same_first = &self.entries[usize::from(self.starts[first])..usize::from(self.starts[first + 1])];
        let candidates = &same_first[same_first.partition_point(|entry| entry.byte(1) < second)..];
        candidates
            .iter()
            .take_while(move |entry| entry.byte(1) == second)
            .filter(move |TriggerEntry { trigger, rule }| {
                let Some(found) = bytes.get(at..at + trigger.len()) else { return false };
                if RULES[*rule].exact {
                    found == trigger.as_bytes()
                } else {
                    found.eq_ignore_ascii_case(trigger.as_bytes())
                }
            })
            .copied()
    }
}

/// Marks the pairs that start a trigger, in upper and lower case.
const fn mark_pairs(pairs: &mut [u64; 1 << 10], trigger: &[u8]) {
    let firsts = [trigger[0].to_ascii_lowercase(), trigger[0].to_ascii_uppercase()];
    let seconds = [trigger[1].to_ascii_lowercase(), trigger[1].to_ascii_uppercase()];
    let mut which = 0;
    while which < 4 {
        let pair = pair(firsts[which / 2], seconds[which % 2]);
        pairs[pair / 64] |= 1 << (pair % 64);
        which += 1;
    }
}

/// Sorts the entries by one byte of their triggers with a stable counting sort. Also returns the position of the first entry for each byte.
const fn sort_entries(entries: &[TriggerEntry; COUNT], place: usize) -> ([TriggerEntry; COUNT], [u16; (1 << 8) + 1]) {
    let mut starts = [0; (1 << 8) + 1];
    let mut at = 0;
    while at < COUNT {
        starts[entries[at].byte(place) as usize + 1] += 1;
        at += 1;
    }
    let mut byte = 1;
    while byte < starts.len() {
        starts[byte] += starts[byte - 1];
        byte += 1;
    }
    let (mut next, mut out) = (starts, *entries);
    at = 0;
    while at < COUNT {
        let byte = entries[at].byte(place) as usize;
        out[next[byte] as usize] = entries[at];
        next[byte] += 1;
        at += 1;
    }
    (out, starts)
}

const fn pair(first: u8, second: u8) -> usize {
    (first as usize) << 8 | second as usize
}
