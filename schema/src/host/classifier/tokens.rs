//! Splits a sentence into tokens: pieces of words that the network knows, and signs for everything else.

/// The words that a network knows.
pub trait Vocabulary {
    /// Returns the number of a piece of a word in lower case.
    fn piece(&self, text: &str) -> Option<u16>;
}

/// A token that is not a piece of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Sign {
    Person,
    Agent,
    Item,
    OpenItem,
    TickedItem,
    Heading,
    /// Inline code. Its content is ignored.
    Code,
    /// A path, an address or an identifier.
    Name,
    Number,
    /// Quoted words. Their content is ignored, because somebody else said it.
    Quotation,
    Question,
    Exclamation,
    Stop,
    Comma,
    Colon,
    Semicolon,
    Dots,
    Open,
    Close,
    Dash,
    Slash,
    Quote,
    Picture,
    Laughter,
    Tears,
    End,
    /// A word without a known piece.
    Unknown,
    Tilde,
    Caret,
    Equals,
    Arrow,
}

/// How many signs there are.
pub const SIGNS: usize = Sign::Arrow as usize + 1;

/// A token: a piece or a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    Piece(u16),
    Sign(Sign),
}

/// How many tokens of a long sentence are used: those at its beginning and at its end.
const MOST_FIRST: usize = 50;
const MOST_LAST: usize = 30;

/// The longest piece, in characters.
const LONGEST_PIECE: usize = 20;

/// Endings of English words, and the letters of the shortest stem.
const ENDINGS: [&str; 8] = ["s", "es", "d", "ed", "ing", "ly", "r", "er"];
const LEAST_STEM: usize = 3;

/// From this number of words, a quotation counts as somebody else's sentence.
const LEAST_QUOTED: usize = 3;

/// Returns the tokens of a sentence. `first` precedes its words.
pub fn tokens(vocabulary: &impl Vocabulary, sentence: &str, first: &[Sign]) -> Vec<Token> {
    let mut reader = TokenReader { vocabulary, tokens: first.iter().map(|sign| Token::Sign(*sign)).collect() };
    reader.read(sentence);
    let mut tokens = reader.tokens;
    tokens.push(Token::Sign(Sign::End));
    if tokens.len() > MOST_FIRST + MOST_LAST {
        tokens.drain(MOST_FIRST..tokens.len() - MOST_LAST);
    }
    tokens
}

struct TokenReader<'a, V> {
    vocabulary: &'a V,
    tokens: Vec<Token>,
}

