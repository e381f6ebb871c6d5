//! The distributions that others are compared with, row after row.

use super::stored_logits::{self, StoredLogits};
use super::text_windows::TextWindows;
use crate::perplexity::windows::{WindowRunner, check_windows};
use crate::sampler::Softmax;
use crate::{EngineError, Runner};

/// Where the distributions come from that others are compared with.
pub enum KlBase<'a> {
    /// A model that computes the same windows.
    Model(&'a mut dyn Runner),
    /// A file.
    Stored(StoredLogits),
}

/// Rows of log-probabilities.
pub(super) enum BaseRows<'a> {
    Model { forward: Box<WindowRunner<'a>>, vocab_size: usize, pass: Vec<f32>, num_taken: usize },
    Stored { file: StoredLogits, row: Vec<f32> },
}

impl<'a> BaseRows<'a> {
    /// **Errors**: [`EngineError::VocabularySize`], and as [`check_windows`].
    pub(super) fn new(
        base: KlBase<'a>,
        text: &TextWindows,
        vocab_size: usize,
    ) -> Result<Self, EngineError> {
        let base_size = match &base {
            KlBase::Model(runner) => runner.vocab_size(),
            KlBase::Stored(file) => file.vocab_size(),
        };
        if base_size != vocab_size {
            return Err(EngineError::VocabularySize { expected: base_size, found: vocab_size });
        }
        Ok(match base {
            KlBase::Model(runner) => {
                check_windows(runner, text.tokens(), text.window(), text.window())?;
                let forward = Box::new(WindowRunner::new(runner));
                Self::Model { forward, vocab_size, pass: Vec::new(), num_taken: 0 }
            }
            KlBase::Stored(file) => Self::Stored { file, row: Vec::new() },
        })
    }

    /// Returns the log-probability up to which rows are not meaningful.
    pub(super) fn lowest(&self) -> f32 {
        match self {
            Self::Model { .. } => f32::NEG_INFINITY,
            Self::Stored { .. } => -stored_logits::RANGE,
        }
    }

    /// Continues with the next window.
    ///
    /// **Errors**: a runner that fails.
    pub(super) fn begin(&mut self, window: &[u32]) -> Result<(), EngineError> {
        match self {
            Self::Model { forward, .. } => forward.begin(window),
            Self::Stored { .. } => Ok(()),
        }
    }

    /// Returns the next row of the window.
    ///
    /// **Errors**: [`EngineError::NonFiniteLogit`], a runner that fails, a file that cannot be read.
    pub(super) fn next_row(&mut self) -> Result<&[f32], EngineError> {
        match self {
            Self::Model { forward, vocab_size, pass, num_taken } => {
                if *num_taken == pass.len() {
                    pass.clear();
                    *num_taken = 0;
                    let output = forward.next_rows()?;
                    for row in output.iter().flat_map(|output| output.rows()) {
                        let row = row.values()?;
                        let softmax = Softmax::of_finite(&row)?;
                        pass.extend(row.iter().map(|&it| softmax.log_probability(it) as f32));
                    }
                }
                *num_taken += *vocab_size;
                Ok(&pass[*num_taken - *vocab_size..*num_taken])
            }
            Self::Stored { file, row } => {
                file.read_row(row)?;
                Ok(row)
            }
        }
    }
}
