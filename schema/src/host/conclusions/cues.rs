//! Words that announce a conclusion. They do not make one ("we have not decided to …"), but a sentence with one needs less confidence.

/// Cues of each kind, in the order of `KINDS`, parted by "|". English ones are whole words in lower case.
const ENGLISH: [&str; 6] = [
    "decided to|decided on|decided against|decided that|decided not|decision|settled on|agreed on|agreed to|agreed that|chose|picked|\
     opted for|going with|go with|went with|we'll use|we will use|instead of|rather than|in place of|no longer|switching to|sticking with",
    "turns out|turned out|til|lesson|lesson learned|learned that|found out|discovered that|realized that|noticed that|good to know|\
     worth knowing|worth remembering|keep in mind|heads up|fyi|gotcha|pitfall",
    "root cause|culprit|caused by|because of|due to|fixed|fixes|fix|solved|resolved|works now|went away",
    "i prefer|i'd rather|i like|i hate|i can't stand",
    "convention|our rule|the rule is|from now on|going forward|we always|we never|always|never|must",
    "todo|still to do|still|remaining|remains|left|next|next step|next up|not yet|haven't|have not|pending|outstanding|follow-up|later",
];
const KOREAN: [&str; 6] = [
    "기로 했|기로 결정|기로 합의|기로 확정|결정|정했|확정|채택|통일|선택했|골랐|택했|대신|말고|걸로|갑니다|가요|가죠|합시다",
    "알고 보니|알게 되|알게 됐|알게 된|교훈|배운|배웠|깨달|발견했|참고로|주의할|더라고요|확인해 보니|재 보니",
    "원인|해결|고쳤|때문|문제였|수정했|더니",
    "좋아|싫어|선호",
    "앞으로|항상|규칙|컨벤션|무조건|절대|원칙|금지",
    "남은|남았|남아|아직|해야|다음|나중|할 일|보류|미정",
];

/// Openings that state a conclusion whatever follows, in the order of `KINDS`, separated by "|".
const OPENINGS: [&str; 6] = [
    "we decided to |we decided on |we decided against |we've decided to |i decided to |decision: |결정: ",
    "lesson learned: |learned: |배운 점: ",
    "root cause: |the root cause was |원인: ",
    "i prefer |i'd rather |preference: ",
    "convention: |we always |we never |규칙: ",
    "still open: |still to do: |open: |남은 일: ",
];

/// Returns the kind of conclusion that a sentence states by its opening.
pub(super) fn stated_kind(sentence: &str) -> Option<usize> {
    let low = sentence.trim_start_matches(['-', '*', ' ']).to_lowercase().replace('’', "'");
    OPENINGS.iter().position(|openings| openings.split('|').any(|opening| low.starts_with(opening)))
}

/// Whether a sentence has a cue of a kind.
pub(super) fn has_cue(kind: usize, sentence: &str) -> bool {
    let low = sentence.to_lowercase().replace('’', "'");
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let has_words = |cue: &str| {
        low.match_indices(cue)
            .any(|(at, _)| !is_word(low[..at].chars().next_back()) && !is_word(low[at + cue.len()..].chars().next()))
    };
    ENGLISH[kind].split('|').any(has_words) || KOREAN[kind].split('|').any(|cue| low.contains(cue))
}
