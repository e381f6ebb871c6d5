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

    /// Goes on with more bytes. Their length comes first, to keep neighbouring parts apart.
    fn with(self, bytes: &[u8]) -> Self {
        Self(fnv_1a(
            fnv_1a(self.0, &(bytes.len() as u64).to_le_bytes()),
            bytes,
        ))
    }
}

/// **Source**: Fowler, Noll, Vo and Eastlake, The FNV Non-Cryptographic Hash Algorithm, section 2.
fn fnv_1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use inferno_backend::KvDType;
    use inferno_gguf::{GgmlType, GgufWriter, Metadata};

    use super::*;

    fn model(epsilon: f32, weights: [u8; 8]) -> Gguf {
        let mut metadata = Metadata::new();
        metadata.insert("llama.attention.layer_norm_rms_epsilon", epsilon);
        let mut writer = GgufWriter::new(&metadata).expect("sound metadata");
        writer
            .add_tensor("output_norm.weight", &[2], GgmlType::F32)
            .expect("a sound tensor");
        let mut payloads = writer.in_memory();
        payloads
            .write_tensor("output_norm.weight", &weights)
            .expect("its size");
        Gguf::from_bytes(payloads.finish().expect("all is written")).expect("a sound file")
    }

    #[test]
    fn whatever_changes_the_keys_and_values_changes_the_fingerprint() {
        let layout = KvLayout {
            num_layers: 1,
            num_kv_heads: 1,
            head_dim: 32,
            block_tokens: 16,
            num_blocks: 3,
            dtype: KvDType::F16,
        };
        let of = |model: &Gguf, requantize, layout| {
            Fingerprint::of_model(model, requantize).with_kv_layout(layout)
        };
        let original = of(&model(1e-5, [0; 8]), None, &layout);
        assert_eq!(of(&model(1e-5, [0; 8]), None, &layout), original);
        let larger = KvLayout {
            num_blocks: 9,
            ..layout
        };
        assert_eq!(of(&model(1e-5, [0; 8]), None, &larger), original);

        let q8_0 = KvLayout {
            dtype: KvDType::Q8_0,
            ..layout
        };
        for other in [
            of(&model(1e-6, [0; 8]), None, &layout),
            of(&model(1e-5, [0, 0, 0, 0, 0, 0, 0, 1]), None, &layout),
            of(&model(1e-5, [0; 8]), Some(Requantize::Q8_0), &layout),
            of(&model(1e-5, [0; 8]), None, &q8_0),
        ] {
            assert_ne!(other, original);
        }
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // The value for `foobar` among the authors' published test vectors.
        assert_eq!(
            fnv_1a(Fingerprint::EMPTY.0, b"foobar"),
            0x8594_4171_f739_67e8
        );
    }
}
