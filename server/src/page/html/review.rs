//! Candidates side by side with the differences marked, and a key for each answer.

use maud::{Markup, html};
use schema::model::memory::short_id;
use schema::model::sharing::team_author;

use super::frame::{Visit, action, chip, folded_form, hidden_fields, link};
use crate::diff::differences;
use crate::page::content::review::{CandidateItem, ReviewedText, list};
use crate::page::language::Language;
use crate::page::state::PageResult;

pub(in crate::page) async fn review(visit: Visit) -> PageResult {
    let language = visit.language;
    let hidden = visit.page.0.deletions.hidden();
    // The index keeps which memories were compared.
    let found = visit.page.change(move |engine| list(engine, &hidden)).await?;
    let head = language.of(
        format!("{} to review. Nothing changes until you choose.", found.total),
        format!("검토할 것 {}개. 고르기 전에는 아무것도 바뀌지 않습니다.", found.total),
    );
    let live = html! {
        @if !found.proposals.is_empty() { (proposals(&found.proposals, language)) }
        @if !found.is_complete { p.quiet data-again { (language.of("Still comparing …", "비교하는 중 …")) } }
        @else if found.candidates.is_empty() && found.proposals.is_empty() {
            p.empty { (language.of("Nothing found to review.", "검토할 것을 찾지 못했습니다.")) }
        }
        @if !found.candidates.is_empty() {
            p.quiet { (head) " " (language.of("Keys act on the first one.", "단축키는 첫 항목에 적용됩니다.")) }
        }
        @if found.put_off > 0 {
            p.quiet { (language.of(format!("{} put off until later.", found.put_off), format!("{}개는 나중으로 미뤘습니다.", found.put_off))) }
        }
        ol.candidates { @for candidate in &found.candidates { (item(candidate, language)) } }
    };
    visit.answer("review", language.of("Review", "검토"), &html! {}, &live)
}

/// Lists the proposals of other members of the team.
fn proposals(proposals: &[ReviewedText], language: Language) -> Markup {
    html! {
        h2 { (language.of("Proposed to the team", "팀에 제안된 기억")) }
        ol.candidates {
            @for text in proposals {
                @let seen = [("id", text.id.as_str()), ("seen", text.digest.as_str())];
                li {
                    (side(text, &html! { (text.text) }, team_author(&text.path), language))
                    div.actions {
                        (action("approve", &seen, language.of("Approve", "승인")))
                        (action("retire", &seen, language.of("Retire", "종료")))
                    }
                }
            }
        }
    }
}

fn kind_name(kind: &str, language: Language) -> &str {
    match kind {
        "secret_found" => language.of("secret", "비밀"),
        "changed_value" => language.of("changed value", "바뀐 값"),
        "said_twice" => language.of("said twice", "중복"),
        "finished_task" => language.of("task looks done", "끝난 듯한 할 일"),
        "ready_task" => language.of("task looks ready", "시작할 수 있는 할 일"),
        "stale" => language.of("code changed", "코드가 바뀜"),
        "unused" => language.of("unused", "쓰이지 않음"),
        other => other,
    }
}

/// Reasons that name no file have a translation.
fn reason(reason: &str, language: Language) -> &str {
    match reason {
        "both say the same" => language.of(reason, "두 기억의 내용이 같습니다"),
        "a number differs" => language.of(reason, "숫자가 다릅니다"),
        "a quoted value differs" => language.of(reason, "인용한 값이 다릅니다"),
        "one of them is negated" => language.of(reason, "하나는 부정입니다"),
        "the newer one seems to replace the older one" => language.of(reason, "이후 것이 이전 것을 대체하는 듯합니다"),
        "it contains a secret" => language.of(reason, "비밀이 들어 있습니다"),
        "a later memory says that it is done" => language.of(reason, "나중 기억이 끝났다고 합니다"),
        "what it waits for seems to have come about" => language.of(reason, "기다리던 일이 이루어진 듯합니다"),
        other => other,
    }
}

fn item(candidate: &CandidateItem, language: Language) -> Markup {
    let (older, newer) = match &candidate.newer {
        Some(newer) => marked_differences(&candidate.older.text, &newer.text),
        None => (html! { (candidate.older.text) }, html! {}),
    };
    html! {
        li.candidate {
            p.about { span.flag.warn { (kind_name(candidate.kind, language)) } span { (reason(&candidate.reason, language)) } }
            div.pair {
                (side(&candidate.older, &older, candidate.newer.as_ref().map(|_| language.of("older", "이전")), language))
                @if let Some(text) = &candidate.newer { (side(text, &newer, Some(language.of("newer", "이후")), language)) }
            }
            (answers(candidate, language))
        }
    }
}

fn side(text: &ReviewedText, body: &Markup, name: Option<&str>, language: Language) -> Markup {
    html! {
        div.side {
            p.about {
                @if let Some(name) = name { strong { (name) } }
                (chip(Some(text.kind), language)) time { (text.date) }
                a href=(link("memory", "id", &text.id)) { (short_id(&text.id)) } span.quiet { (text.path) }
            }
            div.body { (body) }
            @if text.is_partial { p.quiet { (language.of("Only a part is shown; open the memory to edit it.", "일부만 보입니다. 고치려면 기억을 여세요.")) } }
        }
    }
}

