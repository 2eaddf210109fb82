//! Function words, folded: they ask or connect and have no topic.

use schema::model::word_list::WordList;

use crate::text::fold::fold;
use crate::text::words;

/// Whether a word is a function word of English, Korean or Russian.
pub(crate) fn is_stop_word(word: &str) -> bool {
    let table = if word.is_ascii() {
        &ENGLISH
    } else if word.starts_with(|c: char| matches!(c, '\u{400}'..='\u{4FF}')) {
        &RUSSIAN
    } else {
        &KOREAN
    };
    table.contains(word)
}

/// The function words of a question's language. Languages in Latin letters share words: `die` is an article in German and a
/// verb in English.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionWords {
    /// The language besides English.
    table: Option<&'static WordList>,
}

impl FunctionWords {
    /// Those of the language that most words of a question belong to.
    pub(crate) fn of_question(question: &str) -> Self {
        let words: Vec<String> = words(question).map(fold).collect();
        let count = |table: &WordList| words.iter().filter(|word| table.contains(word)).count();
        let best = [&SPANISH, &GERMAN, &FRENCH].into_iter().max_by_key(|table| count(table));
        let is_other = |table: &&WordList| count(table) >= LEAST_WORDS && count(table) > count(&ENGLISH);
        Self { table: best.filter(is_other) }
    }

    pub(crate) fn contains(self, word: &str) -> bool {
        is_stop_word(word) || self.table.is_some_and(|table| table.contains(word))
    }
}

/// Which characters of a Japanese or Chinese run belong to function words; none if all do.
pub(crate) fn function_characters(run: &str) -> Vec<bool> {
    let characters: Vec<char> = run.chars().collect();
    let mut is_function = vec![false; characters.len()];
    for word in HAN.iter() {
        let word: Vec<char> = word.chars().collect();
        for at in 0..(characters.len() + 1).saturating_sub(word.len()) {
            if characters[at..at + word.len()] == word[..] {
                is_function[at..at + word.len()].fill(true);
            }
        }
    }
    if is_function.iter().all(|is| *is) { Vec::new() } else { is_function }
}

/// Function words of Japanese and Chinese.
static HAN: WordList = WordList::words(
    "
    どうやって どのように どうして どういう どんな なぜ どこ いつ どれ どの どう 何を 何が 何の 何で 何は 誰 だれ ですか ますか でしょうか
    している しています していた しました されている される される です ます について のため という して
    为什么 为何 怎么样 怎么 怎样 如何 什么 哪里 哪个 哪些 多少 多久 是不是 有没有 是什么 我们 吗 呢 的
    為什麼 為何 怎麼 什麼 哪裡 哪個 我們 嗎
",
);

/// Least function words that show a language.
const LEAST_WORDS: usize = 2;

/// Removes function words from a question, unless nothing else is left.
pub(crate) fn strip_stop_words(question: &str) -> String {
    let function_words = FunctionWords::of_question(question);
    let says = |word: &&str| !function_words.contains(&fold(word.trim_matches(|c: char| !c.is_alphanumeric())));
    let left: Vec<&str> = question.split_whitespace().filter(says).collect();
    if left.is_empty() { question.to_owned() } else { left.join(" ") }
}

static ENGLISH: WordList = WordList::words(
    "
    a about after again all also am an and any anybody anyone anything are arent as at be because been before being
    between both but by can cannot cant could couldnt did didnt do does doesnt doing done dont during each either
    else ever every explain few for from get give got had hadnt happen happened happening
    happens has hasnt have havent having he her here hers
    herself him himself his how i if in into is isnt it its itself just know lets like many me might mine more most
    much must my myself neither no nor not of off on once only or other our ours ourselves out over own please
    remember same shall she should shouldnt so some somebody someone something such tell than that the their theirs
    them themselves then there these they thing things this those through to too under until up us use used uses using very was wasnt we
    were werent what whatever when where whether which while who whom whose why will with within without wont would
    wouldnt yet you your yours yourself
",
);

