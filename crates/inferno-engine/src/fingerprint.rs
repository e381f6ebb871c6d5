//! Tells models apart.

use std::fmt;

use inferno_backend::KvLayout;
use inferno_gguf::{Gguf, MetadataValue};
use inferno_model::Requantize;

/// A number that differs between models, and between formats of the KV cache.
///
/// It guards against mistakes, not against malice: 64 bits of FNV-1a.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub u64);

/// Bytes at either end of every tensor that go into a model's fingerprint.
const SAMPLE_BYTES: usize = 64;

impl Fingerprint {
    /// Of nothing yet: FNV's offset basis.
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// The fingerprint of a checkpoint's hyperparameters and weights, as they are when loaded with
    /// `requantize`.
    ///
    /// Reads the index and both ends of every tensor, not the whole file.
    pub fn of_model(checkpoint: &Gguf, requantize: Option<Requantize>) -> Self {
        let mut fingerprint = Self::EMPTY.with(format!("{requantize:?}").as_bytes());
        for (key, value) in checkpoint.metadata().iter() {
            if !matches!(value, MetadataValue::Array(_)) {
                fingerprint = fingerprint.with(format!("{key}={value:?}").as_bytes());
            }
        }
        for info in checkpoint.tensors() {
            let shape = format!("{}:{:?}:{:?}", info.name(), info.dims(), info.ggml_type());
            let data = checkpoint.data(info);
            let sample = data.len().min(SAMPLE_BYTES);
            fingerprint = fingerprint
                .with(shape.as_bytes())
                .with(&data[..sample])
                .with(&data[data.len() - sample..]);
        }
        fingerprint
    }

    /// This model's fingerprint together with its cache's format. The number of blocks does not
    /// count, so that a state can go into a larger cache.
    pub fn with_kv_layout(self, layout: &KvLayout) -> Self {
        let &KvLayout {
            num_layers,
            num_kv_heads,
            head_dim,
            block_tokens,
            dtype,
            ..
        } = layout;
        let format = format!(
            "{num_layers}:{num_kv_heads}:{head_dim}:{block_tokens}:{}",
            dtype.name()
        );
        self.with(format.as_bytes())
    }

    /// Goes on with more bytes.
    ///
    /// **Source**: Fowler, Noll, Vo and Eastlake, The FNV Non-Cryptographic Hash Algorithm,
    /// section 2.
    fn with(self, bytes: &[u8]) -> Self {
        // The length keeps neighbouring parts apart.
        let length = (bytes.len() as u64).to_le_bytes();
        let hash = length.iter().chain(bytes).fold(self.0, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(hash)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
