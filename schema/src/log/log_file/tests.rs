use super::*;

/// The age of files that do not count as being written: longer than any code waits.
const LONG_AGO: Duration = Duration::from_mins(1);

pub(crate) fn save_aged(path: &Path, text: impl AsRef<[u8]>) {
    fs::write(path, text).expect("a file can be written");
    set_old_mtime(path);
}

pub(crate) fn remove_aged(path: &Path) {
    fs::remove_file(path).expect("a file can be deleted");
    #[cfg(unix)]
    File::open(path.parent().expect("a folder"))
        .and_then(|folder| folder.set_modified(SystemTime::now() - LONG_AGO))
        .expect("a time");
}

pub(crate) fn set_old_mtime(path: &Path) {
    let file = File::options().write(true).open(path).expect("a file");
    file.set_modified(SystemTime::now() - LONG_AGO).expect("a time");
}

#[test]
fn rewrite_starts_again_after_a_concurrent_save() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.md");
    save_aged(&path, "old");
    let mut saved = false;
    rewrite_with(&path, LastChange::Unknown, MAX_WAIT, |bytes| {
        if !saved {
            saved = true;
            save_aged(&path, "edited");
        }
        Some([b"new ", bytes].concat())
    })
    .unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new edited");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file stays");
}

#[test]
fn recently_saved_file_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.md");
    fs::write(&path, "half of").unwrap();
    let refused = rewrite_with(&path, LastChange::Unknown, Duration::ZERO, |_| Some(b"ours".to_vec())).unwrap_err();
    assert!(refused.is_being_rewritten(), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "half of");
    // After our own last change it is replaced.
    let ours = LastChange::Ours(FileStamp::read(&path).unwrap());
    assert!(rewrite_with(&path, ours, Duration::ZERO, |_| Some(b"ours".to_vec())).unwrap());
    assert!(!rewrite_with(&path, LastChange::Unknown, Duration::ZERO, |_| None).unwrap());
    // Git removes a file before it creates the new one.
    fs::remove_file(&path).unwrap();
    assert!(rewrite_with(&path, LastChange::Unknown, Duration::ZERO, |_| Some(b"ours".to_vec())).is_err());
    assert!(rewrite_with(&path, LastChange::Unchanged, Duration::ZERO, |_| Some(b"ours".to_vec())).unwrap());
}

#[test]
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn file_that_changed_since_the_last_check_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (path, new) = (dir.path().join("log.md"), dir.path().join("new"));
    let text = |path: &Path| fs::read_to_string(path).ok();
    let rename = |before: Option<&str>| {
        fs::write(&new, "new").unwrap();
        rename_over(&new, &path, before.map(str::as_bytes)).unwrap()
    };
    assert!(!rename(Some("old")), "it was removed");
    assert_eq!(text(&path), None);
    fs::write(&path, "edited").unwrap();
    assert!(!rename(Some("old")) && !rename(None));
    assert_eq!((text(&path).as_deref(), text(&new).as_deref()), (Some("edited"), Some("new")));
    assert!(rename(Some("edited")));
    assert_eq!((text(&path).as_deref(), text(&new)), (Some("new"), None));
    fs::remove_file(&path).unwrap();
    assert!(rename(None));
    assert_eq!((text(&path).as_deref(), text(&new)), (Some("new"), None));
}

#[test]
fn short_recent_file_is_being_rewritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.md");
    assert!(!FileState::read(&path).is_being_rewritten(None));
    assert!(FileState::read(&path).is_being_rewritten(Some(3)), "it may come again in a moment");
    fs::write(&path, "").unwrap();
    assert!(FileState::read(&path).is_being_rewritten(None) && FileState::read(&path).is_being_rewritten(Some(3)));
    fs::write(&path, "one").unwrap();
    assert!(!FileState::read(&path).is_being_rewritten(Some(3)) && FileState::read(&path).is_being_rewritten(Some(4)));
    set_old_mtime(&path);
    assert!(!FileState::read(&path).is_being_rewritten(Some(4)));
    save_aged(&path, "");
    assert!(!FileState::read(&path).is_being_rewritten(Some(4)));
}

#[test]
fn append_notices_a_save_since_the_look() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.md");
    fs::write(&path, "one\n").unwrap();
    let file_state = FileState::read(&path);
    fs::write(&path, "two three\n").unwrap();
    assert_eq!(append_bytes(&path, file_state, |_| b"four\n".to_vec()).unwrap(), None);
    assert_eq!(fs::read_to_string(&path).unwrap(), "two three\n");
    let during = append_bytes(&path, FileState::read(&path), |_| {
        fs::write(&path, "five\n").unwrap();
        b"four\n".to_vec()
    });
    assert_eq!(during.unwrap(), None);
    assert_eq!(fs::read_to_string(&path).unwrap(), "five\nfour\n");
}

#[test]
fn append_creates_file_and_notices_replacement() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.md");
    let seen = |tail: LogTail<'_>, expected: LogTail<'_>, more: &[u8]| {
        assert_eq!(tail, expected);
        more.to_vec()
    };
    let after =
        append_bytes(&path, FileState::read(&path), |tail| seen(tail, LogTail::whole(b""), b"one\n")).unwrap().unwrap();
    assert_eq!(Some(after), FileStamp::read(&path));
    append_bytes(&path, FileState::read(&path), |tail| seen(tail, LogTail::whole(b"one\n"), b"two\n"))
        .unwrap()
        .unwrap();
    let replaced = append_bytes(&path, FileState::read(&path), |_| {
        fs::write(dir.path().join("saved"), "edited\n").unwrap();
        fs::rename(dir.path().join("saved"), &path).unwrap();
        b"three\n".to_vec()
    });
    assert_eq!(replaced.unwrap().is_none(), cfg!(unix));
    let file_state = FileState::read(&path);
    fs::remove_file(&path).unwrap();
    assert_eq!(append_bytes(&path, file_state, |_| b"four\n".to_vec()).unwrap(), None);
    let file_state = FileState::read(&path);
    save_aged(&path, "x".repeat(SHORT_TAIL as usize) + "\nlast\n");
    assert_eq!(append_bytes(&path, file_state, |_| b"five\n".to_vec()).unwrap(), None);
    append_bytes(&path, FileState::read(&path), |tail| {
        assert!(!tail.is_whole && tail.bytes.len() as u64 == SHORT_TAIL);
        Vec::new()
    })
    .unwrap();
}
