//! The recurrent mixer of a layer.

use std::ops::RangeInclusive;

use inferno_backend::{ConvParams, DecaySteps, Function, LinearAttentionParams, WriteRule};

use super::SpecBuilder;
use crate::ModelError;
use crate::arch::architecture::{RecurrentKind, RecurrentLayers};
use crate::keys::{ArchitectureKeys, PerLayer};
use crate::spec::recurrent::{
    ConvSpec, GatedNormSpec, LinearAttentionSpec, RecurrentSpec, ScanSpec,
};
use crate::spec::tensors::{TensorFinder, TensorRows};

/// Layers from one full attention to the next if the file does not list them.
const DEFAULT_INTERVAL: usize = 4;

/// Epsilon of the lengths of queries and keys: a constant of the models' implementation.
pub(super) const DELTA_EPS: f32 = 1e-6;

/// The names of a convolution in files.
#[derive(Clone, Copy)]
pub(super) struct ConvNames {
    /// The tensor of the taps without `.weight`, and that of the bias without `.bias`.
    tensor: &'static str,
    /// The key of the number of taps.
    taps_key: &'static str,
}

/// The convolution before a scan.
pub(super) const SSM_CONV: ConvNames =
    ConvNames { tensor: "ssm_conv1d", taps_key: "ssm.conv_kernel" };

/// Which layers are recurrent.
pub(super) enum RecurrentPlaces {
    None,
    All,
    /// Those of a list with a value for each layer.
    Listed(Vec<bool>),
    /// All but the last of each period of this length.
    AllButLast(usize),
}

impl RecurrentPlaces {
    /// Reads the places of recurrent layers. `list_lens` are the possible lengths of lists with one value per layer.
    pub(super) fn from_keys(
        keys: &ArchitectureKeys<'_>,
        layers: RecurrentLayers,
        num_kv_heads: Option<&PerLayer<usize>>,
        list_lens: &RangeInclusive<usize>,
    ) -> Result<Self, ModelError> {
        match layers {
            RecurrentLayers::All | RecurrentLayers::NextToAttention => Ok(Self::All),
            RecurrentLayers::WithoutKvHeads => Ok(match num_kv_heads {
                None => Self::None,
                Some(numbers) => match numbers.list() {
                    Some(numbers) => {
                        Self::Listed(numbers.iter().map(|&number| number == 0).collect())
                    }
                    None if numbers.get(0) == 0 => Self::All,
                    None => Self::None,
                },
            }),
            RecurrentLayers::ByKey => {
                match keys.booleans("attention.recurrent_layers", list_lens)? {
                    Some(list) => Ok(Self::Listed(list)),
                    None => keys
                        .positive_or("full_attention_interval", DEFAULT_INTERVAL)
                        .map(Self::AllButLast),
                }
            }
        }
    }

    /// Whether layer `layer` is recurrent.
    pub(super) fn contains(&self, layer: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Listed(list) => list[layer],
            Self::AllButLast(period) => !(layer + 1).is_multiple_of(*period),
        }
    }
}

/// The sizes of linear attention.
struct HeadSizes {
    /// Number of values of all value heads.
    inner_size: usize,
    num_heads: usize,
    num_key_heads: usize,
    key_dim: usize,
}

impl HeadSizes {
    fn from_keys(keys: &ArchitectureKeys<'_>) -> Result<Self, ModelError> {
        let inner_size = keys.positive("ssm.inner_size")?;
        let num_heads = keys.positive("ssm.time_step_rank")?;
        let num_key_heads = keys.positive_or("ssm.group_count", 1)?;
        if !inner_size.is_multiple_of(num_heads) {
            let expected = format!("a divisor of ssm.inner_size ({inner_size})");
            return Err(keys.invalid("ssm.time_step_rank", expected, num_heads));
        }
        if !num_heads.is_multiple_of(num_key_heads) {
            let expected = format!("a divisor of ssm.time_step_rank ({num_heads})");
            return Err(keys.invalid("ssm.group_count", expected, num_key_heads));
        }
        let key_dim = keys.positive("ssm.state_size")?;
        Ok(Self { inner_size, num_heads, num_key_heads, key_dim })
    }

