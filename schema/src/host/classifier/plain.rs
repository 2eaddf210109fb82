//! Plain words in which a person decides or sets a rule in a prompt: "let's go with pnpm", "from now on …", "앞으로는 … 써줘".
//!
//! Most of these sentences are too short for the network, which sees few words that it knows.

use super::cues::{CONVENTION, DECISION, LEARNING, PREFERENCE, has_listed, stated_kind};
use crate::model::word_list::WordList;
use crate::prose::sentences::in_lower_case;

/// Words before the statement, which say nothing: "OK, then let's …".
static LEAD_INS: WordList = WordList::phrases(
    "by the way|ok|okay|yes|yeah|yep|alright|all right|right|good|great|fine|then|so|and|but|also|btw|oh|well|now|그럼|그러면|그래|그래요|좋아|좋아요|네|응|\
     오케이|자",
);

/// Words that make a statement an idea, a next step, or the words of somebody else.
static DOUBTS: WordList = WordList::phrases(
    "maybe|perhaps|might|could|if|what if|for now|just this once|this time|temporarily|today|tomorrow|nothing|\
     not sure|the next|the flow|lunch|a break|고마워|감사|what do you think|says|said|tells|suggests|quick|하자고|하자는|가자고|가자는|\
     할지|할까|고민|의견|아마|아직|신경 쓰지|신경쓰지|생각 중|일단|우선|이번|오늘|내일|나중|다음에|먼저|임시|지금은|점심|저녁|회의|여기까지|부터|그만|시간 안|만 더",
);

/// Beginnings that decide whatever follows.
static DECIDES: WordList = WordList::phrases(
    "let's go with |let's go for |let's stick with |let's stick to |let's switch to |let's move to |we'll go with |\
     we will go with |we go with |we're going with |we are going with |i'm going with |we'll stick with |\
     we're switching to |we're moving to |we switched to |we moved to |we're going to use |i've decided|i have decided|we've decided|\
     we have decided|i decided to |we've agreed |we have agreed |settled: |final: |final decision|decided: |agreed: ",
);

/// Beginnings that decide if a reason or an alternative follows, and otherwise are next steps.
static MAY_DECIDE: WordList = WordList::phrases(
    "let's use |let's keep |let's return |let's store |let's make |let's drop |we will use |we'll use |we'll keep |\
     we use |use ",
);
static REASONS: WordList =
    WordList::phrases(", not | and not | instead of | rather than | because | since |; | is overkill| are overkill");

/// Words of immediate steps, which point at something here or serve a search.
static OF_NOW: WordList =
    WordList::phrases("this|that|it|your|my|the debugger|to find|to reproduce|to check|to see|to test|again");

/// Beginnings of standing orders, and words that make an order a standing one.
static RULES: WordList = WordList::phrases(
    "always |never |please always |please never |from now on|going forward|you should always |you should never |\
     i want you to always |i want you to never |remember to always |make sure to always |make sure you always |\
     do not ever |don't ever |dont ever ",
);
static STANDING: WordList = WordList::phrases("from now on|going forward|in the future|in future sessions|every time");
static NO_RULES: WordList = WordList::phrases(
    "always nice|always a|always the|always good|always great|always happy|never mind|never seen|never had|\
     never heard|never knew|never been|never thought|from now on i|from now on line",
);

/// Beginnings of bans after a statement: "people script against 3, don't ever change it".
static EVER: WordList = WordList::phrases("do not ever |don't ever |dont ever ");

/// Beginnings of rules with "must".
static ALL: WordList = WordList::phrases("every |all |each |no ");

/// Orders about how the agent talks, which are preferences.
static TALK: WordList = WordList::phrases(
    "answer|answers|reply|replies|respond|explain|explanations|summary|summaries|talk to me|답변|대답|설명|요약|말투",
);

