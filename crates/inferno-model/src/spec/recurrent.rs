//! Recurrent mixers as data.

use inferno_backend::{
    ConvParams, Function, LinearAttentionParams, SelectiveScanParams, StateLayout, StateMatrices,
    WriteRule,
};

use super::tensors::{LinearSpec, VectorSpec};

/// A mixer whose state has a fixed size: a projection, a convolution of each channel, in most cases a scan over the
/// tokens, and a projection back.
#[derive(Debug, Clone)]
pub(crate) struct RecurrentSpec {
    pub(crate) input: LinearSpec,
    pub(crate) conv: ConvSpec,
    pub(crate) scan: Option<ScanSpec>,
    pub(crate) output: LinearSpec,
}

/// A convolution of each channel.
#[derive(Debug, Clone)]
pub(crate) struct ConvSpec {
    pub(crate) params: ConvParams,
    /// A row per channel, the oldest tap first.
    pub(crate) taps: VectorSpec,
    pub(crate) bias: Option<VectorSpec>,
}

/// What reads and writes the state token by token, over the rows of the convolution.
#[derive(Debug, Clone)]
pub(crate) enum ScanSpec {
    LinearAttention(LinearAttentionSpec),
    Selective(SelectiveScanSpec),
}

/// A selective state space and its gate.
#[derive(Debug, Clone)]
pub(crate) struct SelectiveScanSpec {
    pub(crate) params: SelectiveScanParams,
    /// From the convolution to the factors for writing, then those for reading.
    pub(crate) selection: LinearSpec,
    /// From the convolution to the compressed step sizes.
    pub(crate) step_down: LinearSpec,
    /// From these to the step sizes.
    pub(crate) step_up: LinearSpec,
    pub(crate) norms: Option<SelectionNormsSpec>,
    /// A row per channel, with a rate for each of its states.
    pub(crate) rates: VectorSpec,
    pub(crate) skip: VectorSpec,
    /// The first column of the gates in the rows of the first projection.
    pub(crate) gate_column: usize,
}

/// RMS norms of compressed step sizes and of the factors for writing and reading.
#[derive(Debug, Clone)]
pub(crate) struct SelectionNormsSpec {
    /// `None` for norms without weights.
    pub(crate) weights: Option<[VectorSpec; 3]>,
    pub(crate) eps: f32,
}

impl ScanSpec {
    /// Number of values of a row of its output.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::LinearAttention(LinearAttentionSpec { params, .. }) => {
                params.num_heads * params.value_dim
            }
            Self::Selective(selective) => selective.params.channels,
        }
    }

    /// The matrices of its state.
    fn matrices(&self) -> StateMatrices {
        match self {
            Self::LinearAttention(attention) => attention.params.matrices(),
            Self::Selective(selective) => selective.params.matrices(),
        }
    }

    /// Every vector but the biases of products.
    fn vectors(&self) -> Vec<&VectorSpec> {
        match self {
            Self::LinearAttention(LinearAttentionSpec { rates, step_bias, skip, norm, .. }) => {
                [rates, step_bias].into_iter().chain(skip).chain(&norm.weight).collect()
            }
            Self::Selective(SelectiveScanSpec { rates, skip, norms, .. }) => {
                let norms = norms.iter().filter_map(|norms| norms.weights.as_ref());
                [rates, skip].into_iter().chain(norms.flatten()).collect()
            }
        }
    }
}

/// Gated linear attention over the rows of a convolution.
#[derive(Debug, Clone)]
pub(crate) struct LinearAttentionSpec {
    pub(crate) params: LinearAttentionParams,
    pub(crate) rates: VectorSpec,
    pub(crate) step_bias: VectorSpec,
    pub(crate) skip: Option<VectorSpec>,
    pub(crate) norm: GatedNormSpec,
    /// Where steps and gates come from if they are not columns of the first projection.
    pub(crate) low_rank_gates: Option<LowRankGatesSpec>,
}

/// Products of low rank from the input of the mixer to the steps of linear attention and to the gates of its output.
#[derive(Debug, Clone)]
pub(crate) struct LowRankGatesSpec {
    pub(crate) steps: LowRankProductSpec,
    pub(crate) gates: LowRankProductSpec,
}

/// A product with a matrix that is itself a product of two.
#[derive(Debug, Clone)]
pub(crate) struct LowRankProductSpec {
    pub(crate) down: LinearSpec,
    pub(crate) up: LinearSpec,
}

/// The norm and the gate of linear attention's output; see [`inferno_backend::GatedNorm`].
#[derive(Debug, Clone)]
pub(crate) struct GatedNormSpec {
    pub(crate) gate_column: usize,
    pub(crate) function: Function,
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
        let mut vectors = vec![&self.conv.taps];
        vectors.extend(&self.conv.bias);
        vectors.extend(self.scan.iter().flat_map(ScanSpec::vectors));
        vectors
    }

    /// Every product.
    pub(super) fn linears(&self) -> Vec<&LinearSpec> {
        let mut linears = vec![&self.input, &self.output];
        match &self.scan {
            Some(ScanSpec::Selective(scan)) => {
                linears.extend([&scan.selection, &scan.step_down, &scan.step_up]);
            }
            Some(ScanSpec::LinearAttention(attention)) => {
                let products =
                    attention.low_rank_gates.iter().flat_map(|it| [&it.steps, &it.gates]);
                linears.extend(products.flat_map(|product| [&product.down, &product.up]));
            }
            None => {}
        }
        linears
    }

    /// Multiplications and additions of one token with the state.
    pub(super) fn state_ops(&self) -> u64 {
        let Some(scan) = &self.scan else { return 0 };
        // A decay, the product of a key with a value, and that with a query; the delta rule reads with the key as well.
        let per_value = match scan {
            ScanSpec::LinearAttention(LinearAttentionSpec { params, .. }) => match params.rule {
                WriteRule::Additive => 5,
                WriteRule::Delta { .. } => 7,
            },
            // The rate times the step size as well.
            ScanSpec::Selective(_) => 6,
        };
        (scan.matrices().num_values() as u64).saturating_mul(per_value)
    }

    /// The state of `num_layers` such layers.
    pub(super) fn state_layout(&self, num_layers: usize, num_slots: usize) -> StateLayout {
        StateLayout {
            num_layers,
            conv_values: self.conv.params.tail_values(),
            matrices: self.scan.as_ref().map(ScanSpec::matrices).unwrap_or_default(),
            num_slots,
        }
    }
}
