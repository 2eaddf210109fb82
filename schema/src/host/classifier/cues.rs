//! Words that announce a conclusion. They do not make one ("we have not decided to …"), but a sentence with one needs less confidence.

use crate::model::word_list::WordList;
use crate::prose::sentences::in_lower_case;

/// The classes of the network that are conclusions: the indexes of their types in `KINDS`.
pub(super) const DECISION: usize = 0;
pub(super) const LEARNING: usize = 1;
pub(super) const ERROR_FIX: usize = 2;
pub(super) const PREFERENCE: usize = 3;
pub(super) const CONVENTION: usize = 4;
pub(super) const OPEN_STEP: usize = 5;

/// Cues of each kind, in the order of `KINDS`. English ones are whole words in lower case.
static ENGLISH: [WordList; 6] = WordList::phrases_each([
    "decided to|decided on|decided against|decided that|decided not|decision|settled on|agreed on|agreed to|\
     agreed that|chose|picked|opted for|going with|go with|went with|we'll use|we will use|instead of|rather than|\
     in place of|no longer|switching to|sticking with",
    "turns out|turned out|til|lesson|lesson learned|learned that|found out|discovered that|realized that|noticed that|\
     good to know|worth knowing|worth remembering|keep in mind|heads up|fyi|gotcha|pitfall",
    "root cause|culprit|caused by|because of|due to|fixed|fixes|fix|solved|resolved|works now|went away",
    "i prefer|i'd rather|i like|i hate|i can't stand",
    "convention|our rule|the rule is|from now on|going forward|we always|we never|always|never|must",
    "todo|still to do|still|remaining|remains|left|next|next step|next up|not yet|haven't|have not|pending|\
     outstanding|follow-up|later",
]);
static KOREAN: [WordList; 6] = WordList::phrases_each([
    "기로 했|기로 결정|기로 합의|기로 확정|결정|정했|확정|채택|통일|선택했|골랐|택했|대신|말고|걸로|갑니다|가요|가죠|합시다",
    "알고 보니|알게 되|알게 됐|알게 된|교훈|배운|배웠|깨달|발견했|참고로|주의할|더라고요|확인해 보니|재 보니",
    "원인|해결|고쳤|때문|문제였|수정했|더니",
    "좋아|싫어|선호",
    "앞으로|항상|규칙|컨벤션|무조건|절대|원칙|금지",
    "남은|남았|남아|아직|해야|다음|나중|할 일|보류|미정",
]);

/// Openings that state a conclusion whatever follows, in the order of `KINDS`.
static OPENINGS: [WordList; 6] = WordList::phrases_each([
    "we decided to |we decided on |we decided that |we decided against |we've decided to |we've decided that |\
     we have decided |i've decided to |i've decided that |i decided to |i decided that |we've agreed |we agreed on |\
     we agreed that |we settled on |decision: |결정: ",
    "lesson learned: |lesson: |learned: |til: |worth remembering: |i learned that |we learned that |\
     i discovered that |we discovered that |배운 점: |교훈: ",
    "root cause: |the root cause was |원인: ",
    "i prefer |i'd rather |preference: ",
    "convention: |rule: |new rule: |house rule: |ground rule: |policy: |standing rule: |we always |we never |our convention is |\
     our rule is |the rule is |규칙: |원칙: |방침: ",
    "still open: |still to do: |open: |next: |next up: |next steps: |todo: |todo later: |not done: |still missing: |remaining: |pending: |pending tasks: |what remains: |what's left: |\
     남은 일: |남은 작업: |다음: |다음 단계: |다음에 할 일: |다음에 할 것: |할 일: ",
]);

/// Words in a line that introduces a list of open steps.
static STEPS_FOLLOW: WordList = WordList::phrases(
    "left for|left over|still open|still want|still need|still missing|not there yet|open points|open items|to do|todo|pending tasks|next steps|next up|remaining|remains|what's left|what is left|\
     left to do|not done|follow-up|open steps|still to come|left open|안 한 것|안 한 일|앞으로 할 것|이어서 할|残りの|残りは|残り:|残って|未完了|やること|次のステップ|남은|남았|할 일|해야 할|부탁드릴 것|다음에 할|다음 단계|다음 작업|미완료",
);