/// Endings of Korean decisions, and of orders.
static KOREAN_DECIDES: WordList = WordList::phrases(
    "로 하자|기로 하자|걸로 하자|로 가자|로 갑시다|로 합시다|기로 합시다|로 하죠|기로 하죠|로 정하자|로 정했어|로 정했습니다|로 통일하자|로 통일합시다|기로 결정했어|기로 결정했습니다|기로 했어|\
     기로 했습니다|기로 했다|로 할게|로 할게요|로 해볼게|로 해볼게요|로 갈게|로 갈게요|로 결정|로 확정|쓰자|씁시다|쓰죠|로 바꾸자|로 바꾸죠|로 바꿉시다|로 바꿔요|로 갈아타자|로 갈아타죠|로 갈아탑시다|\
     로 옮기자|로 옮기죠|로 옮깁시다|로 줄이자|로 줄이죠|로 줄입시다|로 두자|로 두죠|로 둡시다|로 시작하죠|로 시작합시다|로 통일하죠|으로요",
);
static KOREAN_ORDERS: WordList = WordList::phrases(
    "줘|줘요|부탁해|부탁해요|주세요|주시면 감사하겠습니다|주시면 좋겠습니다|써|쓰자|하자|할 것|하세요|해|해요|돌려|마|마세요|말 것|말자|해라|한다|합시다|달아|지켜",
);
/// Korean words that point at something here, so that an order about it does not last.
static POINTS: WordList = WordList::phrases("이 |그 |저 |이건 |그건 ");

/// Endings of Korean bans, which hold for good.
static KOREAN_BANS: WordList = WordList::phrases(
    "서 안 써|서 안 써요|서 안 씁니다|금지|금지입니다|금지예요|금지요|쓰지 마|쓰지 마요|쓰지 마세요|쓰지 말자|쓰지 말죠|쓰지 맙시다|하지 말죠|하지 맙시다",
);
static KOREAN_STANDING: WordList = WordList::words("앞으로 앞으로는 항상 절대 절대로 무조건 매번 언제나");

/// Beginnings of a clause that takes back what was said before it.
static RETRACTS: WordList = WordList::phrases(
    "forget that|forget it|scratch that|wait, no|wait no|no wait|no, wait|just kidding|아니다|취소할게|취소하자|농담이",
);

/// Beginnings with which a person asks to keep what follows.
static KEEP: WordList = WordList::phrases(
    "remember: |remember that |please remember: |please remember that |for the record: |note for later: |기억해: |기억해 줘: |기억해줘: |\
     기억해 둬: |기억해둬: |기억해 주세요: |기억해주세요: ",
);
static OBLIGATIONS: WordList = WordList::words("always must never should 금지 무조건 반드시 절대 항상");

/// Returns the kind of conclusion that a person states in plain words, as an index of `KINDS`.
pub(super) fn plain_kind(sentence: &str) -> Option<usize> {
    let folded = in_lower_case(sentence).replace("let us ", "let's ");
    let said = without_topic(without_lead_ins(&folded));
    if is_rule_of_order(said) {
        return Some(CONVENTION);
    }
    if has_listed(&DOUBTS, said) {
        return None;
    }
    if is_rule(said) {
        return Some(if has_listed(&TALK, said) { PREFERENCE } else { CONVENTION });
    }
    is_decision(said).then_some(DECISION)
}

/// Returns the kind of what a person asks to remember, as an index of `KINDS`: a convention if it obliges, else a learning, unless its own
/// words say more.
pub(super) fn kind_to_remember(sentence: &str) -> Option<usize> {
    let folded = in_lower_case(sentence);
    let said = without_lead_ins(&folded);
    let rest = KEEP.iter().find_map(|opening| said.strip_prefix(opening))?;
    let plain = || if has_listed(&OBLIGATIONS, rest) { CONVENTION } else { LEARNING };
    Some(plain_kind(rest).or_else(|| stated_kind(rest)).unwrap_or_else(plain))
}

/// Whether a person states a preference anywhere in a prompt: "I prefer pnpm over npm.", "저는 pnpm을 선호해요".
pub(super) fn is_preference(sentence: &str) -> bool {
    static FROM_NOW: WordList =
        WordList::phrases("from now on, |from now on |going forward, |in general, |in general ");
    static PREFERS: WordList = WordList::phrases("i prefer |i always prefer |i generally prefer |i strongly prefer ");
    static COMPARES: WordList = WordList::phrases(" over | to | rather than | instead of ");
    static HERE: WordList = WordList::phrases("this |that |it |the |option |to |your |our |if |not ");
    static KOREAN_SELF: WordList = WordList::phrases("저는 |전 |나는 |난 ");
    static KOREAN_PREFERS: WordList = WordList::phrases("선호해|선호해요|선호합니다|선호한다|선호함");
    static KOREAN_BETTER: WordList = WordList::phrases("좋아|좋아요|좋습니다|좋다|더 편해|더 편해요|낫다|나아|나아요");
    let folded = in_lower_case(sentence);
    let said = without_lead_ins(&folded);
    let said = FROM_NOW.iter().find_map(|opening| said.strip_prefix(opening)).unwrap_or(said);
    if has_listed(&DOUBTS, said) {
        return false;
    }
    let bare = said.trim_end_matches(['.', '!', '~', ' ']);
    let preferred = PREFERS.iter().find_map(|opening| said.strip_prefix(opening));
    preferred.is_some_and(|rest| COMPARES.occurs_in(rest) && !HERE.begins(rest))
        || KOREAN_SELF.begins(said) && (KOREAN_PREFERS.ends(bare) || said.contains("보다 ") && KOREAN_BETTER.ends(bare))
}

