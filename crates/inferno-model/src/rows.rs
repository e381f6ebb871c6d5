//! The rows of a pass: what is requested, and what is returned.

use std::ops::Range;
use std::sync::Arc;

use inferno_backend::{Backend, BackendError, CandidateRows, CandidateShape};

/// What a pass computes of its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageRows {
    /// A row of logits for each of the batch's `logit_rows`.
    Logits,
    /// The largest logits of each of the batch's `logit_rows`, if the backend selects them; otherwise as
    /// [`Logits`](Self::Logits).
    Candidates(CandidateShape),
    /// The input of the output head for each of the batch's `logit_rows`: `hidden_size` values after the final norm. Their
    /// number is limited only by that of the tokens.
    Hidden,
    /// The residual stream of each token after the last layer: `hidden_size` values, for the next stage.
    Residual,
}

impl StageRows {
    pub(crate) fn are_logits(self) -> bool {
        matches!(self, Self::Logits | Self::Candidates(_))
    }
}

/// The rows of a pass.
pub enum StageOutput<'a> {
    /// All values of all rows.
    Values(&'a [f32]),
    /// The largest logits of each row.
    Candidates {
        /// The selected logits.
        rows: CandidateRows<'a>,
        /// The whole rows.
        logits: Box<dyn LogitSource + 'a>,
    },
}

impl<'a> StageOutput<'a> {
    /// Returns all values of all rows.
    ///
    /// **Panics** if candidates were requested.
    pub fn into_values(self) -> &'a [f32] {
        match self {
            Self::Values(values) => values,
            Self::Candidates { .. } => panic!("a pass for candidates returns no whole rows"),
        }
    }
}

/// Rows of logits that remain on a device until the next pass.
pub trait LogitSource {
    /// Copies neighboring rows to the host at once: `vocab_size` logits of each.
    ///
    /// **Errors**: [`BackendError::Device`].
    fn read_logits(&self, rows: Range<usize>) -> Result<Vec<f32>, BackendError>;
}

/// The buffer of logits of a workspace.
pub(crate) struct DeviceLogits<'a, B: Backend> {
    pub(crate) backend: Arc<B>,
    pub(crate) logits: &'a B::Buffer,
    pub(crate) vocab_size: usize,
}

impl<B: Backend> LogitSource for DeviceLogits<'_, B> {
    fn read_logits(&self, rows: Range<usize>) -> Result<Vec<f32>, BackendError> {
        let values = rows.start * self.vocab_size..rows.end * self.vocab_size;
        let mut staging = Vec::new();
        let values = self.backend.download(self.logits, values, &mut staging)?;
        Ok(values.to_vec())
    }
}
