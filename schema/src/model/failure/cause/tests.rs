//! Reports as tools print them, with the lines that are extracted from each.

use rstest::rstest;

use super::*;

fn check(report: &str, expected: &[&str]) {
    assert_eq!(cause_of(report, "/home/dev/project").lines().collect::<Vec<_>>(), expected);
}

#[test]
fn cause_in_python_traceback() {
    check(
        "Exit code 1\nTraceback (most recent call last):\n  File \"/usr/lib/python3.11/runpy.py\", line 198, in _run_module_as_main\n    return _run_code(code, main_globals, None,\n  File \"/home/dev/project/app/worker.py\", line 41, in run\n    handle(job)\n    ^^^^^^^^^^^\n  File \"/home/dev/project/app/jobs.py\", line 12, in handle\n    return db[job.key]\n           ~~^^^^^^^^^\n  File \"/home/dev/project/.venv/lib/python3.11/site-packages/redis/client.py\", line 300, in __getitem__\n    raise KeyError(name)\nKeyError: 'job:17'\n",
        &["KeyError: 'job:17'", "File \"app/jobs.py\", line 12, in handle"],
    );
}

#[test]
fn cause_in_chained_python_traceback() {
    check(
        "Traceback (most recent call last):\n  File \"/home/dev/project/a.py\", line 3, in load\n    x = int(s)\nValueError: invalid literal for int() with base 10: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/home/dev/project/main.py\", line 9, in <module>\n    load('x')\n  File \"/home/dev/project/a.py\", line 5, in load\n    raise ConfigError('bad port') from None\nproject.errors.ConfigError: bad port\n",
        &[
            "ValueError: invalid literal for int() with base 10: 'x'",
            "project.errors.ConfigError: bad port",
            "File \"a.py\", line 5, in load",
        ],
    );
}

#[test]
fn cause_in_node_report() {
    check(
        "Exit code 1\n/home/dev/project/src/cache.js:22\n    const v = map.get(key).value;\n                           ^\n\nTypeError: Cannot read properties of undefined (reading 'value')\n    at lookup (/home/dev/project/node_modules/lru/index.js:9:3)\n    at read (/home/dev/project/src/cache.js:22:28)\n    at Object.<anonymous> (/home/dev/project/src/main.js:5:1)\n    at Module._compile (node:internal/modules/cjs/loader:1554:14)\n    at node:internal/main/run_main_module:36:49\n\nNode.js v22.14.0\n",
        &["TypeError: Cannot read properties of undefined (reading 'value')", "at read (src/cache.js:22:28)"],
    );
}

#[test]
fn cause_in_tsc_report() {
    check(
        "src/api.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.\nsrc/api.ts(40,9): error TS2304: Cannot find name 'foo'.\n",
        &[
            "src/api.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.",
            "src/api.ts(40,9): error TS2304: Cannot find name 'foo'.",
        ],
    );
}

#[test]
fn cause_in_rust_report() {
    check(
        "   Compiling app v0.1.0 (/home/dev/project)\nwarning: unused variable: `x`\n --> src/lib.rs:3:9\n\nerror[E0308]: mismatched types\n  --> src/main.rs:14:18\n   |\n14 |     let n: u32 = name;\n   |            ---   ^^^^ expected `u32`, found `String`\n   |\n\nFor more information about this error, try `rustc --explain E0308`.\nerror: could not compile `app` (bin \"app\") due to 1 previous error\n",
        &["error[E0308]: mismatched types", "--> src/main.rs:14:18"],
    );
}

#[test]
fn cause_in_go_panic() {
    check(
        "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.pick(...)\n\t/home/dev/project/main.go:12\nmain.main()\n\t/home/dev/project/main.go:20 +0x1d\nexit status 2\n",
        &["panic: runtime error: index out of range [3] with length 3", "main.go:12"],
    );
}

#[test]
fn frames_without_a_file_or_a_folder_are_not_shown() {
    check(
        "Assertion `!Use.isTied()' failed.\nStack dump:\n#0 0x000055d0f1a2 llvm::sys::PrintStackTrace\n#1 0x00007f31c2d0 __restore_rt",
        &["Assertion `!Use.isTied()' failed."],
    );
    check(
        "Unhandled exception. Renci.SshConnectionException: Key exchange failed.\n   at Renci.Session.Connect() in Session.cs:line 671\n   at Probe.Main() in tools/Probe.cs:line 19",
        &[
            "Unhandled exception. Renci.SshConnectionException: Key exchange failed.",
            "at Probe.Main() in tools/Probe.cs:line 19",
        ],
    );
}

