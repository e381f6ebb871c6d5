//! Threads that call Python on behalf of threads that must not wait for the interpreter.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use pyo3::prelude::*;

type Call = Box<dyn FnOnce(Python<'_>) + Send>;

/// A thread that makes calls one after another. It is started with the first one, and again in a process that was forked.
pub(crate) struct PythonThread {
    name: &'static str,
    first: InProcess,
}

/// The thread in one process. A process that was forked has another one: there, a lock that was held at the fork stays locked.
struct InProcess {
    /// The id of the process; 0 before the first call.
    process: AtomicU32,
    calls: Mutex<Option<Sender<Call>>>,
    /// The thread in the process that was forked from this one.
    forked: OnceLock<Box<Self>>,
}

impl InProcess {
    const fn new(process: u32) -> Self {
        let process = AtomicU32::new(process);
        Self { process, calls: Mutex::new(None), forked: OnceLock::new() }
    }

    /// Whether this is the thread in `process`, or becomes it.
    fn is_of(&self, process: u32) -> bool {
        let unused =
            self.process.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
        unused.map_or_else(|owner| owner == process, |_| true)
    }
}

impl PythonThread {
    pub const fn new(name: &'static str) -> Self {
        Self { name, first: InProcess::new(0) }
    }

    /// Makes a call as soon as the earlier ones are finished, unless the interpreter is shutting down. Does not wait for the
    /// interpreter.
    pub fn run(&self, call: impl FnOnce(Python<'_>) + Send + 'static) {
        let process = process::id();
        let mut current = &self.first;
        while !current.is_of(process) {
            current = current.forked.get_or_init(|| Box::new(InProcess::new(process)));
        }
        let mut calls = current.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = calls.get_or_insert_with(|| self.start());
        // Without a thread, the channel is closed and nothing is called; there is no caller to report it to.
        let _ = sender.send(Box::new(call));
    }

    fn start(&self) -> Sender<Call> {
        let (sender, receiver) = channel::<Call>();
        let _ = thread::Builder::new().name(self.name.to_owned()).spawn(move || {
            for call in receiver {
                let _ = Python::try_attach(call);
            }
        });
        sender
    }
}
