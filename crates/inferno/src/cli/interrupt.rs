//! Ctrl-C: commands that can stop in an orderly way ask whether they should; all others end at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use inferno_engine::CancelHandle;

use crate::cli::failure::EXIT_INTERRUPTED;

static REQUESTED: AtomicBool = AtomicBool::new(false);
static CANCELS: OnceLock<CancelHandle> = OnceLock::new();

/// Watches for Ctrl-C while a command runs that asks for it.
pub(super) struct Interrupt;

impl Interrupt {
    /// From here on the first Ctrl-C only raises a flag, and the second ends the program.
    pub(super) fn watch() -> Self {
        let handler = || {
            if REQUESTED.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_INTERRUPTED.into());
            }
            if let Some(handle) = CANCELS.get() {
                handle.cancel();
            }
        };
        // A failure leaves the system's own answer to Ctrl-C in place, which ends the program.
        let _ = ctrlc::set_handler(handler);
        Self
    }

    /// Lets Ctrl-C cancel this generation, the only one of the program.
    pub(super) fn cancels(&self, handle: CancelHandle) {
        let handle = CANCELS.get_or_init(|| handle);
        if self.is_requested() {
            handle.cancel();
        }
    }

    /// Whether Ctrl-C was pressed.
    pub(super) fn is_requested(&self) -> bool {
        REQUESTED.load(Ordering::Relaxed)
    }
}
