//! What a statement gives up: "no longer X", "instead of X", "X 말고".

use crate::model::word_list::WordList;
use crate::prose::terms::{
    ProseToken, TokenKind, clause_before, ends_clause, last_clause, quantities, terms, terms_of,
};

/// Something that a statement gives up.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GivenUp {
    pub(super) terms: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) quantities: Vec<(f64, String)>,
    pub(super) scope: Scope,
    /// The subject that loses it: "the mobile app" in "the mobile app no longer caches images".
    pub(super) subject: Vec<String>,
}

/// The extent to which something is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Only for the subject of the statement.
    Subject,
    /// A number of the code, which may also be in statements about something else: two terms must be the same.
    Restated,
    /// Completely.
    All,
    /// In a sentence with these terms, whatever else it says of them.
    Sentence,
    /// Only where the older statement chooses it.
    Chosen,
    /// It was removed, which often means only a file or a part of something that stays.
    Removed,
}

impl GivenUp {
    pub(super) fn nothing(scope: Scope) -> Self {
        Self { terms: Vec::new(), names: Vec::new(), quantities: Vec::new(), scope, subject: Vec::new() }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.terms.is_empty() && self.quantities.is_empty()
    }

    /// Restricts one ordinary word to the subject of the statement, because a word such as "page" is in statements about many things. What
    /// people order or decide to give up is the one that everybody knows.
    fn limited(mut self) -> Self {
        if self.scope == Scope::All && self.names.is_empty() && self.quantities.is_empty() && self.terms.len() < 2 {
            self.scope = Scope::Subject;
        }
        self
    }
}

/// Phrases of [`GIVES_UP_NEXT`] that describe a state. Others give something up as an order or if people do it, because a program also drops
/// connections and stops imports.
static STATES: WordList = WordList::phrases("no longer|no more|done with|moving off|moved off|away from");

/// Words for people, and words that may stand before an order or a decision; `id` is "I'd".
static PEOPLE: WordList = WordList::words(
    "cto he i ill im ive lead legal lets management ops people product security she team they us we wed well were weve you youd youll",
);
static LEADS: WordList = WordList::words(
    "actually agreed already also and but can could decided finally going gonna have id just might must need now ok okay or please really \
     shall should simply so then time to want will would yeah yep yes",
);

/// Words after "is dropped" that say when it happens again and again.
static HABITS: WordList =
    WordList::words("after automatically daily during each every if nightly on once silently unless when whenever");

/// Words before "로" that say how and not what: "자동으로".
static MANNERS: WordList = WordList::words("강제 기본 별도 수동 실제 자동");

/// Verbs of moving something from one place to another, which may have an object: "Redis에서 세션을 Postgres로 옮기자".
static MOVES: WordList = WordList::words("갈아타 갈아탔 교체 옮기 옮겨 이전 전환");

/// Words that precede something that is given up.
static GIVES_UP_NEXT: [(Scope, WordList); 3] = [
    (Scope::Subject, WordList::phrases("instead of|rather than|in place of|not|dont use|dont bother with|never use")),
    (
        Scope::All,
        WordList::phrases(
            "no longer|no more|forget|kick out|rip out|ripped out|scrap|throw out|throw away|stop|stopped|drop|dropping|dropped|\
             get rid of|getting rid of|got rid of|give up on|giving up on|gave up on|done with|moving off|moved off|abandon|ditch|\
             retire|retiring|deprecate|replace|replacing|replaced|away from",
        ),
    ),
    (Scope::Removed, WordList::words("remove removed delete deleted uninstalled")),
];

/// Verbs that give up what is between them and "out", or "away": "throw LaunchDarkly out"; and verbs that give up what follows "out of":
/// "take the previews out of SQLite".
static THROWS: WordList = WordList::words("kick rip ripped tear threw throw");
static TAKES: WordList = WordList::words("get move moved moving pull pulled take taking took");

/// How many words may be before "out".
const OUT_REACH: usize = 5;

