//! Ctrl-C: commands that can stop in an orderly way ask whether they should; all others end at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use inferno_engine::CancelHandle;

use crate::cli::failure::EXIT_INTERRUPTED;
use crate::cli::terminal::settings;

/// Whether there is something that the next Ctrl-C stops; otherwise it ends the program.
static IS_ARMED: AtomicBool = AtomicBool::new(false);
static REQUESTED: AtomicBool = AtomicBool::new(false);
static CANCELS: Mutex<Option<CancelHandle>> = Mutex::new(None);

/// Watches for Ctrl-C while a command runs that asks for it.
pub(crate) struct Interrupt;

impl Interrupt {
    /// From here on the first Ctrl-C only raises a flag, and the second ends the program.
    pub(crate) fn watch() -> Self {
        IS_ARMED.store(true, Ordering::Relaxed);
        let handler = || {
            if REQUESTED.swap(true, Ordering::Relaxed) || !IS_ARMED.load(Ordering::Relaxed) {
                settings::restore();
                std::process::exit(EXIT_INTERRUPTED.into());
            }
            if let Some(handle) = &*cancels() {
                handle.cancel();
            }
        };
        // A failure leaves the system's own answer to Ctrl-C in place, which ends the program.
        let _ = ctrlc::set_handler(handler);
        Self
    }

    /// Lets Ctrl-C cancel this generation, in place of an earlier one.
    pub(crate) fn cancels(&self, handle: CancelHandle) {
        *cancels() = Some(handle.clone());
        // It may have been pressed before there was anything to cancel.
        if self.is_requested() {
            handle.cancel();
        }
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn is_requested(&self) -> bool {
        REQUESTED.load(Ordering::Relaxed)
    }

    /// Begins something else that the first Ctrl-C stops.
    pub(crate) fn rearm(&self) {
        *cancels() = None;
        REQUESTED.store(false, Ordering::Relaxed);
        IS_ARMED.store(true, Ordering::Relaxed);
    }

    /// Lets the next Ctrl-C end the program, until [`rearm`](Self::rearm).
    pub(crate) fn disarm(&self) {
        IS_ARMED.store(false, Ordering::Relaxed);
    }
}

fn cancels() -> MutexGuard<'static, Option<CancelHandle>> {
    CANCELS.lock().unwrap_or_else(PoisonError::into_inner)
}