/// Both texts with the words marked that the other one does not have there.
fn marked_differences(before: &str, after: &str) -> (Markup, Markup) {
    let old: Vec<&str> = before.split_inclusive(char::is_whitespace).collect();
    let new: Vec<&str> = after.split_inclusive(char::is_whitespace).collect();
    let [old_words, new_words] = [&old, &new].map(|words| words.iter().map(|word| word.trim()).collect::<Vec<_>>());
    let found = differences(&old_words, &new_words);
    let side = |words: &[&str], ranges: Vec<std::ops::Range<usize>>| {
        let mut at = 0;
        let mut parts = Vec::new();
        for range in ranges {
            parts.push((words[at..range.start].concat(), words[range.clone()].concat()));
            at = range.end;
        }
        html! { @for (plain, differing) in &parts { (plain) @if !differing.is_empty() { mark { (differing.trim_end()) } (differing[differing.trim_end().len()..]) } } (words[at..].concat()) }
    };
    let old = side(&old, found.iter().map(|difference| difference.before.clone()).collect());
    (old, side(&new, found.into_iter().map(|difference| difference.after).collect()))
}

fn answers(candidate: &CandidateItem, language: Language) -> Markup {
    let (older, newer) = (&candidate.older, candidate.newer.as_ref());
    let is_pair = matches!(candidate.kind, "changed_value" | "said_twice");
    let is_task = matches!(candidate.kind, "finished_task" | "ready_task");
    let fields = fields(older, newer, candidate.kind);
    let keep = if is_pair { language.of("keep both", "둘 다 둠") } else { language.of("keep", "그대로 둠") };
    html! {
        div.actions {
            @if candidate.kind == "stale" { (keyed("k", "confirm", &fields, language.of("still true", "아직 유효함"))) }
            @else { (keyed("k", "keep", &fields, keep)) }
            @if let Some(newer) = newer.filter(|_| is_pair) {
                (keyed("s", "supersede", &fields, language.of("newer replaces older", "새 것으로 대체")))
                (keyed("r", "supersede", &self::fields(newer, Some(older), candidate.kind), language.of("older replaces newer", "이전 것으로 대체")))
            }
            @if is_task { (keyed("d", "close", &fields, language.of("done", "완료"))) }
            @if candidate.kind == "ready_task" { (keyed("r", "unblock", &fields, language.of("ready", "시작할 수 있음"))) }
            // Without a key, because it changes other memories, too.
            @if candidate.kind == "secret_found" { (keyed("", "redact", &fields, language.of("remove all secrets", "비밀 모두 지우기"))) }
            @if !is_task {
                (keyed("f", "forget", &fields, if is_pair { language.of("delete older", "이전 것 삭제") } else { language.of("delete", "삭제") }))
            }
            @if candidate.can_be_shared { (keyed("t", "share", &fields, language.of("share with the team", "팀과 공유"))) }
            (keyed("n", "later", &fields, language.of("ask again in 30 days", "30일 뒤에 다시")))
        }
        @if let Some(newer) = newer.filter(|newer| is_pair && !newer.is_partial) { (merge_form(older, newer, language)) }
        @if candidate.kind == "stale" && !older.is_partial {
            @let seen = [("id", older.id.as_str()), ("seen", older.digest.as_str())];
            @let field = html! { textarea name="text" rows="4" required aria-label=(language.of("What is true now", "지금 맞는 내용")) { "\n" (older.text) } };
            (folded_form(language.of("Write what is true now", "지금 맞는 내용 쓰기"), "replace", &seen, &field, language.of("Save", "저장")))
        }
    }
}

/// The fields that identify a candidate and the texts that the person saw.
fn fields<'t>(
    first: &'t ReviewedText,
    second: Option<&'t ReviewedText>,
    kind: &'t str,
) -> Vec<(&'static str, &'t str)> {
    let mut fields = vec![("id", first.id.as_str()), ("seen", first.digest.as_str()), ("kind", kind)];
    if let Some(second) = second {
        fields.extend([("other", second.id.as_str()), ("seen_other", second.digest.as_str())]);
    }
    fields
}

/// A form that writes one text instead of both.
fn merge_form(older: &ReviewedText, newer: &ReviewedText, language: Language) -> Markup {
    let text =
        html! { textarea name="text" rows="4" required aria-label=(language.of("Text", "본문")) { "\n" (newer.text) } };
    let fields = fields(newer, Some(older), "");
    folded_form(language.of("Merge into one", "하나로 합치기"), "merge", &fields, &text, language.of("Merge", "합치기"))
}

/// An action with a key, or one that asks first.
fn keyed(key: &str, action: &str, fields: &[(&str, &str)], label: &str) -> Markup {
    html! {
        form.action method="post" action="do" {
            (hidden_fields(action, fields))
            @if key.is_empty() { button type="submit" data-sure { (label) } }
            @else { button type="submit" data-key=(key) aria-keyshortcuts=(key) { kbd { (key) } " " (label) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_words_are_marked() {
        let (before, after) = marked_differences("The limit is 40 rows", "The limit is 60 rows <b>");
        assert_eq!(before.into_string(), "The limit is <mark>40</mark> rows");
        assert_eq!(after.into_string(), "The limit is <mark>60</mark> rows <mark>&lt;b&gt;</mark>");
    }
}
