//! A persistent pool of threads for the short parallel steps of a forward pass.
//!
//! [`Pool::run_ranges`] hands out the items `0..num_items` to all threads, the caller among them,
//! until none is left, and returns when all are done. Each thread has a share of neighbouring items
//! and takes from its front, so that it streams what belongs to them from memory; who has nothing
//! left takes from the back of the others' shares. Which thread computes what is open, so results
//! must not depend on it.
//!
//! Nobody waits for a thread that the system has not let run: when no item is left, the step closes,
//! and only workers that are inside it are waited for.
//!
//! Between steps the workers spin for some tens of microseconds, the time that the serial code
//! between two operations takes, and then park: an idle pool costs nothing.
//!
//! A task's panic reaches the caller of `run` once all threads have stopped, the first where there
//! are several; tasks not yet begun are dropped; the pool stays usable. Several threads may call `run`: one after the other is
//! served. A task that calls `run` itself does the inner tasks on its own thread.

mod share;

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::{io, mem};

use share::{End, Share};

/// Turns of an empty loop before a thread parks, about 20 to 50 microseconds.
const SPINS: u32 = 1500;

/// What a step computes: called with some neighbouring items and the number of the thread.
type Task<'a> = dyn Fn(Range<usize>, usize) + Sync + 'a;

thread_local! {
    /// Whether this thread is inside a task of some pool.
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
}

/// A fixed set of threads that wait for work.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held by the thread whose step is running.
    turn: Mutex<()>,
}

struct Shared {
    /// The step's [`State`]: its number, whether workers may enter it, and how many are inside.
    state: AtomicUsize,
    /// The step that is running. Written by the holder of `turn` while the last step is closed and
    /// no worker is inside; read by workers inside.
    step: UnsafeCell<Step>,
    /// The items that no thread has taken, a share a thread.
    shares: Vec<Share>,
    /// The first panic of the step.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    stop: AtomicBool,
}

struct Step {
    task: *const Task<'static>,
    caller: Thread,
}

impl Step {
    /// What stands there before the first step.
    fn nothing() -> Self {
        Self { task: &|_: Range<usize>, _: usize| (), caller: thread::current() }
    }
}

/// What `Shared::state` says: from the lowest bits up, workers inside, open or not, number.
#[derive(Clone, Copy)]
struct State(usize);

impl State {
    const OPEN: usize = 1 << 15;
    const NUMBER: usize = 1 << 16;

    fn inside(self) -> usize {
        self.0 % Self::OPEN
    }

    fn is_open(self) -> bool {
        self.0 & Self::OPEN != 0
    }

    fn number(self) -> usize {
        self.0 / Self::NUMBER
    }

    /// The next step, open, nobody inside.
    fn next(self) -> Self {
        let next = self.number().wrapping_add(1).wrapping_mul(Self::NUMBER);
        Self(next | Self::OPEN)
    }
}

// SAFETY: `step` is the only part that is not `Sync` by itself. It is written only by the holder of
// `turn` while the state is closed with nobody inside, before the release that opens it, and read
// by workers only between their acquire entry, which needs an open state, and their exit. The
// pointer in it is to a `Sync` closure, which `run` keeps alive until nobody is inside.
unsafe impl Sync for Shared {}
// SAFETY: as above; nothing in it belongs to one thread.
unsafe impl Send for Shared {}

