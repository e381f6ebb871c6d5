//! Reading ranges of lazy tensors.

use std::ops::Range;

use bytemuck::Pod;
use bytes::Bytes;
use inferno_tensor::{DType, TensorError, TensorView, quant};
use rayon::prelude::*;
use safetensors::Dtype;

use crate::float8;
use crate::lazy::{Lazy, Part};
use crate::scaled::Scaled;
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
    let size = dtype.block_bytes();
    let source = Source::new(sources, part.source);
    let is_copy = has_format(sources, part, dtype);
    out.par_chunks_mut(CHUNK * size).enumerate().for_each(|(index, out)| {
        let start = range.start + index * CHUNK;
        let range = start..start + out.len() / size;
        if is_copy {
            match size {
                2 => gather_bytes::<2>(part, &source.bytes, range, out),
                _ => gather_bytes::<4>(part, &source.bytes, range, out),
            }
            return;
        }
        let values = source.values(part, range);
        quant::encode_row(dtype, &values, out).expect("floats are stored in every float format");
    });
}

/// A tensor of the files.
struct Source {
    dtype: Dtype,
    bytes: Bytes,
    scaled: Option<Scaled>,
}

impl Source {
    fn new(sources: &Sources, number: usize) -> Self {
        let dtype = sources.tensor(number).dtype;
        Self { dtype, bytes: sources.data(number), scaled: sources.scaled(number) }
    }

    /// The elements of a part with these numbers, after its operations.
    fn values(&self, part: &Part, range: Range<usize>) -> Vec<f32> {
        let mut values = vec![0.0; range.len()];
        match &self.scaled {
            Some(scaled) => {
                let positions = part.positions(range);
                values
                    .iter_mut()
                    .zip(positions)
                    .for_each(|(value, position)| *value = scaled.value(position));
            }
            None => read_values(part, self.dtype, &self.bytes, range, &mut values),
        }
        for operation in &part.operations {
            values.iter_mut().for_each(|value| *value = operation.apply(*value));
        }
        values
    }

    /// The first element of a part that is finite but not in format `dtype`.
    fn overflow(&self, part: &Part, dtype: DType, range: Range<usize>) -> Option<f64> {
        if self.dtype == Dtype::F64 {
            let overflows = |value: &f64| value.is_finite() && !(*value as f32).is_finite();
            let found = double_values(part, &self.bytes, range.clone()).find(overflows);
            if found.is_some() {
                return found;
            }
        }
        match quant::check_range(dtype, &self.values(part, range)) {
            Err(TensorError::OutOfRange { value, .. }) => Some(value.into()),
            _ => None,
        }
    }
}

/// Finds a value of `tensor` that is finite but too large for format `dtype`, which is a float, in one that may have some. Values
/// are stored as infinity then.
pub(crate) fn find_overflow(sources: &Sources, tensor: &Lazy, dtype: DType) -> Option<f64> {
    let may_overflow = |part: &&Part| {
        let source = sources.tensor(part.source).dtype;
        let is_smaller = dtype == DType::F16 && !has_format(sources, part, dtype);
        is_smaller || source == Dtype::F64
    };
    tensor.parts.iter().filter(may_overflow).find_map(|part| {
        let source = Source::new(sources, part.source);
        let chunks = (0..part.len().div_ceil(CHUNK)).into_par_iter();
        let found = chunks.find_map_first(|chunk| {
            let start = chunk * CHUNK;
            source.overflow(part, dtype, start..part.len().min(start + CHUNK))
        });
        sources.release(part.source, 0..sources.tensor(part.source).len());
        found
    })
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
            let values = double_values(part, bytes, range);
            out.iter_mut().zip(values).for_each(|(out, value)| *out = value as f32);
        }
        other => {
            let mut copied = vec![0; out.len()];
            gather(part, bytes, range, &mut copied);
            let decode = float8::decoder(other).expect("checked when the checkpoint was opened");
            out.iter_mut().zip(copied).for_each(|(out, code)| *out = decode(code));
        }
    }
}

/// Elements in double precision.
fn double_values(part: &Part, bytes: &[u8], range: Range<usize>) -> impl Iterator<Item = f64> {
    let mut copied = vec![[0; 8]; range.len()];
    gather(part, bytemuck::cast_slice::<u8, [u8; 8]>(bytes), range, &mut copied);
    copied.into_iter().map(f64::from_le_bytes)
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
