//! Recurrent mixers as data.

use inferno_backend::{ConvParams, LinearAttentionParams, StateLayout, WriteRule};

use super::tensors::{LinearSpec, VectorSpec};

/// A mixer whose state has a fixed size: a projection, a convolution of each channel, in most cases linear
/// attention, and a projection back.
#[derive(Debug, Clone)]
pub(crate) struct RecurrentSpec {
    pub(crate) input: LinearSpec,
    pub(crate) conv: ConvParams,
    /// A row per channel, the oldest tap first.
    pub(crate) conv_taps: VectorSpec,
    pub(crate) conv_bias: Option<VectorSpec>,
    pub(crate) attention: Option<LinearAttentionSpec>,
    pub(crate) output: LinearSpec,
}

/// Gated linear attention over the rows of a convolution.
#[derive(Debug, Clone)]
pub(crate) struct LinearAttentionSpec {
    pub(crate) params: LinearAttentionParams,
    pub(crate) rates: VectorSpec,
    pub(crate) gate_bias: VectorSpec,
    pub(crate) skip: Option<VectorSpec>,
    pub(crate) norm: GatedNormSpec,
}

/// The norm and the gate of linear attention's output; see [`inferno_backend::GatedNorm`].
#[derive(Debug, Clone)]
pub(crate) struct GatedNormSpec {
    pub(crate) gate_column: usize,
    pub(crate) weight: Option<VectorSpec>,
    pub(crate) extent: usize,
    pub(crate) eps: f32,
    pub(crate) is_gate_first: bool,
}

impl RecurrentSpec {
    /// Number of values of a row of the first projection.
    pub(crate) fn input_width(&self) -> usize {
        self.input.weight.num_rows()
    }

    /// Every vector but the biases of products.
    pub(super) fn vectors(&self) -> Vec<&VectorSpec> {
        let mut vectors = vec![&self.conv_taps];
        vectors.extend(&self.conv_bias);
        if let Some(LinearAttentionSpec { rates, gate_bias, skip, norm, .. }) = &self.attention {
            vectors.extend([rates, gate_bias]);
            vectors.extend(skip.iter().chain(&norm.weight));
        }
        vectors
    }

    /// Multiplications and additions of one token with the matrices.
    pub(super) fn state_ops(&self) -> u64 {
        let Some(LinearAttentionSpec { params, .. }) = &self.attention else { return 0 };
        // A decay, the product of a key with a value, and that with a query; the delta rule reads with the key as well.
        let per_value = match params.rule {
            WriteRule::Additive => 5,
            WriteRule::Delta { .. } => 7,
        };
        (params.matrix_values() as u64).saturating_mul(per_value)
    }

    /// The state of `num_layers` such layers.
    pub(super) fn state_layout(&self, num_layers: usize, num_slots: usize) -> StateLayout {
        let attention = self.attention.as_ref();
        StateLayout {
            num_layers,
            conv_values: self.conv.tail_values(),
            matrix_values: attention.map_or(0, |attention| attention.params.matrix_values()),
            num_slots,
        }
    }
}
