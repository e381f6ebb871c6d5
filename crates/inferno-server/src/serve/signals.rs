//! Signals that stop the server.

/// The next SIGTERM or Ctrl-C.
pub(super) async fn next() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminate) = signal(SignalKind::terminate()) else {
            return interrupt().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            () = interrupt() => {}
        }
    }
    #[cfg(not(unix))]
    interrupt().await;
}

async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        // The system has no such signal.
        std::future::pending::<()>().await;
    }
}
