//! Work of the host that is shared among processors.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Builder};

/// Runs `work` for each task, on this thread and on others if they can be started, up to one per processor.
pub(crate) fn for_each<T: Send>(tasks: Vec<T>, work: impl Fn(T) + Sync) {
    if tasks.len() <= 1 {
        return tasks.into_iter().for_each(work);
    }
    let num_threads = num_processors().min(tasks.len());
    let tasks = Mutex::new(tasks.into_iter());
    let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        while let Some(task) = next() {
            work(task);
        }
    };
    thread::scope(|scope| {
        for _ in 1..num_threads {
            if Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
}

/// The number of processors that this process may use, which takes long to find out.
fn num_processors() -> usize {
    static NUMBER: OnceLock<usize> = OnceLock::new();
    *NUMBER.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}
