//! A writer that never waits: lines go to a thread of their own, and those that find no room are dropped and counted.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

/// Lines that wait to be written; further ones are dropped.
const MAX_NUM_WAITING: usize = 1024;
/// Bytes of a line; what is beyond is cut off.
const MAX_LINE_BYTES: usize = 16 << 10;
/// How often [`LogWriter::flush`] looks whether all is written.
const FLUSH_INTERVAL: Duration = Duration::from_millis(5);

/// Hands lines to the thread that writes them.
#[derive(Clone)]
pub(super) struct LogWriter {
    lines: SyncSender<Vec<u8>>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    waiting: AtomicUsize,
    dropped: AtomicU64,
}

impl LogWriter {
    /// Starts a thread that writes to `output`. When it can write again after lines were dropped, it calls `report` with their
    /// number, which may log it.
    ///
    /// **Errors**: the thread could not be started.
    pub fn start(
        output: impl Write + Send + 'static,
        report: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        let (lines, queue) = sync_channel(MAX_NUM_WAITING);
        let counts = Arc::<Counts>::default();
        let shared = Arc::clone(&counts);
        let thread = thread::Builder::new().name("inferno-log".to_owned());
        thread.spawn(move || write_all(&queue, &shared, output, report))?;
        Ok(Self { lines, counts })
    }

    /// Queues text that ends with a line break, or drops it.
    pub fn push(&self, text: &[u8]) {
        let mut line = text[..text.len().min(MAX_LINE_BYTES)].to_vec();
        if line.len() < text.len() {
            line.extend_from_slice("…\n".as_bytes());
        }
        self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        if self.lines.try_send(line).is_err() {
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Lines that were dropped in all.
    pub fn num_dropped(&self) -> u64 {
        self.counts.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all lines are written, at most this long.
    pub fn flush(&self, timeout: Duration) {
        let started = Instant::now();
        while self.counts.waiting.load(Ordering::Relaxed) > 0 && started.elapsed() < timeout {
            thread::sleep(FLUSH_INTERVAL);
        }
    }
}

fn write_all(
    queue: &Receiver<Vec<u8>>,
    counts: &Counts,
    mut output: impl Write,
    report: impl Fn(u64),
) {
    let mut num_reported = 0;
    for line in queue {
        // Closed output is as good as none.
        let _ = output.write_all(&line).and_then(|()| output.flush());
        counts.waiting.fetch_sub(1, Ordering::Relaxed);
        let num_dropped = counts.dropped.load(Ordering::Relaxed);
        // Not while the queue is full: the report would be dropped as well.
        if num_dropped > num_reported
            && counts.waiting.load(Ordering::Relaxed) < MAX_NUM_WAITING / 2
        {
            report(num_dropped - num_reported);
            num_reported = num_dropped;
        }
    }
}

impl<'w> MakeWriter<'w> for LogWriter {
    type Writer = &'w Self;

    fn make_writer(&'w self) -> Self::Writer {
        self
    }
}

impl Write for &LogWriter {
    /// Takes a whole line, as `tracing-subscriber` writes them.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use super::*;

    /// Output that is stuck until a channel closes.
    struct Stuck {
        open: Option<Receiver<()>>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(open) = self.open.take() {
                let _ = open.recv();
            }
            self.written.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn output_that_is_stuck_keeps_nobody_waiting_and_what_is_lost_is_counted() {
        let (open, stuck) = channel();
        let written = Arc::<Mutex<Vec<u8>>>::default();
        let output = Stuck { open: Some(stuck), written: Arc::clone(&written) };
        let (reports, reported) = channel();
        let writer = LogWriter::start(output, move |lines| reports.send(lines).unwrap()).unwrap();
        let started = Instant::now();
        for number in 0..5000 {
            writer.push(format!("line {number}\n").as_bytes());
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        let dropped = writer.num_dropped();
        assert!((5000 - 1026..5000 - 1023).contains(&(dropped as usize)), "{dropped}");
        writer.flush(Duration::from_millis(20));

        drop(open);
        writer.flush(Duration::from_secs(20));
        assert_eq!(reported.recv().unwrap(), dropped);
        let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count() as u64, 5000 - dropped);
        assert!(text.starts_with("line 0\nline 1\n"));
    }

    #[test]
    fn long_lines_are_cut() {
        let written = Arc::<Mutex<Vec<u8>>>::default();
        let output = Stuck { open: None, written: Arc::clone(&written) };
        let writer = LogWriter::start(output, |_| ()).unwrap();
        writer.push(&b"a".repeat(1 << 20));
        writer.flush(Duration::from_secs(20));
        assert_eq!(written.lock().unwrap().len(), MAX_LINE_BYTES + "…\n".len());
    }
}
