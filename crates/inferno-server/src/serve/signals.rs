//! Signals that stop the server.

/// The next SIGTERM, SIGHUP or Ctrl-C. SIGHUP is left alone if the process was started with it ignored, as by `nohup`.
pub(super) async fn next() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminate) = signal(SignalKind::terminate()) else {
            return interrupt().await;
        };
        let mut hang_up = match hang_up_was_ignored() {
            true => None,
            false => signal(SignalKind::hangup()).ok(),
        };
        let hung_up = async {
            match &mut hang_up {
                Some(hang_up) => drop(hang_up.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = terminate.recv() => {}
            () = hung_up => {}
            () = interrupt() => {}
        }
    }
    #[cfg(not(unix))]
    interrupt().await;
}

/// Whether SIGHUP was ignored when this was first asked. Only Linux tells.
#[cfg(unix)]
fn hang_up_was_ignored() -> bool {
    use std::sync::OnceLock;

    static IGNORED: OnceLock<bool> = OnceLock::new();
    *IGNORED.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // The lowest bit is that of signal 1, SIGHUP.
        mask.is_some_and(|mask| mask & 1 == 1)
    })
}

async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        // The system has no such signal.
        std::future::pending::<()>().await;
    }
}