/// Whether a person asks for work, which teaches nothing: "Please rebuild the importer so that it never books a line twice."
pub(super) fn is_request(sentence: &str) -> bool {
    static ORDERS: WordList = WordList::phrases(
        "please |can you |could you |add |build |change |create |fix |implement |make |move |refactor |remove |rename |\
         rewrite |run |write ",
    );
    let folded = sentence.to_lowercase();
    ORDERS.begins(without_lead_ins(&folded))
}

/// Returns the start of the last clause that takes back what was said before it, in bytes.
pub(super) fn last_retraction(text: &str) -> Option<usize> {
    let (mut start, mut last) = (0, None);
    for clause in text.split_inclusive(['.', '!', '\n']) {
        if RETRACTS.begins(&clause.trim_start().to_lowercase()) {
            last = Some(start);
        }
        start += clause.len();
    }
    last
}

/// Whether a sentence gives the reason of the one before it.
pub(super) fn is_reason(sentence: &str) -> bool {
    static REASON_STARTS: WordList = WordList::phrases("because |since |the reason is |that way |otherwise ");
    static KOREAN_REASON_ENDS: WordList =
        WordList::words("니까 거든 거든요 니까요 때문이야 때문이에요 때문입니다 때문이다");
    let folded = sentence.to_lowercase();
    let bare = folded.trim_end_matches(['.', '!', ' ']);
    REASON_STARTS.begins(&folded) || KOREAN_REASON_ENDS.ends(bare)
}

fn is_rule(said: &str) -> bool {
    if has_listed(&NO_RULES, said) {
        return false;
    }
    let bare = said.trim_end_matches(['.', '!', ' ']);
    let clauses = said.split([',', ';', '.']).map(str::trim_start);
    RULES.begins(said)
        || clauses.skip(1).any(|clause| EVER.begins(clause))
        || has_listed(&STANDING, said)
        || ALL.begins(said) && said.contains(" must ")
        || is_ban_for_all(said)
        || KOREAN_BANS.ends(bare) && !POINTS.begins(said)
        || is_korean_rule(bare)
}

/// Whether a Korean order holds for good. In "비밀번호를 항상 가려서 보여주는 버튼을 추가해줘" it is the button that always hides something.
fn is_korean_rule(bare: &str) -> bool {
    static MAKES: WordList = WordList::phrases("추가|만들|구현|작성|넣어|개발|생성|붙여|그려");
    let words: Vec<&str> = bare.split_whitespace().collect();
    let Some(standing) = words.iter().rposition(|word| KOREAN_STANDING.contains(word)) else { return false };
    let describes = words[standing + 1..].iter().any(|word| word.ends_with('는') && word.chars().count() > 1);
    let is_made = words.iter().rev().take(2).any(|word| MAKES.begins(word));
    KOREAN_ORDERS.ends(bare) && !(describes && is_made)
}

/// Whether a Korean order says what always comes before something: "배포하기 전에는 테스트를 먼저 돌려 주세요".
fn is_rule_of_order(said: &str) -> bool {
    said.contains("기 전에는 ") && !said.contains("이번") && KOREAN_ORDERS.ends(said.trim_end_matches(['.', '!', ' ']))
}

/// Whether a sentence says what nobody may do: "nobody ships on Fridays", "no `anyhow` in library crates please".
fn is_ban_for_all(said: &str) -> bool {
    static WHEN: WordList = WordList::phrases(" on | without | before | after | while | during | until ");
    static STATES: WordList = WordList::words("cares has is knows likes needs noticed reads said uses wants was");
    let place = || said.contains(" in ") || said.contains(" on ") || said.contains(" outside ");
    if let Some(rest) = said.strip_prefix("nobody ") {
        return WHEN.occurs_in(rest)
            && rest.split(' ').next().is_some_and(|verb| verb.ends_with('s') && !STATES.contains(verb));
    }
    said.starts_with("no ") && place() && (said.contains(" please") || said.contains(", only "))
}

