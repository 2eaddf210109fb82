//! The rules for Korean, where verbs end the clause.

use super::phrases::{
    SentenceMeaning, contains_phrase, ends_with_phrase, has_open_quote, is_phrase, phrases, starts_with_phrase,
    strip_label,
};

const DECISION_LABELS: &str = "결정|결정 사항|결정사항|최종 결정|설계 결정|합의|합의 사항";
const LEARNING_LABELS: &str = "\
    주의할 점|기억할 점|핵심 교훈|배운 점|배운 것|알게 된 점|알게된 점|알게 된 것|새로 알게 된 점|교훈|깨달은 점\
    |다음에 기억할 것|다음을 위한 메모";
const CAUSE_LABELS: &str = "원인|근본 원인|문제 원인";
const FIX_LABELS: &str = "해결|해결 방법|해결책|수정|조치";
const REASON_LABELS: &str = "이유|근거|왜";
const PENDING: &str = "미정|보류|없|추후|아직|대기|특별히|딱히";

const DECIDED: &str = "기로 |기로 결정|기로 합의|기로 정|기로 확정";
const DECIDED_ON: &str = "로 결정|로 확정|로 합의|로 정|을 채택|를 채택|로 채택";
/// Everyday verbs, which state a decision only with an alternative or a reason.
const CHOSE: &str = "을 선택|를 선택|을 택|를 택|로 선택|로 교체하기로 ";
const WEIGHED: &str = "대신|때문에|니까|보다 |므로|위해|아니라";
/// Stems before "기로" that name the next step of the work or of the day, which is not worth remembering.
const STEPS: &str = "\
    건너뛰|수정하|취소하|커밋하|정하|결정하|확인하|보|살펴보|실행하|검토하|논의하|의논하|진행하|넘어가|시작하\
    |미루|테스트하|돌려보|읽|찾|묻|물어보|기다리|쉬|먹|만나|가|오|시도하|조사하|이야기하";
/// Words that postpone something.
const ANOTHER_TIME: &str = "나중에|내일|먼저|우선|일단|다음에|이따|잠시|오늘|다시";
/// Words that refer to earlier text.
const VAGUE: &str = "그렇게|이렇게|그대로|그걸로|이걸로|여기까지";
/// Phrases that mean nothing without the list that they refer to.
const LISTED: &str = "번째 |이 방법|그 방법|이 방식|그 방식";
const ELSEWHERE: &str = "\
    예전|이전 프로젝트|지난 프로젝트|옛 프로젝트|다른 프로젝트|전 직장|이전 회사|전 회사|과거에|당시|따르면\
    |원래는|처음에는|다고 합니다";
const ANSWERS: &str = "확인이 필요|승인|허용합니다|거절|거부";
/// Phrases that begin a standing rule, and its endings.
const RULES: &str = "앞으로 |앞으로는 ";
const RULED: &str = "한다|합니다|않는다|않습니다|쓴다|씁니다|둔다|둡니다|하자|합시다|사용한다|금지";
const LEARNED: &str = "\
    알게 되|알게 됐|알게 됨|것을 배웠|걸 배웠|점을 배웠|교훈을 얻었|깨달았|것을 발견했|점을 발견했|것을 알았\
    |사실을 알았";
/// Phrases about the people who talk, or that belittle.
const PERSONAL: &str = " 제 | 제가 | 내 | 내가 | 그냥 | 단순";
/// Phrases about a passing state of files, tests and builds. With a condition they may state a rule.
const STATES: &str = "\
    함수 `|변수 `| 더 있|함수가 |메서드가 |변수가 |번째 줄|비어|통과|실패|존재한|존재하|파일이 없|이미 |아직 \
    |깨져|누락|멈춰|남아|고 있다|고 있었|누가 |무엇이 ";
const CONDITIONS: &str = "면 |때 |때는|때까지|마다|항상|에서는|에는|해도";
const MENDED: &str = "해결했|해결함|해결됐|해결되었|고쳤|수정했";
const CAUSES: &str = "원인은 |원인이었|때문이었|원인으로 밝혀졌|원인이 ";
const COSMETIC: &str = "\
    세미콜론|import|실수|파일을 수정해|코드를 수정해|스냅샷|린트|오타|맞춤법|띄어쓰기|문구|주석|제목|설명을|되돌\
    |롤백|원복|문서를|문서의|라벨";
