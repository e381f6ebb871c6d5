//! Fingerprints of models and KV cache formats.

use std::fmt;

use inferno_backend::{KvLayer, KvLayout};
use inferno_gguf::{Gguf, MetadataValue};
use inferno_model::Requantize;

/// A number that differs between models, and between formats of the KV cache.
///
/// It protects against mistakes, not against attacks: 64 bits of FNV-1a. Saved sessions contain it, so its
/// input is specified below byte for byte; changing that invalidates all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub u64);

/// Tensors of which bytes go into a model's fingerprint, spread over the file.
const SAMPLED_TENSORS: usize = 16;

/// Bytes at either end of each of them.
const SAMPLE_BYTES: usize = 64;

impl Fingerprint {
    /// The fingerprint of no input: FNV's offset basis.
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Computes the fingerprint of a checkpoint's hyperparameters and weights, loaded with `requantize`.
    ///
    /// Reads the header and both ends of a few tensors, so that a start does not wait for the disk.
    pub fn of_model(checkpoint: &Gguf, requantize: Option<Requantize>) -> Self {
        let requantize = requantize.map_or("", |requantize| requantize.dtype().name());
        let mut fingerprint = Self::EMPTY.with(requantize.as_bytes());
        // Arrays of the tokenizer are long, and keys and values do not depend on them.
        let is_vocabulary = |key: &str, value: &MetadataValue| {
            key.starts_with("tokenizer.") && matches!(value, MetadataValue::Array(_))
        };
        for (key, value) in checkpoint.metadata().iter() {
            if !is_vocabulary(key, value) {
                fingerprint = fingerprint
                    .with(key.as_bytes())
                    .with(&value.value_type().id().to_le_bytes())
                    .with(&value.to_bytes());
            }
        }
        let tensors = checkpoint.tensors();
        for info in tensors {
            fingerprint = fingerprint
                .with(info.name().as_bytes())
                .with(&info.ggml_type().id().to_le_bytes())
                .with(&info.offset().to_le_bytes());
            for &dim in info.dims() {
                fingerprint = fingerprint.with(&(dim as u64).to_le_bytes());
            }
        }
        let num_samples = tensors.len().min(SAMPLED_TENSORS);
        for sample in 0..num_samples {
            let info = &tensors[sample * tensors.len() / num_samples];
            let (end, block) = (info.num_bytes(), info.ggml_type().block_bytes());
            let len = end.min(SAMPLE_BYTES);
            // Parts end on borders of blocks.
            let read = SAMPLE_BYTES.next_multiple_of(block).min(end);
            let first = checkpoint.part(info, 0..read);
            let last = checkpoint.part(info, end - read..end);
            fingerprint = fingerprint.with(&first[..len]).with(&last[read - len..]);
        }
        fingerprint
    }

    /// Adds the format of the KV cache. The number of blocks does not count, so that a state can be loaded
    /// into a larger cache.
    pub fn with_kv_layout(self, layout: &KvLayout) -> Self {
        let KvLayout { layers, window, block_tokens, dtype, .. } = layout;
        let mut numbers = Vec::new();
        match layers.first() {
            // The form of files written before layers could differ.
            Some(first)
                if layers
                    .iter()
                    .all(|layer| *layer == KvLayer::new(first.num_heads, first.key_dim)) =>
            {
                numbers.extend([layers.len(), first.num_heads, first.key_dim]);
            }
            _ => numbers.extend(layers.iter().flat_map(|layer| {
                let is_windowed = usize::from(layer.is_windowed);
                [layer.num_heads, layer.key_dim, layer.values.separate_dim(), is_windowed]
            })),
        }
        numbers.extend(window.map(|window| window.len));
        numbers
            .into_iter()
            .chain([*block_tokens])
            .fold(self, |fingerprint, number| fingerprint.with(&(number as u64).to_le_bytes()))
            .with(dtype.name().as_bytes())
    }

    /// Adds which rotary factors keys were computed with, if a model has several.
    pub fn with_long_rotary(self, is_long: bool) -> Self {
        if is_long { self.with(b"long rotary factors") } else { self }
    }

    /// Adds bytes, preceded by their length, to separate neighbouring parts.
    fn with(self, bytes: &[u8]) -> Self {
        Self(fnv_1a(fnv_1a(self.0, &(bytes.len() as u64).to_le_bytes()), bytes))
    }
}

