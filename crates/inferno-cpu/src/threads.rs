//! A persistent pool of threads for the short parallel steps of a forward pass.
//!
//! [`ThreadPool::run_ranges`] distributes the items `0..num_items` over all threads, including the caller's, and
//! returns when all items are done. Each thread has a share of neighbouring items and works from its front, so
//! that it streams their data from memory; a thread whose share is empty steals from the back of the others'
//! shares. The assignment of items to threads is unspecified, so results must not depend on it.
//!
//! The pool does not wait for threads that the system has not scheduled: when no item is left, the step closes,
//! and the caller waits only for workers that have entered it.
//!
//! Between steps the workers spin for some tens of microseconds, the duration of the serial code between two
//! operations, and then park: an idle pool uses no processor time.
//!
//! If tasks panic, the first panic is resumed in the caller of `run` after all threads have stopped. Tasks that
//! have not started are dropped, and the pool stays usable. Several threads may call `run`; their steps run one
//! after the other. A task that calls `run` itself runs the inner tasks on its own thread.

// Passes closures to threads by pointer.
#![allow(unsafe_code)]

mod share;
mod sync;
mod usage;

use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::{io, mem};

use share::{End, Share};
use sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sync::thread::{self, JoinHandle, Thread};
use sync::{Arc, Mutex, MutexGuard, SPINS, UnsafeCell, spin_loop, thread_local};
pub use usage::ThreadUsage;
use usage::UsageMeter;

/// The function of a step. It is called with a range of items and the number of the thread.
type StepFn<'a> = dyn Fn(Range<usize>, usize) + Sync + 'a;

thread_local! {
    /// Whether this thread is inside a task of some pool.
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
}

/// A fixed set of threads.
pub(crate) struct ThreadPool {
    shared: Arc<PoolShared>,
    workers: Vec<JoinHandle<()>>,
    /// Held by the thread whose step is running.
    turn: Mutex<()>,
    usage: UsageMeter,
}

struct PoolShared {
    /// The step's [`StepState`]: its number, whether workers may enter it, and how many are inside.
    state: AtomicUsize,
    /// The current step. Written by the holder of `turn` while the last step is closed and no worker is
    /// inside; read by workers inside.
    step: UnsafeCell<ParallelStep>,
    /// The items that no thread has started, one share per thread.
    shares: Vec<Share>,
    /// The first panic of the step.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    stop: AtomicBool,
}

struct ParallelStep {
    task: *const StepFn<'static>,
    caller: Thread,
}

impl ParallelStep {
    /// The value before the first step.
    fn nothing() -> Self {
        Self { task: &|_: Range<usize>, _: usize| (), caller: thread::current() }
    }
}

/// The contents of `PoolShared::state`: from the lowest bits up, the number of workers inside, whether the step is
/// open, and the number of the step.
#[derive(Clone, Copy)]
struct StepState(usize);

impl StepState {
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

    /// The next step: open, with no worker inside.
    fn next(self) -> Self {
        let next = self.number().wrapping_add(1).wrapping_mul(Self::NUMBER);
        Self(next | Self::OPEN)
    }
}

// SAFETY: `step` is the only field that is not `Sync` by itself. It is written only by the holder of `turn` while
// the state is closed with no worker inside, before the release store that opens it, and read by workers only
// between their entry (acquire), which requires an open state, and their exit. The pointer in it is to a `Sync`
// closure, which `run_ranges` keeps alive until no worker is inside.
unsafe impl Sync for PoolShared {}
// SAFETY: as above; no field is tied to one thread.
unsafe impl Send for PoolShared {}