    /// Number of values of all key heads.
    fn keys_size(&self) -> usize {
        self.num_key_heads * self.key_dim
    }

    /// Number of values of queries, keys and values.
    fn channels(&self) -> usize {
        self.inner_size + 2 * self.keys_size()
    }

    /// The projections of a delta net to queries, keys, values and gates. Older files have one tensor, with those of
    /// one key head after those of another.
    fn delta_net_inputs(&self, is_fused: bool) -> Vec<TensorRows<'static>> {
        let Self { inner_size, num_key_heads, key_dim, .. } = *self;
        if !is_fused {
            let [qkv, gate] = [("attn_qkv", self.channels()), ("attn_gate", inner_size)];
            return vec![TensorRows::all(qkv.0, qkv.1), TensorRows::all(gate.0, gate.1)];
        }
        let group = inner_size / num_key_heads;
        let (period, rows) = (2 * key_dim + 2 * group, self.channels() + inner_size);
        let starts = [(0, key_dim), (key_dim, key_dim), (2 * key_dim, group)];
        let gates = (2 * key_dim + group, group);
        let parts = starts.into_iter().chain([gates]);
        parts.map(|(first, len)| TensorRows::periodic("ssm_in", rows, period, first, len)).collect()
    }
}

impl SpecBuilder<'_> {
    /// The recurrent mixer of a layer that is number `index` of those.
    pub(super) fn recurrent(
        &self,
        tensors: TensorFinder<'_>,
        kind: RecurrentKind,
        index: usize,
    ) -> Result<RecurrentSpec, ModelError> {
        match kind {
            RecurrentKind::DeltaNet => self.delta_net(tensors, index),
            RecurrentKind::KimiDeltaNet => self.kimi_delta_net(tensors, index),
            RecurrentKind::ShortConv => self.short_conv(tensors, index),
            RecurrentKind::Mamba1 => self.mamba1(tensors, index),
            RecurrentKind::Mamba2 { min_step } => self.mamba2(tensors, index, min_step),
        }
    }

    fn delta_net(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
    ) -> Result<RecurrentSpec, ModelError> {
        let sizes = HeadSizes::from_keys(self.keys)?;
        let HeadSizes { inner_size, num_heads, num_key_heads, key_dim } = sizes;
        let channels = sizes.channels();
        let steps = channels + inner_size;
        let mut parts = sizes.delta_net_inputs(tensors.contains("ssm_in.weight"));
        // Strengths and steps of each key head's value heads follow one another in one of the formats.
        let are_grouped = tensors.contains("ssm_ba.weight");
        match are_grouped {
            true => {
                let group = num_heads / num_key_heads;
                parts.extend([1, 0].map(|first| {
                    TensorRows::periodic("ssm_ba", 2 * num_heads, 2 * group, first * group, group)
                }));
            }
            false => {
                parts.extend(["ssm_alpha", "ssm_beta"].map(|name| TensorRows::all(name, num_heads)))
            }
        }
        let value_dim = inner_size / num_heads;
        Ok(RecurrentSpec {
            input: tensors.rows_of_tensors(&parts, self.hidden_size)?,
            conv: self.conv(tensors, SSM_CONV, index, channels, 0)?,
            scan: Some(ScanSpec::LinearAttention(LinearAttentionSpec {
                params: LinearAttentionParams {
                    layer: index,
                    num_heads,
                    num_key_heads,
                    key_dim,
                    value_dim,
                    queries: 0,
                    keys: sizes.keys_size(),
                    values: 2 * sizes.keys_size(),
                    are_grouped,
                    steps: DecaySteps::PerHead { column: steps },
                    min_step: 0.0,
                    rule: WriteRule::Delta { eps: DELTA_EPS, strengths: steps + num_heads },
                },
                rates: tensors.vector("ssm_a", 1, num_heads)?,
                step_bias: tensors.vector("ssm_dt.bias", 1, num_heads)?,
                skip: None,
                norm: GatedNormSpec {
                    gate_column: channels,
                    function: Function::Silu,
                    weight: Some(tensors.vector("ssm_norm.weight", 1, value_dim)?),
                    extent: value_dim,
                    eps: self.eps,
                    is_gate_first: false,
                },
                low_rank_gates: None,
            })),
            output: tensors.linear("ssm_out", self.hidden_size, inner_size)?,
        })
    }

    fn mamba2(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
        min_step: f32,
    ) -> Result<RecurrentSpec, ModelError> {
        let sizes = HeadSizes::from_keys(self.keys)?;
        let HeadSizes { inner_size, num_heads, num_key_heads, key_dim } = sizes;
        let channels = sizes.channels();
        let extent = inner_size / num_key_heads;
        let norm = match tensors.contains("ssm_norm.weight") {
            true => Some(tensors.flat_vector("ssm_norm.weight", num_key_heads, extent)?),
            false => None,
        };
        Ok(RecurrentSpec {
            input: tensors.linear("ssm_in", inner_size + channels + num_heads, self.hidden_size)?,
            conv: self.conv(tensors, SSM_CONV, index, channels, inner_size)?,
            scan: Some(ScanSpec::LinearAttention(LinearAttentionSpec {
                params: LinearAttentionParams {
                    layer: index,
                    num_heads,
                    num_key_heads,
                    key_dim,
                    value_dim: inner_size / num_heads,
                    queries: inner_size + sizes.keys_size(),
                    keys: inner_size,
                    values: 0,
                    are_grouped: true,
                    steps: DecaySteps::PerHead { column: inner_size + channels },
                    min_step,
                    rule: WriteRule::Additive,
                },
                rates: tensors.flat_vector("ssm_a", num_heads, 1)?,
                step_bias: tensors.vector("ssm_dt.bias", 1, num_heads)?,
                skip: Some(tensors.flat_vector("ssm_d", num_heads, 1)?),
                norm: GatedNormSpec {
                    gate_column: 0,
                    function: Function::Silu,
                    weight: norm,
                    extent,
                    eps: self.eps,
                    is_gate_first: true,
                },
                low_rank_gates: None,
            })),
            output: tensors.linear("ssm_out", self.hidden_size, inner_size)?,
        })
    }

    fn short_conv(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
    ) -> Result<RecurrentSpec, ModelError> {
        let size = self.hidden_size;
        let names = ConvNames { tensor: "shortconv.conv", taps_key: "shortconv.l_cache" };
        let mut conv = self.conv(tensors, names, index, size, 2 * size)?;
        let (input_gate, output_gate) = (Some(0), Some(size));
        conv.params = ConvParams { input_gate, output_gate, silu: false, ..conv.params };
        Ok(RecurrentSpec {
            input: tensors.linear("shortconv.in_proj", 3 * size, size)?,
            conv,
            scan: None,
            output: tensors.linear("shortconv.out_proj", size, size)?,
        })
    }

    /// A convolution with SiLU of the columns from `input` on.
    pub(super) fn conv(
        &self,
        tensors: TensorFinder<'_>,
        names: ConvNames,
        layer: usize,
        channels: usize,
        input: usize,
    ) -> Result<ConvSpec, ModelError> {
        let params = self.conv_params(names, layer, channels, input)?;
        let (tensor, taps) = (names.tensor, params.taps);
        Ok(ConvSpec {
            params,
            taps: tensors.vector(&format!("{tensor}.weight"), channels, taps)?,
            bias: tensors.optional_vector(&format!("{tensor}.bias"), channels)?,
        })
    }

    pub(super) fn conv_params(
        &self,
        names: ConvNames,
        layer: usize,
        channels: usize,
        input: usize,
    ) -> Result<ConvParams, ModelError> {
        let ConvNames { taps_key, .. } = names;
        let taps = self.keys.positive(taps_key)?;
        if taps > ConvParams::MAX_TAPS {
            let expected = format!("at most {}", ConvParams::MAX_TAPS);
            return Err(self.keys.invalid(taps_key, expected, taps));
        }
        let (input_gate, output_gate) = (None, None);
        Ok(ConvParams { layer, channels, taps, input, input_gate, output_gate, silu: true })
    }
}
