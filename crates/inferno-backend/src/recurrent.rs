//! Recurrent layers: their state, and the parameters of their operations.
//!
//! The state of a sequence has a fixed size: for each recurrent layer, the inputs of its convolution that later
//! tokens still need, and the matrices of its linear attention.

use crate::Function;

/// Dimensions of the recurrent state of a model. All recurrent layers of a model have the same shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateLayout {
    /// Number of recurrent layers.
    pub num_layers: usize,
    /// Values that a layer stores of its convolution: [`ConvParams::tail_values`].
    pub conv_values: usize,
    /// The matrices of a layer: [`LinearAttentionParams::matrices`] or [`SelectiveScanParams::matrices`].
    pub matrices: StateMatrices,
    /// Number of slots, each of which holds the state of one sequence.
    pub num_slots: usize,
}

impl StateLayout {
    /// Number of values of a layer in one slot.
    pub fn layer_values(&self) -> usize {
        self.conv_values.saturating_add(self.matrices.num_values())
    }

    /// Number of values of one slot; saturates at `usize::MAX`.
    pub fn slot_values(&self) -> usize {
        self.num_layers.saturating_mul(self.layer_values())
    }

    /// Size of one slot, in bytes; saturates at `usize::MAX`.
    pub fn slot_bytes(&self) -> usize {
        self.slot_values().saturating_mul(size_of::<f32>())
    }

    /// Size of all slots, in bytes; saturates at `usize::MAX`.
    pub fn total_bytes(&self) -> usize {
        self.slot_bytes().saturating_mul(self.num_slots)
    }
}

/// The matrices of a layer's recurrent state; none by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct StateMatrices {
    /// Number of matrices.
    pub count: usize,
    /// Number of rows of a matrix.
    pub rows: usize,
    /// Number of columns of a matrix.
    pub cols: usize,
}

impl StateMatrices {
    /// Number of values of all matrices; saturates at `usize::MAX`.
    pub fn num_values(&self) -> usize {
        self.count.saturating_mul(self.rows).saturating_mul(self.cols)
    }
}

/// Index of a slot of the recurrent state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateSlot(pub u32);

/// Where a pass finds and leaves the state of one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceState {
    /// The state before the chunk's first row. The pass replaces it with the state after the last row.
    /// The first position of a sequence ignores what the slot holds.
    pub slot: StateSlot,
    /// An additional copy of the state, taken within the chunk.
    pub checkpoint: Option<StateCheckpoint>,
}

impl SequenceState {
    /// Every slot that the pass writes to.
    pub(crate) fn slots(&self) -> impl Iterator<Item = StateSlot> + Clone + use<> {
        std::iter::once(self.slot).chain(self.checkpoint.map(|checkpoint| checkpoint.slot))
    }
}

impl From<StateSlot> for SequenceState {
    fn from(slot: StateSlot) -> Self {
        Self { slot, checkpoint: None }
    }
}

/// A copy of the state after one of the rows of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateCheckpoint {
    /// Number of the chunk's rows that the copy includes; at least 1.
    pub num_rows: usize,
    /// The slot that receives the copy; no sequence of the batch uses it otherwise.
    pub slot: StateSlot,
}

/// A causal convolution of each channel over the tokens of a sequence.
///
/// The inputs are columns of a projection's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvParams {
    /// Index of the layer in the recurrent state.
    pub layer: usize,
    /// Number of channels.
    pub channels: usize,
    /// Number of tokens that an output depends on, including its own; from 1 to [`Self::MAX_TAPS`].
    pub taps: usize,
    /// The first column of the inputs.
    pub input: usize,
    /// The first column of factors on the inputs.
    pub input_gate: Option<usize>,
    /// The first column of factors on the outputs.
    pub output_gate: Option<usize>,
    /// Whether SiLU is applied to the outputs.
    pub silu: bool,
}

impl ConvParams {
    /// The largest number of taps.
    pub const MAX_TAPS: usize = 8;

    /// Number of values that later tokens need: `taps - 1` inputs of each channel, the oldest first.
    pub fn tail_values(&self) -> usize {
        (self.taps - 1).saturating_mul(self.channels)
    }
}

/// The weights of a [`ConvParams`].
#[derive(Debug)]
pub struct ConvWeights<'a, Buffer> {
    /// One row per tap, the oldest first, with one value per channel.
    pub taps: &'a Buffer,
    /// One value per channel.
    pub bias: Option<&'a Buffer>,
}

/// How linear attention writes a value to the matrix of a head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WriteRule {
    /// Adds the value, times the step size, to what the key retrieves.
    ///
    /// **Source**: Dao and Gu, Transformers are SSMs, section 7 (Mamba-2).
    Additive,
    /// Replaces what the key retrieves by the value, to the extent of a sigmoid. Queries and keys are normalized to
    /// length 1, and queries divided by the root of their size.
    ///
    /// **Source**: Yang et al., Gated Delta Networks: Improving Mamba2 with Delta Rule, equation 10.
    Delta {
        /// Added to the sum of the squares of a query or key.
        eps: f32,
        /// The first column of the writing strengths in the projection's rows, one per head, before the sigmoid.
        strengths: usize,
    },
}

/// The steps that determine how far the matrices of linear attention decay at a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecaySteps {
    /// One per head.
    PerHead {
        /// The first column of the steps in the projection's rows, before the softplus.
        column: usize,
    },
    /// One per component of a head's key, each for a row of the matrix, in [rows of their own](LinearAttentionRows::steps).
    /// The write rule is [`WriteRule::Delta`].
    ///
    /// **Source**: Kimi Team, Kimi Linear: An Expressive, Efficient Attention Architecture, section 3.
    PerComponent,
}

