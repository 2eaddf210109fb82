//! Korean endings in questions: particles and verb endings.
//!
//! There is no dictionary. A stem keeps at least two syllables, and the cut part still counts a little in the search.

use schema::model::word_list::WordList;

/// The stem of a folded Korean word without particles.
pub(crate) fn strip_endings(word: &str) -> &str {
    let mut stem = word;
    // `서버에서는` has two particles, `서버에서부터는` three.
    for _ in 0..3 {
        stem = strip_ending(stem, 2).unwrap_or(stem);
    }
    stem
}

/// Whether a Korean run attached to a foreign word, such as `를` in `JWT를`, is only an ending.
pub(crate) fn is_ending(run: &str) -> bool {
    is_listed_ending(run) || strip_ending(run, 1).is_some_and(is_listed_ending)
}

/// Strips the longest ending that leaves so many syllables.
fn strip_ending(word: &str, syllables: usize) -> Option<&str> {
    let endings = PARTICLES.endings(word).chain(VERB_ENDINGS.endings(word));
    let stems = endings.filter_map(|ending| word.strip_suffix(ending));
    stems.filter(|stem| stem.chars().count() >= syllables).min_by_key(|stem| stem.len())
}

fn is_listed_ending(run: &str) -> bool {
    PARTICLES.contains(run) || VERB_ENDINGS.contains(run)
}

static PARTICLES: WordList = WordList::words(
    "
    은 는 이 가 을 를 의 에 와 과 도 만 로 으로 에서 에게 에게서 한테 한테서 까지 부터 보다 처럼 같이 마다 조차 마저
    밖에 이나 나 이란 란 라는 이라는 라고 이라고 로서 으로서 로써 으로써 에는 에도 에만 에서는 에서도 와의 과의 로의
    으로의 에의 하고 이랑 랑 께서 대로 만큼 들 들은 들이 들을 들의 이고 이며 이자 이던 인 인데
",
);

/// Endings of verbs and the copula in questions and statements.
static VERB_ENDINGS: WordList = WordList::words(
    "
    인가 인가요 인지 이지 이었나 이었지 였나 였지 였더라 이야 이니 입니까 입니다 했 했나 했나요 했는가 했는지 했지
    했던 했더라 했어 했다 했을까 하는 하는가 하는지 하나 하나요 하기 하게 하여 하고자 하려고 하려면 하면 하지 하던
    한 할 할까 해 해서 해야 해줘 합니까 합니다 하기로 되는 되나 되나요 되었나 되었는가 되었나요 되었지 되었던 되어
    된 될 됐나 됐나요 됐지 됐던 되면 되지 시킨 시켰나 시키는 는가 는지 었나 았나 었지 았지 던가 나요 니 까 기로
",
);

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::topic("토큰은", "토큰")]
    #[case::two_particles("서버에서는", "서버")]
    #[case::question("결정했나요", "결정")]
    #[case::passive("배포되었나", "배포")]
    #[case::copula("무엇인가", "무엇")]
    #[case::bare("데이터베이스", "데이터베이스")]
    #[case::two_syllables_stay("고가", "고가")]
    #[case::one_syllable("값", "값")]
    fn particles_are_cut_while_two_syllables_stay(#[case] word: &str, #[case] expected: &str) {
        assert_eq!(strip_endings(word), expected);
    }

    #[test]
    fn korean_after_foreign_word_is_ending_or_word() {
        for ending in ["를", "로", "에서", "으로는", "했나요"] {
            assert!(is_ending(ending), "{ending}");
        }
        for word in ["토큰", "서버", "값"] {
            assert!(!is_ending(word), "{word}");
        }
    }
}
