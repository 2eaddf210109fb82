//! English words: normalization, words that occur in any text, number words and units.

use crate::prose::word_set::WordSet;

/// Converts a word to lower case and removes plural and possessive endings. A name with digits or symbols stays as it is.
pub(super) fn fold(word: &str) -> String {
    let lower = word.trim_end_matches("'s").trim_end_matches("’s").to_lowercase().replace('\'', "");
    if !lower.bytes().all(|byte| byte.is_ascii_lowercase()) || lower.len() < 4 {
        return lower;
    }
    for (ending, instead) in [("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")] {
        if let Some(stem) = lower.strip_suffix(ending) {
            return format!("{stem}{instead}");
        }
    }
    match lower.strip_suffix('s') {
        Some(stem) if !stem.ends_with(['s', 'u', 'i']) => stem.to_owned(),
        _ => lower,
    }
}

/// Whether a normalized word occurs in any text: a function word, a question word, or a verb or adjective of everyday work.
pub(super) fn is_common(word: &str) -> bool {
    COMMON.contains(word)
}

/// Parses a number word.
pub(super) fn number(word: &str) -> Option<f64> {
    const WORDS: [(&str, f64); 17] = [
        ("two", 2.0),
        ("three", 3.0),
        ("four", 4.0),
        ("five", 5.0),
        ("six", 6.0),
        ("seven", 7.0),
        ("eight", 8.0),
        ("nine", 9.0),
        ("ten", 10.0),
        ("twelve", 12.0),
        ("fifteen", 15.0),
        ("twenty", 20.0),
        ("thirty", 30.0),
        ("forty", 40.0),
        ("sixty", 60.0),
        ("ninety", 90.0),
        ("hundred", 100.0),
    ];
    WORDS.iter().find(|(listed, _)| *listed == word).map(|(_, number)| *number)
}

/// Whether a normalized word is a unit.
pub(super) fn is_unit(word: &str) -> bool {
    UNITS.iter().any(|(name, ..)| *name == word)
}

/// Returns the base unit of a unit and its factor: an hour is 3,600 seconds.
pub(super) fn unit(word: &str) -> (&str, f64) {
    UNITS.iter().find(|(name, ..)| *name == word).map_or((word, 1.0), |(_, unit, factor)| (*unit, *factor))
}

/// Units, their base units and their factors.
const UNITS: [(&str, &str, f64); 99] = [
    ("%", "percent", 1.0),
    ("bit", "bit", 1.0),
    ("byte", "byte", 1.0),
    ("character", "character", 1.0),
    ("char", "character", 1.0),
    ("col", "column", 1.0),
    ("column", "column", 1.0),
    ("connection", "connection", 1.0),
    ("core", "core", 1.0),
    ("cpu", "core", 1.0),
    ("d", "second", 86_400.0),
    ("day", "second", 86_400.0),
    ("dollar", "dollar", 1.0),
    ("epoch", "epoch", 1.0),
    ("eur", "euro", 1.0),
    ("euro", "euro", 1.0),
    ("fps", "fps", 1.0),
    ("frame", "frame", 1.0),
    ("gb", "byte", 1_000_000_000.0),
    ("gi", "byte", 1_073_741_824.0),
    ("gib", "byte", 1_073_741_824.0),
    ("h", "second", 3_600.0),
    ("hour", "second", 3_600.0),
    ("hr", "second", 3_600.0),
    ("hz", "hz", 1.0),
    ("item", "item", 1.0),
    ("k", "k", 1.0),
    ("kb", "byte", 1_000.0),
    ("khz", "hz", 1_000.0),
    ("ki", "byte", 1_024.0),
    ("kib", "byte", 1_024.0),
    ("layer", "layer", 1.0),
    ("line", "line", 1.0),
    ("m", "m", 1.0),
    ("mb", "byte", 1_000_000.0),
    ("mhz", "hz", 1_000_000.0),
    ("mi", "byte", 1_048_576.0),
    ("mib", "byte", 1_048_576.0),
    ("min", "second", 60.0),
    ("minute", "second", 60.0),
    ("mm", "mm", 1.0),
    ("month", "second", 2_592_000.0),
    ("ms", "second", 0.001),
    ("millisecond", "second", 0.001),
    ("node", "node", 1.0),
    ("page", "page", 1.0),
    ("partition", "partition", 1.0),
    ("percent", "percent", 1.0),
    ("pixel", "px", 1.0),
    ("pod", "pod", 1.0),
    ("px", "px", 1.0),
    ("replica", "replica", 1.0),
    ("req", "request", 1.0),
    ("request", "request", 1.0),
    ("retry", "retry", 1.0),
    ("row", "row", 1.0),
    ("rps", "rps", 1.0),
    ("s", "second", 1.0),
    ("sec", "second", 1.0),
    ("second", "second", 1.0),
    ("shard", "shard", 1.0),
    ("space", "space", 1.0),
    ("step", "step", 1.0),
    ("tab", "tab", 1.0),
    ("tb", "byte", 1_000_000_000_000.0),
    ("thread", "thread", 1.0),
    ("time", "time", 1.0),
    ("token", "token", 1.0),
    ("usd", "dollar", 1.0),
    ("v", "volt", 1.0),
    ("volt", "volt", 1.0),
    ("week", "second", 604_800.0),
    ("worker", "worker", 1.0),
    ("x", "time", 1.0),
    ("year", "second", 31_536_000.0),
    ("개", "item", 1.0),
    ("개월", "second", 2_592_000.0),
    ("건", "item", 1.0),
    ("글자", "character", 1.0),
    ("년", "second", 31_536_000.0),
    ("달", "second", 2_592_000.0),
    ("대", "node", 1.0),
    ("명", "person", 1.0),
    ("바이트", "byte", 1.0),
    ("배", "time", 1.0),
    ("번", "time", 1.0),
    ("분", "second", 60.0),
    ("비트", "bit", 1.0),
    ("시간", "second", 3_600.0),
    ("원", "won", 1.0),
    ("일", "second", 86_400.0),
    ("자", "character", 1.0),
    ("장", "page", 1.0),
    ("주", "second", 604_800.0),
    ("줄", "line", 1.0),
    ("초", "second", 1.0),
    ("퍼센트", "percent", 1.0),
    ("프레임", "frame", 1.0),
    ("회", "time", 1.0),
];

