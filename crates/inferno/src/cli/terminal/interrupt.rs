//! Ctrl-C: commands that support it stop cleanly, all others exit immediately.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use inferno_engine::CancelHandle;

use crate::cli::failure::EXIT_INTERRUPTED;
use crate::cli::terminal::settings;

/// Whether the next Ctrl-C stops the current work; otherwise it exits the program.
static IS_ARMED: AtomicBool = AtomicBool::new(false);
static REQUESTED: AtomicBool = AtomicBool::new(false);
static CANCELS: Mutex<Option<CancelHandle>> = Mutex::new(None);

/// Handles Ctrl-C while a command runs.
pub(crate) struct Interrupt;

impl Interrupt {
    /// Installs the handler: the first Ctrl-C requests a stop, the second one exits the program.
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
        // On failure the default handler remains, which exits the program.
        let _ = ctrlc::set_handler(handler);
        Self
    }

    /// Sets the generation that Ctrl-C cancels.
    pub(crate) fn cancels(&self, handle: CancelHandle) {
        *cancels() = Some(handle.clone());
        // Ctrl-C may have been pressed before.
        if self.is_requested() {
            handle.cancel();
        }
    }

    /// Returns whether Ctrl-C was pressed.
    pub(crate) fn is_requested(&self) -> bool {
        REQUESTED.load(Ordering::Relaxed)
    }

    /// Resets the state for the next piece of work.
    pub(crate) fn rearm(&self) {
        *cancels() = None;
        REQUESTED.store(false, Ordering::Relaxed);
        IS_ARMED.store(true, Ordering::Relaxed);
    }

    /// Makes the next Ctrl-C exit the program, until [`rearm`](Self::rearm).
    pub(crate) fn disarm(&self) {
        IS_ARMED.store(false, Ordering::Relaxed);
    }
}

fn cancels() -> MutexGuard<'static, Option<CancelHandle>> {
    CANCELS.lock().unwrap_or_else(PoisonError::into_inner)
}
