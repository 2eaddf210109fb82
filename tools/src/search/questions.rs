//! Recognises questions, also without a question mark: by interrogative words, word order and endings.

use schema::model::word_list::WordList;

use crate::text::fold::fold;

/// Characters up to which a text without a question mark may be a question. Longer ones state something too.
const MAX_LENGTH: usize = 200;

/// Most words before the question, as in "do you know where".
const MAX_LEAD_INS: usize = 5;

/// Whether a text ends with a question mark.
pub(super) fn has_question_mark(text: &str) -> bool {
    text.trim_end().ends_with(['?', '？'])
}

/// Whether a prompt is a question.
pub(super) fn is_question(prompt: &str) -> bool {
    has_question_mark(prompt) || asks_without_mark(prompt)
}

fn asks_without_mark(prompt: &str) -> bool {
    let text = prompt.trim();
    if text.chars().count() > MAX_LENGTH || text.ends_with(['.', '。']) {
        return false;
    }
    // "업로드가 느려요. 어디로 옮기는 게 나을까요": the last sentence asks.
    let line = text.rsplit(['\n', '。', '!']).next().unwrap_or(text);
    let last = line.rsplit(". ").next().unwrap_or(line).trim();
    !last.contains([':', ';'])
        && (asks_in_letters(last) || asks_in_korean(last) || asks_in_japanese(last) || asks_in_chinese(last))
}

/// European languages put the interrogative word first, perhaps behind "tell me".
fn asks_in_letters(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).map(fold);
    let Some(first) = words.next() else { return false };
    let has_lead = LEAD_INS.contains(&first);
    let others = if has_lead { MAX_LEAD_INS + 1 } else { 1 };
    let words: Vec<String> = std::iter::once(first).chain(words.take(others)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let start = words.iter().take(MAX_LEAD_INS).take_while(|word| LEAD_INS.contains(word)).count();
    starts_question(&words, text) || has_lead && starts_question(&words[start..], text)
}

fn starts_question(words: &[&str], text: &str) -> bool {
    let [first, next, ..] = words else { return false };
    // "When the build fails, retry" gives a condition.
    let has_clause = text.contains(',');
    match *first {
        "when" => AUXILIARIES.contains(next) || *next == "do",
        "do" | "have" => matches!(*next, "we" | "i" | "they" | "any"),
        first if AUXILIARIES.contains(first) && SUBJECTS.contains(next) => true,
        first if INTERROGATIVES.contains(first) => !has_clause,
        first if PREPOSITIONS.contains(first) => !has_clause && AFTER_PREPOSITIONS.contains(next),
        first => OPENINGS.contains(&format!("{first} {next}")),
    }
}

static LEAD_INS: WordList = WordList::words(
    "tell remind show explain say know do you can could please me us again and so but hey ok well i wonder forget forgot \
     dime recuerdame y sag mir bitte und weisst du noch dis moi rappelle et скажи подскажи напомни мне а и",
);

static INTERROGATIVES: WordList = WordList::words(
    "what which who whose where why how whats wheres hows que donde como cuando cual cuales quien quienes cuanto cuanta \
     cuantos cuantas wo was wer wie wann warum wieso weshalb welche welcher welches welchen welchem wohin woher wem wen \
     wofur womit ou comment pourquoi quand quel quelle quels quelles combien qui где что кто когда почему зачем как какои \
     какая какое какие каком какую сколько куда откуда чеи чем",
);

static AUXILIARIES: WordList = WordList::words("does did is are was were will would should shall can could has had");

static SUBJECTS: WordList = WordList::words("we i they it he she there the this that these those our my any");

/// `in which region`, `a qué hora`, `con qué clave`.
static PREPOSITIONS: WordList = WordList::words(
    "in on at for with from to by under a en con de desde por para dans a avec mit von seit fur в на с у по",
);

static AFTER_PREPOSITIONS: WordList = WordList::words(
    "which what whom que cual quien donde quel quelle quels quelles qui quoi welchem welcher welche welchen wem wann каком \
     какои какую каким какие кого чем чего",
);

