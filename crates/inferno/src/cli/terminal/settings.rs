//! The terminal's settings, while a program talks to somebody at it.
//!
//! Invariant: however the program ends of its own accord, also by a signal in the middle of an answer or of a line that is
//! edited, the terminal is as it was found.

#[cfg(unix)]
use std::sync::{Mutex, PoisonError};

#[cfg(unix)]
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// The settings that the terminal of standard input was found with.
#[cfg(unix)]
static FOUND: Mutex<Option<Termios>> = Mutex::new(None);

/// Notes the settings of the terminal of standard input, if there is one, for [`restore`].
pub(crate) fn remember() {
    #[cfg(unix)]
    {
        *found() = tcgetattr(std::io::stdin()).ok();
    }
}

/// Gives the terminal the settings that it was found with; does nothing where none were noted.
pub(crate) fn restore() {
    #[cfg(unix)]
    if let Some(settings) = &*found() {
        // Where that fails, the terminal is gone.
        let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, settings);
    }
}

/// As long as it lives, the terminal does not show what is typed. It is kept for who reads the terminal next.
pub(crate) struct HiddenKeys(());

impl HiddenKeys {
    /// Begins to hide, where [`remember`] found a terminal.
    pub(crate) fn begin() -> Self {
        #[cfg(unix)]
        if let Some(settings) = &*found() {
            let mut hidden = settings.clone();
            hidden.local_flags.remove(LocalFlags::ECHO);
            // Keys that show are no reason to stop.
            let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, &hidden);
        }
        Self(())
    }
}

impl Drop for HiddenKeys {
    fn drop(&mut self) {
        restore();
    }
}

#[cfg(unix)]
fn found() -> std::sync::MutexGuard<'static, Option<Termios>> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner)
}