#[test]
fn frames_of_a_signal_handler_are_not_shown() {
    check(
        "Assertion `dominates(def, use)' failed.\n #0 0x000055d0 ql::Trace(std::ostream&) lib/Signals.cpp:88\n #1 0x00007f31 __restore_rt libc.so.6\n #2 0x000055d1 ql::LICM::hoist(Loop*) lib/LICM.cpp:167",
        &["Assertion `dominates(def, use)' failed.", "ql::LICM::hoist(Loop*) lib/LICM.cpp:167"],
    );
    check(
        "Program received signal SIGSEGV, Segmentation fault.\n#0  0x000055d0 in on_signal () at src/trace.c:8\n#1  <signal handler called>\n#2  0x000055d1 in hoist (loop=0x0) at src/licm.c:167",
        &["Program received signal SIGSEGV, Segmentation fault.", "hoist (loop=0x0) at src/licm.c:167"],
    );
}

#[test]
fn cause_in_go_test_report() {
    check(
        "--- FAIL: TestParse (0.00s)\n    parse_test.go:31: got 3, want 4\nFAIL\nFAIL\texample.com/parse\t0.004s\nFAIL\n",
        &["--- FAIL: TestParse (0.00s)", "parse_test.go:31: got 3, want 4"],
    );
}

#[rstest]
#[case::minitest(
    "F\nFailure:\nOfferTest#test_midnight [test/offer_test.rb:12]:\nExpected: 08:10\n  Actual: 08:00\n1 runs, 1 failures",
    "OfferTest#test_midnight"
)]
#[case::pytest_title(
    "F.\n=== FAILURES ===\n_____ test_second_delivery _____\n\n    def test_second_delivery():\n>       assert 2 == 1\nE       assert 2 == 1\n\ntest_a.py:3: AssertionError\n1 failed, 1 passed",
    "test_second_delivery"
)]
#[case::bare_name(
    "F.\n=== FAILURES ===\ntest_second_delivery\nE   assert 2 == 1\nE   +  where 2 = f()\n1 failed",
    "test_second_delivery"
)]
#[case::gradle(
    "> Task :test FAILED\n\nPayoutTest > paid once FAILED\n    org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n        at com.acme.PayoutTest.once(PayoutTest.java:20)\n\n2 tests completed, 1 failed",
    "PayoutTest > paid once"
)]
#[case::rspec(
    "Failures:\n\n  1) Offer pauses at night\n     Failure/Error: expect(offer.at).to eq 8\n\n       expected: 8\n            got: 7\n     # ./spec/offer_spec.rb:12\n\n1 example, 1 failure",
    "Offer pauses at night"
)]
#[case::mocha(
    "  Cart\n    ✔ is empty\n    1) adds\n\n  1 passing\n  1 failing\n\n  1) Cart\n       adds:\n     AssertionError: expected 1 to equal 2\n      at Context.<anonymous> (test/cart.js:9:12)",
    "Cart"
)]
#[case::playwright(
    "  1 failed\n    checkout.spec.ts:58:3 › pays with a saved card\n    Error: locator.click: Timeout 5000ms exceeded.\n  8 passed (12s)",
    "pays with a saved card"
)]
#[case::phpunit(
    "There was 1 failure:\n\n1) Tests\\CartTest::testAdds\nFailed asserting that 1 matches expected 2.\n\n/home/dev/project/tests/CartTest.php:12\n\nFAILURES!\nTests: 3, Failures: 1.",
    "CartTest::testAdds"
)]
#[case::gtest(
    "[ RUN      ] Ring.Overflow\nring_test.cc:20: Failure\nExpected equality of these values:\n  1\n  2\n[  FAILED  ] Ring.Overflow (0 ms)\n[  PASSED  ] 3 tests.",
    "Ring.Overflow"
)]
#[case::dotnet(
    "  Failed Acme.CartTests.Adds [12 ms]\n  Error Message:\n   Assert.Equal() Failure\nExpected: 2\nActual: 1\nTotal tests: 3\n     Failed: 1",
    "CartTests.Adds"
)]
#[case::unittest(
    "F.\n======\nFAIL: test_adds (cart.CartTest)\n------\nTraceback (most recent call last):\n  File \"/home/dev/project/cart.py\", line 4, in test_adds\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\nRan 2 tests",
    "test_adds (cart.CartTest)"
)]
fn cause_names_the_failed_test(#[case] report: &str, #[case] name: &str) {
    let cause = cause_of(report, "/home/dev/project");
    assert!(cause.contains(name), "{cause}");
}

