//! Terminal settings during an interactive session.
//!
//! Invariant: when the program exits, by itself or by a signal in the middle of a reply or of line editing, the original
//! settings are restored.

#[cfg(unix)]
use std::sync::{Mutex, PoisonError};

#[cfg(unix)]
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// The original settings of the terminal of standard input.
#[cfg(unix)]
static ORIGINAL: Mutex<Option<Termios>> = Mutex::new(None);

/// Saves the settings of the terminal of standard input, if there is one, for [`restore`].
pub(crate) fn remember() {
    #[cfg(unix)]
    {
        *original() = tcgetattr(std::io::stdin()).ok();
    }
}

/// Restores the saved settings, if there are any.
pub(crate) fn restore() {
    #[cfg(unix)]
    if let Some(settings) = &*original() {
        // A failure means that the terminal is gone.
        let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, settings);
    }
}

/// Disables echo until dropped. Typed characters stay in the terminal's buffer for the next reader.
pub(crate) struct HiddenKeys(());

impl HiddenKeys {
    /// Disables echo, if [`remember`] found a terminal.
    pub(crate) fn begin() -> Self {
        #[cfg(unix)]
        if let Some(settings) = &*original() {
            let mut hidden = settings.clone();
            hidden.local_flags.remove(LocalFlags::ECHO);
            // Visible echo is no reason to stop.
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
fn original() -> std::sync::MutexGuard<'static, Option<Termios>> {
    ORIGINAL.lock().unwrap_or_else(PoisonError::into_inner)
}
