use tokio::time::timeout;
use tools::engine::IndexProgress;

use super::*;

/// Whether a read of the index starts at once in this state.
fn is_readable(readiness: Readiness) -> bool {
    let (worker, _inbox) = mpsc::channel(1);
    let (_ending, ending) = watch::channel(false);
    let (_telling, readiness) = watch::channel(readiness);
    let readers = ReaderPool::new(worker.downgrade(), readiness.clone(), ending);
    let thread = std::thread::current();
    let dispatcher = Dispatcher { worker, thread, readers, readiness, is_answering: Arc::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    // A read that is ready at the first poll does not wait.
    runtime.block_on(async {
        timeout(Duration::ZERO, dispatcher.wait_until_readable(ReadNeed::Index, None)).await.is_ok()
    })
}

#[test]
fn search_waits_for_few_changed_files_never_for_many() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let engine = Engine::open(folder.path(), None, None).expect("an engine");
    let common = Arc::new(engine.share().expect("a store that can be shared"));
    let catching_up = |step: Option<(usize, usize)>| Readiness {
        reading: ReadAvailability::ByReaders(Arc::clone(&common)),
        is_catching_up: true,
        step: step.map(|(done, total)| IndexProgress { done, total, path: String::new() }),
    };
    assert!(!is_readable(Readiness::default()), "the store is not open");
    assert!(!is_readable(catching_up(None)), "the number of changed files is unknown");
    assert!(!is_readable(catching_up(Some((0, FEW_CHANGES)))));
    assert!(is_readable(catching_up(Some((0, FEW_CHANGES + 1)))));
    assert!(!is_readable(catching_up(Some((1, FEW_CHANGES + 1)))));
    assert!(is_readable(Readiness { is_catching_up: false, ..catching_up(None) }));
}
