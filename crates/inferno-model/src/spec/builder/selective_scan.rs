//! The mixer of Mamba 1.

use inferno_backend::SelectiveScanParams;

use super::SpecBuilder;
use super::recurrent::SSM_CONV;
use crate::ModelError;
use crate::spec::recurrent::{RecurrentSpec, ScanSpec, SelectionNormsSpec, SelectiveScanSpec};
use crate::spec::tensors::{TensorFinder, TensorRows};

/// Epsilon of the norms of Falcon Mamba, which files do not contain.
const UNWEIGHTED_EPS: f32 = 1e-6;

impl SpecBuilder<'_> {
    /// The mixer of the layer that is number `index` of those with one.
    pub(super) fn mamba1(
        &self,
        tensors: TensorFinder<'_>,
        index: usize,
    ) -> Result<RecurrentSpec, ModelError> {
        let keys = self.keys;
        let channels = keys.positive("ssm.inner_size")?;
        let state_size = keys.positive("ssm.state_size")?;
        let rank = keys.positive("ssm.time_step_rank")?;
        let num_rows = rank + 2 * state_size;
        let selection =
            |rows| tensors.rows_of_tensors(&[TensorRows::range("ssm_x", num_rows, rows)], channels);
        Ok(RecurrentSpec {
            input: tensors.linear("ssm_in", 2 * channels, self.hidden_size)?,
            conv: self.conv(tensors, SSM_CONV, index, channels, 0)?,
            scan: Some(ScanSpec::Selective(SelectiveScanSpec {
                params: SelectiveScanParams { layer: index, channels, state_size },
                selection: selection(rank..num_rows)?,
                step_down: selection(0..rank)?,
                step_up: tensors.linear("ssm_dt", channels, rank)?,
                norms: self.selection_norms(tensors, rank, state_size)?,
                rates: tensors.vector("ssm_a", channels, state_size)?,
                skip: tensors.vector("ssm_d", 1, channels)?,
                gate_column: channels,
            })),
            output: tensors.linear("ssm_out", self.hidden_size, channels)?,
        })
    }

    /// The norms of Jamba have weights, those of Falcon Mamba have none; Mamba itself has no norms.
    fn selection_norms(
        &self,
        tensors: TensorFinder<'_>,
        rank: usize,
        state_size: usize,
    ) -> Result<Option<SelectionNormsSpec>, ModelError> {
        let has_norms = self.keys.optional("ssm.dt_b_c_rms")?.unwrap_or(false);
        if tensors.contains("ssm_dt_norm.weight") {
            let norm = |name, len| tensors.vector(name, 1, len);
            let weights = [
                norm("ssm_dt_norm.weight", rank)?,
                norm("ssm_b_norm.weight", state_size)?,
                norm("ssm_c_norm.weight", state_size)?,
            ];
            return Ok(Some(SelectionNormsSpec { weights: Some(weights), eps: self.eps }));
        }
        Ok(has_norms.then_some(SelectionNormsSpec { weights: None, eps: UNWEIGHTED_EPS }))
    }
}
