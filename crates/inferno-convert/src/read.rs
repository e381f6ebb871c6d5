//! Reading ranges of lazy tensors.

use std::ops::Range;

use bytemuck::Pod;
use bytes::Bytes;
use inferno_tensor::{DType, TensorView, quant};
use rayon::prelude::*;
use safetensors::Dtype;

use crate::float8;
use crate::lazy::{Lazy, Part};
use crate::sources::Sources;

/// Number of elements that one thread reads at a time.
const CHUNK: usize = 1 << 16;

/// Reads elements of `tensor` in format `dtype`, which is a float; without copying if the file has the same bytes.
pub(crate) fn read(sources: &Sources, tensor: &Lazy, dtype: DType, range: Range<usize>) -> Bytes {
    let size = dtype.block_bytes();
    if let Some(bytes) = slice(sources, tensor, dtype, &range) {
        return bytes;
    }
    let mut out = vec![0; range.len() * size];
    for (part, within, at) in parts_in(tensor, &range) {
        let out = &mut out[at * size..(at + within.len()) * size];
        read_part(sources, part, dtype, within, out);
    }
    out.into()
}

/// The parts that overlap with a range: the range in the part, and the position in the output.
fn parts_in<'a>(
    tensor: &'a Lazy,
    range: &Range<usize>,
) -> impl Iterator<Item = (&'a Part, Range<usize>, usize)> {
    let range = range.clone();
    let mut first = 0;
    tensor.parts.iter().filter_map(move |part| {
        let own = first..first + part.len();
        first = own.end;
        let (start, end) = (range.start.max(own.start), range.end.min(own.end));
        (start < end).then(|| (part, start - own.start..end - own.start, start - range.start))
    })
}

/// The bytes in the file, if they are those of the result.
fn slice(sources: &Sources, tensor: &Lazy, dtype: DType, range: &Range<usize>) -> Option<Bytes> {
    let mut parts = parts_in(tensor, range);
    let (part, within, _) = parts.next()?;
    if parts.next().is_some() || !has_format(sources, part, dtype) {
        return None;
    }
    let (first, size) = (part.contiguous_start()?, dtype.block_bytes());
    Some(
        sources.data(part.source).slice((first + within.start) * size..(first + within.end) * size),
    )
}

/// Whether the elements of a part are stored as the result stores them.
fn has_format(sources: &Sources, part: &Part, dtype: DType) -> bool {
    part.operations.is_empty() && sources.format(part.source) == Some(dtype)
}

fn read_part(sources: &Sources, part: &Part, dtype: DType, range: Range<usize>, out: &mut [u8]) {
    let bytes = sources.data(part.source);
    let size = dtype.block_bytes();
    let is_copy = has_format(sources, part, dtype);
    let scaled = sources.scaled(part.source);
    out.par_chunks_mut(CHUNK * size).enumerate().for_each(|(index, out)| {
        let start = range.start + index * CHUNK;
        let range = start..start + out.len() / size;
        if is_copy {
            match size {
                2 => gather_bytes::<2>(part, &bytes, range, out),
                _ => gather_bytes::<4>(part, &bytes, range, out),
            }
            return;
        }
        let mut values = vec![0.0; range.len()];
        match &scaled {
            Some(scaled) => {
                let positions = part.positions(range);
                values
                    .iter_mut()
                    .zip(positions)
                    .for_each(|(value, position)| *value = scaled.value(position));
            }
            None => {
                read_values(part, sources.tensor(part.source).dtype, &bytes, range, &mut values)
            }
        }
        for operation in &part.operations {
            values.iter_mut().for_each(|value| *value = operation.apply(*value));
        }
        quant::encode_row(dtype, &values, out).expect("floats are stored in every float format");
    });
}

/// Reads elements of a float type.
fn read_values(part: &Part, dtype: Dtype, bytes: &[u8], range: Range<usize>, out: &mut [f32]) {
    let floats = |dtype, size: usize, out: &mut [f32]| {
        let mut copied = vec![0; out.len() * size];
        match size {
            2 => gather_bytes::<2>(part, bytes, range.clone(), &mut copied),
            _ => gather_bytes::<4>(part, bytes, range.clone(), &mut copied),
        }
        quant::decode_row(dtype, &copied, out).expect("the lengths match");
    };
    match dtype {
        Dtype::F32 => floats(DType::F32, 4, out),
        Dtype::F16 => floats(DType::F16, 2, out),
        Dtype::BF16 => floats(DType::BF16, 2, out),
        Dtype::F64 => {
            let mut copied = vec![[0; 8]; out.len()];
            gather(part, bytemuck::cast_slice::<u8, [u8; 8]>(bytes), range, &mut copied);
            out.iter_mut()
                .zip(copied)
                .for_each(|(out, value)| *out = f64::from_le_bytes(value) as f32);
        }
        other => {
            let mut copied = vec![0; out.len()];
            gather(part, bytes, range, &mut copied);
            let decode = float8::decoder(other).expect("checked when the checkpoint was opened");
            out.iter_mut().zip(copied).for_each(|(out, code)| *out = decode(code));
        }
    }
}

fn gather_bytes<const N: usize>(part: &Part, bytes: &[u8], range: Range<usize>, out: &mut [u8])
where
    [u8; N]: Pod,
{
    gather::<[u8; N]>(part, bytemuck::cast_slice(bytes), range, bytemuck::cast_slice_mut(out));
}

/// Copies elements of a part of `elements`, the whole source.
pub(crate) fn gather<T: Copy>(part: &Part, elements: &[T], range: Range<usize>, out: &mut [T]) {
    let view = part.view(elements).expect("the view was valid when it was created");
    copy(view, range, out);
}

/// Copies the elements with these numbers, in row-major order.
fn copy<T: Copy>(view: TensorView<'_, T>, range: Range<usize>, out: &mut [T]) {
    if let Some(elements) = view.as_slice() {
        out.copy_from_slice(&elements[range]);
        return;
    }
    let valid = "the range is in the view";
    let dims = view.shape();
    if dims.rank() == 1 {
        let strided = view.slice(0, range).expect(valid);
        out.iter_mut().zip(strided).for_each(|(out, value)| *out = *value);
        return;
    }
    let inner: usize = dims.dims()[1..].iter().product();
    let mut out = out;
    for index in range.start / inner..range.end.div_ceil(inner) {
        let first = index * inner;
        let within = range.start.max(first) - first..range.end.min(first + inner) - first;
        let (now, later) = out.split_at_mut(within.len());
        copy(view.select(0, index).expect(valid), within, now);
        out = later;
    }
}
