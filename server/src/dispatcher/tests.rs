//! Which reads wait for the index.

use tokio::time::timeout;
use tools::engine::Progress;

use super::*;

/// Whether a read of the index is handed in at once while the store is as `readiness` says.
fn is_handed_in(readiness: Readiness) -> bool {
    let (worker, _inbox) = mpsc::channel(1);
    let (_ending, ending) = watch::channel(false);
    let (_telling, readiness) = watch::channel(readiness);
    let readers = Readers::new(worker.downgrade(), readiness.clone(), ending);
    let thread = std::thread::current();
    let dispatcher = Dispatcher { worker, thread, readers, readiness, is_answering: Arc::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    // A read that is ready when it is first asked never waits.
    runtime.block_on(async { timeout(Duration::ZERO, dispatcher.may_be_read(Need::Index, None)).await.is_ok() })
}

#[test]
fn search_waits_for_few_changed_files_never_for_many() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::open(folder.path(), None, None).expect("an engine");
    let common = Arc::new(engine.common().expect("a store that can be shared"));
    let catching_up = |step: Option<(usize, usize)>| Readiness {
        reading: Reading::Beside(Arc::clone(&common)),
        is_catching_up: true,
        step: step.map(|(done, total)| Progress { done, total, path: String::new() }),
    };
    assert!(!is_handed_in(Readiness::default()), "the store is not open");
    assert!(!is_handed_in(catching_up(None)), "the number of changed files is unknown");
    assert!(!is_handed_in(catching_up(Some((0, FEW)))));
    assert!(is_handed_in(catching_up(Some((0, FEW + 1)))));
    assert!(!is_handed_in(catching_up(Some((1, FEW + 1)))));
    assert!(is_handed_in(Readiness { is_catching_up: false, ..catching_up(None) }));
}