/// **Source**: Fowler, Noll, Vo and Eastlake, The FNV Non-Cryptographic Hash Algorithm, section 2.
fn fnv_1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use inferno_backend::{KvDType, KvValues};
    use inferno_gguf::{GgmlType, GgufWriter, Metadata};

    use super::*;

    fn model(epsilon: f32, weights: [u8; 8]) -> Gguf {
        let mut metadata = Metadata::new();
        metadata.insert("llama.attention.layer_norm_rms_epsilon", epsilon);
        let mut writer = GgufWriter::new(&metadata).expect("sound metadata");
        writer.add_tensor("output_norm.weight", &[2], GgmlType::F32).expect("a sound tensor");
        let mut payloads = writer.in_memory();
        payloads.write_tensor("output_norm.weight", &weights).expect("its size");
        Gguf::from_bytes(payloads.finish().expect("all is written")).expect("a sound file")
    }

    #[test]
    fn whatever_changes_the_keys_and_values_changes_the_fingerprint() {
        let layout = KvLayout {
            layers: vec![KvLayer::new(1, 32)],
            window: None,
            block_tokens: 16,
            num_blocks: 3,
            dtype: KvDType::F16,
        };
        let of = |model: &Gguf, requantize, layout| {
            Fingerprint::of_model(model, requantize).with_kv_layout(layout)
        };
        let original = of(&model(1e-5, [0; 8]), None, &layout);
        assert_eq!(of(&model(1e-5, [0; 8]), None, &layout), original);
        let larger = KvLayout { num_blocks: 9, ..layout.clone() };
        assert_eq!(of(&model(1e-5, [0; 8]), None, &larger), original);

        let q8_0 = KvLayout { dtype: KvDType::Q8_0, ..layout.clone() };
        let with_values = |values| KvLayout {
            layers: vec![KvLayer { values, ..layout.layers[0] }],
            ..layout.clone()
        };
        let narrow = with_values(KvValues::Separate { dim: 24 });
        let in_keys = with_values(KvValues::InKeys { start: 8 });
        for other in [
            of(&model(1e-6, [0; 8]), None, &layout),
            of(&model(1e-5, [0, 0, 0, 0, 0, 0, 0, 1]), None, &layout),
            of(&model(1e-5, [0; 8]), Some(Requantize::Q8_0), &layout),
            of(&model(1e-5, [0; 8]), None, &q8_0),
            of(&model(1e-5, [0; 8]), None, &narrow),
            of(&model(1e-5, [0; 8]), None, &in_keys),
        ] {
            assert_ne!(other, original);
        }
        assert_ne!(
            of(&model(1e-5, [0; 8]), None, &narrow),
            of(&model(1e-5, [0; 8]), None, &in_keys)
        );
    }

    #[test]
    fn numbers_for_each_layer_change_the_fingerprint_and_the_vocabulary_does_not() {
        let fingerprint = |key: &str, values: Vec<f32>| {
            let mut metadata = Metadata::new();
            metadata.insert(key, values);
            let file = GgufWriter::new(&metadata).expect("sound metadata").in_memory();
            let file = Gguf::from_bytes(file.finish().expect("no tensors")).expect("a sound file");
            Fingerprint::of_model(&file, None)
        };
        let of_layers = |values| fingerprint("xielu.alpha_p", values);
        assert_ne!(of_layers(vec![0.5, 0.25]), of_layers(vec![0.5, 0.75]));
        let of_tokens = |values| fingerprint("tokenizer.ggml.scores", values);
        assert_eq!(of_tokens(vec![0.5, 0.25]), of_tokens(vec![0.5, 0.75]));
    }

    #[test]
    fn of_many_tensors_only_a_few_are_read() {
        let fingerprint = |changed: Option<usize>| {
            let mut writer = GgufWriter::new(&Metadata::new()).expect("sound metadata");
            for index in 0..100 {
                writer
                    .add_tensor(&format!("{index}"), &[2], GgmlType::F32)
                    .expect("a sound tensor");
            }
            let mut payloads = writer.in_memory();
            for index in 0..100 {
                payloads
                    .write_tensor(&format!("{index}"), &[u8::from(changed == Some(index)); 8])
                    .expect("its size");
            }
            let file = payloads.finish().expect("all is written");
            Fingerprint::of_model(&Gguf::from_bytes(file).expect("a sound file"), None)
        };
        let original = fingerprint(None);
        let read = (0..100).filter(|&index| fingerprint(Some(index)) != original);
        assert_eq!(read.count(), SAMPLED_TENSORS);
    }

    #[test]
    fn the_fingerprint_is_the_hash_of_these_bytes() {
        // Each part follows its length. The numbers are constants of the format: type 6 is an
        // F32 value, type 0 an F32 tensor.
        let parts: [&[u8]; 14] = [
            b"Q8_0",
            b"llama.attention.layer_norm_rms_epsilon",
            &6u32.to_le_bytes(),
            &0.5f32.to_le_bytes(),
            b"output_norm.weight",
            &0u32.to_le_bytes(),
            &0u64.to_le_bytes(),
            &2u64.to_le_bytes(),
            &[1, 2, 3, 4, 5, 6, 7, 8],
            &[1, 2, 3, 4, 5, 6, 7, 8],
            &4u64.to_le_bytes(),
            &3u64.to_le_bytes(),
            &32u64.to_le_bytes(),
            &16u64.to_le_bytes(),
        ];
        let bytes: Vec<u8> = parts
            .into_iter()
            .chain([&b"f16"[..]])
            .flat_map(|part| [&(part.len() as u64).to_le_bytes(), part].concat())
            .collect();
        let layout = KvLayout {
            layers: vec![KvLayer::new(3, 32); 4],
            window: None,
            block_tokens: 16,
            num_blocks: 1,
            dtype: KvDType::F16,
        };
        let checkpoint = model(0.5, [1, 2, 3, 4, 5, 6, 7, 8]);
        let found = Fingerprint::of_model(&checkpoint, Some(Requantize::Q8_0));
        assert_eq!(found.with_kv_layout(&layout).0, fnv_1a(Fingerprint::EMPTY.0, &bytes));
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // The value for `foobar` among the authors' published test vectors.
        assert_eq!(fnv_1a(Fingerprint::EMPTY.0, b"foobar"), 0x8594_4171_f739_67e8);
    }
}
