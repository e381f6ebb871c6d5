//! What follows the pooling of hidden states: a classifier, projections.

use super::SpecBuilder;
use crate::ModelError;
use crate::arch::architecture::{ClassifierActivation, ClassifierPooling};
use crate::spec::pooled::{ClassifierSpec, DenseSpec, PooledSpec};

impl SpecBuilder<'_> {
    pub(super) fn pooled(&self) -> Result<PooledSpec, ModelError> {
        let mut projections = Vec::new();
        let mut width = self.hidden_size;
        for name in ["dense_2", "dense_3"] {
            if let Some(dense) = self.dense(name, width)? {
                width = dense.weight.rows;
                projections.push(dense);
            }
        }
        Ok(PooledSpec { classifier: self.classifier()?, projections })
    }

    fn classifier(&self) -> Result<Option<ClassifierSpec>, ModelError> {
        let facts = self.facts.classifier;
        let dense = self.dense("cls", self.hidden_size)?;
        let width = dense.as_ref().map_or(self.hidden_size, |dense| dense.weight.rows);
        let output = self.dense("cls.output", width)?;
        if dense.is_none() && output.is_none() {
            return Ok(None);
        }
        const POOLING: &str = "classifier.pooling_type";
        // The numbers of llama.cpp's pooling types.
        let pooling = match self.keys.optional::<u32>(POOLING)? {
            None | Some(0) => facts.pooling,
            Some(1) => ClassifierPooling::Mean,
            Some(2) => ClassifierPooling::One,
            Some(found) => return Err(self.keys.invalid(POOLING, "1 (mean) or 2 (CLS)", found)),
        };
        const ACTIVATION: &str = "classifier.activation";
        let activation = match self.keys.optional::<String>(ACTIVATION)?.as_deref() {
            None => facts.activation,
            Some("tanh") => ClassifierActivation::Tanh,
            Some("gelu") => ClassifierActivation::Gelu,
            Some("relu") => ClassifierActivation::Relu,
            Some(found) => {
                return Err(self.keys.invalid(ACTIVATION, "tanh, gelu or relu", found));
            }
        };
        let norm = match self.tensors.contains("cls.norm.weight") {
            true => Some(self.norm(self.tensors, "cls.norm", width)?),
            false => None,
        };
        let num_outputs = output.as_ref().map_or(width, |output| output.weight.rows);
        Ok(Some(ClassifierSpec {
            pooling,
            dense: dense.map(|dense| (dense, activation)),
            norm,
            output,
            // Of a single output, a softmax would be 1.
            has_softmax: facts.has_softmax && num_outputs > 1,
            labels: self.keys.strings("classifier.output_labels")?,
        }))
    }

    /// The product `name`, which reads rows of `cols` values, if the file has it.
    fn dense(&self, name: &str, cols: usize) -> Result<Option<DenseSpec>, ModelError> {
        let weight = format!("{name}.weight");
        let Some(info) = self.tensors.get(&weight) else { return Ok(None) };
        let rows = info.dims().get(1).copied().unwrap_or(1);
        Ok(Some(DenseSpec {
            weight: self.tensors.vector(&weight, rows, cols)?,
            bias: self.tensors.optional_vector(&format!("{name}.bias"), rows)?,
        }))
    }
}
