//! Finds what a task waits for, and whether a text says that it has happened.

use std::ops::Range;

use serde_json::{Map, Value};

use super::reports::{
    LONGEST_TEXT, is_no_report, lower_words, references, reports_an_end, share_reference, without_quotations,
};
use crate::model::word_list::WordList;
use crate::prose::sentences::sentences;
use crate::prose::terms::{count_shared_terms, have_same_stem, is_hangul, terms};

/// The metadata field for what a task waits for: a text, or the id of another memory.
pub const BLOCKED_BY: &str = "blocked_by";

/// How many first bytes all forms of a word share.
const SAME_BEGINNING: usize = 4;

/// The share of three or more terms that a report must name.
const LEAST_SHARE: f32 = 0.66;

/// Returns what a task waits for, from its metadata or its text, as in `Release 1.2 (blocked by: review of Kim)`.
pub fn awaited(content: &str, metadata: &Map<String, Value>) -> Option<String> {
    match metadata.get(BLOCKED_BY).and_then(Value::as_str).map(str::trim) {
        // Whatever the text says, it waits for nothing any more.
        Some("") => None,
        Some(text) => Some(text.to_owned()),
        None => find_awaited(content).map(|part| content[part.text].to_owned()),
    }
}

/// Returns a task without the part of its text that says what it waits for.
pub fn without_awaited(content: &str) -> String {
    let Some(part) = find_awaited(content) else { return content.to_owned() };
    let (before, after) = (content[..part.whole.start].trim_end(), content[part.whole.end..].trim_start());
    [before, after].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns a task without the part that says what it waits for, or `None` if it is unclear where that part ends. It must be in brackets at
/// the end of one line.
pub fn with_awaited_removed(content: &str) -> Option<String> {
    let part = find_awaited(content)?;
    let rest = &content[part.whole.clone()];
    let is_simple = rest.starts_with('(') && rest.ends_with(')') && rest.matches(['(', ')']).count() == 2;
    let is_end = content[part.whole.end..].trim_end_matches(['.', ' ']).is_empty() && !content.contains('\n');
    let left = content[..part.whole.start].trim_end();
    (is_simple && is_end && !left.is_empty()).then(|| left.to_owned())
}

/// The part of a task that says what it waits for.
struct AwaitedPart {
    /// With the marker and the bracket.
    whole: Range<usize>,
    text: Range<usize>,
}

/// Finds the part, which ends with its bracket or the sentence.
fn find_awaited(content: &str) -> Option<AwaitedPart> {
    // Other letters may have another length in lower case, and the marks have none of them.
    let lower = content.to_ascii_lowercase();
    // Most tasks wait for nothing.
    if !MARKS.occurs_in(&lower) {
        return None;
    }
    let (at, mark) = MARKS.iter().find_map(|mark| lower.find(mark).map(|at| (at, mark)))?;
    let after = &content[at + mark.len()..];
    let start = content.len() - after.trim_start_matches([':', ' ']).len();
    let rest = &content[start..];
    let (end, gap) = match mark.starts_with('(') {
        true => rest.find([')', '\n']).map_or((rest.len(), 0), |end| (end, usize::from(rest[end..].starts_with(')')))),
        false => {
            let ends = [". ", "; ", "\n"].iter().filter_map(|end| rest.find(end));
            ends.min().map_or((rest.len(), 0), |end| (end, 1))
        }
    };
    let text = rest[..end].trim_end_matches(['.', ' ']);
    (!text.is_empty()).then_some(AwaitedPart { whole: at..start + end + gap, text: start..start + text.len() })
}

/// Markers in lower case, with a bracket or a dash if the words alone are ambiguous.
static MARKS: WordList = WordList::phrases(
    "(blocked by|(blocked on|(blocked:|(waiting for|(waits for|— blocked by|- blocked by|, blocked by|blocked by:|(대기:|(막힘:",
);

/// Whether a text says that what a task waits for came about: "Kim approved it this morning" for "the review of Kim".
///
/// One sentence must report it, and name most of what is awaited. A noun such as *approval* may be the verb of the report.
pub fn came_about(text: &str, awaited: &str) -> bool {
    if text.len() > LONGEST_TEXT {
        return false;
    }
    let all = terms(awaited);
    // Most texts are about something else, and this is fast.
    let lower = text.to_lowercase();
    let occurs = |term: &String| lower.contains(&term[..term.floor_char_boundary(SAME_BEGINNING)]);
    if !all.iter().any(occurs) && references(awaited).all(|number| !lower.contains(number)) {
        return false;
    }
    let objects: Vec<String> = all.iter().filter(|term| !is_outcome(term)).cloned().collect();
    let least = match objects.len() {
        count @ 0..=2 => count,
        count => (count as f32 * LEAST_SHARE).ceil() as usize,
    };
    let reports =
        sentences(text).into_iter().flat_map(|sentence| sentence.split(';')).flat_map(|part| part.split(". "));
    reports.map(without_quotations).any(|report| {
        let said = terms(&report);
        let is_named = share_reference(awaited, &report)
            || least > 0 && count_shared_terms(&objects, &said) >= least
            || least == 0 && !all.is_empty() && count_shared_terms(&all, &said) == all.len();
        let is_report =
            !is_no_report(&report) && !lower_words(&report.to_lowercase()).any(|word| MENTIONS.contains(word));
        is_named && is_report && (reports_an_end(&report) || reports_arrival(&report))
    })
}

fn reports_arrival(report: &str) -> bool {
    let lower = report.to_lowercase();
    let is_korean = report.contains(is_hangul);
    let mut pairs = lower_words(&lower).zip(lower_words(&lower).skip(1));
    is_korean && KOREAN_ARRIVALS.occurs_in(&lower)
        || lower_words(&lower).any(|word| ARRIVALS.contains(word))
        || pairs.any(|(before, word)| THERE.contains(word) && BEFORE_THERE.contains(before))
}

/// Whether a term is a noun that reports express as a verb: *approval*, "승인".
fn is_outcome(term: &str) -> bool {
    OUTCOMES.iter().any(|outcome| *outcome == term || outcome.is_ascii() && have_same_stem(outcome, term))
}

/// Words that report that something came about, besides those of finished work.
static ARRIVALS: WordList = WordList::words(
    "accepted agreed answered approved arrived came confirmed delivered gave got granted okayed opened passed published \
     received replied responded reviewed sent signed unblocked",
);

/// Words that only say something about what is awaited.
static MENTIONS: WordList =
    WordList::words("based called defined described discussed expected listed mentioned named used");

/// Words of arrival after a verb: "it is out", "the report came in".
static THERE: WordList = WordList::words("available back done green here in live out ready there through up");
static BEFORE_THERE: WordList = WordList::words("are came come comes got is went");

/// Korean words of arrival.
static KOREAN_ARRIVALS: WordList = WordList::phrases(
    "왔어|왔습|왔네|왔음|왔다|왔고|도착|받았|받음|승인됐|승인됨|승인났|승인 났|승인해|승인했|나왔|났어|났습|났음|났네|떨어졌|떨어짐|풀렸|풀림|\
     올라왔|올라옴|들어왔|들어옴|복귀|답변 |답 줬|줬어|줬습|줬음|주셨|보내줬|통과|합의됐|합의했|머지됐|머지됨|병합됐|배포됐|배포됨|열렸|열림|발급됐|발급됨",
);

/// Nouns that a report expresses as a verb.
static OUTCOMES: WordList = WordList::words(
    "answer approval arrival confirmation delivery go-ahead ok okay reply response review sign-off signature signoff \
     승인 검토 리뷰 답변 회신 확인 결재 도착 답",
);

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::metadata("Release", r#"{"blocked_by": "0af312aa"}"#, Some("0af312aa"))]
    #[case::bracket("Release 1.2 (blocked by: the review of Kim)", "{}", Some("the review of Kim"))]
    #[case::waiting("Cut over DNS (waiting for the certificate)", "{}", Some("the certificate"))]
    #[case::dash("Cut over DNS — blocked by legal.", "{}", Some("legal"))]
    #[case::comma("Announce the release, blocked by 0af312aa", "{}", Some("0af312aa"))]
    #[case::korean("인증서 교체 (대기: 보안팀 승인)", "{}", Some("보안팀 승인"))]
    #[case::open("Find out what is blocked by the firewall", "{}", None)]
    #[case::other_lengths_in_lower_case("ẞ가(blocked by: İ)", "{}", Some("İ"))]
    #[case::empty("Release (blocked by: )", "{}", None)]
    #[case::no_more("Release (blocked by: Kim)", r#"{"blocked_by": ""}"#, None)]
    fn blockers_of_tasks_are_extracted(#[case] content: &str, #[case] metadata: &str, #[case] expected: Option<&str>) {
        let metadata: Map<String, Value> = serde_json::from_str(metadata).unwrap();
        assert_eq!(awaited(content, &metadata).as_deref(), expected);
    }

    #[rstest]
    #[case::bracket("Release 1.2 (blocked by: review of Kim)", "Release 1.2")]
    #[case::middle("Cut over DNS (waiting for the certificate) on Monday", "Cut over DNS on Monday")]
    #[case::dash("Cut over DNS — blocked by legal.", "Cut over DNS")]
    #[case::korean("인증서 교체 (대기: 보안팀 승인)", "인증서 교체")]
    #[case::followed("Rebase — blocked by #482. Then tell Kim", "Rebase Then tell Kim")]
    #[case::same_word("Wait (blocked by: block)", "Wait")]
    #[case::none("Cut over DNS", "Cut over DNS")]
    fn blocker_is_removed(#[case] content: &str, #[case] expected: &str) {
        assert_eq!(without_awaited(content), expected);
    }

    #[rstest]
    #[case::end("Release 1.2 (blocked by: review of Kim).", Some("Release 1.2"))]
    #[case::nested("Cut over (waiting for the certificate (wildcard)) and tell Kim", None)]
    #[case::middle("Cut over (waiting for the certificate) on Monday", None)]
    #[case::dash("Cut over — blocked by the certificate! Keep the record", None)]
    #[case::lines("Cut over (waiting for Kim)\n- step", None)]
    #[case::nothing_else("(waiting for Kim)", None)]
    fn only_a_bracket_at_the_end_is_removed_from_a_text(#[case] content: &str, #[case] expected: Option<&str>) {
        assert_eq!(with_awaited_removed(content).as_deref(), expected);
    }

    #[rstest]
    #[case::arrived("The certificate arrived this morning.", "the certificate", true)]
    #[case::verb("Kim approved the release", "approval of Kim", true)]
    #[case::among_others("All green. Legal signed off on the text, so we can go.", "legal sign-off", true)]
    #[case::korean("보안팀 승인 받았어", "보안팀 승인", true)]
    #[case::korean_answer("벤더한테서 답변 왔어요", "벤더 답변", true)]
    #[case::korean_end("법무팀 검토 끝났대. 오타 하나만 고치면 된다고 함", "법무팀 검토", true)]
    #[case::person("Priya gave her ok yesterday", "Priya", true)]
    #[case::korean_passed("카카오 심사 통과했어요", "카카오 심사", true)]
    #[case::release("The LTS release of Node 26 is out since Tuesday", "LTS release of Node 26", true)]
    #[case::came_in(
        "The sandbox credentials came in this morning, they are in the vault",
        "the sandbox credentials",
        true
    )]
    #[case::number("#482 is merged", "#482", true)]
    #[case::expected("Kim will approve it tomorrow", "approval of Kim", false)]
    #[case::another("Lee approved the release", "approval of Kim", false)]
    #[case::refused("Legal said no", "legal sign-off", false)]
    #[case::question("Did the certificate arrive?", "the certificate", false)]
    #[case::condition("Once the certificate arrived we switch", "the certificate", false)]
    #[case::korean_not_yet("보안팀 승인 아직이래", "보안팀 승인", false)]
    #[case::described("A wildcard certificate is described in docs/tls.md", "the certificate", false)]
    #[case::korean_within_a_word("웹훅 규격서(webhook)는 열 장이다", "규격서", false)]
    #[case::here("The staging collector here has 2 GB", "the staging collector", false)]
    #[case::mentioned("The certificate is for three domains", "the certificate", false)]
    fn condition_comes_about(#[case] text: &str, #[case] awaited: &str, #[case] expected: bool) {
        assert_eq!(came_about(text, awaited), expected);
    }
}
