use schema::intake::capture::capture;
use schema::intake::prepare::Draft;
use schema::model::memory::MemoryAttributes;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings::Settings;

use super::*;

const D: MemoryType = MemoryType::Decision;
const L: MemoryType = MemoryType::Learning;
const F: MemoryType = MemoryType::ErrorFix;
const A: MemoryType = MemoryType::AssistantResponse;
const P: MemoryType = MemoryType::UserPrompt;

/// The memories of a project after some weeks.
const MEMORIES: [(&str, MemoryType, &str); 34] = [
    (
        "redis",
        D,
        "Cache JWT tokens in Redis with a TTL of five minutes, because the identity provider allows forty requests a second.",
    ),
    ("postgres", D, "Use PostgreSQL 16 with row level security instead of one schema for each tenant."),
    ("axum", D, "The public API is written with axum; actix was dropped because of its macros."),
    (
        "queue",
        D,
        "Background jobs go through a table with SKIP LOCKED and not through RabbitMQ, to have one thing less to operate.",
    ),
    ("errors", D, "Errors of the API are RFC 9457 problem documents with a stable type URI."),
    ("flags", D, "Feature flags live in the database and are read once a minute; LaunchDarkly was too expensive."),
    ("money", D, "Amounts of money are stored as integers in the smallest unit, with the currency beside them."),
    (
        "retry",
        D,
        "Webhooks are retried with exponential backoff for three days and then set aside in a dead letter table.",
    ),
    ("배포", D, "배포는 매주 화요일 오전에만 하고, 긴급 수정은 팀장 승인을 받는다."),
    ("세션", D, "세션 저장소는 Redis 대신 PostgreSQL을 쓰기로 결정했다. 운영할 것이 하나 줄어든다."),
    ("로그", D, "로그는 JSON 형식으로 남기고 개인정보는 마스킹한다."),
    ("결제", D, "결제 모듈은 토스페이먼츠 API를 사용하고 웹훅 서명을 반드시 검증한다."),
    ("editors", L, "Editors replace files instead of writing to them, so a watcher has to watch the directory."),
    ("wal", L, "Switching a new SQLite database to WAL ignores the busy handler, so it needs a loop of its own."),
    ("flaky", L, "The checkout test is flaky when the clock of the CI runner is more than a minute off."),
    ("docker", L, "Docker on macOS does not pass inotify events on to bind mounts; set the watcher to polling there."),
    ("tokio", L, "A blocking call in an async handler stalls every request of that tokio worker; use spawn_blocking."),
    ("인덱스", L, "주문 테이블의 created_at 인덱스가 없으면 통계 조회가 30초 넘게 걸린다."),
    ("시간대", L, "스케줄러는 UTC로 동작하므로 한국 시간 자정 작업은 15시로 등록해야 한다."),
    ("캐시", L, "상품 목록 캐시는 가격이 바뀌어도 자동으로 지워지지 않는다. 이벤트로 무효화해야 한다."),
    (
        "migration",
        F,
        "The migration failed with a lock timeout; fixed by creating the index concurrently, outside of the transaction.",
    ),
    (
        "cors",
        F,
        "CORS preflight failed for the admin panel because the allowed headers lacked X-Tenant; added it in gateway.rs.",
    ),
    (
        "leak",
        F,
        "The memory of the importer grew without bound because the channel was unbounded; it is bounded to 256 now.",
    ),
    ("한글", F, "한글 파일 이름이 깨지는 문제는 macOS의 NFD 때문이었고 NFC로 정규화해서 고쳤다."),
    (
        "login",
        A,
        "I moved the login rate limit into the gateway: ten attempts a minute for each address, counted in Redis.",
    ),
    (
        "pagination",
        A,
        "The list endpoints now use cursor pagination with an opaque token; offset and page are refused.",
    ),
    ("테스트", A, "통합 테스트를 testcontainers로 옮겼고 로컬에서 2분 안에 끝납니다."),
    ("asked", P, "Can you look at why the login rate limit does not work for the admin panel?"),
    ("go on", P, "continue"),
    ("yes", P, "yes, please go on with the tests"),
    ("계속", P, "계속해줘"),
    ("answer", A, "Done. All tests pass and the change is committed."),
    ("agreed", A, "Yes, that works. I will continue with the next step."),
    ("알림", A, "네, 계속 진행하겠습니다. 다음 단계는 확인 후 알려드리겠습니다."),
];

/// Prompts of another session with the first memory that each should recall.
const RECALLING: [(&str, &str); 25] = [
    ("add an index to the orders table", "인덱스"),
    ("where do we cache the JWT tokens, and for how long?", "redis"),
    ("Why did we decide against RabbitMQ for background jobs?", "queue"),
    ("what format do errors of the API have?", "errors"),
    ("webhook retry backoff", "retry"),
    ("the file watcher misses changes when editors replace files", "editors"),
    ("checkout test is flaky on CI again", "flaky"),
    ("migration fails with a lock timeout", "migration"),
    ("CORS preflight fails in the admin panel", "cors"),
    ("should I use actix or axum for the new service?", "axum"),
    ("I want to add a column for prices, how do we store amounts of money?", "money"),
    ("the importer eats all memory, has this happened before?", "leak"),
    ("add cursor pagination to the invoices list endpoint", "pagination"),
    ("Login is slow, I think we hit the identity provider too often. Do we not cache the tokens in Redis?", "redis"),
    ("the watcher does not see changes in docker on my mac, probably inotify", "docker"),
    ("a handler blocks the tokio worker", "tokio"),
    ("implement the login rate limit for the admin panel as well", "login"),
    ("배포는 언제 하기로 했지?", "배포"),
    ("세션 저장소를 뭘로 결정했지?", "세션"),
    ("한글 파일 이름이 깨져", "한글"),
    ("상품 목록 캐시가 지워지지 않아", "캐시"),
    ("주문 통계 조회가 너무 느려. 왜 그런지 봐줘", "인덱스"),
    ("자정에 도는 스케줄러 작업을 추가해줘. 한국 시간 기준이야", "시간대"),
    ("토스페이먼츠 웹훅 서명 검증을 구현해줘", "결제"),
    ("통합 테스트를 로컬에서 돌리려면?", "테스트"),
];