impl ThreadPool {
    /// Starts a pool of `num_threads` threads; the caller of `run` is one of them.
    ///
    /// **Errors**: the system cannot start a thread. Threads already started are joined.
    pub(crate) fn new(num_threads: usize) -> io::Result<Self> {
        if num_threads >= StepState::OPEN {
            let most = StepState::OPEN - 1;
            return Err(io::Error::other(format!("{most} threads are the most it can have")));
        }
        let shared = Arc::new(PoolShared {
            state: AtomicUsize::new(0),
            step: UnsafeCell::new(ParallelStep::nothing()),
            shares: (0..num_threads).map(|_| Share::default()).collect(),
            panic: Mutex::new(None),
            stop: AtomicBool::new(false),
        });
        let mut pool = Self {
            shared,
            workers: Vec::new(),
            turn: Mutex::new(()),
            usage: UsageMeter::default(),
        };
        for number in 1..num_threads {
            let shared = Arc::clone(&pool.shared);
            let worker = thread::Builder::new()
                .name(format!("inferno-cpu-{number}"))
                .spawn(move || shared.work(number))?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    /// Number of threads that tasks run on, including the caller's.
    pub(crate) fn num_threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Number of steps so far that ran on several threads.
    pub(crate) fn num_steps(&self) -> usize {
        StepState(self.shared.state.load(Ordering::Relaxed)).number()
    }

    /// What measures the threads' time.
    pub(crate) fn usage_meter(&self) -> &UsageMeter {
        &self.usage
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
    /// [`num_threads`](Self::num_threads) and identifies the thread within the step, so that each thread can
    /// have its own memory.
    ///
    /// **Panics** when a task does.
    pub(crate) fn run_ranges(&self, num_items: usize, task: &StepFn<'_>) {
        // Inside a task, another step holds the turn and waits for this task.
        if num_items <= 1 || self.workers.is_empty() || IN_TASK.with(Cell::get) {
            if num_items > 0 {
                task(0..num_items, 0);
            }
            return;
        }
        match self.usage.is_on() {
            true => self.usage.step(task, |task| self.distribute(num_items, task)),
            false => self.distribute(num_items, task),
        }
    }

    /// Distributes the items of a step over the threads.
    fn distribute(&self, num_items: usize, task: &StepFn<'_>) {
        let _turn = lock(&self.turn);
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. The pointer is not used after this function returns: it waits below,
        // even if a task panics, until no worker is inside the step.
        let erased = unsafe { mem::transmute::<*const StepFn<'_>, *const StepFn<'static>>(task) };
        // SAFETY: this thread holds the turn, and its last holder left the state closed with no worker inside.
        shared.step.with_mut(|step| unsafe {
            *step = ParallelStep { task: erased, caller: thread::current() };
        });
        let sharers = self.num_threads().min(num_items);
        for (number, share) in shared.shares.iter().enumerate() {
            let border = |number: usize| num_items * number.min(sharers) / sharers;
            share.fill(border(number)..border(number + 1));
        }
        let state = StepState(shared.state.load(Ordering::Relaxed)).next();
        shared.state.store(state.0, Ordering::Release);
        for worker in self.workers.iter().take(sharers - 1) {
            worker.thread().unpark();
        }
        shared.take_items(task, 0);
        // No item is left: workers that have not entered yet do not need to.
        let state = StepState(shared.state.fetch_and(!StepState::OPEN, Ordering::Acquire));
        if state.inside() > 0 {
            wait_until(|| StepState(shared.state.load(Ordering::Acquire)).inside() == 0);
        }
        let panic = lock(&shared.panic).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A worker catches the panics of its tasks, so it cannot have panicked.
            let _ = worker.join();
        }
    }
}

impl PoolShared {
    /// Runs items until none is left, and stores the first panic.
    fn take_items(&self, task: &StepFn<'_>, thread: usize) {
        IN_TASK.with(|it| it.set(true));
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
        IN_TASK.with(|it| it.set(false));
        if let Err(panic) = result {
            self.shares.iter().for_each(Share::clear);
            let mut first = lock(&self.panic);
            if first.is_none() {
                *first = Some(panic);
            } else {
                // Its destructor may panic too, and nothing would catch that. This thread must leave the
                // step, or the caller waits for it forever.
                mem::forget(panic);
            }
        }
    }

    /// The main loop of a worker.
    fn work(&self, thread: usize) {
        let mut seen = 0;
        loop {
            wait_until(|| {
                let state = StepState(self.state.load(Ordering::Relaxed));
                state.is_open() && state.number() != seen || self.stop.load(Ordering::Acquire)
            });
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            let enter = |state| StepState(state).is_open().then_some(state + 1);
            let entry = self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter);
            let Ok(entry) = entry else { continue };
            seen = StepState(entry).number();
            // SAFETY: this thread is inside, so `step` was written and does not change until it leaves.
            let (task, caller) =
                self.step.with(|step| unsafe { ((*step).task, (*step).caller.clone()) });
            // SAFETY: `run_ranges` keeps the closure alive while this thread is inside.
            self.take_items(unsafe { &*task }, thread);
            let left = StepState(self.state.fetch_sub(1, Ordering::Release));
            if left.inside() == 1 && !left.is_open() {
                caller.unpark();
            }
        }
    }
}

/// Spins, then parks, until `ready` returns true. The thread that makes it true unparks this one afterwards.
fn wait_until(ready: impl Fn() -> bool) {
    loop {
        for _ in 0..SPINS {
            if ready() {
                return;
            }
            spin_loop();
        }
        thread::park();
    }
}

/// Locks `mutex`, ignoring poison: a panic leaves none of the values here in an invalid state.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
