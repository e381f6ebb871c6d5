//! Threads that call Python on behalf of threads that must not wait for the interpreter.

use std::process;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use pyo3::prelude::*;

type Call = Box<dyn FnOnce(Python<'_>) + Send>;

/// A thread that makes calls one after another. It is started with the first one, and again in a process that was forked.
pub(crate) struct PythonThread {
    name: &'static str,
    /// The process in which the thread runs, and the channel to it.
    calls: Mutex<Option<(u32, Sender<Call>)>>,
}

impl PythonThread {
    pub const fn new(name: &'static str) -> Self {
        Self { name, calls: Mutex::new(None) }
    }

    /// Makes a call as soon as the earlier ones are finished, unless the interpreter is shutting down. Never waits.
    pub fn run(&self, call: impl FnOnce(Python<'_>) + Send + 'static) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let process = process::id();
        let (_, sender) = match calls.take() {
            Some(started) if started.0 == process => calls.insert(started),
            _ => calls.insert((process, self.start())),
        };
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
