//! How a model is divided between a GPU and the CPU.

use inferno_backend::KvDType;
use inferno_gguf::Gguf;
use inferno_gpu::GpuBackend;
use inferno_model::ModelSpec;

use super::{DraftFile, Part};
use crate::{Error, LoadOptions};

/// What a GPU computes of a model, and what the CPU does.
pub(super) struct Division {
    /// The whole model.
    pub(super) spec: ModelSpec,
    pub(super) split: Split,
    /// With a format of the KV cache.
    pub(super) options: LoadOptions,
    /// Memory that the GPU's part needs, in bytes.
    pub(super) gpu_bytes: usize,
    /// Why the first division that the GPU does not support is not possible.
    obstacle: Option<String>,
}

/// Why less of a model is on a GPU than was planned.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fallback {
    #[error("failed to load the model on the GPU as planned: {0}")]
    Failed(Error),
    #[error("the GPU does not support the model: {0}")]
    Unsupported(String),
    #[error("the memory of the GPU holds no layer of the model")]
    TooSmall,
}

/// A division of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    /// The first layer on the GPU; the CPU computes those before it.
    pub(super) first_on_gpu: usize,
    /// Number of layers of the model, the first ones, whose experts the CPU computes.
    pub(super) cpu_experts: usize,
}

/// The parts of a model: the first layers on the CPU, the others on the GPU without the experts that the CPU computes.
pub(super) struct Parts {
    pub(super) cpu: Option<ModelSpec>,
    pub(super) gpu: Option<ModelSpec>,
    pub(super) cpu_experts: Option<ModelSpec>,
}

impl Division {
    /// Chooses the first division of a model, in the order of [`splits`], whose part for the GPU fits in `usable_bytes` of
    /// its memory; the last one if none does.
    ///
    /// **Errors**: an unknown architecture, invalid metadata, a chosen division with a layer that the GPU does not support.
    pub(super) fn new(
        checkpoint: &Gguf,
        options: &LoadOptions,
        gpu: &GpuBackend,
        usable_bytes: Option<usize>,
    ) -> Result<Self, Error> {
        let spec = ModelSpec::from_checkpoint(checkpoint)?;
        let options = LoadOptions {
            // The CPU's default has no advantage on a GPU.
            kv_dtype: options.kv_dtype.or(Some(KvDType::F16)),
            ..*options
        };
        let kv_dtype = options.kv_dtype.unwrap_or_else(|| spec.default_kv_dtype());
        let gpu_bytes = |split: Split| match split.parts(&spec)?.gpu {
            None => Ok::<_, Error>(0),
            Some(stage) => {
                stage.check_support(gpu, options.requantize, kv_dtype)?;
                let part = Part { checkpoint, spec: &spec, options: &options };
                Ok(part.footprint(gpu, &stage)?.device_bytes())
            }
        };
        let usable_bytes = usable_bytes.unwrap_or(usize::MAX);
        let (mut obstacle, mut chosen) = (None, None);
        for split in splits(&spec, &options) {
            let bytes = gpu_bytes(split);
            let fits = matches!(bytes, Ok(bytes) if bytes <= usable_bytes);
            // Where less of the model is on the GPU, it was too large before.
            if let (Err(error), None) = (&bytes, &chosen) {
                obstacle = Some(error.to_string());
            }
            chosen = Some((split, bytes));
            if fits {
                break;
            }
        }
        let (split, gpu_bytes) = chosen.expect("a model can be on one device");
        let gpu_bytes = gpu_bytes?;
        Ok(Self { spec, split, options, gpu_bytes, obstacle })
    }

    /// Divides as [`new`](Self::new) does, and leaves room for a `draft` model, unless all layers of the model fit without
    /// that room alone: the draft model then has what they leave.
    ///
    /// **Errors**: as [`new`](Self::new), for both models.
    pub(super) fn with_draft(
        checkpoint: &Gguf,
        options: &LoadOptions,
        gpu: &GpuBackend,
        usable_bytes: Option<usize>,
        draft: Option<DraftFile<'_>>,
    ) -> Result<Self, Error> {
        let alone = || Self::new(checkpoint, options, gpu, usable_bytes);
        let (Some(bytes), Some(draft)) = (usable_bytes, draft) else { return alone() };
        let draft = Self::new(draft.checkpoint, &draft.options, gpu, usable_bytes)?;
        let rest = bytes.saturating_sub(draft.gpu_bytes);
        let with_room = Self::new(checkpoint, options, gpu, Some(rest))?;
        match with_room.has_all_layers_on_gpu() {
            true => Ok(with_room),
            false => Ok(Some(alone()?).filter(Self::has_all_layers_on_gpu).unwrap_or(with_room)),
        }
    }

    /// Whether the GPU computes all layers, except for experts.
    pub(super) fn has_all_layers_on_gpu(&self) -> bool {
        self.split.first_on_gpu == 0
    }

    /// Why the CPU computes everything, unless the options request that.
    pub(super) fn fallback(&self) -> Option<Fallback> {
        let is_requested = self.options.gpu_layers == Some(0);
        (self.is_on_cpu() && !is_requested).then(|| match &self.obstacle {
            Some(obstacle) => Fallback::Unsupported(obstacle.clone()),
            None => Fallback::TooSmall,
        })
    }

    /// Whether the CPU computes everything.
    pub(super) fn is_on_cpu(&self) -> bool {
        self.split.first_on_gpu == self.spec.num_layers()
    }
}

impl Split {
    /// **Errors**: [`Indivisible`](inferno_model::ModelError::Indivisible).
    pub(super) fn parts(self, spec: &ModelSpec) -> Result<Parts, Error> {
        let Self { first_on_gpu: first, cpu_experts } = self;
        let num_layers = spec.num_layers();
        let cpu = (first > 0).then(|| spec.stage(0..first)).transpose()?;
        let gpu = (first < num_layers).then(|| spec.stage(first..num_layers)).transpose()?;
        let separated = gpu.as_ref().and_then(|stage| stage.separate_experts(0..cpu_experts));
        Ok(match separated {
            Some((rest, experts)) => Parts { cpu, gpu: Some(rest), cpu_experts: Some(experts) },
            None => Parts { cpu, gpu, cpu_experts: None },
        })
    }
}

/// The divisions that the options allow, the preferred one first: as much as possible on the GPU, then without the experts
/// of some layers, which are most of the weights but little of the work, then without layers.
fn splits(spec: &ModelSpec, options: &LoadOptions) -> Vec<Split> {
    let num_layers = spec.num_layers();
    let split = |first_on_gpu, cpu_experts| Split { first_on_gpu, cpu_experts };
    match (options.gpu_layers, options.cpu_experts) {
        (Some(number), experts) => {
            vec![split(num_layers - number.min(num_layers), experts.unwrap_or(0))]
        }
        (None, None) if spec.has_separable_experts() => {
            let without_experts = (0..=num_layers).map(|experts| split(0, experts));
            without_experts.chain((1..=num_layers).map(|first| split(first, num_layers))).collect()
        }
        (None, experts) => {
            (0..=num_layers).map(|first| split(first, experts.unwrap_or(0))).collect()
        }
    }
}
