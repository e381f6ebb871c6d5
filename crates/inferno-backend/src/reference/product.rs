//! Weights in single precision and products with one row of activations.

use inferno_tensor::Tensor;

use super::arithmetic::{add, combine, dot, zeros};
use crate::{BackendError, Gate, WeightPart};

/// Weights in single precision: experts x rows x columns.
#[derive(Debug)]
pub struct ReferenceWeight(Tensor<f32>);

impl ReferenceWeight {
    /// Decodes stacked parts.
    ///
    /// **Errors**: parts that cannot be stacked or decoded, out of memory.
    pub(super) fn load(parts: &[WeightPart]) -> Result<Self, BackendError> {
        let (num_experts, rows, cols) = WeightPart::stacked_shape(parts)?;
        let mut weight = zeros(&[num_experts, rows, cols], "weights")?;
        for expert in 0..num_experts {
            let sources =
                parts.iter().flat_map(|part| (0..part.rows()).map(move |row| (part, row)));
            for (stacked_row, (part, row)) in sources.enumerate() {
                let target = &mut weight[[expert, stacked_row]];
                part.decode_row(expert, row, target)?;
            }
        }
        Ok(Self(weight))
    }

    /// `out = weight[expert] * x` for one row of activations.
    pub(super) fn multiply(&self, expert: usize, x: &[f32], out: &mut [f32]) {
        for (row, out) in out.iter_mut().enumerate() {
            *out = dot(x, &self.0[[expert, row]]) as f32;
        }
    }

    /// The gated product of one row of activations.
    pub(super) fn multiply_gated(
        &self,
        expert: usize,
        x: &[f32],
        bias: Option<&[f32]>,
        gate: Gate,
        out: &mut [f32],
    ) {
        let mut sums = vec![0.0; 2 * out.len()];
        assert_eq!(self.0.shape().dims()[1], sums.len(), "a gate and an up row per output");
        self.multiply(expert, x, &mut sums);
        if let Some(bias) = bias {
            add(bias, &mut sums);
        }
        let (gates, ups) = sums.split_at(out.len());
        for ((out, &x), &up) in out.iter_mut().zip(gates).zip(ups) {
            *out = combine(gate, x, up);
        }
    }
}
