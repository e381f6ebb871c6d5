//! Waiting without the interpreter's lock: in plain threads, where Ctrl-C interrupts, and for asyncio, by callbacks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::python_thread::PythonThread;

/// How often a waiting thread checks for Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Waits until `poll` is ready. Other Python threads run meanwhile.
///
/// **Errors**: the exception of a signal handler, such as `KeyboardInterrupt`.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T> + Send,
) -> PyResult<T> {
    loop {
        if let Some(value) = py.detach(|| poll_for(SIGNAL_INTERVAL, &mut poll)) {
            return Ok(value);
        }
        py.check_signals()?;
    }
}

/// Returns whether Ctrl-C ended the wait for a thread.
pub(crate) type IsAbandoned<'a> = &'a (dyn Fn() -> bool + Sync);

/// Runs `work` on a thread and waits for it. After Ctrl-C, the thread is left to finish alone.
///
/// **Errors**: as [`wait`]; no thread available; a panic.
pub(crate) fn run_interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(IsAbandoned<'_>) -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut result) = tokio::sync::oneshot::channel();
    thread::Builder::new().name("inferno-work".to_owned()).spawn(move || {
        let value = work(&|| sender.is_closed());
        // The receiver is gone after Ctrl-C.
        let _ = sender.send(value);
    })?;
    let result = wait(py, |context| Pin::new(&mut result).poll(context))?;
    result.map_err(|_| crate::errors::busy("an internal thread panicked"))
}

/// Polls until it is ready, for this long at most.
fn poll_for<T>(
    duration: Duration,
    poll: &mut impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Option<T> {
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    let deadline = Instant::now() + duration;
    loop {
        if let Poll::Ready(value) = poll(&mut context) {
            return Some(value);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Returns a waker that calls a Python function on a thread of its own: a thread that computes must not wait for the
/// interpreter.
pub(crate) fn callback_waker(function: Py<PyAny>) -> Waker {
    Waker::from(Arc::new(CallbackWaker(function)))
}

struct CallbackWaker(Py<PyAny>);

impl Wake for CallbackWaker {
    fn wake(self: Arc<Self>) {
        static CALLBACKS: PythonThread = PythonThread::new("inferno-callbacks");
        // An event loop that was closed meanwhile raises an error, which nobody waits for.
        CALLBACKS.run(move |py| drop(self.0.call0(py)));
    }
}
