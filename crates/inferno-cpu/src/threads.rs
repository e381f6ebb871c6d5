//! A persistent pool of threads for the short parallel steps of a forward pass.
//!
//! [`ThreadPool::run_ranges`] distributes the items `0..num_items` over all threads, including the caller's, and
//! returns when all items are done. Each thread has a share of neighbouring items and works from its front, so
//! that it streams their data from memory; a thread whose share is empty steals from the back of the others'
//! shares. The assignment of items to threads is unspecified, so results must not depend on it.
//!
//! The pool does not wait for threads that the system has not scheduled: when no item is left, the step closes,
//! and the caller waits only for workers that have entered it. It must wait for threads that were descheduled while they
//! had items, and leaves them out if that happens often (`threads/team.rs`).
//!
//! Between steps the workers spin for some tens of microseconds, the duration of the serial code between two
//! operations, and then park: an idle pool uses no processor time.
//!
//! No cache line is written by all of many threads. Workers enter and leave through gates that a few of them share
//! (`threads/gate.rs`); the caller opens and closes the gates, and wakes one worker of each, which wakes the others. So
//! the number of serial operations of a step is that of a tree with two levels.
//!
//! If tasks panic, the first panic is resumed in the caller of `run` after all threads have stopped. Tasks that
//! have not started are dropped, and the pool stays usable. Several threads may call `run`; their steps run one
//! after the other. A task that calls `run` itself runs the inner tasks on its own thread.

// Passes closures to threads by pointer.
#![allow(unsafe_code)]

mod delays;
mod gate;
mod share;
mod sync;
mod team;
mod usage;

use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{OnceLock, PoisonError};
use std::time::Instant;
use std::{io, mem};

use delays::Delays;
use gate::{GATE_WORKERS, Gate};
use share::{End, Share};
use sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sync::thread::{self, JoinHandle, Thread};
use sync::{Arc, Mutex, MutexGuard, SPINS, UnsafeCell, spin_loop, thread_local};
use team::Team;
pub use usage::ThreadUsage;
use usage::UsageMeter;

/// The function of a step. It is called with a range of items and the number of the thread.
type StepFn<'a> = dyn Fn(Range<usize>, usize) + Sync + 'a;

// Loom's macro accepts no constants.
#[allow(clippy::missing_const_for_thread_local)]
mod in_task {
    use super::{Cell, thread_local};

    thread_local! {
        /// Whether this thread is inside a task of some pool.
        pub(super) static IN_TASK: Cell<bool> = Cell::new(false);
    }
}
use in_task::IN_TASK;

/// A fixed set of threads.
pub(crate) struct ThreadPool {
    shared: Arc<PoolShared>,
    workers: Vec<JoinHandle<()>>,
    /// Held by the thread whose step is running.
    turn: Mutex<Team>,
    /// Number of steps so far.
    num_steps: AtomicUsize,
    usage: UsageMeter,
}

struct PoolShared {
    /// The gates, each of [`GATE_WORKERS`] workers.
    gates: Vec<Gate>,
    /// Number of threads that take part in steps. Workers beyond it that enter nevertheless do no harm.
    team_size: AtomicUsize,
    /// The current step. Written by the holder of `turn` while all gates are closed with no worker inside; read by
    /// workers inside.
    step: UnsafeCell<ParallelStep>,
    /// The items that no thread has started, one share per thread.
    shares: Vec<Share>,
    /// The workers, from number 1 on; set before the first step.
    workers: OnceLock<Vec<Thread>>,
    delays: Delays,
    /// The first panic of the step.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    stop: AtomicBool,
}

struct ParallelStep {
    task: *const StepFn<'static>,
    /// Number of threads that have a share.
    sharers: usize,
    /// Whether threads measure their delays.
    is_watched: bool,
    /// The calling thread, once per gate: workers that leave count the references to it.
    callers: Vec<Arc<Thread>>,
}

impl ParallelStep {
    /// The value before the first step.
    fn nothing() -> Self {
        let task = &|_: Range<usize>, _: usize| ();
        Self { task, sharers: 1, is_watched: false, callers: Vec::new() }
    }
}

// SAFETY: `step` is the only field that is not `Sync` by itself. It is written only by the holder of `turn` while
// all gates are closed with no worker inside, before the release stores that open them, and read by workers only
// between their entry (acquire), which requires an open gate, and their exit. The pointer in it is to a `Sync`
// closure, which `run_ranges` keeps alive until no worker is inside.
unsafe impl Sync for PoolShared {}
// SAFETY: as above; no field is tied to one thread.
unsafe impl Send for PoolShared {}

impl ThreadPool {
    /// Starts a pool of `num_threads` threads; the caller of `run` is one of them.
    ///
    /// **Errors**: the system cannot start a thread. Threads already started are joined.
    pub(crate) fn new(num_threads: usize) -> io::Result<Self> {
        let shared = Arc::new(PoolShared {
            gates: (1..num_threads).step_by(GATE_WORKERS).map(|_| Gate::default()).collect(),
            team_size: AtomicUsize::new(num_threads),
            step: UnsafeCell::new(ParallelStep::nothing()),
            shares: (0..num_threads).map(|_| Share::default()).collect(),
            workers: OnceLock::new(),
            delays: Delays::default(),
            panic: Mutex::new(None),
            stop: AtomicBool::new(false),
        });
        let mut pool = Self {
            shared,
            workers: Vec::new(),
            turn: Mutex::new(Team::new(num_threads)),
            num_steps: AtomicUsize::new(0),
            usage: UsageMeter::default(),
        };
        for number in 1..num_threads {
            let shared = Arc::clone(&pool.shared);
            let worker = thread::Builder::new()
                .name(format!("inferno-cpu-{number}"))
                .spawn(move || shared.work(number))?;
            pool.workers.push(worker);
        }
        let workers = pool.workers.iter().map(|worker| worker.thread().clone()).collect();
        let _ = pool.shared.workers.set(workers);
        Ok(pool)
    }