impl<V: Vocabulary> TokenReader<'_, V> {
    fn read(&mut self, sentence: &str) {
        let sentence = sentence.replace("**", "").replace('’', "'").replace(['“', '”'], "\"");
        let mut rest = sentence.as_str();
        // Text before the next inline code or quotation is plain words.
        while let Some((at, mark)) = rest.char_indices().find(|(_, c)| matches!(c, '`' | '"')) {
            let inside = &rest[at + 1..];
            let Some(length) = inside.find(mark) else { break };
            self.words(&rest[..at]);
            let inner = &inside[..length];
            if mark == '`' {
                self.sign(Sign::Code);
            } else if inner.split_whitespace().count() >= LEAST_QUOTED {
                self.sign(Sign::Quotation);
            } else {
                self.sign(Sign::Quote);
                self.words(inner);
                self.sign(Sign::Quote);
            }
            rest = &inside[length + 1..];
        }
        self.words(rest);
    }

    fn sign(&mut self, sign: Sign) {
        self.tokens.push(Token::Sign(sign));
    }

    fn words(&mut self, text: &str) {
        text.split_whitespace().for_each(|word| self.word(word));
    }

    fn word(&mut self, word: &str) {
        if is_name(word) {
            self.sign(Sign::Name);
            let last = word.chars().next_back().and_then(punctuation);
            last.into_iter().for_each(|sign| self.sign(sign));
            return;
        }
        let mut run = String::new();
        let mut characters = word.chars().peekable();
        let mut before = None;
        while let Some(c) = characters.next() {
            let is_letter = c.is_alphanumeric() && !is_jamo(c);
            // "don't" is one word.
            if is_letter || (c == '\'' && !run.is_empty() && characters.peek().is_some()) {
                run.extend(is_letter.then_some(c));
                before = Some(c);
                continue;
            }
            self.runs(&std::mem::take(&mut run));
            let mut length = 1;
            while characters.next_if_eq(&c).is_some() {
                length += 1;
            }
            let is_hyphen = c == '-' && length == 1 && before.is_some() && characters.peek().is_some();
            match punctuation(c) {
                Some(Sign::Stop) if length > 1 => self.sign(Sign::Dots),
                Some(sign) if !is_hyphen => self.sign(sign),
                _ => {}
            }
            before = Some(c);
        }
        self.runs(&run);
    }

    /// Splits letters and digits into runs of one class, and each run into pieces.
    fn runs(&mut self, text: &str) {
        let letters: Vec<char> = text.chars().collect();
        // A capital within a name begins a word.
        let is_hump = |before: char, c: char| c.is_uppercase() && before.is_lowercase();
        for run in letters.chunk_by(|before, c| Class::of(*before) == Class::of(*c) && !is_hump(*before, *c)) {
            self.run(&String::from_iter(run));
        }
    }

    fn run(&mut self, run: &str) {
        if run.chars().next().map(Class::of) == Some(Class::Digit) {
            return self.sign(Sign::Number);
        }
        let run = run.to_lowercase();
        if run.is_ascii() {
            return self.english(&run);
        }
        let before = self.tokens.len();
        let mut rest = run.as_str();
        while let Some(first) = rest.chars().next() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(LONGEST_PIECE).collect::<Vec<_>>();
            let found = ends.iter().rev().find_map(|end| Some((*end, self.vocabulary.piece(&rest[..*end])?)));
            if let Some((_, piece)) = found {
                self.tokens.push(Token::Piece(piece));
            }
            rest = &rest[found.map_or(first.len_utf8(), |(end, _)| end)..];
        }
        if self.tokens.len() == before {
            self.sign(Sign::Unknown);
        }
    }

    /// A word, or its stem and ending. Other pieces of an unknown word would say something that the word does not.
    fn english(&mut self, word: &str) {
        let piece = |text: &str| self.vocabulary.piece(text).map(Token::Piece);
        if let Some(piece) = piece(word) {
            return self.tokens.push(piece);
        }
        let stems = ENDINGS.iter().filter_map(|ending| Some((word.strip_suffix(ending)?, *ending)));
        let found = stems
            .filter(|(stem, _)| stem.len() >= LEAST_STEM)
            .find_map(|(stem, ending)| Some((piece(stem)?, piece(ending)?)));
        match found {
            Some((stem, ending)) => self.tokens.extend([stem, ending]),
            None => self.sign(Sign::Unknown),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Digit,
    Hangul,
    Other,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            '\u{AC00}'..='\u{D7A3}' => Self::Hangul,
            _ if c.is_numeric() => Self::Digit,
            _ => Self::Other,
        }
    }
}

/// Whether a character is a single consonant or vowel. People write laughter and tears with these.
fn is_jamo(c: char) -> bool {
    matches!(c, '\u{3131}'..='\u{318E}')
}

/// Whether a word is a path, an address, a file or an identifier.
fn is_name(word: &str) -> bool {
    let core = word.trim_matches(|c: char| ",.!?;:()\"'".contains(c));
    if !core.is_ascii() || core.len() < 4 {
        return false;
    }
    let is_extension = |end: &str| (1..=4).contains(&end.len()) && end.bytes().all(|c| c.is_ascii_lowercase());
    let is_file =
        core.len() > 4 && !core.contains("..") && core.rsplit_once('.').is_some_and(|(_, end)| is_extension(end));
    is_file || core.contains("://") || core.contains('_') || core.matches('/').count() >= 2
}

fn punctuation(c: char) -> Option<Sign> {
    Some(match c {
        '?' | '？' => Sign::Question,
        '!' => Sign::Exclamation,
        '.' | '。' => Sign::Stop,
        '…' => Sign::Dots,
        ',' => Sign::Comma,
        ':' | '：' => Sign::Colon,
        ';' => Sign::Semicolon,
        '(' => Sign::Open,
        ')' => Sign::Close,
        '-' | '–' | '—' => Sign::Dash,
        '/' => Sign::Slash,
        '"' => Sign::Quote,
        '~' => Sign::Tilde,
        '^' => Sign::Caret,
        '=' => Sign::Equals,
        '→' | '⇒' => Sign::Arrow,
        'ㅋ' | 'ㅎ' => Sign::Laughter,
        'ㅠ' | 'ㅜ' => Sign::Tears,
        '\u{2600}'.. => Sign::Picture,
        _ => return None,
    })
}
