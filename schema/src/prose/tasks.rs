//! Finds finished tasks and what tasks wait for, from text alone. State notes and checkboxes hold the actual state.

use crate::model::word_list::WordList;
use crate::privacy::output_text::clean_line;
use crate::prose::sentences::sentences;
use crate::prose::terms::{ProseToken, count_shared_terms, is_hangul, terms, terms_and_parts, tokens};

pub(crate) use reports::reports_result;
use reports::{
    DOUBTS, ENDS, IRREGULAR, KOREAN_ENDS, LONGEST_TEXT, OPEN, OPEN_WORDS, STATES, reports_an_end, share_reference,
    topic, without_quotations,
};

mod closings;
mod compared;
mod conditions;
mod lists;
mod marks;
mod reports;

pub use closings::{declined, done_as_ordered, done_in_code, dropped};
use compared::{ComparedTask, head};
pub use conditions::{BLOCKED_BY, awaited, came_about, with_awaited_removed, without_awaited};
pub use lists::{done_by_number, done_except_left, done_of_list, names_everything_left, reports_whole_list};
pub use marks::{ends_with_done, without_checkbox};

/// How many terms a report and a task must share, and which share of the task's terms that must be.
const LEAST_SHARED: [(usize, f32); 2] = [(2, 0.66), (3, 0.5)];

/// Returns a task on one line, with the open ones of the checkboxes below it.
pub(crate) fn in_one_line(text: &str) -> String {
    let checkbox = |line: &str| -> Option<(bool, String)> {
        let rest = ["- [", "* ["].iter().find_map(|mark| line.trim_start().strip_prefix(mark))?;
        let (mark, part) = rest.split_once("] ")?;
        matches!(mark, " " | "x" | "X").then(|| (mark != " ", clean_line(part)))
    };
    let mut joined = String::new();
    let mut separator = ": ";
    for line in text.lines() {
        match checkbox(line) {
            Some((true, _)) => {}
            Some((false, part)) => {
                joined = joined.trim_end_matches(':').to_owned() + separator + &part;
                separator = "; ";
            }
            None => joined = joined + " " + line,
        }
    }
    clean_line(&joined)
}

/// Returns the text of a task without the date and id that a brief shows after it: `Renew the key (2026-01-28, 0af312aa)`.
pub fn without_brief_marks(text: &str) -> &str {
    let text = text.trim_end();
    let marks = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    let are_marks = |marks: &str| {
        let (date, id) = marks.split_once(", ").unwrap_or_default();
        let is_date = date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let id = id.split(", ").next().unwrap_or_default();
        // The id of a copy is shown in full, with a full stop in it.
        is_date && id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'.')
    };
    marks.filter(|(_, marks)| are_marks(marks)).map_or(text, |(text, _)| text)
}

