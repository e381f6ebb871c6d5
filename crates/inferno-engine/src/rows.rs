//! The rows of a forward pass: what is requested, and what is returned.

use std::borrow::Cow;

use inferno_backend::{CandidateRow, CandidateShape};
use inferno_model::{LogitSource, StageOutput, StageRows};

use crate::EngineError;

/// What a forward pass returns for each of its batch's `logit_rows`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassRows {
    /// Logits: `vocab_size` values per row. A batch has a limited number of such rows.
    Logits,
    /// The largest logits. A runner may return [`Logits`](Self::Logits) instead.
    Candidates(CandidateShape),
    /// Hidden states after the final norm: `hidden_size` values per row. A batch may have one row per token.
    Hidden,
}

impl From<PassRows> for StageRows {
    fn from(rows: PassRows) -> Self {
        match rows {
            PassRows::Logits => Self::Logits,
            PassRows::Candidates(shape) => Self::Candidates(shape),
            PassRows::Hidden => Self::Hidden,
        }
    }
}

/// The rows of a forward pass, in the order of the batch.
pub struct Rows<'a> {
    output: StageOutput<'a>,
    row_len: usize,
    /// Whole rows that were copied from the device together.
    copies: Vec<f32>,
    /// For each row, where its copy begins.
    copied: Vec<Option<usize>>,
}

impl<'a> Rows<'a> {
    /// The rows that a model returned, of `row_len` values if they are whole.
    pub fn new(output: StageOutput<'a>, row_len: usize) -> Self {
        Self { output, row_len, copies: Vec::new(), copied: Vec::new() }
    }

    /// Checks the number of rows.
    ///
    /// **Errors**: [`EngineError::LogitsLength`].
    pub(crate) fn check_len(&self, num_rows: usize) -> Result<(), EngineError> {
        let (expected, found) = match &self.output {
            StageOutput::Values(values) => (num_rows * self.row_len, values.len()),
            StageOutput::Candidates { rows, .. } => (num_rows, rows.len()),
        };
        match found == expected {
            true => Ok(()),
            false => Err(EngineError::LogitsLength { expected, found }),
        }
    }

    /// Copies whole rows from the device, if only candidates were requested. `indexes` are in ascending order. Several rows
    /// are copied at once, with the rows between them: each copy waits for the device.
    ///
    /// **Errors**: a device that fails.
    pub(crate) fn copy_whole(&mut self, indexes: &[usize]) -> Result<(), EngineError> {
        let StageOutput::Candidates { rows, logits } = &self.output else { return Ok(()) };
        let (Some(&first), Some(&last)) = (indexes.first(), indexes.last()) else { return Ok(()) };
        self.copied.resize(rows.len(), None);
        self.copies = logits.read_logits(first..last + 1)?;
        for &index in indexes {
            self.copied[index] = Some((index - first) * self.row_len);
        }
        Ok(())
    }

    /// Returns the first `len` values of row `index`.
    ///
    /// **Panics** if there is no such row, or it is shorter.
    pub fn row(&self, index: usize, len: usize) -> Row<'_> {
        if let Some(&Some(start)) = self.copied.get(index) {
            return Row::Values(&self.copies[start..][..len]);
        }
        match &self.output {
            StageOutput::Values(values) => Row::Values(&values[index * self.row_len..][..len]),
            StageOutput::Candidates { rows, logits } => Row::Candidates {
                best: rows.row(index),
                whole: DeviceRow { logits: &**logits, index, len },
            },
        }
    }
}

/// A row of a forward pass.
#[derive(Clone, Copy)]
pub enum Row<'a> {
    /// All of its values.
    Values(&'a [f32]),
    /// The largest of its logits.
    Candidates {
        /// The selected logits.
        best: CandidateRow<'a>,
        /// All logits.
        whole: DeviceRow<'a>,
    },
}

impl<'a> Row<'a> {
    /// Returns all values, which are copied from the device if only candidates were requested.
    ///
    /// **Errors**: a device that fails.
    pub fn values(self) -> Result<Cow<'a, [f32]>, EngineError> {
        match self {
            Self::Values(values) => Ok(Cow::Borrowed(values)),
            Self::Candidates { whole: DeviceRow { logits, index, len }, .. } => {
                let mut values = logits.read_logits(index..index + 1)?;
                values.truncate(len);
                Ok(Cow::Owned(values))
            }
        }
    }
}

/// A row of logits that remains on a device until the next pass.
#[derive(Clone, Copy)]
pub struct DeviceRow<'a> {
    logits: &'a dyn LogitSource,
    index: usize,
    len: usize,
}
