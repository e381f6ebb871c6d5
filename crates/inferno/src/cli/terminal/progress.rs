//! Progress bars on standard error, drawn only if it is a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::hub::{DownloadProgress, DownloadStage};

/// Duration of the work before a bar appears.
const DELAY: Duration = Duration::from_millis(500);

/// A progress bar that appears only if the work takes a while, and disappears when it is dropped.
pub(crate) struct DelayedBar {
    bar: ProgressBar,
    started: Instant,
}

impl DelayedBar {
    /// Returns a bar that counts bytes.
    pub(crate) fn bytes(action: &'static str) -> Self {
        Self { bar: bar(action, 0, BYTES), started: Instant::now() }
    }

    /// Returns a bar that counts steps.
    pub(crate) fn steps(action: &'static str) -> Self {
        let template = "{msg} [{bar:30}] {pos}/{len} {eta}";
        Self { bar: bar(action, 0, template), started: Instant::now() }
    }

    /// Draws the bar.
    pub(crate) fn show(&self, done: u64, total: u64) {
        if self.started.elapsed() > DELAY {
            if self.bar.is_finished() {
                self.bar.reset();
            }
            self.bar.set_length(total);
            self.bar.set_position(done);
        }
    }

    /// Removes the bar until it is shown again.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for DelayedBar {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Returns a bar for a prompt of this many tokens.
pub(crate) fn prompt_bar(num_tokens: usize) -> impl FnMut(usize) + Send {
    let bar = DelayedBar::steps("reading the prompt");
    move |computed_tokens| bar.show(computed_tokens as u64, num_tokens as u64)
}

/// The form of bars that count bytes.
const BYTES: &str = "{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta}";

fn bar(action: &'static str, total: u64, template: &str) -> ProgressBar {
    // The target draws nothing if standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style.progress_chars("=> ")).with_message(action)
}

/// The progress bars of a download, one file after another.
#[derive(Default)]
pub(crate) struct DownloadBars {
    current: Option<(String, DownloadStage, ProgressBar)>,
}

impl DownloadBars {
    /// Updates the bar of the current file.
    pub(crate) fn show(&mut self, progress: DownloadProgress<'_>) {
        let DownloadProgress { file, stage, done_bytes, total_bytes } = progress;
        let is_current = |(current, current_stage, _): &(String, DownloadStage, ProgressBar)| {
            current == file && *current_stage == stage
        };
        if !self.current.as_ref().is_some_and(is_current) {
            self.finish();
            let action = match stage {
                DownloadStage::Downloading => "downloading",
                DownloadStage::Verifying => "verifying",
            };
            let bar = bar(action, total_bytes, BYTES);
            bar.set_message(format!("{action} {file}"));
            // Bytes of an earlier attempt do not count towards the speed.
            bar.set_position(done_bytes);
            bar.reset_eta();
            self.current = Some((file.to_owned(), stage, bar));
        }
        if let Some((_, _, bar)) = &self.current {
            bar.set_position(done_bytes);
        }
    }

    fn finish(&mut self) {
        if let Some((_, _, bar)) = self.current.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for DownloadBars {
    fn drop(&mut self) {
        self.finish();
    }
}