#[test]
fn test_name_is_the_one_before_the_cause() {
    let report = "=== FAILURES ===\n____ test_first ____\nE   assert 1 == 2\n____ test_second ____\nE   assert 1 == 2\nFAILED a.py::test_first\nFAILED a.py::test_second";
    check(report, &["test_first", "E   assert 1 == 2"]);
}

#[test]
fn cause_in_java_stack_trace() {
    check(
        "Exception in thread \"main\" java.lang.IllegalStateException: cannot start\n\tat com.acme.App.start(App.java:31)\n\tat com.acme.App.main(App.java:12)\nCaused by: java.sql.SQLException: no suitable driver\n\tat java.sql/java.sql.DriverManager.getConnection(DriverManager.java:708)\n\tat com.acme.db.Pool.open(Pool.java:44)\n\t... 2 more\n",
        &[
            "Exception in thread \"main\" java.lang.IllegalStateException: cannot start",
            "Caused by: java.sql.SQLException: no suitable driver",
            "at com.acme.db.Pool.open(Pool.java:44)",
        ],
    );
}

#[test]
fn cause_in_ruby_report() {
    check(
        "app/models/user.rb:14:in `validate!': email is taken (ActiveRecord::RecordInvalid)\n\tfrom app/models/user.rb:9:in `save'\n\tfrom /usr/lib/ruby/gems/3.2.0/gems/rake/lib/rake.rb:5:in `run'\n",
        &[
            "app/models/user.rb:14:in `validate!': email is taken (ActiveRecord::RecordInvalid)",
            "from app/models/user.rb:9:in `save'",
        ],
    );
}

#[test]
fn cause_in_gdb_report() {
    check(
        "Program received signal SIGSEGV, Segmentation fault.\n0x000055 in ring_push (r=0x0, b=7) at src/ring.c:41\n41\t    r->buf[r->head] = b;\n(gdb) bt\n#0  0x0000555555 in ring_push (r=0x0, b=7) at src/ring.c:41\n#1  0x0000555556 in uart_isr () at src/uart.c:88\n#2  0x00007ffff7 in __libc_start_main () from /lib/x86_64-linux-gnu/libc.so.6\n",
        &["Program received signal SIGSEGV, Segmentation fault.", "ring_push (r=0x0, b=7) at src/ring.c:41"],
    );
}

#[test]
fn cause_in_gcc_report() {
    check(
        "src/ring.c: In function 'ring_push':\nsrc/ring.c:41:5: error: 'struct ring' has no member named 'hed'; did you mean 'head'?\n   41 |     r->hed++;\n      |      ^~\nmake: *** [Makefile:12: ring.o] Error 1\n",
        &["src/ring.c:41:5: error: 'struct ring' has no member named 'hed'; did you mean 'head'?"],
    );
}

#[test]
fn cause_in_csharp_stack_trace() {
    check(
        "Unhandled exception. System.InvalidOperationException: Sequence contains no elements\n   at System.Linq.ThrowHelper.ThrowNoElementsException()\n   at Shop.Orders.Latest(Int32 id) in /home/dev/project/Orders.cs:line 27\n   at Shop.Program.Main(String[] args) in /home/dev/project/Program.cs:line 8\n",
        &[
            "Unhandled exception. System.InvalidOperationException: Sequence contains no elements",
            "at Shop.Orders.Latest(Int32 id) in Orders.cs:line 27",
        ],
    );
}