/// Nouns for parts whose removal removes the whole thing.
pub(super) static PARTS: WordList = WordList::words(
    "client code config dependency driver integration library module package provider service setup store support",
);

/// Words after "is" or "are" that mark the subject as given up.
static GONE: WordList =
    WordList::words("cancelled canceled deprecated dropped gone history obsolete out removed replaced retired");

/// Words that mark an earlier state.
pub(super) static PAST: WordList =
    WordList::words("before earlier formerly from previously was were 기존 이전 원래 너무");

/// Verbs of change before "from A to B".
static CHANGES_FROM: WordList = WordList::words(
    "away bump bumped change changed changing cut go going lower lowered migrate migrated migrating move moved moving \
     raise raised switch switched switching went",
);

/// Words that end the phrase that is given up.
static ENDS: WordList = WordList::words(
    "after and anymore any as at because before but by for from if in into next on since so than that then to until we \
     when where which while with",
);

/// Words that end the phrase after "for".
static REASONS: WordList = WordList::words("and as because but since so when while");

/// Verbs before words of [`FAILURES`]: "HDF5 has proved unworkable", "the dialog was a flop".
static PROVES: WordList = WordList::words("are has is prove proved turned was were");

/// Words for something that did not work, and words that may stand before them.
static FAILURES: WordList = WordList::words("disaster flop mistake unmaintained unusable unworkable");
static DEGREES: WordList = WordList::words(
    "a all an basically be been complete completely effectively out proved pretty quite really the to total totally",
);

/// Phrases at the end of a clause behind something that is given up, as tokens: "the hook goes away".
static GIVES_UP_BEHIND: WordList = WordList::phrases(
    "goe away|has to go|must go|didnt work out|doesnt work out|doesnt work after all|isnt working out|is a dead end|was a dead end",
);

/// Korean nouns for events, whose failure gives up nothing: "빌드 망했네".
static EVENTS: WordList = WordList::words("로그인 빌드 배포 실행 요청 커밋 테스트");

/// Verbs after "no longer" and "stop", which are not part of what is given up.
static VERBS_BEHIND: WordList =
    WordList::words("build call depend deploy keep need put rely run send ship simulate store support use want write");

/// Korean words that follow something that is given up.
static GIVES_UP_BEFORE: [(Scope, WordList); 3] = [
    (Scope::Subject, WordList::words("대신 없이 말고 아니라 아니고 빼고 빼자 빼죠 뺍시다")),
    (
        Scope::All,
        WordList::words(
            "취소 폐기 버리 버렸습 버렸어 그만 관두 관뒀 없애 없앴습 없앴어 걷어 쓰지 중단 철회 포기 접고 접자 접는 접기로 접었습 접었어 망했 망함 망하 안되겠 실패였 실패했",
        ),
    ),
    (Scope::Removed, WordList::words("제거 지우 지웠 지워 뺐")),
];

/// Korean verbs of change after "A에서 B로".
pub(super) static CHANGES_TO: WordList = WordList::words(
    "바꾸 바꿔 바꿨 바꿉 갈아타 갈아탑 갈아탔 변경 전환 옮기 옮겨 교체 이전 넘어가 바꿈 늘리 늘린 늘려 늘림 올리 올린 올려 올림 내리 내린 내려 줄이 줄인 줄여 낮추 낮춘 낮춰 높이 높인 높여",
);

/// How many words may be between "prefer" and "over".
pub(super) const PREFERENCE_REACH: usize = 4;

pub(super) fn given_up(tokens: &[ProseToken]) -> Vec<GivenUp> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        found.extend(english_given_up(tokens, at));
        found.extend(korean_given_up(tokens, at));
    }
    found
}

