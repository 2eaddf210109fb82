//! Another set like `second`. At first the rules found 17 of 20 and wrongly accepted 2 of 20.

use super::{Decision, ErrorFix, Learning, assert_found, assert_nothing_found};

const DECISIONS: &[&str] = &[
    "After the spike we're going with Tauri rather than Electron because the bundle is a tenth of the size.",
    "We've agreed to version the public API in the path.",
    "From now on every migration ships with a rollback script.",
    "We opted for server-side rendering since crawlers skip our JavaScript.",
    "메시지 브로커는 Kafka 대신 RabbitMQ를 사용하기로 결정했습니다.",
    "프론트엔드 상태 관리는 Zustand를 채택하기로 했다.",
    "앞으로 커밋 메시지는 영어로만 작성합니다.",
    "검색 엔진은 Meilisearch로 확정했습니다.",
    "논의 끝에 모노레포 구조를 유지하기로 합의했습니다.",
];

const LEARNINGS: &[&str] = &[
    "TIL: Postgres does not use an index on a column that is wrapped in a function.",
    "We learned that the payment provider retries webhooks for three days.",
    "It turns out that `fs.watch` fires twice for every save on macOS.",
    "iOS 사파리는 100vh에 주소창 높이를 포함한다는 것을 알게 되었습니다.",
    "알고 보니 Lambda는 컨테이너를 재사용할 때 /tmp를 비우지 않는다.",
];

const FIXES: &[&str] = &[
    "The root cause was a missing await in the upload handler; adding it fixed the empty files.",
    "The crash was caused by a null user in the session middleware. Fixed it by checking for guests first.",
    "Builds failed because the lockfile was out of date, so I regenerated it, which fixed the pipeline.",
    "원인은 타임존 설정이 빠진 것이었고, TZ를 UTC로 지정하여 해결했습니다.",
    "CORS 오류는 프록시에 Origin 헤더를 추가해서 해결했습니다.",
];

const LEFT: &[&str] = &[
    "I'll go with the flow and start on the tests.",
    "We decided nothing in that meeting.",
    "Let me know what you decided so I can continue.",
    "The user decided to stop the run.",
    "You've chosen a good name for it.",
    "I'll use grep to look for the callers first.",
    "The function decides which backend to use because of the feature flag.",
    "Let's go with the next file.",
    "I learned Rust last year.",
    "It turns out there are only two callers.",
    "I realized that I forgot to save the file.",
    "The build failed because the disk is full.",
    "I fixed the formatting and pushed the branch.",
    "The error is fixed now, all 214 tests pass.",
    "From now on I'll call it the parser.",
    "이제 두 번째 파일을 수정하겠습니다.",
    "어떤 방식을 선택할지 결정해 주세요.",
    "원인을 찾기 위해 로그를 확인하겠습니다.",
    "테스트가 모두 통과하는 것을 확인했습니다.",
    "저는 지난주에 러스트를 배웠습니다.",
];

const BEYOND: &[&str] =
    &["The plan is settled: we will migrate the billing tables to UUID keys instead of serial ones."];

#[test]
fn more_decisions_written_later_are_found() {
    assert_found(Decision, DECISIONS);
}

#[test]
fn more_learnings_written_later_are_found() {
    assert_found(Learning, LEARNINGS);
}

#[test]
fn more_fixes_written_later_are_found() {
    assert_found(ErrorFix, FIXES);
}

#[test]
fn more_lines_written_later_are_rejected() {
    assert_nothing_found(LEFT);
}

#[test]
fn plan_in_unknown_words_is_missed() {
    assert_nothing_found(BEYOND);
}
