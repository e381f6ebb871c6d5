//! Conversion of Hugging Face checkpoints to GGUF.
//!
//! A checkpoint is a folder with `config.json`, weights in safetensors files, and the files of a tokenizer.
//! [`Conversion::open`] finds out what each tensor becomes, without reading any; [`Conversion::into_gguf`] presents the
//! result as an open GGUF file whose payloads are computed from the mapped files when they are read. So a model can be
//! loaded, quantized or written, tensor by tensor or in smaller parts, and no tensor is in memory twice.
//!
//! Names, shapes and values of tensors are those that llama.cpp's converter writes, and so are the metadata, with a few keys
//! that it omits.
//!
//! ```no_run
//! use inferno_convert::{Conversion, ConvertOptions};
//!
//! let conversion = Conversion::open("Qwen3-0.6B".as_ref(), &ConvertOptions::default())?;
//! conversion.notes().iter().for_each(|note| eprintln!("note: {note}"));
//! let gguf = conversion.into_gguf()?;
//! println!("{} tensors", gguf.tensors().len());
//! # Ok::<(), inferno_convert::ConvertError>(())
//! ```
//!
//! **To add a family**, write its facts in a file in `families/`: the names of its classes, what its metadata are copied
//! from, and the tensors whose names are not in `names.rs`. Views of tensors that others need as well are in
//! `transforms.rs`.

#![forbid(unsafe_code)]

mod config;
mod dense;
mod error;
mod families;
mod family;
mod general;
mod json;
mod kept_codes;
mod keys;
mod lazy;
mod names;
mod payloads;
mod plan;
mod pooling;
mod quantization;
mod quantized;
mod read;
mod rope;
mod sources;
mod tokenizer;
mod transforms;
mod weights;

use std::path::Path;
use std::sync::Arc;

use inferno_gguf::{Gguf, Metadata};
use inferno_tensor::DType;

pub use error::ConvertError;
pub use plan::WeightType;

use config::Config;
use family::Context;
use keys::Keys;
use payloads::ConvertedPayloads;
use sources::Sources;
use weights::Weights;

/// Version of the block formats, as in all files with a `general.file_type`.
const QUANTIZATION_VERSION: u32 = 2;

/// Options of a conversion.
#[derive(Debug, Clone)]
pub struct ConvertOptions {
    /// The type of weights.
    pub weight_type: WeightType,
    /// The value of `tokenizer.ggml.pre`; `None` to find it.
    pub pre_tokenizer: Option<String>,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self { weight_type: WeightType::Auto, pre_tokenizer: None }
    }
}

/// A checkpoint whose conversion is known, but not computed yet.
#[derive(Debug)]
pub struct Conversion {
    metadata: Metadata,
    payloads: ConvertedPayloads,
    notes: Vec<String>,
}

/// Whether a path is a folder, and so meant to be a checkpoint instead of a GGUF file.
pub fn is_checkpoint(path: &Path) -> bool {
    path.is_dir()
}

/// The names of the model classes that can be converted, sorted.
pub fn supported_classes() -> Vec<&'static str> {
    families::known_classes()
}

impl Conversion {
    /// Reads the headers of all files in `folder`.
    ///
    /// **Errors**: [`ConvertError`], whose messages name the file, key or tensor.
    pub fn open(folder: &Path, options: &ConvertOptions) -> Result<Self, ConvertError> {
        let mut config = Config::read(folder)?;
        let family = families::family(&mut config, folder)?;
        let mut config = config.with_defaults(family.defaults);
        (family.prepare)(&mut config)?;
        let mut weights = Weights::open(folder)?;
        match family.has_projections {
            true => {
                for projection in dense::projections(folder)? {
                    weights.add(&projection.path, projection.name)?;
                }
            }
            false => dense::check_none(folder)?,
        }
        let sources = Sources::new(weights, &config)?;
        let context = Context { config: &config, sources: &sources, folder };
        let (keys, constants) = Keys::write(&context, family)?;
        let plan = plan::plan(&context, family, options.weight_type, constants)?;

        let mut metadata = general::metadata(folder, family.architecture, &plan.tensors)?;
        for (key, value) in keys.iter() {
            metadata.insert(key, value.clone());
        }
        metadata.insert("general.file_type", file_type(&plan.tensors));
        metadata.insert("general.quantization_version", QUANTIZATION_VERSION);
        let pre_tokenizer = options.pre_tokenizer.as_deref();
        let mut notes = tokenizer::convert(&context, family, pre_tokenizer, &mut metadata)?;
        if plan.num_other_modalities > 0 {
            notes.push(match plan.num_other_modalities {
                1 => {
                    "1 tensor of encoders for images or audio is not part of the result".to_owned()
                }
                count => format!(
                    "{count} tensors of encoders for images or audio are not part of the result"
                ),
            });
        }
        // The pooler of BERT was trained for another task than embeddings, and nearly all files have it.
        let mut skipped = plan.skipped.iter().filter(|name| !name.contains("pooler."));
        if let Some(first) = skipped.next() {
            notes.push(match skipped.count() {
                0 => format!("{first} is left out of the result"),
                1 => format!("{first} and another tensor are left out of the result"),
                more => format!("{first} and {more} more tensors are left out of the result"),
            });
        }
        Ok(Self { metadata, payloads: ConvertedPayloads::new(sources, plan.tensors), notes })
    }

    /// What the user should know about the result.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The result, as an open file. Its payloads are computed when they are read.
    ///
    /// [`Gguf::check_payloads`] finds values that are too large for the type of their tensor, once they were read.
    ///
    /// **Errors**: [`ConvertError::Gguf`], for a result that a GGUF file cannot have, such as names of more than 63 bytes.
    pub fn into_gguf(self) -> Result<Gguf, ConvertError> {
        let Self { metadata, payloads, .. } = self;
        let dims: Vec<Vec<usize>> = payloads
            .tensors
            .iter()
            .map(|tensor| tensor.shape.iter().rev().copied().collect())
            .collect();
        let payloads = Arc::new(payloads);
        let tensors = payloads
            .tensors
            .iter()
            .zip(&dims)
            .map(|(tensor, dims)| (tensor.name.as_str(), &dims[..], tensor.ggml_type()));
        let files = payloads.sources.weights().files().to_vec();
        let shared = Arc::clone(&payloads);
        Ok(Gguf::computed(metadata, tensors, files, shared)?)
    }
}

/// The value of `general.file_type`: the type of most weights.
fn file_type(tensors: &[plan::PlannedTensor]) -> u32 {
    let len = |dtype| {
        let tensors = tensors.iter().filter(|tensor| tensor.dtype == dtype);
        tensors.map(|tensor| tensor.shape.iter().product::<usize>()).sum::<usize>()
    };
    let most = |types: &[(DType, u32)]| {
        let present = types.iter().filter(|(dtype, _)| len(*dtype) > 0);
        present.max_by_key(|(dtype, _)| len(*dtype)).map(|(_, file_type)| *file_type)
    };
    most(&BLOCK_TYPES).or_else(|| most(&HALF_TYPES)).unwrap_or(0)
}

/// Formats of weights that are codes in the checkpoint, with their values of `general.file_type`.
const BLOCK_TYPES: [(DType, u32); 5] =
    [(DType::Q4_0, 2), (DType::Q8_0, 7), (DType::Q5_0, 8), (DType::Mxfp4, 38), (DType::Nvfp4, 39)];

/// The same for formats of 16 bits.
const HALF_TYPES: [(DType, u32); 2] = [(DType::F16, 1), (DType::BF16, 32)];
