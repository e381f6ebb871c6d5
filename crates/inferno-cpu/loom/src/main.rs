//! Explores the interleavings of the thread pool's atomic operations with loom, on its own source.
//!
//! `cd crates/inferno-cpu/loom && RUSTFLAGS="--cfg loom" cargo run --release`. Fails on data races, lost wake-ups
//! (deadlocks), items that run twice or never, and tasks that run after their step.

#![cfg(loom)]

// The path of the inline module is the folder in which `threads` and its submodules are found.
#[path = "../../src"]
mod cpu {
    #[allow(dead_code, unused_imports)]
    pub(crate) mod threads;
}

use cpu::threads::ThreadPool;
use loom::cell::UnsafeCell;

/// Values that tasks write without synchronization of their own; loom reports races on them.
struct Counts(Vec<UnsafeCell<u32>>);

// SAFETY: the model checks every access.
unsafe impl Sync for Counts {}

impl Counts {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| UnsafeCell::new(0)).collect())
    }

    fn add(&self, item: usize) {
        // SAFETY: loom fails if another thread accesses it at the same time.
        self.0[item].with_mut(|count| unsafe { *count += 1 });
    }

    fn all_are(&self, expected: u32) -> bool {
        // SAFETY: as above.
        self.0.iter().all(|count| count.with(|count| unsafe { *count }) == expected)
    }
}

/// Runs `steps` steps of `items` items on `threads` threads, in all interleavings with at most `preemptions`
/// preemptions.
fn explore(name: &str, threads: usize, items: usize, steps: u32, preemptions: usize) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder.check(move || {
        let pool = ThreadPool::new(threads).expect("threads");
        let counts = Counts::new(items);
        for step in 1..=steps {
            pool.run(items, &|item, _| counts.add(item));
            // Also a race if a worker were still inside the step.
            assert!(counts.all_are(step), "an item was lost or ran twice");
        }
    });
    println!("{name}: ok");
}

fn main() {
    explore("one step", 2, 2, 1, 3);
    explore("two steps", 2, 2, 2, 3);
    explore("stealing", 2, 5, 1, 2);
    explore("three threads", 3, 3, 1, 2);
}