    /// Number of threads that tasks run on, including the caller's.
    pub(crate) fn num_threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Number of steps so far that ran on several threads.
    pub(crate) fn num_steps(&self) -> usize {
        self.num_steps.load(Ordering::Relaxed)
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
        let mut team = lock(&self.turn);
        let shared = &*self.shared;
        self.num_steps.fetch_add(1, Ordering::Relaxed);
        let suspected = shared.delays.take_suspicion();
        let started = (suspected || team.is_active()).then(Instant::now);
        let is_watched = started.is_some_and(|now| team.begin(now, suspected));
        let sharers = team.size().min(num_items);
        // SAFETY: only the lifetime changes. The pointer is not used after this function returns: it waits below,
        // even if a task panics, until no worker is inside the step.
        let erased = unsafe { mem::transmute::<*const StepFn<'_>, *const StepFn<'static>>(task) };
        let caller = thread::current();
        shared.step.with_mut(|step| {
            // SAFETY: this thread holds the turn, and its last holder left all gates closed with no worker inside.
            let step = unsafe { &mut *step };
            (step.task, step.sharers, step.is_watched) = (erased, sharers, is_watched);
            if step.callers.first().is_none_or(|last| last.id() != caller.id()) {
                let gates = shared.gates.iter();
                step.callers = gates.map(|_| Arc::new(caller.clone())).collect();
            }
        });
        for (number, share) in shared.shares.iter().enumerate() {
            let border = |number: usize| num_items * number.min(sharers) / sharers;
            share.fill(border(number)..border(number + 1));
        }
        if shared.team_size.load(Ordering::Relaxed) != team.size() {
            shared.team_size.store(team.size(), Ordering::Relaxed);
        }
        let gates = &shared.gates[..(sharers - 1).div_ceil(GATE_WORKERS)];
        gates.iter().for_each(Gate::open);
        shared.wake_from_caller(sharers);
        shared.take_items(task, 0, is_watched);
        // No item is left: workers that have not entered yet do not need to.
        gates.iter().for_each(Gate::close);
        let all_left = || gates.iter().all(Gate::is_empty);
        wait_until(all_left, || shared.delays.suspect());
        if let (Some(started), true) = (started, is_watched) {
            let now = Instant::now();
            team.end(now, now - started, shared.delays.take());
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
    /// Wakes the first worker of each gate, and all workers of the first gate, so that there is no delay with few.
    fn wake_from_caller(&self, sharers: usize) {
        let first_of_gates = (1 + GATE_WORKERS..sharers).step_by(GATE_WORKERS);
        first_of_gates.chain(1..sharers.min(1 + GATE_WORKERS)).for_each(|number| self.wake(number));
    }

    /// Wakes the other workers of a gate if `thread` is its first one.
    fn wake_from_worker(&self, thread: usize, sharers: usize) {
        if thread > GATE_WORKERS && (thread - 1) % GATE_WORKERS == 0 {
            (thread + 1..sharers.min(thread + GATE_WORKERS)).for_each(|number| self.wake(number));
        }
    }

    fn wake(&self, number: usize) {
        if let Some(worker) = self.workers.get().and_then(|workers| workers.get(number - 1)) {
            worker.unpark();
        }
    }

    /// Runs items until none is left, and stores the first panic.
    fn take_items(&self, task: &StepFn<'_>, thread: usize, is_watched: bool) {
        if is_watched {
            return self.delays.measure(|| self.take_items(task, thread, false));
        }
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
        let gate_number = (thread - 1) / GATE_WORKERS;
        let gate = &self.gates[gate_number];
        let mut seen = 0;
        loop {
            let takes_part = || thread < self.team_size.load(Ordering::Relaxed);
            wait_until(
                || gate.has_new_step(seen) && takes_part() || self.stop.load(Ordering::Acquire),
                || {
                    // The step that this worker has left is still running.
                    if gate.is_open() && takes_part() {
                        self.delays.suspect();
                    }
                },
            );
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            let Some(number) = gate.enter() else { continue };
            seen = number;
            // SAFETY: this thread is inside, so `step` was written and does not change until it leaves.
            let (task, caller, sharers, is_watched) = self.step.with(|step| unsafe {
                let step = &*step;
                let caller = Arc::clone(&step.callers[gate_number]);
                (step.task, caller, step.sharers, step.is_watched)
            });
            self.wake_from_worker(thread, sharers);
            // SAFETY: `run_ranges` keeps the closure alive while this thread is inside.
            self.take_items(unsafe { &*task }, thread, is_watched);
            if gate.leave() {
                caller.unpark();
            }
        }
    }
}

/// Spins, then parks, until `ready` returns true. Calls `before_park` each time before it parks. The thread that makes
/// it ready unparks this one afterwards.
fn wait_until(ready: impl Fn() -> bool, before_park: impl Fn()) {
    loop {
        for _ in 0..SPINS {
            if ready() {
                return;
            }
            spin_loop();
        }
        before_park();
        thread::park();
    }
}

/// Locks `mutex`, ignoring poison: a panic leaves none of the values here in an invalid state.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