/// The first two words of other questions.
static OPENINGS: WordList = WordList::phrases("est ce|avons nous|haben wir|gibt es|por que|hay algun|есть ли");

/// Korean asks by an interrogative word, and by the ending of its last word.
fn asks_in_korean(text: &str) -> bool {
    let last = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    KOREAN_ENDINGS.ends(last) && KOREAN_INTERROGATIVES.occurs_in(text)
}

static KOREAN_INTERROGATIVES: WordList =
    WordList::phrases("뭐|뭘|무엇|무슨|어디|어느|언제|왜 |어떻게|어떤|얼마|누가|누구|몇 |며칠");

static KOREAN_ENDINGS: WordList = WordList::phrases(
    "나|지|니|냐|까|죠|더라|나요|까요|지요|는가|은가|인가|던가|는지|했어|됐어|있어|없어|였어|썼어|뭐야|어디야|누구야|거야|건가요|인가요|가요",
);

fn asks_in_japanese(text: &str) -> bool {
    let last = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    ["か", "かな", "の", "っけ", "だろう"].iter().any(|end| last.ends_with(end))
        && JAPANESE_INTERROGATIVES.occurs_in(text)
}

static JAPANESE_INTERROGATIVES: WordList =
    WordList::phrases("何|なに|どこ|どれ|どの|どう|どちら|いつ|なぜ|なんで|誰|だれ|いくつ|いくら");

/// Chinese asks by an interrogative word or a final particle, in the usual order.
fn asks_in_chinese(text: &str) -> bool {
    let has_kana = text.chars().any(|c| matches!(c as u32, 0x3040..=0x30FF));
    let has_han = text.chars().any(|c| matches!(c as u32, 0x4E00..=0x9FFF));
    let last = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    has_han
        && !has_kana
        && !text.contains('，')
        && (CHINESE_INTERROGATIVES.occurs_in(text) || last.ends_with(['吗', '呢', '嗎']))
}

static CHINESE_INTERROGATIVES: WordList = WordList::phrases(
    "哪个|哪里|哪些|哪儿|哪一|什么|为什么|怎么|怎样|如何|多少|多久|谁|何时|几个|几天|是不是|有没有|哪個|哪裡|什麼|為什麼|怎麼|誰|幾個",
);

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("which region hosts the backups", true)]
    #[case("tell me which region hosts the backups", true)]
    #[case("remind me how the backups are encrypted", true)]
    #[case("when do the backups run", true)]
    #[case("did we ever test the backups", true)]
    #[case("백업은 어느 리전에 두기로 했지", true)]
    #[case("백업 리전 어디였더라", true)]
    #[case("이미지 캐시 크기는 얼마로 했지", true)]
    #[case("バックアップのリージョンはどこでしたか", true)]
    #[case("备份放在哪个区域", true)]
    #[case("dónde guardamos las copias de seguridad", true)]
    #[case("a qué hora corren las copias", true)]
    #[case("wo liegen die Backups", true)]
    #[case("où sont stockées les sauvegardes", true)]
    #[case("где хранятся резервные копии", true)]
    #[case("Anything else?", true)]
    #[case("업로드가 느려요. 지금 서버 두 대인데 어디로 옮기는 게 나을까요", true)]
    #[case("when the build fails, retry it twice", false)]
    #[case("what we decided: Postgres", false)]
    #[case("Where possible, use Postgres.", false)]
    #[case("can you store the backups in Frankfurt", false)]
    #[case("do the migration first", false)]
    #[case("store the backups in Frankfurt", false)]
    #[case("백업은 프랑크푸르트에 두기로 했지", false)]
    #[case("어디서나 같은 형식을 쓴다", false)]
    #[case("バックアップはフランクフルトに置く", false)]
    #[case("备份放在法兰克福", false)]
    #[case("Como acordamos, usamos Postgres", false)]
    #[case("wie besprochen, nehmen wir Postgres", false)]
    fn prompts_ask_with_and_without_a_mark(#[case] prompt: &str, #[case] expected: bool) {
        assert_eq!(is_question(prompt), expected);
    }
}