fn english_given_up(tokens: &[ProseToken], at: usize) -> Option<GivenUp> {
    let word = |offset: usize| tokens.get(at + offset).map(|token| token.text.as_str());
    // "from 60 Hz to 50 Hz", after a verb of change.
    if word(0) == Some("from") && at > 0 {
        let is_change = tokens[..at].iter().rev().take(4).any(|token| CHANGES_FROM.contains(&token.text));
        let end = tokens[at + 1..].iter().take(5).position(|token| token.text == "to" || token.text == "onto");
        return end.filter(|_| is_change).map(|end| collect(&tokens[at + 1..at + 1 + end], Scope::All));
    }
    // "the version header is dropped"
    if matches!(word(0), Some("is" | "are"))
        && word(1).is_some_and(|next| GONE.contains(next))
        && !word(2).is_some_and(|next| HABITS.contains(next))
    {
        return Some(collect(last_clause(&tokens[..at]), Scope::All).limited());
    }
    // "I prefer spaces over tabs"
    let is_preference = |token: &ProseToken| matches!(token.text.as_str(), "prefer" | "prefers");
    if word(0) == Some("over") && tokens[..at].iter().rev().take(PREFERENCE_REACH + 1).any(is_preference) {
        let rest = &tokens[at + 1..];
        let end = rest.iter().position(|token| token.begins_clause || ENDS.contains(&token.text));
        return Some(collect(&rest[..end.unwrap_or(rest.len()).min(3)], Scope::Subject));
    }
    if let Some(gone) = failed_subject(tokens, at).or_else(|| thrown_out(tokens, at)) {
        return Some(gone);
    }
    // "no brew at all"
    let is_at_all = |offset: usize| word(offset) == Some("at") && word(offset + 1) == Some("all");
    let clause = clause_before(tokens, at);
    if word(0) == Some("no")
        && is_of_people(clause)
        && let Some(end) = (2..5).find(|offset| is_at_all(*offset))
    {
        let mut none = collect(&tokens[at + 1..at + end], Scope::All);
        none.names.clone_from(&none.terms);
        return Some(none);
    }
    // "don't forget X" gives up nothing.
    let before = clause.last().map_or("", |before| before.text.as_str());
    if matches!(before, "dont" | "longer" | "never" | "nobody" | "not") {
        return None;
    }
    let (scope, phrase) =
        GIVES_UP_NEXT.iter().find_map(|(scope, phrases)| Some((*scope, phrases_at(phrases, &tokens[at..]).next()?)))?;
    let is_verb = scope != Scope::Subject && !STATES.contains(phrase);
    if is_verb && !is_of_people(clause) {
        return None;
    }
    let mut next = at + phrase.split(' ').count();
    let is_verb_behind =
        |token: &ProseToken| VERBS_BEHIND.contains(token.text.strip_suffix("ing").unwrap_or(&token.text));
    if scope == Scope::All && tokens.get(next).is_some_and(is_verb_behind) {
        next += 1;
    }
    // "arq, not Celery" gives up Celery. "does not support Celery" gives up nothing.
    if phrase == "not" {
        let first = tokens.get(next)?;
        let is_contrast = tokens[at].begins_clause || at > 0 && matches!(tokens[at - 1].text.as_str(), "and" | "but");
        let is_item = first.is_name || is_contrast && first.kind != TokenKind::Other;
        if !is_item {
            return None;
        }
    }
    let replaces = phrase.starts_with("replac");
    let rest = &tokens[next..];
    let end = rest.iter().enumerate().take(5).position(|(n, token)| {
        n > 0 && token.begins_clause
            || ENDS.contains(&token.text) && !(n == 0 && matches!(token.text.as_str(), "at" | "in" | "on" | "with"))
    });
    let end = end.unwrap_or(rest.len().min(5));
    // "replaced the parser" without "by" or "with" may be just a repair.
    if replaces && !rest.get(end).is_some_and(|token| matches!(token.text.as_str(), "by" | "with")) {
        return None;
    }
    let mut given_up = collect(&rest[..end], scope);
    // "for the database" names the subject.
    if let Some(qualifier) = rest.get(end).filter(|token| token.text == "for").map(|_| &rest[end + 1..]) {
        let until = qualifier.iter().position(|token| token.begins_clause || REASONS.contains(&token.text));
        given_up.subject = terms_of(&qualifier[..until.unwrap_or(qualifier.len())]);
    }
    if phrase == "no longer" {
        given_up.subject = terms_of(clause);
    }
    // "Forget the CRDT" is about the one that everybody knows.
    Some(if is_verb { given_up } else { given_up.limited() })
}

