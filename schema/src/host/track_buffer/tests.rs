use super::super::failed_topics::{has_failed, note_failure};
use super::*;

fn layout(project: &tempfile::TempDir) -> Layout {
    let layout = Layout::new(project.path());
    layout.create_dirs_and_gitignore().unwrap();
    layout
}

fn taken(layout: &Layout, session: &str) -> Option<ToolUses> {
    let mut found = None;
    take_uses(layout, session, |taken| {
        found = Some(taken);
        Ok(())
    })
    .unwrap();
    found
}

fn file(path: &str) -> ToolUse {
    let attempt = Attempt { tool: "Edit".into(), input: Some(path.into()), passed: false };
    ToolUse {
        attempt,
        changed: Some(ToolChange::File { path: path.into(), change: Some("+ x".into()) }),
        is_success_known: true,
    }
}

fn command(line: &str) -> ToolUse {
    let attempt = Attempt { tool: "Bash".into(), input: Some(line.into()), passed: false };
    ToolUse { attempt, changed: Some(ToolChange::Command(line.into())), is_success_known: true }
}

fn append_use(layout: &Layout, session_id: &str, used: &ToolUse, is_success: bool, at: &Moment) {
    append(layout, session_id, &to_buffered_use(used, is_success, at, &Sanitizer::default())).unwrap();
}

#[test]
fn success_after_failure_is_recorded_without_a_change() {
    let project = tempfile::tempdir().unwrap();
    let layout = layout(&project);
    let used = ToolUse { changed: None, ..command("./check.py") };
    let topics = used.attempt.topics();
    assert!(!has_failed(&layout, &topics));
    note_failure(&layout, &topics).unwrap();
    assert!(has_failed(&layout, &topics) && !has_failed(&layout, &file("a").attempt.topics()));
    let at = Moment::from_unix(1_769_563_800, Some(0)).unwrap();
    append_use(&layout, "s", &used, true, &at);
    let taken = taken(&layout, "s").unwrap();
    assert_eq!(taken.commands, ["./check.py"]);
    assert_eq!(taken.succeeded, [Success { attempt: used.attempt, at: at.rfc3339() }]);
}

#[test]
fn failure_takes_back_an_earlier_success() {
    let project = tempfile::tempdir().unwrap();
    let layout = layout(&project);
    let at = Moment::from_unix(1_769_563_800, Some(0)).unwrap();
    let [again, other] = [command("./check.py"), command("./build.py")];
    for used in [&again, &other] {
        append_use(&layout, "s", used, true, &at);
    }
    let mut taken = taken(&layout, "s").unwrap();
    taken.remove_successes(&again.attempt.failed("2 of 7 checks failed"));
    assert_eq!(taken.succeeded, [Success { attempt: other.attempt, at: at.rfc3339() }]);
    assert_eq!(taken.commands, ["./check.py", "./build.py"]);
}

#[test]
fn resumed_turn_has_its_prompt_and_all_its_files() {
    let project = tempfile::tempdir().unwrap();
    let layout = layout(&project);
    let at = |second: i64| Moment::from_unix(1_769_563_800 + second, Some(0)).unwrap();
    let prompt = TurnPrompt { memory: MemoryId::parse("0af3"), at: at(0) };
    for prompt in [Some(prompt), None] {
        resume(&layout, "s", prompt.as_ref(), vec!["a".to_owned()], &at(1)).unwrap();
        append_use(&layout, "s", &file("b"), false, &at(2));
        assert_eq!(files_of_turn(&layout, "s"), ["a", "b"]);
        let taken = taken(&layout, "s").unwrap();
        assert_eq!((&taken.prompt, taken.at), (&prompt, at(2)));
        assert_eq!(taken.text().unwrap().lines().next(), Some("Files modified: b"));
    }
}

#[test]
fn taken_buffer_has_each_use_once_and_is_then_empty() {
    let project = tempfile::tempdir().unwrap();
    let layout = layout(&project);
    let at = |second| Moment::from_unix(1_769_563_800 + second, Some(0)).unwrap();
    begin(&layout, "s", &TurnPrompt { memory: MemoryId::parse("0af3"), at: at(0) }).unwrap();
    for (second, used) in [file("a"), command("make"), file("a")].iter().enumerate() {
        append_use(&layout, "s", used, false, &at(second as i64));
    }
    append_use(&layout, "../other", &file("b"), false, &at(9));
    let change = FileEdit { file: "a".into(), text: "+ x".into() };
    let expected = ToolUses {
        files: vec!["a".into()],
        commands: vec!["make".into()],
        changes: vec![change.clone(), change],
        prompt: Some(TurnPrompt { memory: MemoryId::parse("0af3"), at: at(0) }),
        ..ToolUses::new(at(2))
    };
    assert_eq!(taken(&layout, "s"), Some(expected));
    assert_eq!(taken(&layout, "s"), None);
    assert_eq!(taken(&layout, "../other").unwrap().files, ["b"], "sessions do not take each other's lines");
}

#[test]
fn uses_that_cannot_be_stored_stay_in_the_buffer() {
    let project = tempfile::tempdir().unwrap();
    let layout = layout(&project);
    append_use(&layout, "s", &file("a"), false, &Moment::now());
    take_uses(&layout, "s", |_| Err(StoreError::NeedsServer)).unwrap_err();
    assert!(taken(&layout, "s").is_some());
}

#[test]
fn use_is_added_while_the_buffer_is_saved() {
    let project = tempfile::tempdir().unwrap();
    let layout = layout(&project);
    let add = |name: &str| append_use(&layout, "s", &file(name), false, &Moment::now());
    add("a");
    take_uses(&layout, "s", |first| {
        assert_eq!(first.files, ["a"]);
        add("b");
        assert_eq!(taken(&layout, "s"), None, "one process at a time takes uses");
        Ok(())
    })
    .unwrap();
    assert_eq!(taken(&layout, "s").unwrap().files, ["b"]);
}

#[test]
fn killed_process_leaves_its_uses_to_the_next_one() {
    let project = tempfile::tempdir().unwrap();
    let layout = layout(&project);
    append_use(&layout, "s", &file("a"), false, &Moment::now());
    let [waiting, moved] = BUFFERS.map(|ending| layout.session_file("s", ending));
    let line = fs::read_to_string(&waiting).unwrap();
    fs::write(&moved, format!("{line}{}", &line[..9])).unwrap();
    append_use(&layout, "s", &file("b"), false, &Moment::now());
    let uses = taken(&layout, "s").unwrap();
    assert_eq!((uses.files, uses.changes.len()), (vec!["a".to_owned(), "b".to_owned()], 2));
    assert_eq!(taken(&layout, "s"), None);
}

#[test]
fn no_use_is_lost_between_appending_and_taking() {
    let project = tempfile::tempdir().unwrap();
    let layout = layout(&project);
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let layout = &layout;
                scope.spawn(move || {
                    for n in 0..50 {
                        append_use(layout, "s", &file(&format!("{writer}-{n}")), false, &Moment::now());
                    }
                })
            })
            .collect();
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            seen.extend(taken(&layout, "s").into_iter().flat_map(|taken| taken.files));
        }
    });
    seen.extend(taken(&layout, "s").into_iter().flat_map(|taken| taken.files));
    assert_eq!(seen.len(), 200);
}
