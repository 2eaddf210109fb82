//! Fixes of errors, and sentences that only mention one.

use super::{ErrorFix, assert_found, assert_nothing_found};

const FIXES: &[&str] = &[
    "The root cause was a race in the watcher; adding a lock fixed it.",
    "The test failed because the clock was read twice. Reading it once fixed it.",
    "The deadlock happened because two tasks took the locks in a different order. Sorting them resolved it.",
    "The crash was due to a null session. I fixed it by checking the session first.",
    "Adding a busy timeout fixed the locked database error.",
    "Pinning tokio to 1.38 resolved the linker error.",
    "The 500s came from an expired certificate. The fix was to renew it in the start script.",
    "The bug was that the cursor skipped the last row; comparing with <= fixes it.",
    "The problem was a missing index, so I fixed it with a migration.",
    "I've fixed the memory leak by dropping the listener on close.",
    "The panic in the parser was resolved by checking the length first.",
    "The culprit was a stale lock file. Removing it at start solved the problem.",
    "The build was failing because of a missing feature flag. Enabling `derive` fixed it.",
    "원인은 감시자의 경쟁 조건이었고 잠금을 추가해 해결했습니다.",
    "원인은 만료된 인증서였습니다. 시작할 때 갱신하도록 수정했습니다.",
    "잠금 순서를 통일해 교착 문제를 해결했습니다.",
    "데이터베이스 잠김 오류는 busy timeout을 늘려 해결했다.",
    "빌드 실패는 derive 기능을 켜서 해결했습니다.",
    "시계를 두 번 읽는 것이 원인이었다. 한 번만 읽도록 고쳤다.",
    "인덱스가 없어서 생긴 타임아웃 문제를 인덱스를 추가하여 해결함.",
    "원인은 캐시 키에 로케일이 빠진 것이었습니다. 키에 로케일을 넣으니 해결되었습니다.",
    "메모리 누수는 닫을 때 리스너를 해제하는 방식으로 해결했습니다.",
    "패닉의 원인은 빈 배열이었고, 길이를 먼저 검사하도록 수정했다.",
    "The root cause was an unbounded channel; capping it at 1,000 messages fixed the memory growth.",
    "The upload failed because nginx limits bodies to 1 MB. Raising client_max_body_size solved it.",
];

const NO_FIXES: &[&str] = &[
    "The issue was closed yesterday. I fixed the description.",
    "The issue was assigned to Kim. The fix was requested by Lee.",
    "The bug was reported by a customer. We fixed the label.",
    "The problem was discussed on Monday. I fixed the title.",
    "The issue was opened in March. The fix was merged in May.",
    "I fixed the typo by replacing teh with the.",
    "Fixed the wording by using shorter sentences.",
    "Fixed the formatting by running cargo fmt.",
    "Fixed by reverting to the previous commit.",
    "I fixed it by undoing my last edit.",
    "The root cause was a stale lock. I fixed the typo in the readme.",
    "The problem was not the lock. I fixed the test name.",
    "The issue was hard to find. I fixed two warnings.",
    "Adding a lock would have fixed it, I believe.",
    "Somebody said the root cause was a race, fixed by a lock.",
    "The test failed because the port was taken. Now I look at the log.",
    "Fixed the link in the changelog by adding the missing bracket.",
    "In the old project the root cause was a race, and a lock fixed it.",
    "If the root cause was a race, adding a lock fixed it.",
    "문제는 김에게 배정되었습니다. 설명을 수정했습니다.",
    "오타를 고쳐서 문제를 수정했습니다.",
    "이전 커밋으로 되돌려서 오류를 해결했습니다.",
    "이슈는 어제 닫혔습니다. 제목을 고쳤습니다.",
    "원인은 캐시였습니다. 문서의 오타를 고쳤습니다.",
    "문구를 바꿔서 문제를 해결했습니다.",
    "맞춤법 오류를 바꿔서 수정했습니다.",
    "원인은 확인 중이고, 다른 문제를 먼저 해결했습니다.",
    "원인을 찾으면 해결했다고 알려 드립니다.",
    "이 오류는 다음 버전에서 해결될 예정입니다.",
    "예전 프로젝트에서는 원인은 경쟁 조건이었고 잠금을 추가해 해결했다.",
    "The build failed because of a missing semicolon. Fixed it.",
    "The failure was due to my previous edit; I fixed it.",
    "Adding the import fixed the compile error.",
    "Removing the trailing comma fixed the error.",
    "Fixed the failing assertion by changing the expected value.",
    "Both tests failed because I mistyped the name; correcting it fixed them.",
    "파일을 수정해서 오류를 해결했습니다.",
    "import를 추가해서 컴파일 오류를 해결했습니다.",
    "원인은 세미콜론 누락이었습니다. 수정했습니다.",
    "요청하신 대로 버튼 색을 파란색으로 바꿔서 문제를 해결했습니다.",
];

#[test]
fn fixes_are_found() {
    assert_found(ErrorFix, FIXES);
}

#[test]
fn mentions_of_fixes_are_rejected() {
    assert_nothing_found(NO_FIXES);
}