#[rstest]
#[case::jest(
    "FAIL tests/replays.test.ts\n  ● replay 2217\n    Expected cursor: 34\n    Received cursor: 0",
    &["FAIL tests/replays.test.ts", "● replay 2217", "Expected cursor: 34", "Received cursor: 0"]
)]
#[case::cargo(
    "test behind_wall ... FAILED\ntest in_view ... ok\n\n---- behind_wall stdout ----\nexpected Miss, got Hit(head)\n\ntest result: FAILED. 1 passed; 1 failed",
    &["test behind_wall ... FAILED", "---- behind_wall stdout ----", "expected Miss, got Hit(head)", "test result: FAILED. 1 passed; 1 failed"]
)]
#[case::tap("not ok 1 - a\nok 2 - b\nnot ok 3 - c\nok 4 - d", &["not ok 1 - a", "not ok 3 - c"])]
#[case::gradle(
    "FAILURE: Build failed with an exception.\n* What went wrong:\nExecution failed for task ':app:checkMetadata'. Dependency requires compileSdk 35 (currently 33)\nBUILD FAILED in 3s",
    &["Execution failed for task ':app:checkMetadata'. Dependency requires compileSdk 35 (currently 33)"]
)]
fn failed_test_is_recorded_with_the_lines_below_it(#[case] report: &str, #[case] expected: &[&str]) {
    check(report, expected);
}

#[test]
fn cause_in_korean_report() {
    check(
        "빌드를 시작합니다\n설정을 읽는 중\n오류: 데이터베이스에 연결할 수 없습니다 (10.0.0.3:5432)\n종료합니다\n끝\n",
        &["오류: 데이터베이스에 연결할 수 없습니다 (10.0.0.3:5432)", "종료합니다"],
    );
}

#[test]
fn cause_in_pytorch_traceback() {
    check(
        "Epoch 1: loss 0.4\nEpoch 2: loss nan\nTraceback (most recent call last):\n  File \"train.py\", line 88, in <module>\n    main()\n  File \"train.py\", line 60, in main\n    loss.backward()\n  File \"/opt/conda/lib/python3.10/site-packages/torch/_tensor.py\", line 522, in backward\n    torch.autograd.backward(\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
        &[
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
            "File \"train.py\", line 60, in main",
        ],
    );
}

#[test]
fn cause_in_kubectl_report() {
    check(
        "Error from server (NotFound): deployments.apps \"api\" not found\n",
        &["Error from server (NotFound): deployments.apps \"api\" not found"],
    );
}

#[test]
fn short_report_without_a_trace_is_kept() {
    check(
        "Exit code 1\nlisten EADDRINUSE: 3000\nis another server running?",
        &["listen EADDRINUSE: 3000", "is another server running?"],
    );
    check("Exit code 1", &["Exit code 1"]);
    check("Exit code 137\nKilled", &["Exit code 137", "Killed"]);
    check("", &[]);
}

#[test]
fn fields_below_the_error_of_a_short_report_are_kept() {
    let report = "Planning...\n\nError: Error acquiring the state lock\n\nLock Info:\n  ID: 7f2\n  Path: staging\n  Who: ci@runner-7\n";
    let told = ["Error: Error acquiring the state lock", "Lock Info:", "ID: 7f2", "Path: staging", "Who: ci@runner-7"];
    check(report, &told);
}

#[test]
fn huge_report_is_reduced_to_a_few_lines() {
    let report = format!("{}error: it broke\n{}", "line of a build\n".repeat(300_000), "and more\n".repeat(200));
    let told = cause_of(&report, "");
    assert!(told.len() < 1_000 && told.lines().count() <= 8, "{told}");
}

proptest::proptest! {
    #[test]
    fn any_report_is_reduced_to_a_few_lines(report in "(\\PC|\\s|at |File \"|Error: |--> |\\.go:|\u{1b}\\[31m){0,200}") {
        proptest::prop_assert!(cause_of(&report, "/p").lines().count() <= 12);
    }
}

#[test]
fn both_values_of_a_failed_assertion_are_extracted() {
    check(
        "running 1 test\ntest tests::it_opens ... FAILED\n\nfailures:\n\n---- tests::it_opens stdout ----\nthread 'tests::it_opens' panicked at src/store.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\nstack backtrace:\n   0: rust_begin_unwind\n   1: core::panicking::panic_fmt\n   2: store::connect\n             at ./src/store.rs:3:5\ntest result: FAILED. 0 passed; 1 failed",
        &[
            "---- tests::it_opens stdout ----",
            "thread 'tests::it_opens' panicked at src/store.rs:3:5:",
            "assertion `left == right` failed",
            "left: 1",
            "right: 2",
            "at ./src/store.rs:3:5",
        ],
    );
}
