//! Signals that stop the server.

/// The next SIGTERM, SIGHUP or Ctrl-C.
pub(super) async fn next() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminate) = signal(SignalKind::terminate()) else {
            return interrupt().await;
        };
        let Ok(mut hang_up) = signal(SignalKind::hangup()) else {
            return interrupt().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
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
