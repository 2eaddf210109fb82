//! Recognises what work waits for, and what comes after that: "Once Ines has allowed it, the tap can be published."

use crate::model::word_list::WordList;
use crate::prose::sentences::in_lower_case;

/// Filler words before a statement.
static LEAD_INS: WordList = WordList::phrases(
    "good, |fine, |ok, |okay, |great, |alright, |then, |so |and |but |네, |네 |좋습니다, |좋아요, |알겠습니다, |그럼 ",
);

/// Words of waiting. A program waits too, so that a person, a team, a time or what people give must be named as well.
static WAITS: WordList = WordList::phrases(
    "waits for|wait for|waiting for|waits on|waiting on|until |not before |\
     has to come from|기다리|기다려|기다립|대기|와야 |받아야|줘야|주셔야|전까지|막혀|막혔|待って",
);
static KOREAN_ACTORS: WordList = WordList::phrases(
    "님|팀|담당|업체|고객|거래처|승인|검토|답|회신|확인|요일|금욜|목욜|내일|모레|다음 주|다음주|일에|일까지|센터|본사|은행|병원|학교|위원회|회의|さん|返事",
);
static AWAITED: WordList = WordList::phrases(
    " review| approval| approves| approved| answer| reply| replies| signature| permission| sign-off| decision| confirmation| feedback| delivery| quote| \
     tomorrow| next week| next month",
);

/// Words with which work stops, whatever it waits for.
static STOPS: WordList = WordList::phrases(
    "until then|blocked by|blocked on|blocked until|on hold| is up to the | is up to him| is up to her| is up to them|is still missing|\
     are still missing|pick up at|to pick up|picks up at|comes back from|gets back to|여기서 멈|막힘|보류|권한이 없어|님 권한|권한은 |님께 있|그때까지|그 다음에|\
     그다음에|그 뒤에|그 후에|준대|주신대|준다고|주신다고|된대|된답|준답|온답|온대",
);

/// Beginnings of what comes afterwards, and words of what will be done.
static AFTERWARDS: WordList = WordList::phrases(
    "once |as soon as |after that|then on |then tomorrow|then we |then i |then it |tomorrow: |tomorrow, |on monday|on tuesday|on wednesday|\
     on thursday|on friday|next week|the next step|next is |next comes |that leaves |what remains|from there|afterwards",
);
static ONCE: WordList = WordList::phrases("once per |once a |once in |once more");
static WILL: WordList = WordList::phrases(
    " will |'ll | i | can | should | we | let's | i'd | is due| are due| has to | have to | needs to | goes | go live|: ",
);

/// Words of what a person or a team has to do.
static NEEDS: WordList = WordList::phrases(
    " has to | have to | needs to | need to | must | only | ask | asked | belongs to | owes | owns | promised | sends ",
);
static TEAMS: WordList = WordList::phrases(
    " team| legal| security| platform| procurement| ops | the vendor| the customer| the client| the supplier| support | an admin|the admin| finance|\
     accounting|compliance|marketing| centre| center",
);

/// Words with which a person says that somebody was or will be asked.
static ASKED: WordList = WordList::phrases(
    "pinged |asked |mailed |emailed |e-mailed |wrote |called |messaged |requested |ordered |i'll ask|i will ask|ill ask|i'll ping|ill ping|\
     i'll call|i call |i'll write|i'll mail|i'll let you know|will let you know",
);
static KOREAN_ASKED: WordList = WordList::phrases(
    "물어봤|물어볼|물어보겠|요청했|요청해|요청서|부탁했|부탁드렸|부탁해 놨|문의했|문의해|연락했|연락해|연락드|메일 보냈|메일 보내|신청했|신청해|전화했|말해 놨|말해놨|얘기해 놨",
);

/// Words of what is not so, was so, or would be so.
static NOT_SO: WordList = WordList::phrases(
    "no need|need not|nothing |no longer|not blocked|was waiting|were waiting|would have to|otherwise|필요 없|필요는 없|않아도|안 해도",
);

/// Endings of what follows a condition, and nouns that end like one: "화면 ".
static KOREAN_WILL: WordList =
    WordList::words("겠습니다 게요 할게 할께 됩니다 돼요 됨 예정 예정입니다 하죠 합시다 하자 시작");
static NO_CONDITIONS: WordList = WordList::words("화면 장면 측면 표면 정면 단면 전면 반면 도면 지면 평면 이면 국면");

