//! The delta net of Kimi Linear.

use inferno_backend::{DecaySteps, Function, LinearAttentionParams, WriteRule};

use super::SpecBuilder;
use super::recurrent::{DELTA_EPS, SSM_CONV};
use crate::ModelError;
use crate::spec::recurrent::{
    ConvSpec, GatedNormSpec, LinearAttentionSpec, LowRankGatesSpec, LowRankProductSpec,
    RecurrentSpec, ScanSpec,
};
use crate::spec::tensors::{TensorFinder, TensorRows};

impl SpecBuilder<'_> {
    /// The mixer of the layer that is number `index` of those with one.
    pub(super) fn kimi_delta_net(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
    ) -> Result<RecurrentSpec, ModelError> {
        let num_heads = self.keys.positive("attention.head_count")?;
        let head_dim = self.keys.positive("kda.head_dim")?;
        let (size, inner_size) = (self.hidden_size, num_heads * head_dim);
        let channels = 3 * inner_size;
        let mut parts = match tensors.contains("attn_qkv.weight") {
            true => vec![TensorRows::all("attn_qkv", channels)],
            false => {
                let names = ["attn_q", "attn_k", "attn_v"];
                names.map(|name| TensorRows::all(name, inner_size)).into()
            }
        };
        parts.push(TensorRows::all("ssm_beta", num_heads));
        let params = self.conv_params(SSM_CONV, index, channels, 0)?;
        // A convolution for each of queries, keys and values.
        let convs = ["ssm_conv1d_q.weight", "ssm_conv1d_k.weight", "ssm_conv1d_v.weight"];
        let low_rank = |down, up| -> Result<_, ModelError> {
            Ok(LowRankProductSpec {
                down: tensors.linear(down, head_dim, size)?,
                up: tensors.linear(up, inner_size, head_dim)?,
            })
        };
        Ok(RecurrentSpec {
            input: tensors.rows_of_tensors(&parts, size)?,
            conv: ConvSpec {
                params,
                taps: tensors.flat_vectors(&convs, [inner_size, 1, params.taps])?,
                bias: None,
            },
            scan: Some(ScanSpec::LinearAttention(LinearAttentionSpec {
                params: LinearAttentionParams {
                    layer: index,
                    num_heads,
                    num_key_heads: num_heads,
                    key_dim: head_dim,
                    value_dim: head_dim,
                    queries: 0,
                    keys: inner_size,
                    values: 2 * inner_size,
                    are_grouped: true,
                    steps: DecaySteps::PerComponent,
                    min_step: 0.0,
                    rule: WriteRule::Delta { eps: DELTA_EPS, strengths: channels },
                },
                rates: tensors.flat_vector("ssm_a", num_heads, 1)?,
                step_bias: tensors.vector("ssm_dt.bias", 1, inner_size)?,
                skip: None,
                norm: GatedNormSpec {
                    gate_column: 0,
                    function: Function::Sigmoid,
                    weight: Some(tensors.vector("ssm_norm.weight", 1, head_dim)?),
                    extent: head_dim,
                    eps: self.eps,
                    is_gate_first: false,
                },
                low_rank_gates: Some(LowRankGatesSpec {
                    steps: low_rank("ssm_f_a", "ssm_f_b")?,
                    gates: low_rank("ssm_g_a", "ssm_g_b")?,
                }),
            })),
            output: tensors.linear("attn_output", size, inner_size)?,
        })
    }
}
