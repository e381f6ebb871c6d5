//! Logs on standard error.

mod writer;

use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use writer::LogWriter;

/// Writes to standard error for the whole process, once logs have begun.
static WRITER: OnceLock<LogWriter> = OnceLock::new();

/// How long a server that stops waits for its last lines to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For humans.
    #[default]
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// Starts logging to standard error, filtered by `RUST_LOG` (default: one line per request). Does nothing if the program logs
/// already.
///
/// Lines are written by a thread of their own. If they are not read, they are dropped and counted; logging never blocks. Panics are
/// logged as well, instead of written to standard error by the thread that panics.
///
/// **Errors**: the thread could not be started.
pub fn init_logs(format: LogFormat) -> io::Result<()> {
    let report = |lines: u64| {
        tracing::warn!(lines, "log lines were dropped because standard error was not read");
    };
    let writer = LogWriter::start(io::stderr(), report)?;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer.clone())
        // They would be written to standard error directly.
        .log_internal_errors(false);
    let started = match format {
        LogFormat::Text => {
            let is_terminal = io::IsTerminal::is_terminal(&io::stderr());
            logs.with_ansi(is_terminal).with_target(false).try_init()
        }
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
    // An error means that another subscriber is installed, which logs instead.
    if started.is_ok() {
        std::panic::set_hook(Box::new(log_panic));
    }
    let _ = WRITER.set(writer);
    Ok(())
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    tracing::error!(thread, %panic, "panic");
}

/// Writes a line to standard error, in order with the log. Never blocks once logging has started.
pub fn print_line(line: &str) {
    match WRITER.get() {
        Some(writer) => writer.push(format!("{line}\n").as_bytes()),
        // Closed output is as good as none.
        None => drop(writeln!(io::stderr(), "{line}")),
    }
}

/// Waits until what was logged is written, or standard error turns out to be stuck.
pub(crate) fn flush() {
    if let Some(writer) = WRITER.get() {
        writer.flush(FLUSH_TIMEOUT);
    }
}

/// Log lines that were dropped because standard error was not read.
pub(crate) fn num_dropped_lines() -> u64 {
    WRITER.get().map_or(0, LogWriter::num_dropped)
}