/// Whether a sentence says what the work waits for, or, in an answer, what comes after that. Orders of a person are no steps that are left.
pub(crate) fn names_pending(sentence: &str, is_said_by_person: bool) -> bool {
    let sentence = without_quotations(sentence);
    let folded = in_lower_case(sentence.trim());
    if folded.ends_with(['?', '？']) || NOT_SO.occurs_in(&folded) {
        return false;
    }
    let said = without_lead_ins(&folded);
    let names_actor = || names_somebody(&sentence) || TEAMS.occurs_in(said);
    let is_awaited = || names_actor() || AWAITED.occurs_in(said) || KOREAN_ACTORS.occurs_in(said);
    if STOPS.occurs_in(said) || WAITS.occurs_in(said) && is_awaited() {
        return true;
    }
    if is_said_by_person {
        return ASKED.begins(said) || KOREAN_ASKED.occurs_in(said) || has_korean_condition(said) && is_awaited();
    }
    let comes_afterwards = AFTERWARDS.begins(said) && !ONCE.begins(said) || said.contains(", after that");
    comes_afterwards && WILL.occurs_in(said) || NEEDS.occurs_in(said) && names_actor() || has_korean_condition(said)
}

/// Returns a sentence without its code and quotations, which may name what a program waits for.
fn without_quotations(sentence: &str) -> String {
    let parts = sentence.split(['`', '"', '“', '”']).enumerate();
    parts.filter(|(at, _)| at % 2 == 0).map(|(_, part)| part).collect::<Vec<_>>().join("_")
}

/// Whether a sentence says what will be done on a condition: "답이 오면 … 지우겠습니다".
fn has_korean_condition(said: &str) -> bool {
    let is_condition =
        |word: &str| word.ends_with('면') && !NO_CONDITIONS.ends(word) || matches!(word, "뒤에" | "후에");
    KOREAN_WILL.ends(said.trim_end_matches(['.', '!', ' '])) && said.split(' ').any(is_condition)
}

fn without_lead_ins(said: &str) -> &str {
    let mut rest = said;
    while let Some(after) = LEAD_INS.iter().find_map(|lead_in| rest.strip_prefix(*lead_in)) {
        rest = after;
    }
    rest
}

/// Whether a word within a sentence may be a name: "Rashid", but not "SQL".
fn names_somebody(sentence: &str) -> bool {
    let is_name = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase) && word.chars().count() > 2 && letters.all(char::is_lowercase)
    };
    let words = sentence.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.skip(1).any(is_name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::condition("Once she has allowed Unicode-3.0, the tap can be published as it is.", true)]
    #[case::order_of_steps("Good, then on Thursday: the secret mount first, then `GIT_SHA`.", true)]
    #[case::person("The runners are on Docker 20.10, and only Rashid can upgrade them.", true)]
    #[case::team("That has to be opened by the network team.", true)]
    #[case::until("The cloud side stays on 3.1.1 until Deniz has deployed the bridge.", true)]
    #[case::korean_condition("화요일에 답이 오면 작업 번호 비교를 넣고 분기를 지우겠습니다.", true)]
    #[case::korean_person("GK420d를 언제 교체하는지 정하늘 님이 알려줘야 더 진행할 수 있습니다.", true)]
    #[case::report("Every shard has its own database, and twenty runs were green.", false)]
    #[case::cause("The image build never hits the cache.", false)]
    #[case::question("Should we wait for Rashid?", false)]
    #[case::korean_report("라벨 한 장이 6초에서 0.3초가 됐습니다.", false)]
    #[case::korean_behaviour("2만 자를 넘으면 429가 나갑니다.", false)]
    #[case::of_a_program("The worker waits for the lock and writes its own PID.", false)]
    #[case::condition_of_a_program("Once the lock is released, the worker writes its own PID.", false)]
    #[case::not_needed("There is no need to ask Tom.", false)]
    #[case::quotation("CI failed with `waiting for Rashid`.", false)]
    #[case::korean_screen_alone("로그인 화면 테스트도 자동으로 됩니다.", false)]
    #[case::how_often("Once per day the job compacts the index.", false)]
    fn pending_work_is_recognized(#[case] sentence: &str, #[case] is_pending: bool) {
        assert_eq!(names_pending(sentence, false), is_pending);
    }

    #[rstest]
    #[case::asked("pinged rashid, he does it on thursday", true)]
    #[case::korean_asked("물어봤는데 다음 주 화요일에 답 준대요.", true)]
    #[case::waits("we wait for legal until Monday", true)]
    #[case::order("after that, run the linter, then we push", false)]
    #[case::specification("the button must open the Settings dialog", false)]
    fn person_names_pending_work(#[case] sentence: &str, #[case] is_pending: bool) {
        assert_eq!(names_pending(sentence, true), is_pending);
    }
}