/// Normalized words, so verbs have lost only the endings that look like plurals.
static COMMON: WordSet = WordSet::new("
    a about above across actually add added adding after again against ago all allow allowed almost along already also alway although
    always am an and annoying another any anybody anymore anyone anything anyway appear apply applied approach are aren arent around as
    ask asked at available avoid away back based basically be because become been before begin behind being below best better
    between big bit both bring build building built but by call called came can cannot cant care case cause certain change changed
    changing check checked choice choose choosing chose chosen clean clear close come common complete completely consider could couldn
    couldnt create created current currently day deal decide decided decision default definitely depend did didn didnt different do doe
    does doesn doesnt doing don done dont down drop dropped dropping due during each early easy either else end enough ensure entire even
    ever every everybody everyone everything exactly example except expect explain extra fact fail failed fail fairly far fast
    feel few final finally find fine finish finished first fix fixed fixing follow following for found from full fully further gave general
    get getting give given go goe goes going gone good got great had happen happened hard has hasn hasnt have haven having he
    hear help her here hi high him his hold how however i idea if im important in inside instead interesting into is isn isnt issue it its
    itself ive just keep keeping kept kind know known large last late later latest least leave left less let lets like likely list little
    live lives living ll long longer look looked looking lot low made mainly make making many matter may maybe me mean means meant
    might mine minor more most mostly move moved moving much must my myself name near nearly need needed neither never new newer next nice
    no nobody none nor normal normally not note nothing now number of off often oh ok okay old older on once one only onto
    open option or other our out over own part particular past per perhap pick picked place plain please point possible prefer
    preferred prefers pretty previous previously probably problem proper properly provide put quick quickly quite rather re read ready
    real really reason recent regard related remain remember remove removed removing replace replaced replacing require required rest result
    right run running runs safe said same saw say see seem seen self send set setting several shall she short should shouldn show shown side
    similar simple simply since single slightly small so some somebody someone something sometime soon sort special specific stand start
    started state stay step still stop stopped stopping store stored stores storing sure switch switched switching t take taken taking talk
    team tell than thank that the their them themselves then there therefore these they thing think third this those though thought through
    thus till time to today together told tomorrow too took top total toward tried try trying turn turned type under unless until up upon us
    use used useful user uses using usual usually ve very via wa want wanted was wasn wasnt way we well went were weren what
    whatever when where whether which while who whole whose why will wish with within without won wont work worked working would wouldn
    wouldnt write writing written wrong yeah year yes yesterday yet you your yourself
");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_listed_once() {
        let mut names: Vec<&str> = UNITS.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), UNITS.len());
    }

    #[test]
    fn plurals_are_normalized_and_other_words_stay() {
        for (word, expected) in [
            ("Sessions", "session"),
            ("entries", "entry"),
            ("patches", "patch"),
            ("Redis", "redis"),
            ("status", "status"),
            ("process", "process"),
            ("API's", "api"),
            ("v1.2", "v1.2"),
            ("bus", "bus"),
        ] {
            assert_eq!(fold(word), expected);
        }
    }
}
