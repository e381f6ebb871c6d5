//! Files with every tensor of an architecture and edited metadata.

use std::sync::Arc;

use inferno_backend::{KvDType, ReferenceBackend};
use inferno_gguf::{Gguf, Metadata};
use inferno_model::{Model, ModelError, ModelSpec, TokenCost};

use super::file::File;
use super::synthetic::synthetic;
use super::{Feed, logits};

/// A file with every tensor of the architecture, and other metadata afterwards.
pub fn edited(architecture: &str, edit: impl FnOnce(&mut Metadata)) -> Gguf {
    let mut file = File::of_bytes(synthetic(architecture));
    edit(&mut file.metadata);
    file.write()
}

/// The key and the found value of an invalid configuration.
pub fn invalid(file: &Gguf) -> (String, String) {
    match ModelSpec::from_checkpoint(file) {
        Err(ModelError::InvalidConfig { key, found, .. }) => (key, found),
        other => panic!("{other:?}"),
    }
}

/// The description of a valid model.
pub fn spec(file: &Gguf) -> ModelSpec {
    ModelSpec::from_checkpoint(file).expect("a valid model")
}

/// The length of the window of each layer with attention.
pub fn windows(spec: &ModelSpec) -> Vec<Option<usize>> {
    let cost = TokenCost::estimate(spec, &ReferenceBackend::new(), None, KvDType::F32);
    cost.expect("a cost").attention.iter().map(|attention| attention.window).collect()
}

/// The logits after each token of a prompt.
pub fn compute(file: &Gguf) -> Vec<Vec<f32>> {
    let tokens: Vec<u32> = (0..13).map(|i| i * 7 % 40).collect();
    let model = Model::load(file, Arc::new(ReferenceBackend::new()), None, &mut |_| ());
    logits(&model.expect("a valid model"), &tokens, Feed::Whole)
}
