//! Whether a backend can compute a model.

use inferno_backend::{Backend, KvDType, Requirement};

use crate::spec::layer::LayerSpec;
use crate::spec::recurrent::ScanSpec;
use crate::{ModelError, ModelSpec, Requantize};

/// Returns why a backend cannot compute something; `None` if it can.
type Unsupported<'a> = dyn Fn(&Requirement<'_>) -> Option<String> + 'a;

impl ModelSpec {
    /// Checks that `backend` can compute the model or the stage, with keys and values in the format `kv_dtype`. Reads no
    /// tensors.
    ///
    /// **Errors**: [`ModelError::Unsupported`]; a cache format that does not fit the heads.
    pub fn check_support<B: Backend>(
        &self,
        backend: &B,
        requantize: Option<Requantize>,
        kv_dtype: KvDType,
    ) -> Result<(), ModelError> {
        self.kv_layout(0, kv_dtype).block_bytes()?;
        let unsupported = |requirement: &Requirement<'_>| backend.unsupported(requirement);
        match self.find_unsupported(&unsupported, requantize, kv_dtype) {
            None => Ok(()),
            Some((what, reason)) => {
                Err(ModelError::Unsupported { what, backend: backend.describe(), reason })
            }
        }
    }

    /// The first tensor or layer that is not supported, and the reason.
    fn find_unsupported(
        &self,
        unsupported: &Unsupported<'_>,
        requantize: Option<Requantize>,
        kv_dtype: KvDType,
    ) -> Option<(String, String)> {
        let parts = self.matrices().flat_map(|usage| {
            let cols = usage.matrix.cols;
            usage.matrix.parts.iter().map(move |part| (part, cols))
        });
        for (part, cols) in parts {
            if let Some(reason) = unsupported(&Requirement::Weight(part.target(requantize, cols))) {
                return Some((format!("tensor {:?}", part.name), reason));
            }
        }
        (self.first_layer..).zip(&self.layers).find_map(|(index, layer)| {
            let reason = layer.requirements(kv_dtype).find_map(|needed| unsupported(&needed))?;
            Some((format!("layer {index}"), reason))
        })
    }
}

impl LayerSpec {
    /// What the layer requires, except for the formats of weights.
    fn requirements(&self, kv_dtype: KvDType) -> impl Iterator<Item = Requirement<'_>> {
        let attention = self.attention().into_iter();
        let attention = attention.map(move |spec| Requirement::Attention(spec.heads, kv_dtype));
        let experts = self.linears().into_iter().map(|linear| linear.weight.num_experts);
        let experts = experts.filter(|&number| number > 1).map(Requirement::Experts);
        let scan = self.recurrent().and_then(|spec| spec.scan.as_ref());
        let scan = scan.map(|scan| match scan {
            ScanSpec::LinearAttention(spec) => Requirement::LinearAttention(&spec.params),
            ScanSpec::Selective(spec) => Requirement::SelectiveScan(&spec.params),
        });
        attention.chain(experts).chain(scan)
    }
}

#[cfg(test)]
mod tests {
    use inferno_gguf::Gguf;
    use inferno_tensor::DType;

    use super::*;

    fn spec(name: &str) -> ModelSpec {
        let path = format!("{}/tests/fixtures/{name}.gguf", env!("CARGO_MANIFEST_DIR"));
        ModelSpec::from_checkpoint(&Gguf::open(path).expect("a fixture")).expect("a sound model")
    }

    /// The first thing that a backend without support for what `is_unsupported` selects cannot compute.
    fn first(name: &str, is_unsupported: impl Fn(&Requirement<'_>) -> bool) -> Option<String> {
        let unsupported =
            |requirement: &Requirement<'_>| is_unsupported(requirement).then(String::new);
        let found = spec(name).find_unsupported(&unsupported, None, KvDType::F16);
        found.map(|(what, _)| what)
    }

    #[test]
    fn the_tensor_or_layer_is_named() {
        let is_q8_0 = |needed: &Requirement<'_>| matches!(needed, Requirement::Weight(DType::Q8_0));
        let is_weight = |needed: &Requirement<'_>| matches!(needed, Requirement::Weight(_));
        let is_attention = |needed: &Requirement<'_>| matches!(needed, Requirement::Attention(heads, KvDType::F16) if heads.head_dim > 1);
        let is_mixture = |needed: &Requirement<'_>| matches!(needed, Requirement::Experts(_));
        let is_scan = |needed: &Requirement<'_>| {
            matches!(needed, Requirement::LinearAttention(_) | Requirement::SelectiveScan(_))
        };
        assert_eq!(first("qwen3", is_q8_0), None);
        assert!(first("qwen3", is_weight).is_some_and(|what| what.starts_with("tensor \"")));
        assert_eq!(first("qwen3", is_attention).as_deref(), Some("layer 0"));
        assert_eq!(first("qwen3", is_mixture), None);
        assert_eq!(first("qwen3moe", is_mixture).as_deref(), Some("layer 0"));
        assert_eq!(first("qwen3", is_scan), None);
        assert_eq!(first("falcon-mamba", is_scan).as_deref(), Some("layer 0"));
        assert_eq!(first("falcon-mamba", is_attention), None);
    }
}