fn is_decision(said: &str) -> bool {
    let has_reason = REASONS.occurs_in(said);
    let clauses = said.split([',', ';', '.']).map(|clause| clause.trim_end_matches(['!', ' ']));
    DECIDES.begins(said)
        || MAY_DECIDE.begins(said) && has_reason && !has_listed(&OF_NOW, said)
        || clauses.into_iter().any(decides_in_korean)
}

/// Whether a Korean clause decides on something: "구글로 바꿔요", "BullMQ로요". "바로 시작하죠" only begins.
fn decides_in_korean(clause: &str) -> bool {
    static ADVERBS: WordList =
        WordList::words("그대로 따로 바로 별로 새로 스스로 아래로 앞으로 위로 정말로 제대로 쪽으로");
    let mut words = clause.split_whitespace().rev();
    let last = words.next().unwrap_or_default();
    let with_means = match last.strip_suffix("로요") {
        Some(name) if name.ends_with(|c: char| c.is_ascii_alphanumeric()) => return true,
        Some(_) => last.trim_end_matches('요'),
        None => words.next().unwrap_or_default(),
    };
    // "시각 테스트는 Playwright로 하고 CI에서만 찍자"
    let names_means_first = clause.contains("는 ") && clause.contains("로 하고 ") && last.ends_with('자');
    names_means_first || KOREAN_DECIDES.ends(clause) && !ADVERBS.ends(with_means)
}

/// Whether an agent promises to keep a rule from now on.
pub(super) fn promises_a_rule(sentence: &str) -> bool {
    static PROMISES: WordList =
        WordList::phrases("from now on i'll |from now on, i'll |from now on i will |i'll always |i will always ");
    static REGULAR: WordList = WordList::phrases(" always | never | every | each | before | after | whenever ");
    let folded = in_lower_case(sentence);
    let bare = folded.trim_end_matches(['.', '!', ' ']);
    PROMISES.begins(&folded) && REGULAR.occurs_in(&folded)
        || folded.starts_with("앞으로 ") && folded.contains(" 항상 ") && bare.ends_with("겠습니다")
}

/// Returns a decision without the topic before it: "final answer: we go with Tauri".
fn without_topic(said: &str) -> &str {
    const LONGEST_TOPIC: usize = 30;
    let topic = said.split_once(": ").filter(|(topic, _)| topic.chars().count() <= LONGEST_TOPIC);
    topic.map(|(_, statement)| statement).filter(|statement| DECIDES.begins(statement)).unwrap_or(said)
}