const FAULTS: &str = "오류|에러|버그|문제|실패|충돌|크래시|누수|현상";

/// Endings of words that name a means. Other words in "서" are places and conjunctions.
const DOING: &str = "해서|려서|여서|꿔서|워서|춰서|켜서|겨서|어서|내서|함으로써";

/// Past and nominal endings after a stem.
const ENDINGS: &str = "\
    다|습니다|어요|음|었다|었습니다|었음||했습니다|했어요|했음|했다|했고|했으며|하였다|하였습니다|함|됐다\
    |됐습니다|되었다|되었습니다|되었음|됐어요";

/// Phrases that make a sentence a question, a condition, a request, hearsay or a guess.
const TAKES_BACK: &str = "\
    만약|만일|가정하|예를 들어|예시|을까|할까|할지|는지 |주세요|주십시오|하십시오|아마|것 같|듯하|듯합|추정|의심\
    |했다면|했더라면|했다고|기로 한다면|예정|겠습니다|모르|수도 있";
const UNDECIDED: &str = "아직|결정하지|정하지|결정된 것은 없|결정 못|결정을 못|합의하지|확정하지";
const UNMENDED: &str = "아직|해결하지|해결되지|고치지";

pub(super) fn classify_sentence(sentence: &str) -> Option<SentenceMeaning> {
    let settled = |rest: &str| !starts_with_phrase(rest, PENDING);
    if sentence.starts_with(['"', '“', '\'', '‘', '「']) || contains_phrase(sentence, TAKES_BACK) {
        return None;
    }
    if contains_phrase(sentence, ELSEWHERE) {
        return None;
    }
    let settles = |rest: &str| settled(rest) && !contains_phrase(rest, ANSWERS);
    if !contains_phrase(sentence, UNDECIDED)
        && (strip_label(sentence, DECISION_LABELS).is_some_and(settles) || is_decision(sentence))
    {
        return Some(SentenceMeaning::Decision);
    }
    let caused = strip_label(sentence, CAUSE_LABELS).is_some_and(settled) || contains_phrase(sentence, CAUSES);
    let caused = caused && !sentence.contains("확인 중") && !contains_phrase(sentence, COSMETIC);
    if is_fix(sentence)
        && (caused || (contains_phrase(sentence, FAULTS) && !sentence.contains("서 문제를") && names_repair(sentence)))
    {
        return Some(SentenceMeaning::Fixed);
    }
    if caused {
        return Some(SentenceMeaning::Cause);
    }
    let told = sentence.strip_prefix("알고 보니").filter(|told| !starts_with_phrase(told, PERSONAL));
    let found = told.is_some() && !ends_in_past(sentence) || phrases(LEARNED).any(|stem| has_past_stem(sentence, stem));
    let learned = strip_label(sentence, LEARNING_LABELS).is_some_and(settled) || (found && is_lasting(sentence));
    learned.then_some(SentenceMeaning::Learning)
}

/// Whether a learning still holds tomorrow: not the state of a file or a test, and no single event.
fn is_lasting(sentence: &str) -> bool {
    let once = sentence.match_indices("다는 ").any(|(at, _)| {
        let word = sentence[..at].rsplit(' ').next().unwrap_or_default();
        is_past_stem(word) && !word.ends_with(['있', '겠'])
    });
    let state = contains_phrase(sentence, STATES) || (sentence.contains(" 있다는") && !sentence.contains("수 있다는"));
    !once && (!state || contains_phrase(sentence, CONDITIONS))
}

/// Whether a stem ends with the past marker, as in "했", "었", "됐".
fn is_past_stem(stem: &str) -> bool {
    const SYLLABLES: std::ops::RangeInclusive<char> = '가'..='힣';
    stem.chars().next_back().is_some_and(|c| SYLLABLES.contains(&c) && (c as u32 - '가' as u32) % 28 == 20)
}

fn ends_in_past(sentence: &str) -> bool {
    let bare = sentence.trim_end_matches(['.', '!', ' ']);
    phrases("다|습니다|어요")
        .filter_map(|end| bare.strip_suffix(end))
        .any(|stem| is_past_stem(stem) && !stem.ends_with("있"))
        || bare.ends_with("있었다")
}

pub(super) fn is_reason(sentence: &str) -> bool {
    starts_with_phrase(sentence, "왜냐하면|왜냐면|이유는|그 이유는")
}

