//! Korean words: removes particles and verb endings, and lists words that occur in any text.

use crate::model::word_list::WordList;

/// Particles.
static PARTICLES: WordList = WordList::words(
    "으로부터 에서부터 이라고 이라는 에서는 에서도 에게서 으로는 으로서 으로써 까지는 부터는 라는 라고 에서 에게 한테서 한테 으로 이나 이랑 하고 처럼 보다 까지 부터 마다 조차 만큼 에는 에도 로는 로도 와는 \
     은 는 이 가 을 를 에 의 로 와 과 도 만 당",
);

/// Endings of verbs that are derived from a noun, as in "저장하고".
static OF_NOUNS: WordList = WordList::words(
    "하겠습니다 했었습니다 되었습니다 해주세요 하십시오 하였습니다 하도록 했습니다 됐습니다 하기로 하려고 하지만 하니까 하므로 하는데 해야 합니다 합시다 됩니다 되도록 되므로 되는 되면 되고 되지 되어 되었 \
     된다 했다 한다 하자 하죠 해요 해줘 하고 해서 하면 하는 하지 하기 하게 할게 했고 했는데 했던 하여 한 할 해 함 된 될 돼 됨 시킨 시켜 시키 하세요",
);

/// Endings that only verbs have.
static OF_VERBS: WordList = WordList::words(
    "습니다 습니까 니다 세요 까요 네요 군요 어요 아요 예요 에요 거든 니까 므로 지만 려고 도록 는데 은데 으면 어서 아서 여서 었다 았다 였다 었고 았고 이다 는다 인다 린다 긴다 난다 든다 죠 줘",
);

/// Endings of proposals, spelled out because nouns such as "사용자" and "관리자" end the same way. The short ones match whole words only.
static PROPOSALS: WordList = WordList::words(
    "늘리자 올리자 내리자 돌리자 버리자 살리자 알리자 바꾸자 옮기자 남기자 맡기자 줄이자 붙이자 높이자 나누자 없애자 고치자 합치자 만들자 맞추자 낮추자 미루자 지우자 세우자 채우자 띄우자 따르자 쓰자 두자 \
     말자 빼자 넣자 막자 끄자",
);
const SHORT_PROPOSALS: [&str; 6] = ["가자", "보자", "주자", "내자", "걸자", "켜자"];

/// Nouns that end like a verb form before another verb.
static NOUNS: WordList = WordList::words("재고 참고 광고 창고 사고 경고 최고 보고 권고 원고 신고 금고 통고 로고");

/// Returns the particle that a word consists of.
pub(super) fn particle(word: &str) -> Option<&'static str> {
    let word = if word == "으로만" || word == "로만" { "로" } else { word };
    PARTICLES.endings(word).next().filter(|particle| *particle == word)
}

/// Returns a word without its particle or ending, and the particle. The stem of a verb without a noun is empty.
pub(super) fn stem(word: &str) -> (&str, &'static str) {
    let before = |ending: &str| &word[..word.len() - ending.len()];
    let is_noun = |stem: &&str| stem.chars().count() >= 2 || stem.is_empty();
    if let Some(stem) = OF_NOUNS.endings(word).map(before).find(is_noun) {
        return (stem, "");
    }
    let is_proposed = PROPOSALS.ends(word) || SHORT_PROPOSALS.contains(&word);
    let is_linked = word.ends_with('고') && word.chars().count() == 2 && !NOUNS.contains(word);
    if is_linked || is_proposed || OF_VERBS.ends(word) {
        return ("", "");
    }
    let is_after_noun = |particle: &&str| {
        let least = if matches!(*particle, "을" | "를" | "은" | "는" | "에" | "로" | "으로") { 1 } else { 2 };
        before(particle).chars().count() >= least
    };
    let particle = PARTICLES.endings(word).find(is_after_noun).unwrap_or_default();
    (singular(before(particle)), particle)
}

/// Returns a noun without the plural ending 들. "아들" (son) has none.
fn singular(noun: &str) -> &str {
    noun.strip_suffix('들').filter(|stem| stem.chars().count() >= 2).unwrap_or(noun)
}

/// Words that occur in any text.
pub(super) static COMMON: WordList = WordList::words(
    "가 가능 가장 가지 간단 같 같은 같이 개 거 거기 건 것 게 결과 결정 경우 계속 고정 관련 괜찮 교체 그 그거 그걸 그것 그냥 그 그래 그래서 그런 그런데 그럼 그렇게 그리고 근데 금지 기본 기존 \
     기준 까지 나 나중 내 내가 내일 너무 넣 네 누가 다 다른 다시 다음 당장 대로 대신 대한 대해 더 더는 더이상 덜 데 도 동안 되 두 둘 뒤 드 들 등 따라 따로 때 때문 또 또는 라 람 랑 마 많이 \
     말 말고 매번 맞 먼저 모두 모든 무엇 무조건 문제 뭐 및 바로 반드시 방금 받 방법 방식 버리 번 번째 변경 별도 보 보다 부분 부터 분 뿐 사용 상태 새 새로 생각 선택 설정 수 수정 쉽 시작 쓰 쓰지 아 아까 아니 \
     아니라 아니면 아래 아마 아무 아직 안 않 알 앞 앞으로 어 어디 어떤 어떻게 어제 언제 없 없이 없애 여기 여러 예 오늘 올리 왜 요즘 우리 원래 원칙 위 위해 응 의 이 이거 이걸 이것 이건 이게 \
     이번 이상 이야 이유 이전 이제 이후 있 자 자주 작업 잘 적용 전 전부 전에 전환 절대 정도 정말 정하 제 제가 제거 제일 조금 좀 좋 중 중에 즉 지 지금 직접 진짜 차라리 처음 추가 취소 치 컷 크 \
     타 테 통 특히 편 폐기 하 하나 하지 한 한번 할 함 항상 해 해당 했 현재 혹시 확인 후 늘 늘려 내려 올려 낮춰 높여 바꿔 바꾸 줄여 써 쓴 쓸 씀 넣어 빼 빼고 두고 두 둔 가고 갈 봐 봐줘 줘 \
     주 준 줄 된 될 됨 돼 만 만들 만들어 만든",
);

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::object("토큰을", "토큰")]
    #[case::topic("세션은", "세션")]
    #[case::place("클러스터에서는", "클러스터")]
    #[case::of_a_noun("저장합니다", "저장")]
    #[case::noun_that_ends_like_a_verb("재고", "재고")]
    #[case::noun_that_ends_like_a_clause("문서", "문서")]
    #[case::bare_verb("했습니다", "")]
    #[case::verb("떨어집니다", "")]
    #[case::short("값을", "값")]
    #[case::short_means("락으로", "락")]
    fn particles_and_endings_are_removed(#[case] word: &str, #[case] expected: &str) {
        assert_eq!(stem(word).0, expected);
    }
}