/// Known misses: too many other topics, or only one matching word. This list may only shrink.
const MISSED: [&str; 4] = [
    "I want to add a column for prices, how do we store amounts of money?",
    "implement the login rate limit for the admin panel as well",
    "배포는 언제 하기로 했지?",
    "주문 통계 조회가 너무 느려. 왜 그런지 봐줘",
];

/// Prompts that should recall nothing.
const SILENT: [&str; 33] = [
    "continue",
    "yes",
    "yes, go on",
    "ok continue please",
    "계속",
    "네 계속해줘",
    "응 진행해줘",
    "looks good, thanks!",
    "run the tests",
    "commit this",
    "commit this change",
    "now run all tests again",
    "what is for lunch today?",
    "add a dark mode to the settings page",
    "rename the function parse_date to read_date",
    "write a README for the new command line tool",
    "Please fix the typo in the title of the landing page and add a test for it",
    "upgrade the dependencies and fix the warnings",
    "explain how the build script works",
    "change the title of the admin panel",
    "add a test for the new list component",
    "write a test for the file upload",
    "move the API documentation to a new page",
    "why does this handler return an error?",
    "use a table for the prices on the landing page",
    "fix the failed test",
    "테스트를 추가해줘",
    "테스트 실행하고 커밋해줘",
    "로그 화면에 버튼을 추가해줘",
    "이 함수에 주석을 달아줘",
    "프론트엔드 버튼 색을 파란색으로 바꿔줘",
    "새로운 화면에 차트를 추가해줘",
    "파일 이름을 바꿔줘",
];

struct RecallFixture {
    _project: tempfile::TempDir,
    engine: Engine,
}

impl RecallFixture {
    fn new(memories: &[(&str, MemoryType, &str)]) -> Self {
        let project = tempfile::tempdir().unwrap();
        let mut engine = Engine::open_with_settings(project.path(), &Settings::default()).unwrap();
        for (n, (name, kind, content)) in memories.iter().enumerate() {
            let draft = Draft {
                attributes: MemoryAttributes { origin: Some((*name).to_owned()), ..MemoryAttributes::default() },
                ..Draft::new(
                    format!("session-of-{n}"),
                    *kind,
                    *content,
                    Moment::from_unix(1_790_000_000 + n as i64 * 7_000, Some(32_400)).unwrap(),
                )
            };
            capture(&mut engine.store, draft, &Sanitizer::default()).unwrap();
        }
        Self { _project: project, engine }
    }

    /// Names of the recalled memories.
    fn recall(&mut self, prompt: &str) -> Vec<String> {
        let recalled = self.engine.recall(prompt, "now").unwrap();
        let rows = self.engine.store.rows();
        let row = |found: &RecalledMemory| rows.by_id(&MemoryId::parse(&found.id).unwrap()).unwrap().unwrap();
        recalled.iter().map(|found| row(found).memory.attributes.origin.unwrap()).collect()
    }
}

#[test]
fn prompts_bring_along_what_helps_and_nothing_else() {
    let mut memory = RecallFixture::new(&MEMORIES);
    let loud: Vec<_> =
        SILENT.iter().map(|prompt| (*prompt, memory.recall(prompt))).filter(|said| !said.1.is_empty()).collect();
    assert_eq!(loud, []);
    let mut missed = Vec::new();
    for (prompt, name) in RECALLING {
        match memory.recall(prompt).first() {
            Some(first) => assert_eq!(first, name, "{prompt}"),
            None => missed.push(prompt),
        }
    }
    assert_eq!(missed, MISSED);
}

#[test]
fn memory_that_adds_nothing_is_skipped() {
    let decision = "Cache JWT tokens in Redis.";
    let answer = "Where do we cache the JWT tokens of the gateway?! I will look.";
    let mut memory = RecallFixture::new(&[
        ("asked", P, "where do we cache the JWT tokens of the gateway"),
        ("echo", A, answer),
        ("decision", D, decision),
    ]);
    assert_eq!(memory.recall("cache JWT tokens, where?"), ["decision", "echo"], "what was concluded comes first");
    assert_eq!(memory.recall("Where do we cache the JWT tokens of the gateway?"), ["decision"]);
    for prompt in ["cache JWT tokens in redis", "> Cache JWT\n> tokens in Redis.\n\nIs that so?"] {
        assert!(!memory.recall(prompt).contains(&"decision".to_owned()), "{prompt}");
    }
}

#[test]
fn session_does_not_recall_its_own_words() {
    let mut memory = RecallFixture::new(&[("redis", D, MEMORIES[0].2)]);
    let asked = |memory: &mut RecallFixture, session: &str| {
        memory.engine.recall("cache of JWT tokens in Redis", session).unwrap().len()
    };
    assert_eq!((asked(&mut memory, "session-of-0"), asked(&mut memory, "another")), (0, 1));
}