/// Cues of Japanese conclusions with their kinds. Earlier ones count first.
static JAPANESE: [(usize, WordList); 5] = [
    (CONVENTION, WordList::phrases("今後、|今後は|これからは|必ず|禁止")),
    (
        DECISION,
        WordList::phrases(
            "ことにした|ことにする|ことにします|ことになった|に決めた|に決めました|に決定|を採用|でいこう|で行こう|にしよう|やっぱり",
        ),
    ),
    (ERROR_FIX, WordList::phrases("と直ります|で直りました|を直しました|を修正しました。原因|が原因でした|原因は")),
    (LEARNING, WordList::phrases("ことがわかった|ことが分かった|ことがわかりました|ことが分かりました|と判明")),
    (OPEN_STEP, WordList::phrases("返事待ち|確認待ち|まだ対応していません|未対応")),
];

/// Words of Japanese questions, guesses and wishes.
static JAPANESE_DOUBTS: WordList = WordList::words("かも でしょうか ですか ますか 思います 検討 どう 今回だけ");

/// The longest line that introduces a list, in characters.
const LONGEST_LEAD: usize = 80;

/// Returns the kind of conclusion that a sentence states by its opening.
pub(super) fn stated_kind(sentence: &str) -> Option<usize> {
    let low = in_lower_case(sentence.trim_start_matches(['-', '*', ' ']));
    OPENINGS.iter().position(|openings| openings.begins(&low))
}

/// Returns the kind of a plain conclusion in Japanese.
pub(super) fn japanese_kind(sentence: &str) -> Option<usize> {
    if has_listed(&JAPANESE_DOUBTS, sentence) {
        return None;
    }
    JAPANESE.iter().find(|(_, cues)| has_listed(cues, sentence)).map(|(kind, _)| *kind)
}

/// Whether a line introduces a list of open steps.
pub(crate) fn introduces_steps(line: &str) -> bool {
    line.chars().count() <= LONGEST_LEAD && (has_listed(&STEPS_FOLLOW, line) || is_steps_heading(line))
}

/// Whether a sentence only says how many open steps the next one names: "할 일이 두 개 남았어요.", "Two things are left."
pub(crate) fn counts_steps(sentence: &str) -> bool {
    static SUBJECTS: WordList = WordList::phrases(
        "할 일은 |할 일이 |남은 일은 |남은 일이 |남은 건 |남은 것은 |남은 게 |남은 작업은 |남은 작업이 |해야 할 일은 ",
    );
    static KOREAN_COUNTS: WordList =
        WordList::phrases("두 가지|세 가지|네 가지|2가지|3가지|4가지|두 개|세 개|네 개|2개|3개|4개|둘|셋|넷");
    static COUNTS: WordList = WordList::words("two three four five 2 3 4 5");
    static LEFT: WordList = WordList::words("left open remaining remain todo");
    const LONGEST: usize = 40;
    let bare = bare(sentence);
    let words: Vec<&str> = bare.split(' ').collect();
    let is_english = COUNTS.contains(words[0]) && words.last().is_some_and(|word| LEFT.contains(word));
    bare.chars().count() <= LONGEST && (is_english || SUBJECTS.occurs_in(&bare) && KOREAN_COUNTS.occurs_in(&bare))
}

/// Whether a line is only the heading of open steps.
pub(super) fn is_steps_heading(line: &str) -> bool {
    static HEADINGS: WordList = WordList::phrases(
        "to do|to do next|todo|left over|left open|still to do|still to come|left to do|next steps|next step|not done|not done yet|\
         still open|open|open from here|outstanding|open points|open items|remaining|next|optional next step|pending|pending task|pending tasks|\
         when it's through|when it's done|when that's done|once it's done|once that's done|after that|\
         남은 일|남은 작업|남은 것|할 일|다음|다음 할 일|다음에 할 일|다음에 할 것|다음 단계|다음 작업|앞으로 할 일|앞으로 할 것|이어서 할 일|이어서 할 것|안 한 것|아직 안 한 것|残り",
    );
    // "Left for the importer:", "남은 것은 이렇습니다."
    static KOREAN_ENDS: WordList =
        WordList::phrases("은 이렇습니다|는 이렇습니다|은 다음과 같습니다|는 다음과 같습니다|입니다|이에요|예요");
    let bare = bare(line);
    let korean = KOREAN_ENDS.iter().find_map(|end| bare.strip_suffix(*end));
    let of_something = bare.split_once(" for the ").map(|(heading, _)| heading);
    HEADINGS.contains(&bare)
        || korean.is_some_and(|heading| HEADINGS.contains(heading))
        || of_something.is_some_and(|heading| heading == "left" || HEADINGS.contains(heading))
}