impl Pool {
    /// Starts a pool of `num_threads` threads, of which the caller of `run` is one.
    ///
    /// **Errors**: when the system refuses a thread; those already started are joined.
    pub(crate) fn new(num_threads: usize) -> io::Result<Self> {
        if num_threads >= State::OPEN {
            let most = State::OPEN - 1;
            return Err(io::Error::other(format!("{most} threads are the most it can have")));
        }
        let shared = Arc::new(Shared {
            state: AtomicUsize::new(0),
            step: UnsafeCell::new(Step::nothing()),
            shares: (0..num_threads).map(|_| Share::default()).collect(),
            panic: Mutex::new(None),
            stop: AtomicBool::new(false),
        });
        let mut pool = Self { shared, workers: Vec::new(), turn: Mutex::new(()) };
        for number in 1..num_threads {
            let shared = Arc::clone(&pool.shared);
            let worker = thread::Builder::new()
                .name(format!("inferno-cpu-{number}"))
                .spawn(move || shared.work(number))?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    /// Threads that tasks run on, the caller's among them.
    pub(crate) fn num_threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Steps so far that were for several threads.
    pub(crate) fn num_steps(&self) -> usize {
        State(self.shared.state.load(Ordering::Relaxed)).number()
    }

    /// Calls `task(number, thread)` once for each number below `num_tasks`, as
    /// [`run_ranges`](Self::run_ranges) does.
    ///
    /// **Panics** when a task does.
    pub(crate) fn run(&self, num_tasks: usize, task: &(dyn Fn(usize, usize) + Sync)) {
        self.run_ranges(num_tasks, &|numbers, thread| {
            numbers.for_each(|number| task(number, thread));
        });
    }

    /// Calls `task(items, thread)` for ranges that make up `0..num_items`. `thread` is below
    /// [`num_threads`](Self::num_threads) and tells the threads of one step apart, so that each
    /// can have memory of its own.
    ///
    /// **Panics** when a task does.
    pub(crate) fn run_ranges(&self, num_items: usize, task: &Task<'_>) {
        // Inside a task, another step has the turn and waits for this very task.
        if num_items <= 1 || self.workers.is_empty() || IN_TASK.get() {
            if num_items > 0 {
                task(0..num_items, 0);
            }
            return;
        }
        let _turn = lock(&self.turn);
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes; the pointer is not used after this function, which
        // waits below, also when a task panics, until no worker is inside the step.
        let erased = unsafe { mem::transmute::<*const Task<'_>, *const Task<'static>>(task) };
        // SAFETY: this thread has the turn, and its last holder left with the state closed and
        // nobody inside.
        unsafe { *shared.step.get() = Step { task: erased, caller: thread::current() } };
        let sharers = self.num_threads().min(num_items);
        for (number, share) in shared.shares.iter().enumerate() {
            let border = |number: usize| num_items * number.min(sharers) / sharers;
            share.fill(border(number)..border(number + 1));
        }
        let state = State(shared.state.load(Ordering::Relaxed)).next();
        shared.state.store(state.0, Ordering::Release);
        for worker in self.workers.iter().take(sharers - 1) {
            worker.thread().unpark();
        }
        shared.take_items(task, 0);
        // No item is left: who has not come yet need not come.
        let state = State(shared.state.fetch_and(!State::OPEN, Ordering::Acquire));
        if state.inside() > 0 {
            wait_until(|| State(shared.state.load(Ordering::Acquire)).inside() == 0);
        }
        let panic = lock(&shared.panic).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A worker catches what its tasks throw, so it cannot have panicked.
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// Computes items until none is left; keeps the first panic.
    fn take_items(&self, task: &Task<'_>, thread: usize) {
        IN_TASK.set(true);
        let result = catch_unwind(AssertUnwindSafe(|| {
            while let Some(items) = self.shares[thread].take(End::Front) {
                task(items, thread);
            }
            let (before, after) = self.shares.split_at(thread);
            for share in after.iter().chain(before) {
                while let Some(items) = share.take(End::Back) {
                    task(items, thread);
                }
            }
        }));
        IN_TASK.set(false);
        if let Err(panic) = result {
            self.shares.iter().for_each(Share::clear);
            let mut first = lock(&self.panic);
            if first.is_none() {
                *first = Some(panic);
            } else {
                // Its destructor may panic too, and nothing would catch that: this thread must
                // come back and leave the step, or the caller waits for it forever.
                mem::forget(panic);
            }
        }
    }

    /// A worker's life.
    fn work(&self, thread: usize) {
        let mut seen = 0;
        loop {
            wait_until(|| {
                let state = State(self.state.load(Ordering::Relaxed));
                state.is_open() && state.number() != seen || self.stop.load(Ordering::Acquire)
            });
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            let enter = |state| State(state).is_open().then_some(state + 1);
            let entry = self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter);
            let Ok(entry) = entry else { continue };
            seen = State(entry).number();
            // SAFETY: this thread is inside, so `step` is written, and stays until it has left.
            let step = unsafe { &*self.step.get() };
            // SAFETY: `run` keeps the closure alive while this thread is inside.
            self.take_items(unsafe { &*step.task }, thread);
            let caller = step.caller.clone();
            let left = State(self.state.fetch_sub(1, Ordering::Release));
            if left.inside() == 1 && !left.is_open() {
                caller.unpark();
            }
        }
    }
}

/// Spins, then parks. Whoever makes `ready` true unparks this thread afterwards.
fn wait_until(ready: impl Fn() -> bool) {
    loop {
        for _ in 0..SPINS {
            if ready() {
                return;
            }
            std::hint::spin_loop();
        }
        thread::park();
    }
}

/// Locks `mutex`. A panic while it was held leaves nothing half done here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
