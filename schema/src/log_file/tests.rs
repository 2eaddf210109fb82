use super::testing::{age, save};
use super::*;

#[test]
fn rewrite_starts_again_after_a_save_in_between() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.md");
    save(&path, "old");
    let mut saved = false;
    rewrite(&path, LastChange::Unknown, PATIENCE, |bytes| {
        if !saved {
            saved = true;
            save(&path, "edited");
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
    let refused = rewrite(&path, LastChange::Unknown, Duration::ZERO, |_| Some(b"ours".to_vec())).unwrap_err();
    assert!(refused.is_being_rewritten(), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "half of");
    // After our own last change it is.
    let ours = LastChange::Ours(Stamp::of(&path).unwrap());
    assert!(rewrite(&path, ours, Duration::ZERO, |_| Some(b"ours".to_vec())).unwrap());
    assert!(!rewrite(&path, LastChange::Unknown, Duration::ZERO, |_| None).unwrap());
    // Git removes a file before it creates the next one.
    fs::remove_file(&path).unwrap();
    assert!(rewrite(&path, LastChange::Unknown, Duration::ZERO, |_| Some(b"ours".to_vec())).is_err());
    assert!(rewrite(&path, LastChange::None, Duration::ZERO, |_| Some(b"ours".to_vec())).unwrap());
}

#[test]
fn short_recent_file_is_being_rewritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.md");
    assert!(!Look::at(&path).is_being_rewritten(None));
    assert!(Look::at(&path).is_being_rewritten(Some(3)), "it may come again in a moment");
    fs::write(&path, "").unwrap();
    assert!(Look::at(&path).is_being_rewritten(None) && Look::at(&path).is_being_rewritten(Some(3)));
    fs::write(&path, "one").unwrap();
    assert!(!Look::at(&path).is_being_rewritten(Some(3)) && Look::at(&path).is_being_rewritten(Some(4)));
    age(&path);
    assert!(!Look::at(&path).is_being_rewritten(Some(4)));
    save(&path, "");
    assert!(!Look::at(&path).is_being_rewritten(Some(4)));
}

#[test]
fn append_creates_file_and_notices_replacement() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.md");
    let seen = |tail: Tail<'_>, expected: Tail<'_>, more: &[u8]| {
        assert_eq!(tail, expected);
        more.to_vec()
    };
    let (_, after) = append(&path, Look::at(&path), |tail| seen(tail, Tail::Whole(b""), b"one\n")).unwrap().unwrap();
    assert_eq!(Some(after), Stamp::of(&path));
    let (before, _) =
        append(&path, Look::at(&path), |tail| seen(tail, Tail::Whole(b"one\n"), b"two\n")).unwrap().unwrap();
    assert_eq!(before, after);
    let replaced = append(&path, Look::at(&path), |_| {
        fs::write(dir.path().join("saved"), "edited\n").unwrap();
        fs::rename(dir.path().join("saved"), &path).unwrap();
        b"three\n".to_vec()
    });
    assert_eq!(replaced.unwrap().is_none(), cfg!(unix));
    let look = Look::at(&path);
    fs::remove_file(&path).unwrap();
    assert_eq!(append(&path, look, |_| b"four\n".to_vec()).unwrap(), None);
    let look = Look::at(&path);
    save(&path, "x".repeat(TAIL as usize) + "\nlast\n");
    assert_eq!(append(&path, look, |_| b"five\n".to_vec()).unwrap(), None);
    append(&path, Look::at(&path), |tail| {
        assert!(matches!(tail, Tail::Part(bytes) if bytes.len() as u64 == TAIL));
        Vec::new()
    })
    .unwrap();
}