static KOREAN: WordList = WordList::words(
    "
    가장 것 것은 것을 것이 그 그것 그런 그럼 그리고 나 나는 내 내가 누가 누구 누구였나 누구였지 누구의 누구인가
    누구인가요 누구지 는 다시 대한 대해 대해서 돼 됐나 됐나요 됐더라 됐지 되나 되나요 되는 되었나 되었나요 되지 된
    등 때 또 또는 몇 무슨 무엇 무엇에 무엇으로 무엇을 무엇이 무엇이었나 무엇이었지 무엇인가 무엇인가요 무엇인지 뭐
    뭐가 뭐고 뭐길래 뭐니 뭐더라 뭐라고 뭐야 뭐였더라 뭐였어 뭐였지 뭐예요 뭐지 뭔가 뭔가요 뭔지 뭘 뭘로 및 보여줘
    설명해 설명해줘 수 알려 알려주세요 알려줄래 알려줘 어느 어디 어디가 어디로 어디서 어디에 어디에서 어디였지
    어디인가 어디지 어땠지 어떠한 어떤 어떻게 언제 언제부터 언제였지 언제인가 언제지 얼마 얼마나 에 에서 여기 왜
    왜냐하면 우리 우리가 우리는 우리의 위한 위해 은 을 의 이 이것 이런 이야 인가 인가요 있나 있나요 있는 있는지 있니
    있어 있었나 있었나요 있었지 있을까 있지 저 저는 저희 제가 좀 줘 찾아줘 하고 하기로 하나 하나요 하는 하는지 하니
    하려면 하면 하지 한 할 할까 해 해야 해줘 했나 했나요 했는지 했니 했더라 했던 했어 했었지 했지 혹시
",
);

static SPANISH: WordList = WordList::words(
    "
    a al algo ante como con cual cuales cuando cuanta cuantas cuanto cuantos de del desde donde durante el ella ellas
    ellos en entre era eran es esa esas ese eso esos esta estaba estaban estan estas este esto estos fue fueron ha
    hace hacemos hacer hacia han hasta hay hicimos la las le les lo los mas me mi muy nada ni nos nosotros nuestra
    nuestro o para pasa pero por porque que quien se segun ser si sin sobre son su sus te tenemos tiene tu un una unas
    uno unos y ya yo
",
);

static GERMAN: WordList = WordList::words(
    "
    ab aber alle als also am an auch auf aus bei beim bis da damit dann das dass dem den der des die dies diese diesem
    diesen dieser dieses doch durch ein eine einem einen einer eines er es fur gab gibt habe haben hat hatte hier ich
    ihr im in ist ja jede jedem jeder kann kein keine konnen man mehr mein mit muss mussen nach nicht noch nur ob oder
    ohne sehr sein seine sich sie sind so soll sollen uber um und uns unser unsere unter vom von vor wann war waren
    warum was weil welche welchem welchen welcher welches wenn wer werden wie wir wird wo wohin wurde wurden zu zum
    zur
",
);

static FRENCH: WordList = WordList::words(
    "
    ai au aux avec avez avons ce ces cet cette comment dans de des doit donc du elle elles en est et etaient etait ete
    etre eu faire fait faut il ils je la le les leur leurs lors lui ma mais me mes moi mon ne nos notre nous on ont ou
    par pas plus pour pourquoi quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur te tous
    tout toute tres tu un une utilisons vers vos votre vous y
",
);

static RUSSIAN: WordList = WordList::words(
    "
    а без бы был была были было в вам вас вы где для до его ее если есть еще же за и из или им их к как какая какие
    каким какое какои каком какую кем ко когда которая которыи кто куда ли мы на над нам нас наш наша не него нет но о
    об он она они от по под почему при про с сколько со так там то того тоже тот у уже чего чем что чтобы эта эти это
    этот я
",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_hold_each_word_once_and_folded() {
        for table in [&ENGLISH, &KOREAN, &SPANISH, &GERMAN, &FRENCH, &RUSSIAN] {
            assert!(table.is_sorted_by(|before, after| before < after));
            assert!(table.iter().all(|word| crate::text::fold::fold(word) == **word));
        }
    }

    #[test]
    fn a_question_is_left_with_what_it_is_about() {
        assert_eq!(strip_stop_words("What did we choose for signing users in?"), "choose signing users");
        assert_eq!(strip_stop_words("로그인은 어떻게 하나요"), "로그인은");
        assert_eq!(strip_stop_words("what is it?"), "what is it?");
        assert_eq!(strip_stop_words("¿Qué biblioteca usamos para los gráficos?"), "biblioteca usamos gráficos?");
        assert_eq!(strip_stop_words("Wie wird die Anwendung gestartet?"), "Anwendung gestartet?");
        assert_eq!(strip_stop_words("Où sont stockées les images ?"), "stockées images ?");
        assert_eq!(strip_stop_words("Почему сборка падает на Windows?"), "сборка падает Windows?");
        assert_eq!(strip_stop_words("why do the workers die"), "workers die");
    }

    #[test]
    fn names_and_nouns_are_not_function_words() {
        for word in ["token", "may", "cache", "토큰", "배포", "값"] {
            assert!(!is_stop_word(word), "{word}");
        }
        for word in ["what", "didnt", "뭐였지", "어떻게"] {
            assert!(is_stop_word(word), "{word}");
        }
    }
}
