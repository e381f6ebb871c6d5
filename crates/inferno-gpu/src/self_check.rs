//! A check of a device's results before a model is loaded on it. Drivers may flush subnormal numbers to zero, which some
//! weights have as scales, or compile kernels incorrectly.

use half::f16;
use inferno_backend::{
    AttentionParams, Backend, BackendError, BatchBuilder, BlockId, KvDType, KvLayout, LogitRows,
    Pass, QkvLayout, ReferenceBackend, SequenceChunk, WeightPart,
};
use inferno_tensor::DType;

use crate::backend::GpuBackend;
use crate::matrix_check::values;

/// Bound of the difference from the reference, relative to the largest result: that of products of f16.
const TOLERANCE: f32 = 2e-3;

/// Rows of the input, rows of the weight, and columns: the width of a Q6_K block.
const ROWS: usize = 3;
const HEIGHT: usize = 40;
const COLS: usize = 256;

/// Positions of a sequence: more than a block of the cache.
const POSITIONS: usize = 40;
const BLOCK_TOKENS: usize = 16;
const HEADS: QkvLayout = QkvLayout::new(4, 2, 64);

/// An operation whose results are compared.
#[derive(Debug, Clone, Copy)]
enum Sample {
    /// A product with weights whose scales are subnormal as f16. The place of a scale in a block, in bytes.
    Product(DType, usize),
    /// Attention over a cache in F16.
    Attention,
}

const SAMPLES: [Sample; 3] =
    [Sample::Product(DType::Q8_0, 0), Sample::Product(DType::Q6K, 208), Sample::Attention];

impl Sample {
    fn compute<B: Backend>(self, backend: &B) -> Result<Vec<f32>, BackendError> {
        match self {
            Self::Product(dtype, scale_at) => product(backend, dtype, scale_at),
            Self::Attention => attention(backend),
        }
    }

    fn name(self) -> String {
        match self {
            Self::Product(dtype, _) => format!("products with {dtype} weights"),
            Self::Attention => "attention with an F16 cache".to_owned(),
        }
    }
}

fn product<B: Backend>(
    backend: &B,
    dtype: DType,
    scale_at: usize,
) -> Result<Vec<f32>, BackendError> {
    let subnormal = f16::MIN_POSITIVE / f16::from_f32(2.0);
    let codes = values(HEIGHT * COLS / dtype.block_len() * dtype.block_bytes(), 3);
    let mut bytes: Vec<u8> = codes.iter().map(|value| (value * 127.0) as i8 as u8).collect();
    for block in bytes.chunks_exact_mut(dtype.block_bytes()) {
        block[scale_at..][..2].copy_from_slice(&subnormal.to_le_bytes());
    }
    let part = WeightPart::matrix("sample", dtype, HEIGHT, COLS, bytes.into())?;
    let weight = backend.load_weight(&[part])?;
    let mut x = backend.alloc(ROWS, COLS)?;
    backend.upload(&values(ROWS * COLS, 4), &mut x);
    let mut out = backend.alloc(ROWS, HEIGHT)?;
    let mut pass = backend.begin();
    pass.linear(ROWS, &x, &weight, None, &mut out)?;
    pass.submit()?;
    Ok(backend.download(&out, 0..ROWS * HEIGHT, &mut Vec::new())?.to_vec())
}

fn attention<B: Backend>(backend: &B) -> Result<Vec<f32>, BackendError> {
    let num_blocks = POSITIONS.div_ceil(BLOCK_TOKENS);
    let layout = KvLayout {
        layers: vec![HEADS.kv_layer()],
        window: None,
        block_tokens: BLOCK_TOKENS,
        num_blocks,
        dtype: KvDType::F16,
    };
    let mut cache = backend.alloc_kv_cache(&layout)?;
    let block_table: Vec<BlockId> = (0..num_blocks as u32).rev().map(BlockId).collect();
    let mut builder = BatchBuilder::new(BLOCK_TOKENS);
    builder.push(&SequenceChunk {
        tokens: &[0; POSITIONS],
        start: 0,
        block_table: &block_table,
        logits: LogitRows::None,
        second_segment: None,
    })?;
    let mut batch = backend.alloc_batch();
    backend.upload_batch(&builder.build(), &mut batch);
    let mut qkv = backend.alloc(POSITIONS, HEADS.row_len())?;
    backend.upload(&values(POSITIONS * HEADS.row_len(), 5), &mut qkv);
    let mut out = backend.alloc(POSITIONS, HEADS.out_len())?;
    let params = AttentionParams::new(0, 1.0);
    let mut pass = backend.begin();
    pass.store_kv(&batch, 0, &HEADS, &qkv, &mut cache);
    pass.paged_attention(&batch, &params, &HEADS, &qkv, &cache, &mut out)?;
    pass.submit()?;
    Ok(backend.download(&out, 0..POSITIONS * HEADS.out_len(), &mut Vec::new())?.to_vec())
}

/// How results differ from those of the reference, if they do.
fn difference(expected: &[f32], found: &[f32]) -> Option<String> {
    let largest = expected.iter().fold(0.0, |max: f32, value| max.max(value.abs()));
    let is_near = |&(a, b): &(&f32, &f32)| (a - b).abs() <= TOLERANCE * largest;
    let (expected, found) = expected.iter().zip(found).find(|pair| !is_near(pair))?;
    Some(format!("{found:e} instead of {expected:e}"))
}

impl GpuBackend {
    /// Compares the results of a few operations with those of the [reference](ReferenceBackend).
    ///
    /// **Errors**: [`BackendError::WrongResults`] if they differ, [`BackendError::Kernel`],
    /// [`BackendError::OutOfMemory`], [`BackendError::DeviceLost`].
    pub fn verify(&self) -> Result<(), BackendError> {
        let reference = ReferenceBackend::new();
        for sample in SAMPLES {
            let (expected, found) = (sample.compute(&reference)?, sample.compute(self)?);
            if let Some(difference) = difference(&expected, &found) {
                let what = format!("{}: {difference}", sample.name());
                return Err(BackendError::WrongResults { device: self.describe(), what });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter;

    #[test]
    fn a_sound_device_passes_the_check() {
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        backend.verify().expect("the results of the reference");
    }

    #[test]
    fn scales_that_are_flushed_to_zero_and_nan_are_found() {
        let reference = ReferenceBackend::new();
        for sample in SAMPLES {
            let expected = sample.compute(&reference).expect("memory");
            assert_eq!(difference(&expected, &expected), None);
            for wrong in [0.0, f32::NAN] {
                let found = difference(&expected, &vec![wrong; expected.len()]);
                assert!(found.is_some(), "{sample:?} {wrong}");
            }
        }
    }
}