/// Returns the indexes of the `tasks` that a text clearly reports as done.
///
/// A single sentence must report in the past tense that something is finished, and contain most of the task's terms.
pub fn finished(text: &str, tasks: &[&str]) -> Vec<usize> {
    if tasks.is_empty() || text.len() > LONGEST_TEXT {
        return Vec::new();
    }
    let tasks: Vec<String> = tasks.iter().map(|task| without_awaited(task)).collect();
    let tasks: &[ComparedTask<'_>] = &tasks.iter().map(|text| ComparedTask::new(text)).collect::<Vec<_>>();
    // A terse report may go on with a small letter: "cells ordered. roll out on Monday".
    let reports = sentences(text).into_iter().flat_map(|sentence| sentence.split(". ")).map(without_quotations);
    let reports = reports.filter(|report| !closings::reports_permission(report));
    let reports = reports.flat_map(|report| match reports_an_end(&report) {
        true => vec![report],
        false => clauses_that_report(&report),
    });
    let reports: Vec<(String, Vec<String>)> = reports.map(|report| (report.clone(), terms(&report))).collect();
    let is_finished = |task: &ComparedTask<'_>| {
        reports.iter().any(|(report, said)| {
            let all = task.unconditional_terms();
            let shared = count_shared_terms(all, said);
            let shares_enough =
                |(least, share): (usize, f32)| shared >= least && shared as f32 >= all.len() as f32 * share;
            LEAST_SHARED.into_iter().any(shares_enough)
                || repeats_head(report, said, task)
                || closings::is_named_in_japanese(report, task.text)
        })
    };
    let by_words = tasks.iter().enumerate().filter(|(_, task)| is_finished(task)).map(|(at, _)| at);
    let mut found: Vec<usize> = by_words.collect();
    found.extend(closings::closed(text, tasks));
    found.extend(sentences(text).iter().filter_map(|sentence| closings::allowed(sentence, tasks)));
    for (report, said) in &reports {
        found.extend(closings::reported_in_another_language(report, tasks));
        found.extend(only_matching_task(report, said, tasks));
        found.extend(closings::only_one(tasks, |task| share_reference(report, task.text)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the clauses of a sentence that report an end by themselves: "Radar 12 is clean: the farm is masked and no echo is left".
fn clauses_that_report(sentence: &str) -> Vec<String> {
    let lower = sentence.to_lowercase();
    let words = |text: &str| -> Vec<String> {
        text.to_lowercase().split(|c: char| !c.is_alphanumeric() && c != '\'').map(str::to_owned).collect()
    };
    let is_open = OPEN.occurs_in(&lower) || words(sentence).iter().any(|word| OPEN_WORDS.contains(word));
    if is_open || sentence.contains(['?', '？']) {
        return Vec::new();
    }
    // A doubt applies to the clauses after it, too.
    let is_plain = |clause: &&str| !words(clause).iter().any(|word| DOUBTS.contains(word) || word.ends_with("n't"));
    let clauses = sentence.split(": ").flat_map(|clause| clause.split(" and ")).take_while(is_plain);
    // "The pilot is running since Monday, nothing lost so far."
    let first = sentence.split_once(", nothing ").map(|(first, _)| first);
    let clauses = clauses.chain(first.filter(|first| STATES.occurs_in(&first.to_lowercase()) && is_plain(first)));
    clauses.filter(|clause| reports_an_end(clause)).map(str::to_owned).collect()
}

/// Returns the only task that a report can mean: its subject, or all of it, says nothing but words of that task.
fn only_matching_task(report: &str, said: &[String], tasks: &[ComparedTask<'_>]) -> Option<usize> {
    let subject = subject(report);
    let is_korean = report.contains(is_hangul);
    let agent = agent(report);
    let said: Vec<String> = said
        .iter()
        .filter(|term| !ENDS.contains(term) && !KOREAN_ENDS.begins(term) && !agent.contains(term))
        .cloned()
        .collect();
    let least = if is_korean { 1 } else { 2 };
    // "Tests are in `spec/`" says where something is.
    let is_place = subject.len() == 1 && PLACES.occurs_in(&report.to_lowercase());
    closings::only_one(tasks, |task| {
        let named = if is_korean { task.terms_and_parts() } else { task.terms() };
        let is_within = |part: &[String]| count_shared_terms(part, named) == part.len() && is_enough(part, task.text);
        let object = if is_korean { object_of(task.text) } else { task.head_terms().to_vec() };
        let is_about = |part: &[String]| is_within(part) && count_shared_terms(part, &object) > 0;
        said.len() >= least && is_within(&said) || !subject.is_empty() && !is_place && is_about(&subject)
    })
}

/// States that only name a place.
static PLACES: WordList = WordList::phrases(" is in | are in | is at | are at | is under | are under ");

/// Words that are in reports about anything.
static GENERIC: WordList =
    WordList::words("bug code doc file function page screen test 문서 버그 코드 테스트 파일 함수 화면");

/// Whether the terms of a report mean a task. One word is in too many tasks, unless the task says little else after its verb.
fn is_enough(said: &[String], task: &str) -> bool {
    let is_korean = task.contains(is_hangul);
    let head = head(task);
    let object = if is_korean { head } else { head.split_once(' ').map_or(head, |(_, object)| object) };
    let most = match said {
        [only] if GENERIC.contains(only) => 1,
        _ if is_korean => 4,
        _ => 2,
    };
    let words = terms(object).into_iter().filter(|term| !term.starts_with(|c: char| c.is_ascii_digit()));
    said.len() >= 2 || words.count() <= most
}

/// Returns the terms of the person directly before a Korean verb: "CS" of "주문 보정은 CS에서 끝냈대요". Without hearsay, "에서" marks a place
/// unless a team is named.
fn agent(report: &str) -> Vec<String> {
    static PEOPLE: WordList = WordList::words("께서 님이 팀이 팀에서 쪽에서 측에서");
    static DONE: WordList = WordList::words("끝났 끝냈 완료 마쳤 처리 했 고쳤");
    static HEARSAY: WordList = WordList::words("대요 대 답니다");
    let words: Vec<&str> =
        report.split_whitespace().map(|word| word.trim_end_matches(|c: char| !c.is_alphanumeric())).collect();
    let is_agent = |pair: &&[&str]| {
        DONE.begins(pair[1]) && (PEOPLE.ends(pair[0]) || pair[0].ends_with("에서") && HEARSAY.ends(pair[1]))
    };
    words.windows(2).find(is_agent).map(|pair| terms(pair[0])).unwrap_or_default()
}

/// Returns the terms of a report before its verb, or before the particle of its topic: "completions" of "Completions came for free", "멘트
/// 문구" of "멘트 문구는 기획이 바꿨대".
fn subject(report: &str) -> Vec<String> {
    if report.contains(is_hangul) {
        return topic(report);
    }
    let is_verb = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        FINITE.contains(&word) || ENDS.contains(&word)
    };
    let mut start = 0;
    for word in report.split_inclusive(' ') {
        if is_verb(word) {
            return terms(&report[..start]);
        }
        start += word.len();
    }
    Vec::new()
}

/// Returns the last two terms of a task's head and their parts. One of them is usually the verb: "문구 교체".
fn object_of(task: &str) -> Vec<String> {
    let said: Vec<ProseToken> = tokens(head(task)).into_iter().filter(ProseToken::is_term).collect();
    said[said.len().saturating_sub(2)..].iter().flat_map(|token| terms_and_parts(&token.text)).collect()
}

/// Whether a report says nothing but the beginning of a task in the past tense: "cells ordered" of "order cells with a lower resistance".
fn repeats_head(report: &str, said: &[String], task: &ComparedTask<'_>) -> bool {
    let verb = task.text.split_whitespace().next().unwrap_or_default().to_lowercase();
    let is_past = |word: &str| {
        let is_doubled =
            |ending: &str| ending.strip_suffix("ed").is_some_and(|letter| letter.len() == 1 && verb.ends_with(letter));
        word.strip_prefix(verb.as_str()).is_some_and(|ending| matches!(ending, "d" | "ed") || is_doubled(ending))
            || IRREGULAR.value(word) == Some(&verb)
    };
    let lower = report.to_lowercase();
    let has_verb = lower.split(|c: char| !c.is_alphanumeric()).any(is_past);
    let objects = || task.head_terms().iter().filter(|term| **term != verb);
    has_verb && objects().next().is_some() && objects().eq(said.iter().filter(|term| !is_past(term)))
}

/// Verbs after the subject of a report, besides those of `ENDS`.
static FINITE: WordList =
    WordList::words("are came comes gets got has have is landed ran run runs was went were work works");

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::prose::labelled_messages;

    #[rstest]
    #[case::nested("Release 5.0:\n- [x] changelog\n- [ ] publish\n  * [ ] announce", "Release 5.0: publish; announce")]
    #[case::all_done("Release 5.0\n- [x] changelog", "Release 5.0")]
    #[case::lines("Renew the key\nof Kim", "Renew the key of Kim")]
    fn task_is_shown_with_its_open_parts(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(in_one_line(text), expected);
    }

    #[rstest]
    #[case::marked("Renew the key (2026-01-28, 0af312aa)", "Renew the key")]
    #[case::copy("Renew the key (2026-01-28, 0af312aa0af312aa0af312aa0af312aa.0af312aa)", "Renew the key")]
    #[case::plain("Renew the key (of Kim, 0af312aa)", "Renew the key (of Kim, 0af312aa)")]
    #[case::date("Renew the key (2026-01-28)", "Renew the key (2026-01-28)")]
    fn marks_of_a_brief_are_removed(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(without_brief_marks(text), expected);
    }

    #[rstest]
    #[case::reported("Added an alert on dropped duplicates.", "add an alert for dropped duplicates", true)]
    #[case::among_others(
        "All green. The Polish translation of the conflict screen is done.",
        "translate the conflict screen into Polish",
        true
    )]
    #[case::short("cells ordered. roll out on Monday", "order cells with a lower resistance (ER26500M)", true)]
    #[case::irregular("I wrote the changelog. I built the image.", "write the changelog", true)]
    #[case::doubled_letter("I swapped the table.", "swap the table after the review", true)]
    #[case::by_a_person("I renamed the module.", "rename the module", true)]
    #[case::short_but_other("meters ordered.", "order cells with a lower resistance (ER26500M)", false)]
    #[case::head_but_other("Ordered cells with a cap.", "order cells with a lower resistance (ER26500M)", false)]
    #[case::korean_state("내려받기 진행률이 알림에 뜹니다.", "내려받기 진행률을 알림에 표시", true)]
    #[case::korean("재입고 알림 신청 버튼을 추가했습니다.", "재입고 알림 신청 버튼", true)]
    #[case::subject("Completions came for free: cobra generates them.", "shell completions (bash, zsh, fish)", true)]
    #[case::subject_of_another("The landing page is done.", "a man page", false)]
    #[case::other_endings(
        "the eight correcting bookings went out on tuesday",
        "book the corrections for Jan-Aug (one journal entry per month)",
        true
    )]
    #[case::labelled("C:\\ paths work since this morning's fix.", "Windows: paths with a drive letter break", true)]
    #[case::by_name(
        "Priya compared: Amplitude agrees within 0.4 %.",
        "compare with Amplitude's numbers (Priya has access)",
        true
    )]
    #[case::condition("The production table is swapped.", "swap the shadow table in after the review", true)]
    #[case::first_clause(
        "the east wing pilot is running since yesterday, nothing lost so far",
        "install it on the four kiosks in the east wing as a pilot",
        true
    )]
    #[case::with_an_exception(
        "the webhook handler is in, not tested against the sandbox",
        "test the webhook handler against the sandbox",
        false
    )]
    #[case::korean_grown("메모리 사용량이 두 배로 늘어났어요.", "메모리 사용량 줄이기", false)]
    #[case::korean_fetched("동의서 받아왔습니다!", "화자 동의서 7번이 빠져 있습니다. 이건 직접 받으셔야 해요.", true)]
    #[case::number("#482 is merged and applied.", "The PR is open as #482; it needs approval.", true)]
    #[case::other_number("#483 is merged and applied.", "The PR is open as #482; it needs approval.", false)]
    #[case::one_word_of_many("Tests are in `voucher_spec`.", "the tests on the arm board are outstanding", false)]
    #[case::verb_of_the_task("The changelog is done.", "update the changelog for the release", true)]
    #[case::values("The selected one has 5.2:1.", "contrast of the selected chip is 3.9:1 and needs 4.5:1", true)]
    #[case::place("The migration is in `db/migrate`.", "run the migration", false)]
    #[case::generic("Tests are updated.", "fix the flaky tests", false)]
    #[case::korean_generic("파일을 수정했습니다.", "설정 파일 백업", false)]
    #[case::korean_one_word(
        "파일을 수정했습니다.",
        "행이 백만 개가 넘는 시트 여러 장의 파일은 아직 처리하지 못합니다",
        false
    )]
    #[case::korean_subject("문구는 \"이미 예약된 시간입니다.\"로 확정됐어요", "409일 때 보여줄 화면 문구 확정", true)]
    #[case::korean_short("DNS 전환 완료.", "내일 배포 끝나고 DNS 전환할게.", true)]
    #[case::korean_works("3만 행도 60fps로 스크롤됩니다.", "표 3만 행에서 스크롤이 끊기는 문제(가상 스크롤)", true)]
    #[case::korean_rest(
        "유진 님이 준 색상 토큰을 넣으면서 다크 모드 색도 같이 확인받았습니다.",
        "다크 모드 색상 디자이너 확인 받기",
        true
    )]
    #[case::topic("멘트 문구는 기획이 직접 바꿨대", "상담원 연결 멘트 문구 교체", true)]
    #[case::topic_is_an_identifier("expire는 내가 airflow에 걸어둠", "schedule expire_snapshots daily", true)]
    #[case::topic_for_a_purpose("A3 인쇄는 내가 주말에 만들어서 올렸어", "시간표 인쇄용 A3 화면", true)]
    #[case::topic_of_another("알림 문구는 기획이 직접 바꿨대", "상담원 연결 멘트 문구 교체", false)]
    #[case::topic_is_a_part("결제 화면은 디자인팀이 색만 바꿨대요", "결제 화면 접근성 점검", false)]
    #[case::topic_of_other_work("이번 주간 보고서는 제가 손으로 보냈어요", "주간 보고서 자동 발송 추가", false)]
    #[case::part_of_an_identifier("the email was sent to all testers this morning", "split `user_email` column", false)]
    #[case::by_another_team("아까 그 주문들 보정은 CS에서 끝냈대요.", "마이너스로 결제된 주문 세 건 보정하기", true)]
    #[case::another_by_another_team("로그인은 CS에서 끝냈대요.", "마이너스로 결제된 주문 세 건 보정하기", false)]
    #[case::in_a_place("결제 재시도는 로컬에서 끝냈습니다.", "결제 재시도 운영 배포", false)]
    #[case::in_another_place("결제 오류가 운영에서 나옵니다.", "결제 오류 로그 수집", false)]
    #[case::korean_permission("법무팀 OK 떨어졌어요", "파일 정리 여부를 법무팀에 확인받기", true)]
    #[case::permission("Legal signed off on Friday.", "ask legal about the old recordings", true)]
    #[case::permission_of_another("Security signed off.", "ask legal about the old recordings", false)]
    #[case::permission_for_work("Legal signed off.", "rewrite the legal page of the task list", false)]
    #[case::permission_for_another_thing(
        "Legal signed off on the privacy page.",
        "ask legal about the old recordings",
        false
    )]
    #[case::permission_is_the_subject("게시판 디자인 컨펌 났어요.", "문의 게시판 디자인 적용하기", false)]
    #[case::work_on_approvals("Dana signed off on the refund flow.", "add an approval step to the refund flow", false)]
    #[case::asked_for_permission("법무팀 승인 받았는지 확인해 주세요", "개인정보 문구 법무팀 승인 받기", false)]
    #[case::if_permitted("법무팀 승인 받았으면 배포해 주세요", "개인정보 문구 법무팀 승인 받기", false)]
    #[case::still_on_the_list(
        "What's left from the list is the article.",
        "withdraw the article about the warning",
        false
    )]
    #[case::no_permission("Legal has not signed off.", "ask legal about the old recordings", false)]
    #[case::korean_suffices("설정을 바꾸면 됩니다.", "설정 화면 정리", false)]
    #[case::off_the_list(
        "I'll tell finance myself, take that off the list.",
        "tell finance that the board deck was wrong",
        true
    )]
    #[case::open_step(
        "Rate limits POST /links to 10 a minute; that was the open step.",
        "rate limits on POST /links",
        true
    )]
    #[case::off_the_list_of_another("Take lunch off the list.", "tell finance that the board deck was wrong", false)]
    #[case::stays_on_the_list("Don't take the finance note off the list.", "tell finance about the deck", false)]
    #[case::question_about_the_list("Can we take finance off the list?", "tell finance about the deck", false)]
    #[case::korean_off_the_list("차단 기능은 민수가 끝냈어. 목록에서 빼줘", "차단한 사용자 숨기기", true)]
    #[case::korean_about_english(
        "cancelled_at 마이그레이션을 작성했습니다.",
        "Write the migration for cancelled_at",
        true
    )]
    #[case::korean_about_other_english("admin 로그인을 고쳤습니다.", "Move admin behind the proxy", false)]
    #[case::japanese("CSV エクスポートを追加しました。", "CSV エクスポート", true)]
    #[case::japanese_open("CSV エクスポートはまだ追加していません。", "CSV エクスポート", false)]
    #[case::plan("I will add an alert on dropped duplicates.", "add an alert for dropped duplicates", false)]
    #[case::open(
        "Still open: an alert for dropped duplicates was requested and added to the list.",
        "add an alert for dropped duplicates",
        false
    )]
    #[case::condition(
        "Once the alert for dropped duplicates is added, we merge.",
        "add an alert for dropped duplicates",
        false
    )]
    #[case::question("Is the alert for dropped duplicates done?", "add an alert for dropped duplicates", false)]
    #[case::another("Added an alert on slow queries.", "add an alert for dropped duplicates", false)]
    #[case::part("Added the duplicates table.", "add an alert for dropped duplicates", false)]
    #[case::negated("I have not added an alert for dropped duplicates.", "add an alert for dropped duplicates", false)]
    #[case::never("The alert for dropped duplicates was never added.", "add an alert for dropped duplicates", false)]
    #[case::asked("did you say the alert for dropped duplicates is done", "add an alert for dropped duplicates", false)]
    #[case::quoted(
        "You said: \"added the alert for dropped duplicates\".",
        "add an alert for dropped duplicates",
        false
    )]
    #[case::future("The alert for dropped duplicates is to be added.", "add an alert for dropped duplicates", false)]
    #[case::cancelled(
        "The alert for dropped duplicates, added by Bob, was rejected.",
        "add an alert for dropped duplicates",
        false
    )]
    #[case::clause(
        "Radar 12 is clean: the wind farm is masked out and no static echo is left.",
        "mask the wind farm near radar 12, it shows up as permanent rain",
        true
    )]
    #[case::doubted_clause("Maybe the config was changed and the key was rotated", "rotate the key", false)]
    #[case::korean_cancelled("재입고 알림 신청 버튼은 취소했습니다.", "재입고 알림 신청 버튼", false)]
    #[case::korean_never("재입고 알림 신청 버튼을 추가한 적이 없다고 했습니다.", "재입고 알림 신청 버튼", false)]
    #[case::korean_open("재입고 알림 신청 버튼은 아직 추가하지 않았습니다.", "재입고 알림 신청 버튼", false)]
    fn only_a_plain_report_finishes_a_task(#[case] text: &str, #[case] task: &str, #[case] expected: bool) {
        assert_eq!(finished(text, &[task]), if expected { vec![0] } else { vec![] });
    }

    #[rstest]
    #[case::taken_back("clip yes, but dont resume, restart from zero", "resume from checkpoint 30k", true)]
    #[case::postponed("don't resume yet", "resume from checkpoint 30k", false)]
    #[case::condition("please don't deploy on Fridays", "deploy the new gateway", false)]
    #[case::another_object("don't merge the docs", "merge the feature branch", false)]
    fn task_is_declined_by_its_verb(#[case] text: &str, #[case] task: &str, #[case] expected: bool) {
        assert_eq!(declined(text, &[task]), if expected { vec![0] } else { vec![] });
    }

    #[rstest]
    #[case::reported("The login callback calls it: the carts are merged now.", true)]
    #[case::about_something_else("Added the colours of the header.", false)]
    #[case::plan("The login callback should call it next.", false)]
    fn task_is_done_if_the_code_has_its_identifier(#[case] answer: &str, #[case] expected: bool) {
        let tasks = ["call `mergeGuestCart` in the login callback", "call `mergeGuest` in the login callback"];
        let done = done_in_code(answer, "await mergeGuestCart(guest, member);\n", &tasks);
        assert_eq!(done, if expected { vec![0] } else { vec![] });
    }

    #[test]
    fn names_of_products_are_no_identifiers() {
        let tasks = ["move the iOS build of GitHub to the new runner"];
        assert!(done_in_code("Moved the build to the new runner.", "GitHub iOS\n", &tasks).is_empty());
    }

    const LISTED: [&str; 3] =
        ["migrate the 1,400 drafts", "a spectator mode (needs a fifth peer)", "런처 배지 숫자 동기화"];

    #[rstest]
    #[case::number("3 never gonna matter, kill it", Some(2))]
    #[case::korean_number("1번은 서빙팀이 한다고 함 우린 안해도됨", Some(0))]
    #[case::number_without_a_task("2는 안해도됨", None)]
    #[case::word("lol spectators no. scrap that, nobody watches us", Some(1))]
    #[case::korean("배지는 제조사마다 달라서 답없음 그건 빼자", Some(2))]
    #[case::none_named("scrap that", None)]
    #[case::no_such_number("4 never gonna matter, kill it", None)]
    #[case::put_off("배지는 나중에 하고 일단 빼자", None)]
    #[case::question("drop the spectator mode?", None)]
    #[case::order("now the spectator mode", None)]
    #[case::reminder("don't forget about the drafts", None)]
    #[case::handed_over("런처 배지는 한도윤 님이 하신대요.", Some(2))]
    #[case::another_part_handed_over("배지 리뷰는 한도윤 님이 하신대요.", None)]
    #[case::hearsay("고객이 배지를 원하신대요.", None)]
    #[case::another_dropped("forget about the colours, do the spectator mode", None)]
    #[case::two_numbers("1 yes, 3 not needed", None)]
    fn listed_task_is_dropped(#[case] prompt: &str, #[case] expected: Option<usize>) {
        let answer = "To do:\n1. migrate the 1,400 drafts\n2. a banner\n3. 런처 배지 숫자 동기화";
        assert_eq!(dropped(prompt, answer, &LISTED), expected);
    }

    #[rstest]
    #[case::repeated("商品説明も索引に入れて", "商品説明も検索できるようになりました。", Some(0))]
    #[case::put_off("商品説明も索引に入れるのは来週にして", "分かりました。", None)]
    #[case::opposite("商品説明も索引に入れないで", "分かりました。", None)]
    #[case::about_another("管理画面を直して", "直しました。", None)]
    fn japanese_order_repeats_a_task(#[case] prompt: &str, #[case] answer: &str, #[case] expected: Option<usize>) {
        assert_eq!(
            done_as_ordered(prompt, answer, true, &["商品説明も索引に入れる", "検索語のログを取る"]),
            Vec::from_iter(expected)
        );
    }

    #[rstest]
    #[case::done("ok do the drafts", "At the first start every draft gets version 0. 4 have no site.", Some(0))]
    #[case::failed("do the drafts", "I couldn't migrate the drafts. I added a log line.", None)]
    #[case::korean_failure("배지 해줘", "숫자를 읽지 못했습니다.", None)]
    #[case::look("look at the drafts", "There are 1,400 rows.", None)]
    #[case::not("do not touch the drafts", "OK.", None)]
    #[case::korean("배지 해줘", "숫자가 런처에 나옵니다.", Some(2))]
    #[case::in_part("ok do the drafts", "1,396 are upgraded. Four still need an owner.", None)]
    #[case::asks("ok do the drafts", "Which version should they get?", None)]
    #[case::more("ok do the drafts and the banner", "Both are in.", None)]
    #[case::nothing("go", "Done.", None)]
    #[case::side_clause(
        "rename the flag to --dry-run and update the README, we do the drafts tomorrow",
        "Renamed the flag.",
        None
    )]
    #[case::statement(
        "The footer has a typo. Fix it and bump the patch version please, the banner is due today.",
        "Fixed the typo.",
        None
    )]
    #[case::in_a_longer_prompt(
        "the drafts today. every old one gets version 0, whatever site it has, that's all",
        "Every draft has version 0.",
        Some(0)
    )]
    fn ordered_task_is_done(#[case] prompt: &str, #[case] answer: &str, #[case] expected: Option<usize>) {
        assert_eq!(done_as_ordered(prompt, answer, true, &LISTED), Vec::from_iter(expected));
    }

    #[rstest]
    #[case::two("completions n man page pls, clap_mangen does it", &[0, 1])]
    #[case::one("man page now", &[1])]
    #[case::one_unknown("completions and colours please", &[])]
    #[case::no_order("completions and the man page look odd", &[])]
    fn tasks_are_ordered_together(#[case] prompt: &str, #[case] expected: &[usize]) {
        let tasks = ["generate shell completions", "write a man page", "publish to the brew tap"];
        assert_eq!(done_as_ordered(prompt, "Both are written by `build.rs`.", true, &tasks), expected);
    }

    #[rstest]
    #[case::object_in_the_answer("Headers below 7 are refused.", Some(0))]
    #[case::something_else("The CI job passes on both platforms.", None)]
    fn order_means_the_object_of_a_task_by_it(#[case] answer: &str, #[case] expected: Option<usize>) {
        let tasks = ["bump the replay header", "seed the emitters"];
        assert_eq!(done_as_ordered("bump it to 7", answer, true, &tasks), Vec::from_iter(expected));
    }

    #[test]
    fn closing_names_as_many_tasks_as_it_says() {
        let tasks = ["ask whether the gateway's limit can be raised", "a badge on the tab", "retry failed uploads"];
        let text = "the counter on the tab bar went in, and R. bumped the gateway to 12 megs, so scratch those two. today retries.";
        assert_eq!(finished(text, &tasks), [0, 1]);
    }

    #[test]
    fn closing_that_may_mean_several_tasks_closes_none() {
        let tasks = ["ask finance about the deck", "tell finance the numbers"];
        assert!(finished("The finance one is off the list.", &tasks).is_empty());
    }

    #[test]
    fn reports_of_other_projects_finish_few_tasks() {
        const EVERY: usize = 40;
        let messages = labelled_messages();
        let steps = messages.iter().enumerate().flat_map(|(at, message)| {
            message.marked.iter().filter(|(kind, _)| *kind == 'O').map(move |(_, text)| (at, text.as_str()))
        });
        let steps: Vec<(usize, &str)> = steps.collect();
        let (mut reports, mut finished_tasks) = (0, 0);
        for first in 0..EVERY {
            let open: Vec<(usize, &str)> = steps.iter().skip(first).step_by(EVERY).copied().collect();
            let texts: Vec<&str> = open.iter().map(|(_, text)| *text).collect();
            for (at, message) in messages.iter().enumerate().skip(first).step_by(EVERY) {
                let mut found = finished(&message.text, &texts);
                if message.is_prompt {
                    found.extend(declined(&message.text, &texts));
                }
                reports += 1;
                // Messages next to each other may be about the same project.
                finished_tasks += found.iter().filter(|task| open[**task].0.abs_diff(at) > 3).count();
            }
        }
        assert!(reports > 9_000 && finished_tasks * 500 <= reports, "{finished_tasks} tasks by {reports} reports");
    }
}