/// Whether a sentence begins with such a heading and a colon: "To do: renew the key". After a number, as in "Remaining: 3 of 40", it may
/// only count.
pub(super) fn begins_with_steps_heading(sentence: &str) -> bool {
    below_heading(sentence).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a sentence says what comes after the step before it.
pub(super) fn follows_in_time(sentence: &str) -> bool {
    static THEN: WordList =
        WordList::phrases("after that|afterwards|then |finally|그 뒤|그뒤|그 다음|그다음|그 후|이후|마지막으로");
    THEN.begins(&sentence.to_lowercase())
}

/// Whether the first sentence of a prompt says what the agent is to do now: "Next: the exporter".
pub(super) fn begins_with_next(sentence: &str) -> bool {
    static NEXT: WordList = WordList::phrases("next: |next, |next up: |다음: |다음은 |다음으로 ");
    NEXT.begins(&sentence.to_lowercase())
}

/// Whether a sentence says that no step is open, as in "Remaining: none", or opens an address.
pub(super) fn names_no_step(sentence: &str) -> bool {
    below_heading(sentence).is_some_and(is_no_step)
}

/// Whether an item of a list of open steps is no step: it says that nothing is left or that the user speaks next, or is an address.
pub(super) fn is_no_step(item: &str) -> bool {
    static NO_STEP: WordList = WordList::phrases(
        "none|nothing|no pending|no further|no explicit|no outstanding|no open|no remaining|no more|no next|no tasks|no work|there are no |there is no |\
         if the user |waiting for the user|awaiting |n/a|http://|https://|localhost|없음|없습니다|없어|없다|없네|없고",
    );
    static EVERYTHING: WordList = WordList::phrases("all |everything |the work ");
    static DONE: WordList = WordList::phrases("complete|done|implemented|finished|fixed");
    static KOREAN: WordList = WordList::phrases(
        "않았습니다|않았어요|안 했습니다|완료되었|완료됨|완료했|단계 없음|작업 없음|확인 대기|지시를 기다|사용자의 다음 ",
    );
    let item = item.trim_start_matches(['(', '*', '_']).to_lowercase();
    NO_STEP.begins(&item) || EVERYTHING.begins(&item) && DONE.occurs_in(&item) || KOREAN.occurs_in(&item)
}

/// Returns what follows the heading of open steps and a colon.
fn below_heading(sentence: &str) -> Option<&str> {
    let (lead, rest) = sentence.split_once(": ")?;
    is_steps_heading(lead).then(|| rest.trim_start())
}

/// Returns a line in lower case without the signs around it, such as a colon.
fn bare(line: &str) -> String {
    in_lower_case(line.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// Whether a sentence has a cue of a kind.
pub(super) fn has_cue(kind: usize, sentence: &str) -> bool {
    has_listed(&ENGLISH[kind], sentence) || has_listed(&KOREAN[kind], sentence)
}

/// Whether a text has one of the listed cues. English ones must be whole words.
pub(super) fn has_listed(cues: &WordList, text: &str) -> bool {
    let low = in_lower_case(text);
    let continues = |c: char| c.is_ascii_alphanumeric();
    let is_whole = |at: usize, end: usize| !low[..at].ends_with(continues) && !low[end..].starts_with(continues);
    cues.iter().any(|cue| low.match_indices(cue).any(|(at, _)| !cue.is_ascii() || is_whole(at, at + cue.len())))
}
