//! What a model requires of a backend.

use inferno_tensor::DType;

use crate::{KvDType, LinearAttentionParams, QkvLayout, SelectiveScanParams};

/// A computation that a model requires, and that a backend [may not support](crate::Backend::unsupported).
#[derive(Debug, Clone, Copy)]
pub enum Requirement<'a> {
    /// Products with weights in a format.
    Weight(DType),
    /// Attention of these heads over keys and values in a format.
    Attention(QkvLayout, KvDType),
    /// Products of each row with some of this many matrices: a mixture of experts, or a matrix per head.
    Experts(usize),
    /// A recurrence of matrices.
    LinearAttention(&'a LinearAttentionParams),
    /// A recurrence of channels.
    SelectiveScan(&'a SelectiveScanParams),
}