pub(super) fn is_reason_label(sentence: &str) -> bool {
    strip_label(sentence, REASON_LABELS).is_some()
}

pub(super) fn is_fix(sentence: &str) -> bool {
    !contains_phrase(sentence, UNMENDED)
        && !contains_phrase(sentence, COSMETIC)
        && !contains_phrase(sentence, TAKES_BACK)
        && (contains_phrase(sentence, MENDED) || is_fix_label(sentence))
}

pub(super) fn is_fix_label(sentence: &str) -> bool {
    strip_label(sentence, FIX_LABELS).is_some_and(|rest| !starts_with_phrase(rest, PENDING))
        && !contains_phrase(sentence, TAKES_BACK)
}

fn is_decision(sentence: &str) -> bool {
    let weighed = contains_phrase(sentence, WEIGHED);
    if phrases(DECIDED).any(|stem| has_past_stem(sentence, stem)) {
        return !is_next_step(sentence);
    }
    if contains_phrase(sentence, LISTED) {
        return false;
    }
    if phrases(DECIDED_ON).any(|stem| has_past_stem(sentence, stem))
        || (weighed && phrases(CHOSE).any(|stem| has_past_stem(sentence, stem)))
    {
        return true;
    }
    let trimmed = sentence.trim_end_matches(['.', '!', ' ']);
    // "앞으로 …해야 한다" is a task, unless it applies to everything.
    let all = contains_phrase(sentence, "모든|항상|반드시|마다");
    let closed = if all { trimmed.ends_with('다') } else { ends_with_phrase(trimmed, RULED) };
    let once = contains_phrase(sentence, "동안|할 일|생각") || (!all && sentence.contains("해야 "));
    let ruled = starts_with_phrase(sentence, RULES) && closed && !once && !ends_in_past(sentence);
    // "X 대신 Y로 가자" proposes and decides at once. Without an alternative it may be any plan.
    ruled
        || (weighed && ends_with_phrase(trimmed, "로 가자|로 갑시다|로 하자|로 합시다|쓰자|씁시다|사용하자|사용합시다"))
}

/// Whether a sentence decides only the next step: "내일 확인하기로 했다", "읽어 보기로 했다".
fn is_next_step(sentence: &str) -> bool {
    let Some((before, _)) = sentence.split_once("기로 ") else { return false };
    let mut words = before.split(' ').rev();
    let verb = words.next().unwrap_or_default();
    let negated = verb == "않";
    let later = before.split(' ').any(|word| is_phrase(word.trim_end_matches(['은', '는']), ANOTHER_TIME));
    let vague = words.next().is_some_and(|word| is_phrase(word, VAGUE));
    is_phrase(verb, STEPS) || vague || (later && !negated)
}

/// Whether a stem has a past ending that closes its clause, outside quotation marks.
fn has_past_stem(sentence: &str, stem: &str) -> bool {
    sentence.match_indices(stem).any(|(at, _)| {
        let after = &sentence[at + stem.len()..];
        let ending = phrases(ENDINGS);
        let closed = |rest: &str| {
            let rest = rest.trim_start();
            rest.is_empty() || rest.starts_with(['.', '!', '(', ',', '-', '—', ':', ';', '。'])
        };
        let goes_on = starts_with_phrase(after, "했고 |했으며 ");
        let bare = stem.ends_with(' ');
        !has_open_quote(&sentence[..at])
            && (goes_on
                || ending
                    .filter(|ending| !(bare && ending.is_empty()))
                    .any(|ending| after.strip_prefix(ending).is_some_and(closed)))
    })
}

/// Whether the means of a fix precedes its verb: "늘려서 해결했다", "캐시를 비우는 방법으로 고쳤다".
fn names_repair(sentence: &str) -> bool {
    phrases(MENDED).filter_map(|mended| sentence.find(mended)).any(|at| {
        let before = sentence[..at].trim_end();
        let doing = |word: &str| {
            let joined = word.ends_with('해') && word.chars().count() > 2;
            joined || ends_with_phrase(word, DOING)
        };
        // "추가해 고쳤다", but not "위해 고쳤다".
        let joined = ends_with_phrase(before, "해|려|여|꿔|켜|춰|겨");
        (joined && !ends_with_phrase(before, "위해|대해|의해"))
            || before.ends_with("하여")
            || (before.ends_with("으로") && !before.ends_with("적으로"))
            || before.split(' ').any(doing)
    })
}
