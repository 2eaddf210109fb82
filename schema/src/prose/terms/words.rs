//! English words: normalization, words that occur in any text, number words and units.

use crate::model::word_list::WordList;

/// Converts a word to lower case and removes plural and possessive endings. A name with digits or symbols stays as it is.
pub(super) fn fold(word: &str) -> String {
    let mut owner = word;
    while let Some(stem) = owner.strip_suffix("'s").or_else(|| owner.strip_suffix("’s")) {
        owner = stem;
    }
    let mut lower = owner.to_lowercase();
    lower.retain(|c| c != '\'');
    if !lower.bytes().all(|byte| byte.is_ascii_lowercase()) || lower.len() < 4 {
        return lower;
    }
    for (ending, instead) in [("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")] {
        if let Some(stem) = lower.strip_suffix(ending) {
            return format!("{stem}{instead}");
        }
    }
    if lower.ends_with('s') && !["ss", "us", "is"].iter().any(|ending| lower.ends_with(ending)) {
        lower.pop();
    }
    lower
}

/// Returns the number of a month.
pub(super) fn month(word: &str) -> Option<f64> {
    static MONTHS: WordList = WordList::phrases(
        "jan 1|january 1|feb 2|february 2|mar 3|march 3|apr 4|april 4|may 5|jun 6|june 6|jul 7|july 7|aug 8|august 8|sep 9|\
         sept 9|september 9|oct 10|october 10|nov 11|november 11|dec 12|december 12",
    );
    MONTHS.value(word)?.parse().ok()
}

/// Parses a number word.
pub(super) fn number(word: &str) -> Option<f64> {
    static WORDS: WordList = WordList::phrases(
        "two 2|three 3|four 4|five 5|six 6|seven 7|eight 8|nine 9|ten 10|twelve 12|fifteen 15|twenty 20|thirty 30|forty 40|\
         sixty 60|ninety 90|hundred 100",
    );
    WORDS.value(word)?.parse().ok()
}

/// Whether a normalized word is a unit.
pub(super) fn is_unit(word: &str) -> bool {
    UNITS.value(word).is_some()
}

/// Returns the base unit of a unit and its factor: an hour is 3,600 seconds.
pub(super) fn unit(word: &str) -> (&str, f64) {
    let Some(unit) = UNITS.value(word) else { return (word, 1.0) };
    unit.split_once(' ').map_or((unit, 1.0), |(unit, factor)| (unit, factor.parse().unwrap_or(1.0)))
}

/// Units with their base units, and with their factors unless these are 1.
static UNITS: WordList = WordList::phrases(
    "% percent|bit bit|byte byte|character character|char character|col column|column column|connection connection|\
     core core|cpu core|d second 86400|day second 86400|dollar dollar|epoch epoch|eur euro|euro euro|fps fps|\
     frame frame|gb byte 1000000000|gi byte 1073741824|gib byte 1073741824|h second 3600|hour second 3600|\
     hr second 3600|hz hz|item item|k k|kb byte 1000|khz hz 1000|ki byte 1024|kib byte 1024|layer layer|line line|m m|\
     mb byte 1000000|mhz hz 1000000|mi byte 1048576|mib byte 1048576|min second 60|minute second 60|mm mm|\
     month second 2592000|ms second 0.001|millisecond second 0.001|node node|page page|partition partition|\
     percent percent|pixel px|pod pod|px px|replica replica|req request|request request|retry retry|row row|rps rps|\
     s second|sec second|second second|shard shard|space space|step step|tab tab|tb byte 1000000000000|thread thread|\
     time time|token token|usd dollar|v volt|volt volt|week second 604800|worker worker|x time|year second 31536000|\
     개 item|개월 second 2592000|건 item|글자 character|년 second 31536000|달 second 2592000|대 node|명 person|바이트 byte|배 time|\
     번 time|분 second 60|비트 bit|시 clock 60|시간 second 3600|원 won|일 second 86400|자 character|장 page|주 second 604800|줄 line|초 second|\
     퍼센트 percent|프레임 frame|회 time|만  10000",
);

/// Words that occur in any text: function words, question words, and verbs and adjectives of everyday work. They are normalized, so verbs
/// have lost only the endings that look like plurals.
pub(super) static COMMON: WordList = WordList::words(
    "a about above across actually add added adding after again against ago all allow allowed almost along already \
     also alway although always am an and annoying another any anybody anymore anyone anything anyway appear apply \
     applied approach are aren arent around as ask asked at available avoid away back based basically be because \
     become been before begin behind being below best better between big bit both bring build building built but by \
     call called came can cannot cant care case cause certain change changed changing check checked choice choose \
     choosing chose chosen clean clear close come common complete completely consider could couldn couldnt create \
     created current currently day deal decide decided decision default definitely depend did didn didnt different do \
     doe does doesn doesnt doing don done dont down drop dropped dropping due during each early easy either else end \
     enough ensure entire even ever every everybody everyone everything exactly example except expect explain extra \
     fact fail failed fail fairly far fast feel few final finally find fine finish finished first fix fixed fixing \
     follow following for found from full fully further gave general get getting give given go goe goes going gone \
     good got great had happen happened hard has hasn hasnt have haven having he hear help her here hi high him his \
     hold how however i idea if im important in inside instead interesting into is isn isnt issue it its itself ive \
     just keep keeping kept kind know known large last late later latest least leave left less let lets like likely \
     list little live lives living ll long longer look looked looking lot low made mainly make making many matter may \
     maybe me mean means meant might mine minor more most mostly move moved moving much must my myself name near \
     nearly need needed neither never new newer next nice no nobody none nor normal normally not note nothing now \
     number of off often oh ok okay old older on once one only onto open option or other our out over own part \
     particular past per perhap pick picked place plain please point possible prefer preferred prefers pretty previous \
     previously probably problem proper properly provide put quick quickly quite rather re read ready real really \
     reason recent regard related remain remember remove removed removing replace replaced replacing require required \
     rest result right run running runs safe said same saw say see seem seen self send set setting several shall she \
     short should shouldn show shown side similar simple simply since single slightly small so some somebody someone \
     something sometime soon sort special specific stand start started state stay step still stop stopped stopping \
     store stored stores storing sure switch switched switching t take taken taking talk team tell than thank that the \
     their them themselves then there therefore these they thing think third this those though thought through thus \
     till time to today together told tomorrow too took top total toward tried try trying turn turned type under \
     unless until up upon us use used useful user uses using usual usually ve very via wa want wanted was wasn wasnt \
     way we well went were weren what whatever when where whether which while who whole whose why will wish with \
     within without won wont work worked working would wouldn wouldnt write writing written wrong yeah year yes \
     yesterday yet you your yourself",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_listed_once() {
        let mut names: Vec<&str> = UNITS.iter().filter_map(|entry| entry.split(' ').next()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), UNITS.len());
    }

    #[test]
    fn factors_are_numbers() {
        let factors: Vec<&str> = UNITS.iter().filter_map(|entry| entry.split(' ').nth(2)).collect();
        assert!(factors.len() > 20 && factors.iter().all(|factor| factor.parse::<f64>().is_ok()), "{factors:?}");
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
