//! Progress bars on standard error, drawn only if it is a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::hub::{DownloadProgress, DownloadStage};

/// Returns a bar that counts bytes.
pub(crate) fn bytes_bar(action: &'static str, total_bytes: u64) -> ProgressBar {
    bar(action, total_bytes, "{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta}")
}

/// Returns a bar that counts steps.
pub(crate) fn steps_bar(action: &'static str, total_steps: u64) -> ProgressBar {
    bar(action, total_steps, "{msg} [{bar:30}] {pos}/{len} {eta}")
}

/// Returns a bar for a prompt of this many tokens. It appears only if reading takes a while.
pub(crate) fn prompt_bar(num_tokens: usize) -> impl FnMut(usize) + Send {
    let started = Instant::now();
    let bar = PromptBar(steps_bar("reading the prompt", num_tokens as u64));
    move |computed_tokens| {
        if started.elapsed() > SILENCE {
            bar.0.set_position(computed_tokens as u64);
        }
    }
}

/// How long a prompt is read without a progress bar.
const SILENCE: Duration = Duration::from_millis(500);

/// A bar that disappears when it is dropped.
struct PromptBar(ProgressBar);

impl Drop for PromptBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

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
            let bar = bytes_bar(action, total_bytes);
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
