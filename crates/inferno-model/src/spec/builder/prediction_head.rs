//! The prediction head of a model.

use super::SpecBuilder;
use super::layers::MixerPlaces;
use crate::ModelError;
use crate::spec::prediction_head::FusionSpec;
use crate::spec::unused::UnusedTensors;
use crate::spec::{InputSpec, ModelSpec, OutputSpec};

impl SpecBuilder<'_> {
    /// The prediction head of the model `whole` in block `layer`.
    pub(in crate::spec) fn build_prediction_head(
        self,
        whole: ModelSpec,
        layer: usize,
    ) -> Result<ModelSpec, ModelError> {
        let (tensors, hidden_size) = (self.tensors.in_layer(layer), self.hidden_size);
        let vocab_size = whole.vocab_size;
        let (Some(input), Some(output)) = (whole.input, whole.output) else {
            unreachable!("a whole model has both");
        };
        let embeddings = match tensors.contains("nextn.embed_tokens.weight") {
            true => tensors.table("nextn.embed_tokens.weight", vocab_size, hidden_size)?,
            false => input.embeddings,
        };
        let shares_head = !tensors.contains("nextn.shared_head_head.weight");
        let head = match shares_head {
            true => output.head,
            false => Some(tensors.linear("nextn.shared_head_head", vocab_size, hidden_size)?),
        };
        let norm = match tensors.contains("nextn.shared_head_norm.weight") {
            true => Some(self.norm(tensors, "nextn.shared_head_norm", hidden_size)?),
            false => output.norm,
        };
        let fusion = FusionSpec {
            embedding_norm: self.norm(tensors, "nextn.enorm", hidden_size)?,
            hidden_norm: self.norm(tensors, "nextn.hnorm", hidden_size)?,
            projection: tensors.linear("nextn.eh_proj", hidden_size, 2 * hidden_size)?,
            shares_head,
        };
        Ok(ModelSpec {
            input: Some(InputSpec { embeddings, ..input }),
            fusion: Some(fusion),
            streams: None,
            layer_embeddings: None,
            layers: vec![self.layer(layer, &mut MixerPlaces::default())?],
            first_layer: layer,
            output: Some(OutputSpec { norm, head, ..output }),
            unused_tensors: UnusedTensors::outside_layer(layer),
            ..whole
        })
    }
}