/// Whether the beginning of a clause is about people, or has nothing but words that may stand before an order.
fn is_of_people(clause: &[ProseToken]) -> bool {
    let is_person = |token: &ProseToken| PEOPLE.contains(&token.text);
    clause.iter().any(is_person) || clause.iter().all(|token| LEADS.contains(&token.text))
}

/// Returns the subject of a clause that says that it failed or goes.
fn failed_subject(tokens: &[ProseToken], at: usize) -> Option<GivenUp> {
    let rest = &tokens[at + 1..];
    let degrees = rest.iter().take_while(|token| !token.begins_clause && DEGREES.contains(&token.text)).count();
    let fails = PROVES.contains(&tokens[at].text)
        && rest.get(degrees).is_some_and(|token| !token.begins_clause && FAILURES.contains(&token.text));
    let goes =
        phrases_at(&GIVES_UP_BEHIND, &tokens[at..]).any(|phrase| ends_clause(tokens, at + phrase.split(' ').count()));
    if !fails && !goes {
        return None;
    }
    // A longer subject is too specific to match.
    Some(collect(last_clause(&tokens[..at]), Scope::All)).filter(|given_up| (1..=3).contains(&given_up.terms.len()))
}

/// Returns what people throw out, or what they take something out of.
pub(super) fn thrown_out(tokens: &[ProseToken], at: usize) -> Option<GivenUp> {
    let verb = &tokens[at];
    let clause = clause_before(tokens, at);
    let (throws, takes) = (THROWS.contains(&verb.text), TAKES.contains(&verb.text));
    if !throws && !takes || !is_of_people(clause) {
        return None;
    }
    let rest = &tokens[at + 1..];
    let clause_end = rest.iter().position(|token| token.begins_clause).unwrap_or(rest.len());
    let is_end = |token: &ProseToken| token.text == "out" || throws && token.text == "away";
    let end = rest[..clause_end].iter().take(OUT_REACH).position(is_end).filter(|end| *end > 0)?;
    let behind = &rest[end + 1..clause_end];
    let given_up = match behind.first() {
        Some(of) if of.text == "of" && takes => {
            let place = behind[1..].iter().take_while(|token| !ENDS.contains(&token.text)).count();
            Some(GivenUp { subject: terms_of(&rest[..end]), ..collect(&behind[1..=place], Scope::Subject) })
        }
        Some(of) if of.text == "of" => None,
        _ => throws.then(|| collect(&rest[..end], Scope::All).limited()),
    };
    // "Get the release out of the way" gives nothing up.
    given_up.filter(|given_up| !given_up.is_nothing())
}