fn without_lead_ins(said: &str) -> &str {
    let mut rest = said.trim_start_matches(['-', '*', ' ']);
    while let Some(after) = LEAD_INS.iter().find_map(|lead_in| {
        let after = rest.strip_prefix(lead_in)?;
        after.starts_with([',', '.', ' ', '!']).then(|| after.trim_start_matches([',', '.', ' ', '!']))
    }) {
        rest = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::choice("OK, then let's go with Postgres.", Some(DECISION))]
    #[case::alternative("Use cursor pagination, not offsets.", Some(DECISION))]
    #[case::after_a_topic("Final answer: I decided to go with Tauri over Electron.", Some(DECISION))]
    #[case::rule("Always run the linter before a commit.", Some(CONVENTION))]
    #[case::standing_order("Please use pnpm instead of npm from now on.", Some(CONVENTION))]
    #[case::preference("Keep your answers short in the future.", Some(PREFERENCE))]
    #[case::korean_choice("그럼 로그는 JSON으로 하자.", Some(DECISION))]
    #[case::korean_reason_after("DB는 MySQL 쓰자, 팀이 익숙하니까.", Some(DECISION))]
    #[case::korean_change("그럼 mppi로 갈아탑시다.", Some(DECISION))]
    #[case::korean_rule("앞으로는 pnpm을 써줘.", Some(CONVENTION))]
    #[case::korean_name("스케줄은 BullMQ로요", Some(DECISION))]
    #[case::korean_start("그럼 바로 시작하죠.", None)]
    #[case::korean_comfort("그건 신경 쓰지 마세요", None)]
    #[case::korean_ban("그리고 default export 쓰지 마세요", Some(CONVENTION))]
    #[case::ban_after_a_statement(
        "exit codes: 3 is drift. people script against 3, dont ever change it",
        Some(CONVENTION)
    )]
    #[case::ban_for_all("nobody ships on Fridays after 14:00", Some(CONVENTION))]
    #[case::nobody_knows("nobody knows why it fails on CI", None)]
    #[case::ban_in_a_place("no `anyhow` in library crates please, only in the binary.", Some(CONVENTION))]
    #[case::nothing_there("no luck in staging either", None)]
    #[case::korean_order(
        "클러스터를 건드리기 전에는 etcd 스냅샷을 먼저 떠 두는 걸로 해 주시면 감사하겠습니다.",
        Some(CONVENTION)
    )]
    #[case::korean_plan("그럼 medium LoRA로 해볼게요.", Some(DECISION))]
    #[case::korean_reason_before("Chromatic은 비싸서 안 써.", Some(CONVENTION))]
    #[case::korean_means_first("visual test는 Playwright로 하고 CI에서만 찍자, 다 깨져", Some(DECISION))]
    #[case::aside("btw never hand edit the .expected files", Some(CONVENTION))]
    #[case::step("Let's use the debugger to find it.", None)]
    #[case::one_off("이번만 npm으로 하자.", None)]
    #[case::condition("If Redis is too slow we will use memcached instead of it.", None)]
    #[case::others("The docs say to always run the linter.", None)]
    #[case::chat("Never mind, it works now.", None)]
    #[case::korean_feature("로그인 화면에서 비밀번호를 항상 가려서 보여주는 버튼을 추가해줘.", None)]
    #[case::korean_rule_of_work("새 API에는 항상 테스트를 추가해줘.", Some(CONVENTION))]
    #[case::korean_question("앞으로 뭐가 남았지", None)]
    #[case::korean_end("오늘은 여기까지 하자.", None)]
    fn plain_statement_has_a_kind(#[case] sentence: &str, #[case] expected: Option<usize>) {
        assert_eq!(plain_kind(sentence), expected);
    }

    #[rstest]
    #[case::plain("I prefer pnpm over npm.", true)]
    #[case::from_now("From now on I prefer spaces over tabs", true)]
    #[case::now("ok, I prefer spaces over tabs now", true)]
    #[case::korean("저는 pnpm을 선호해요", true)]
    #[case::korean_comparison("나는 탭보다 스페이스가 좋아", true)]
    #[case::one_of_these("I prefer the first over the second.", false)]
    #[case::for_now("I prefer npm over pnpm for now.", false)]
    #[case::korean_thanks("나는 좋아", false)]
    fn preference_is_recognized(#[case] sentence: &str, #[case] expected: bool) {
        assert_eq!(is_preference(sentence), expected);
    }

    #[rstest]
    #[case::fact("ok, remember: the staging password rotates on Mondays", Some(LEARNING))]
    #[case::rule("Please remember that v1 clients must keep working", Some(CONVENTION))]
    #[case::korean("기억해 줘: 배포는 목요일", Some(LEARNING))]
    #[case::decision("for the record: we go with Postgres, not MySQL", Some(DECISION))]
    #[case::memory("I remember that the build broke", None)]
    fn requests_to_remember_have_a_kind(#[case] sentence: &str, #[case] expected: Option<usize>) {
        assert_eq!(kind_to_remember(sentence), expected);
    }

    #[rstest]
    #[case("We go with Redis. Wait, no.", Some(17))]
    #[case("We go with Redis.\nScratch that. Forget it, we stay.", Some(31))]
    #[case("Redis로 가자. 주문을 취소하는 버튼도 만들자.", None)]
    fn retraction_begins_a_clause(#[case] text: &str, #[case] expected: Option<usize>) {
        assert_eq!(last_retraction(text), expected);
    }

    #[rstest]
    #[case("From now on I'll run the whole suite before a push.", true)]
    #[case("앞으로 변경 전에는 항상 스냅샷을 먼저 뜨겠습니다.", true)]
    #[case("앞으로 지켜보겠습니다.", false)]
    #[case("I'll run it now.", false)]
    #[case("From now on I'll call it the parser.", false)]
    fn promise_of_an_agent_is_recognized(#[case] sentence: &str, #[case] expected: bool) {
        assert_eq!(promises_a_rule(sentence), expected);
    }

    #[rstest]
    #[case("Because a restart must not lose them.", true)]
    #[case("링크가 바뀔 수 있으니까.", true)]
    #[case("The tests pass.", false)]
    fn reason_is_recognized(#[case] sentence: &str, #[case] expected: bool) {
        assert_eq!(is_reason(sentence), expected);
    }
}
