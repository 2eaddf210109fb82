//! The rules for Korean, whose verbs stand at the end of what they say.

use super::{Says, labelled, opens_quote};

const DECISION_LABELS: [&str; 7] = ["결정", "결정 사항", "결정사항", "최종 결정", "설계 결정", "합의", "합의 사항"];
const LEARNING_LABELS: [&str; 10] = [
    "배운 점",
    "배운 것",
    "알게 된 점",
    "알게된 점",
    "알게 된 것",
    "새로 알게 된 점",
    "교훈",
    "깨달은 점",
    "다음에 기억할 것",
    "다음을 위한 메모",
];
const CAUSE_LABELS: [&str; 3] = ["원인", "근본 원인", "문제 원인"];
const FIX_LABELS: [&str; 5] = ["해결", "해결 방법", "해결책", "수정", "조치"];
const REASON_LABELS: [&str; 3] = ["이유", "근거", "왜"];
const PENDING: [&str; 6] = ["미정", "보류", "없음", "추후", "아직", "대기"];

const DECIDED: [&str; 5] = ["기로 ", "기로 결정", "기로 합의", "기로 정", "기로 확정"];
const DECIDED_ON: [&str; 3] = ["로 결정", "로 확정", "로 합의"];
const LEARNED: [&str; 5] = ["알게 되", "알게 됐", "알게 됨", "배웠", "깨달았"];
const MENDED: [&str; 6] = ["해결했", "해결함", "해결됐", "해결되었", "고쳤", "수정했"];
const CAUSES: [&str; 5] = ["원인은 ", "원인이었", "때문이었", "원인으로 밝혀졌", "원인이 "];
const FAULTS: [&str; 9] = ["오류", "에러", "버그", "문제", "실패", "충돌", "크래시", "누수", "현상"];

/// How a word ends that tells by what means; other words in "서" are places and conjunctions.
const DOING: [&str; 11] = ["해서", "려서", "여서", "꿔서", "워서", "춰서", "켜서", "겨서", "어서", "내서", "함으로써"];

/// What a past or nominal ending looks like after a stem.
const ENDINGS: [&str; 15] = [
    "했습니다",
    "했어요",
    "했음",
    "했다",
    "했고",
    "했으며",
    "하였다",
    "하였습니다",
    "함",
    "됐다",
    "됐습니다",
    "되었다",
    "되었습니다",
    "되었음",
    "됐어요",
];

/// What makes it a question, a condition, a request, hearsay or a guess.
const TAKES_BACK: [&str; 26] = [
    "만약",
    "만일",
    "가정하",
    "예를 들어",
    "예시",
    "을까",
    "할까",
    "할지",
    "는지 ",
    "주세요",
    "주십시오",
    "하십시오",
    "아마",
    "것 같",
    "듯하",
    "듯합",
    "추정",
    "의심",
    "했다면",
    "했더라면",
    "했다고",
    "기로 한다면",
    "예정",
    "겠습니다",
    "모르",
    "수도 있",
];
const UNDECIDED: [&str; 8] =
    ["아직", "결정하지", "정하지", "결정된 것은 없", "결정 못", "결정을 못", "합의하지", "확정하지"];
const UNMENDED: [&str; 4] = ["아직", "해결하지", "해결되지", "고치지"];

pub(super) fn says(sentence: &str) -> Option<Says> {
    let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
    let settled = |rest: &str| !PENDING.iter().any(|pending| rest.starts_with(pending));
    if sentence.starts_with(['"', '“', '\'', '‘', '「']) || has(&TAKES_BACK) {
        return None;
    }
    if !has(&UNDECIDED) && (labelled(sentence, &DECISION_LABELS).is_some_and(settled) || decision(sentence)) {
        return Some(Says::Decision);
    }
    let caused = labelled(sentence, &CAUSE_LABELS).is_some_and(settled) || has(&CAUSES);
    if is_fix(sentence) && (caused || (has(&FAULTS) && by_doing(sentence))) {
        return Some(Says::Fixed);
    }
    if caused {
        return Some(Says::Cause);
    }
    let learned = labelled(sentence, &LEARNING_LABELS).is_some_and(settled)
        || sentence.starts_with("알고 보니")
        || LEARNED.iter().any(|stem| ends_past(sentence, stem));
    learned.then_some(Says::Learning)
}

pub(super) fn is_reason(sentence: &str) -> bool {
    ["왜냐하면", "왜냐면", "이유는", "그 이유는"].iter().any(|start| sentence.starts_with(start))
}

pub(super) fn is_reason_label(sentence: &str) -> bool {
    labelled(sentence, &REASON_LABELS).is_some()
}

pub(super) fn is_fix(sentence: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
    !has(&UNMENDED) && !has(&TAKES_BACK) && (has(&MENDED) || is_fix_label(sentence))
}

pub(super) fn is_fix_label(sentence: &str) -> bool {
    labelled(sentence, &FIX_LABELS).is_some_and(|rest| !PENDING.iter().any(|pending| rest.starts_with(pending)))
        && !TAKES_BACK.iter().any(|word| sentence.contains(word))
}

fn decision(sentence: &str) -> bool {
    if DECIDED.iter().chain(&DECIDED_ON).any(|stem| ends_past(sentence, stem)) {
        return true;
    }
    // "X 대신 Y로 가자" proposes and settles at once; without what it is weighed against it may be any plan.
    let weighed = ["대신", "때문에", "니까"].iter().any(|word| sentence.contains(word));
    let trimmed = sentence.trim_end_matches(['.', '!', ' ']);
    weighed && ["로 가자", "로 갑시다", "로 하자", "로 합시다"].iter().any(|end| trimmed.ends_with(end))
}

/// Whether a stem stands in the past, closing its clause, outside of quotation marks.
fn ends_past(sentence: &str, stem: &str) -> bool {
    sentence.match_indices(stem).any(|(at, _)| {
        let after = &sentence[at + stem.len()..];
        let ending = ENDINGS.iter().chain(&["다", "습니다", "어요", "음", "었다", "었습니다", "었음", ""]);
        let closed = |rest: &str| {
            let rest = rest.trim_start();
            rest.is_empty() || rest.starts_with(['.', '!', '(', ',', '-', '—', ':', ';', '。'])
        };
        let goes_on = ["했고 ", "했으며 "].iter().any(|end| after.starts_with(end));
        let bare = stem.ends_with(' ');
        !opens_quote(&sentence[..at])
            && (goes_on
                || ending
                    .filter(|ending| !(bare && ending.is_empty()))
                    .any(|ending| after.strip_prefix(ending).is_some_and(closed)))
    })
}

/// Whether what mended stands before the mending: "늘려서 해결했다", "캐시를 비우는 방법으로 고쳤다".
fn by_doing(sentence: &str) -> bool {
    MENDED.iter().filter_map(|mended| sentence.find(mended)).any(|at| {
        let before = sentence[..at].trim_end();
        let doing = |word: &str| DOING.iter().any(|end| word.ends_with(end));
        before.ends_with("하여")
            || (before.ends_with("으로") && !before.ends_with("적으로"))
            || before.split(' ').any(doing)
    })
}