/// Returns the phrases of a list with which the tokens begin.
fn phrases_at(list: &'static WordList, tokens: &[ProseToken]) -> impl Iterator<Item = &'static str> {
    let phrases = tokens.first().map_or(&[][..], |first| list.phrases_from(&first.text)).iter().copied();
    phrases.filter(|phrase| {
        let mut words = phrase.split(' ').enumerate();
        words.all(|(n, word)| tokens.get(n).is_some_and(|token| token.text == word))
    })
}

fn korean_given_up(tokens: &[ProseToken], at: usize) -> Option<GivenUp> {
    let token = &tokens[at];
    if token.text.is_ascii() && token.particle.is_empty() {
        return None;
    }
    if token.particle == "에서" {
        // "Redis에서 Postgres로 바꾼다"
        let behind = &tokens[at + 1..];
        let is_aim = |token: &ProseToken| token.is_means() && !MANNERS.contains(&token.text);
        let to = behind.iter().take(3).position(is_aim)?;
        let verb = behind[to..].iter().take(3).find(|next| CHANGES_TO.begins(&next.text))?;
        let is_other = |token: &ProseToken| match token.particle {
            "은" | "는" | "이" | "가" => true,
            "을" | "를" => !MOVES.begins(&verb.text),
            _ => false,
        };
        let is_change = !behind[..to].iter().any(is_other) && !verb.text.starts_with("내려받");
        return is_change.then(|| collect(&tokens[at..=at], Scope::All));
    }
    // "마이그레이션은 안 하기로"
    let is_decided_against =
        token.text == "안" && tokens.get(at + 1).is_some_and(|next| next.text.starts_with("하기로"));
    let listed = GIVES_UP_BEFORE.iter().find(|(_, words)| words.begins(&token.text)).map(|(scope, _)| *scope);
    let scope = listed.or(is_decided_against.then_some(Scope::All))?;
    // "디스크에는 쓰지 않는다" says where.
    let is_place = |before: &ProseToken| matches!(before.particle, "에" | "에는" | "에도" | "에서" | "에서는" | "에게");
    if at == 0 || scope == Scope::All && is_place(&tokens[at - 1]) {
        return None;
    }
    // "배치 말고": the words before it in its clause, up to a particle of another part of the sentence.
    let mut start = at;
    while start > 0 && at - start < 3 && !(start < at && tokens[start].begins_clause) {
        let before = &tokens[start - 1];
        if start < at && !matches!(before.particle, "" | "의") || before.kind == TokenKind::Other {
            break;
        }
        start -= 1;
    }
    let given_up = collect(&tokens[start..at], scope);
    let is_event = token.text.starts_with('망') && given_up.terms.iter().all(|term| EVENTS.contains(term));
    // "캐시 없애자" is about the one that everybody knows.
    let is_proposed = is_decided_against || token.text.ends_with('자');
    let given_up = if is_proposed { given_up } else { given_up.limited() };
    (!is_event).then_some(given_up)
}

pub(super) fn collect(tokens: &[ProseToken], scope: Scope) -> GivenUp {
    // "the react-native-mmkv dependency": the word before the part is the name.
    let precedes_part = |at: usize| tokens.get(at + 1).is_some_and(|next| PARTS.contains(&next.text));
    // Of "CPU HPA" only the last name, because not every CPU is given up.
    let is_first_of_two = |at: usize| {
        let follows = |next: &ProseToken| next.is_name && next.is_term() && !next.begins_clause;
        tokens[at].particle.is_empty() && tokens.get(at + 1).is_some_and(follows)
    };
    let is_name = |(at, token): &(usize, &ProseToken)| {
        token.is_term() && (token.is_name && !is_first_of_two(*at) || precedes_part(*at))
    };
    let names: Vec<String> = tokens.iter().enumerate().filter(is_name).map(|(_, token)| token.text.clone()).collect();
    GivenUp { names, terms: terms_of(tokens), quantities: quantities(tokens), scope, subject: Vec::new() }
}

/// Returns the names that a Japanese text gives up: "X はやめて", "X の代わりに".
pub(super) fn japanese_given_up(text: &str) -> Vec<GivenUp> {
    // Each phrase has a letter of Hiragana.
    if !text.contains(|c| matches!(c, '\u{3040}'..='\u{309F}')) {
        return Vec::new();
    }
    static GIVES_UP: [(Scope, WordList); 2] = [
        (Scope::All, WordList::words("はやめ をやめ は廃止 を廃止")),
        (Scope::Subject, WordList::words("の代わりに ではなく")),
    ];
    let names_before = |at: usize| {
        let before = text[..at].trim_end();
        terms(before.rsplit(|c: char| !c.is_ascii() || c.is_whitespace()).next().unwrap_or_default())
    };
    let places = |words: &'static WordList| words.iter().flat_map(|word| text.match_indices(word));
    let found = GIVES_UP.iter().flat_map(|(scope, words)| places(words).map(|(at, _)| (names_before(at), *scope)));
    found.map(|(terms, scope)| GivenUp { names: terms.clone(), terms, ..GivenUp::nothing(scope) }).collect()
}
