//! Learnings and passing states.

use super::{Learning, assert_found, assert_nothing_found};

const LEARNINGS: &[&str] = &[
    "We discovered that FTS5 ignores the tokenizer of a contentless table.",
    "I discovered that the hook runs twice when a session is resumed.",
    "I realized that the watcher misses renames on network drives.",
    "Turns out `cargo test` ignores the profile of a dependency.",
    "Turns out the tests fail whenever TZ is unset.",
    "It turned out that the driver caches prepared statements per connection.",
    "We found out that the runner kills jobs after six hours.",
    "Key insight: the parser is slow because it copies every line.",
    "Pitfall: `select!` drops the future that lost.",
    "Good to know: macOS ships an old version of bash.",
    "What I learned: a WAL file grows until the last reader leaves.",
    "Keep in mind that rowids are reused without AUTOINCREMENT.",
    "TIL that rename is atomic only within one file system.",
    "We've learned the hard way that retries without jitter stampede.",
    "The gotcha is that `Instant` stops while the machine sleeps.",
    "FTS5가 빈 질의에 오류를 낸다는 것을 발견했습니다.",
    "훅은 세션을 재개할 때 두 번 실행된다는 것을 알게 되었습니다.",
    "NFS에서는 rename이 원자적이지 않다는 점을 알게 됐다.",
    "테스트를 병렬로 돌리면 실패한다는 것을 알게 되었습니다.",
    "알고 보니 드라이버는 연결마다 구문을 캐시한다.",
    "재시도에는 지터가 필요하다는 것을 배웠습니다.",
    "rowid는 다시 쓰일 수 있다는 사실을 알았습니다.",
    "주의할 점: `select!`는 진 쪽의 퓨처를 버린다.",
    "핵심 교훈: 마이그레이션은 되돌릴 수 있어야 한다.",
    "WAL 파일은 마지막 독자가 떠날 때까지 커진다는 걸 깨달았다.",
    "gRPC 클라이언트에는 기본 재시도가 없다는 것을 알게 되었다.",
    "It turns out that the file system of macOS is case-insensitive by default.",
    "It turns out that launchd ignores the PATH of the shell.",
];

const NO_LEARNINGS: &[&str] = &[
    "Turns out the file is empty.",
    "Turns out there were 3 failing tests.",
    "Turns out the server was still running on port 3000.",
    "Turns out I forgot to save the file.",
    "Turns out you were right about the second test.",
    "It turned out that the branch was already merged.",
    "It turns out that the build is green again.",
    "I found out that the tests pass now.",
    "I found out that the config file does not exist.",
    "We found out that the directory is missing.",
    "We discovered that the build was broken since Monday.",
    "I realized that I had edited the wrong file.",
    "I discovered that two tests are failing.",
    "Learned: nothing new.",
    "Learnings: none this time around.",
    "Lesson learned: nothing to add here today.",
    "TIL about your new keyboard, very nice.",
    "Keep in mind that I am still working on it.",
    "I want to see what they learned that week.",
    "Let me check whether it turns out that the API ignores it.",
    "The docs say we learned that retries need jitter.",
    "파일이 비어 있다는 것을 알게 되었습니다.",
    "테스트가 통과한다는 것을 알게 되었습니다.",
    "빌드가 실패했다는 것을 알게 되었습니다.",
    "알고 보니 파일이 비어 있었습니다.",
    "알고 보니 서버가 아직 돌고 있었다.",
    "설정 파일이 없다는 것을 알게 되었다.",
    "브랜치가 이미 병합되었다는 것을 알게 됐습니다.",
    "제가 잘못된 파일을 고쳤다는 것을 깨달았습니다.",
    "테스트 두 개가 실패하고 있다는 것을 발견했습니다.",
    "배운 점: 없습니다, 이번에는 새로울 것이 없네요.",
    "배운 점: 특별히 없었습니다. 다음으로 갑니다.",
    "새 언어를 배웠으면 좋겠다고 생각합니다.",
    "누가 그렇게 했는지 알게 되었습니다.",
    "함수가 존재한다는 것을 발견했습니다.",
    "I realized that the variable `count` is shadowed.",
    "It turns out that both modules import the same helper.",
    "변수 `count`가 가려진다는 것을 깨달았습니다.",
    "알고 보니 테스트가 두 개 더 있습니다.",
];

#[test]
fn learnings_are_found() {
    assert_found(Learning, LEARNINGS);
}

#[test]
fn passing_states_are_rejected() {
    assert_nothing_found(NO_LEARNINGS);
}