/// Gated linear attention: each head reads and writes a matrix that decays from token to token.
///
/// With `step = max(softplus(step + bias), min_step)`, a token computes `S *= exp(rate * step)`, for the whole matrix or for
/// each row of it, then writes to the matrix `S` of `key_dim` x `value_dim` by its [`WriteRule`], and returns
/// `S^T query + skip * value`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearAttentionParams {
    /// Index of the layer in the recurrent state.
    pub layer: usize,
    /// Number of value heads.
    pub num_heads: usize,
    /// Number of query heads, which is also the number of key heads.
    pub num_key_heads: usize,
    /// Number of values per query or key head.
    pub key_dim: usize,
    /// Number of values per value head.
    pub value_dim: usize,
    /// The first columns of queries, keys and values in the rows of the convolution.
    pub queries: usize,
    /// See [`queries`](Self::queries).
    pub keys: usize,
    /// See [`queries`](Self::queries).
    pub values: usize,
    /// Whether neighboring heads share a key head (`head / group`) rather than distant ones
    /// (`head % num_key_heads`).
    pub are_grouped: bool,
    /// Where the steps are.
    pub steps: DecaySteps,
    /// The smallest step.
    pub min_step: f32,
    /// How values are written.
    pub rule: WriteRule,
}

impl LinearAttentionParams {
    /// The matrices of the state: one per head, with a row for each component of a key and a column for each of a
    /// value.
    pub fn matrices(&self) -> StateMatrices {
        StateMatrices { count: self.num_heads, rows: self.key_dim, cols: self.value_dim }
    }

    /// Number of steps of a token.
    pub fn num_steps(&self) -> usize {
        match self.steps {
            DecaySteps::PerHead { .. } => self.num_heads,
            DecaySteps::PerComponent => self.num_heads * self.key_dim,
        }
    }

    /// The key head of head `head`.
    pub fn key_head(&self, head: usize) -> usize {
        match self.are_grouped {
            true => head / (self.num_heads / self.num_key_heads),
            false => head % self.num_key_heads,
        }
    }
}

/// The weights of a [`LinearAttentionParams`].
#[derive(Debug)]
pub struct LinearAttentionWeights<'a, Buffer> {
    /// The negative rates of decay, one per head.
    pub rates: &'a Buffer,
    /// Added to the steps before the softplus, one value per step.
    pub step_bias: &'a Buffer,
    /// Factors on the values that are added to the output, one per head.
    pub skip: Option<&'a Buffer>,
}

/// The rows that linear attention reads.
#[derive(Debug)]
pub struct LinearAttentionRows<'a, Buffer> {
    /// The projection's rows. Steps and strengths are replaced by their activations.
    pub projected: &'a mut Buffer,
    /// The convolution's rows. The delta rule normalizes queries and keys in place.
    pub convolved: &'a mut Buffer,
    /// For [`DecaySteps::PerComponent`], the steps of the heads one after the other, before the softplus. They are
    /// overwritten.
    pub steps: Option<&'a mut Buffer>,
}

/// A state space with inputs and outputs that depend on the token: each channel has `state_size` states.
///
/// With `step = softplus(steps)`, a token computes `state = exp(rate * step) * state + step * value * write` for each
/// state of a channel, and returns the sum of `state * read` over its states, plus `skip * value`.
///
/// **Source**: Gu and Dao, Mamba: Linear-Time Sequence Modeling with Selective State Spaces, section 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectiveScanParams {
    /// Index of the layer in the recurrent state.
    pub layer: usize,
    /// Number of channels.
    pub channels: usize,
    /// Number of states per channel.
    pub state_size: usize,
}

impl SelectiveScanParams {
    /// The matrix of the state: one row per state of a channel, with a column for each channel.
    pub fn matrices(&self) -> StateMatrices {
        StateMatrices { count: 1, rows: self.state_size, cols: self.channels }
    }
}

/// The weights of a [`SelectiveScanParams`].
#[derive(Debug)]
pub struct SelectiveScanWeights<'a, Buffer> {
    /// The negative rates of decay: one row per state, with one value per channel.
    pub rates: &'a Buffer,
    /// Factors on the values that are added to the output, one per channel.
    pub skip: &'a Buffer,
}

/// The rows that a selective scan reads.
#[derive(Debug)]
pub struct SelectiveScanRows<'a, Buffer> {
    /// One value per channel.
    pub values: &'a Buffer,
    /// Step sizes before the softplus, one per channel.
    pub steps: &'a Buffer,
    /// The factors of each state for writing, then those for reading.
    pub selection: &'a Buffer,
}

/// An RMS norm and a gate of rows.
#[derive(Debug)]
pub struct GatedNorm<'a, Buffer> {
    /// The rows that hold the gates.
    pub gates: &'a Buffer,
    /// The first column of the gates, one per value.
    pub gate_column: usize,
    /// The function of the gates that the values are multiplied by.
    pub function: Function,
    /// The norm's weight: its size is that of a row or divides it, and it is then shared.
    pub weight: Option<&'a Buffer>,
    /// Number of values that are normalized together.
    pub extent: usize,
    /// Added to the mean of the squares.
    pub eps: f32,
    /// Whether the gate is applied before the norm rather than after it.
    pub is_gate_first: bool,
}

impl<Buffer> Clone for GatedNorm<'_, Buffer> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Buffer> Copy for GatedNorm<'_, Buffer> {}
