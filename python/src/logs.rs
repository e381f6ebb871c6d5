//! Warnings and errors of the engine and the server in Python's log.

use std::io::{self, Write};
use std::sync::Once;

use pyo3::prelude::*;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::python_thread::PythonThread;

/// The name of the logger.
const LOGGER: &str = "inferno";

/// Passes warnings and errors to Python's `logging`, unless the program logs already, as `inferno serve` does.
pub(crate) fn start() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let logs = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::WARN)
            .with_writer(ToPython)
            .with_ansi(false)
            .with_level(false)
            .with_target(false)
            .without_time();
        // An error means that another subscriber is installed, which logs instead.
        let _ = logs.try_init();
    });
}

struct ToPython;

impl<'a> MakeWriter<'a> for ToPython {
    type Writer = Record;

    fn make_writer(&'a self) -> Record {
        Record { level: Level::WARN, line: Vec::new() }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Record {
        Record { level: *metadata.level(), line: Vec::new() }
    }
}

/// An event, which is logged when all of its text was written.
struct Record {
    level: Level,
    line: Vec<u8>,
}

impl Write for Record {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        static LOGS: PythonThread = PythonThread::new("inferno-logs");
        let text = String::from_utf8_lossy(&self.line).trim_end().to_owned();
        let method = if self.level == Level::ERROR { "error" } else { "warning" };
        // An error of the program's own handlers has no other place to be reported.
        LOGS.run(move |py| drop(log(py, method, &text)));
    }
}

fn log(py: Python<'_>, method: &str, text: &str) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", (LOGGER,))?;
    // As an argument, a percent sign is no placeholder.
    logger.call_method1(method, ("%s", text))?;
    Ok(())
}
