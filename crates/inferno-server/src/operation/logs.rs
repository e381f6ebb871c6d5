//! Logs on standard error.

use tracing_subscriber::EnvFilter;

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// Begins to write logs; `RUST_LOG` chooses what, and otherwise it is one line a request. Does nothing where the program logs
/// already.
pub fn init_logs(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // They would be told on standard error, which is what is closed when there are any.
        .log_internal_errors(false);
    // An error says that another subscriber is in place, which is as good.
    let _ = match format {
        LogFormat::Text => {
            let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
            logs.with_ansi(is_terminal).with_target(false).try_init()
        }
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
}
