//! Rows of plain floating-point numbers, little-endian.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::block::Search;
use crate::TensorError;

/// The smallest magnitude that becomes infinite in half precision: halfway between the largest number, 65504, and 65536.
pub(super) const F16_OVERFLOW: f32 = 65520.0;

/// The smallest magnitude that becomes infinite in BF16: halfway between the largest number and 2^128.
pub(super) const BF16_OVERFLOW: f32 = f32::from_bits(0x7f7f_8000);

/// Numbers converted at once: enough for the hardware's batch conversion, few enough for the stack.
const BATCH: usize = 256;

pub(super) fn decode_f32(bytes: &[u8], out: &mut [f32]) {
    for (out, bytes) in out.iter_mut().zip(bytes.chunks_exact(4)) {
        *out = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
}

pub(super) fn encode_f32(row: &[f32], _: Search<'_>, out: &mut [u8]) -> Result<(), TensorError> {
    for (value, out) in row.iter().zip(out.chunks_exact_mut(4)) {
        out.copy_from_slice(&value.to_le_bytes());
    }
    Ok(())
}

pub(super) fn decode_f16(bytes: &[u8], out: &mut [f32]) {
    let mut batch = [f16::ZERO; BATCH];
    for (out, bytes) in out.chunks_mut(BATCH).zip(bytes.chunks(2 * BATCH)) {
        let batch = &mut batch[..out.len()];
        for (half, bytes) in batch.iter_mut().zip(bytes.chunks_exact(2)) {
            *half = f16::from_le_bytes([bytes[0], bytes[1]]);
        }
        batch.convert_to_f32_slice(out);
    }
}

pub(super) fn encode_f16(row: &[f32], _: Search<'_>, out: &mut [u8]) -> Result<(), TensorError> {
    let mut batch = [f16::ZERO; BATCH];
    for (values, out) in row.chunks(BATCH).zip(out.chunks_mut(2 * BATCH)) {
        let batch = &mut batch[..values.len()];
        batch.convert_from_f32_slice(values);
        for (half, out) in batch.iter().zip(out.chunks_exact_mut(2)) {
            out.copy_from_slice(&half.to_le_bytes());
        }
    }
    Ok(())
}

pub(super) fn decode_bf16(bytes: &[u8], out: &mut [f32]) {
    for (out, bytes) in out.iter_mut().zip(bytes.chunks_exact(2)) {
        *out = f32::from_bits(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])) << 16);
    }
}

pub(super) fn encode_bf16(row: &[f32], _: Search<'_>, out: &mut [u8]) -> Result<(), TensorError> {
    for (&value, out) in row.iter().zip(out.chunks_exact_mut(2)) {
        out.copy_from_slice(&bf16::from_f32(value).to_le_bytes());
    }
    Ok(())
}
