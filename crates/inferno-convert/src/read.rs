//! Reading ranges of lazy tensors.

use std::ops::Range;

use bytemuck::Pod;
use bytes::Bytes;
use inferno_tensor::{DType, TensorError, TensorView, quant};
use rayon::prelude::*;
use safetensors::Dtype;

use crate::lazy::{Lazy, Part};
use crate::quantized::{Float8, QuantizedData};
use crate::sources::Sources;

/// Number of elements that one thread reads at a time.
const CHUNK: usize = 1 << 16;

/// Reads elements of `tensor` in format `dtype`, which is a float or the format of blocks of all its parts; without copying if the
/// file has the same bytes. The second result is the first value that is finite in the file but not in this format.
pub(crate) fn read(
    sources: &Sources,
    tensor: &Lazy,
    dtype: DType,
    range: Range<usize>,
) -> (Bytes, Option<f64>) {
    let (size, len) = (dtype.block_bytes(), dtype.block_len());
    if let Some(bytes) = slice(sources, tensor, dtype, &range) {
        return (bytes, None);
    }
    let (mut out, mut too_large) = (vec![0; range.len() / len * size], None);
    for (part, within, at) in parts_in(tensor, &range) {
        let out = &mut out[at / len * size..(at + within.len()) / len * size];
        let found = match dtype.is_float() {
            true => read_part(sources, part, dtype, within, out),
            false => read_blocks(sources, part, dtype, within, out),
        };
        too_large = too_large.or(found);
    }
    (out.into(), too_large)
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

/// Reads elements of a part, and returns the first one that is too large, as [`read`] does.
fn read_part(
    sources: &Sources,
    part: &Part,
    dtype: DType,
    range: Range<usize>,
    out: &mut [u8],
) -> Option<f64> {
    let size = dtype.block_bytes();
    let source = Source::new(sources, part.source);
    let is_copy = has_format(sources, part, dtype);
    let chunks = out.par_chunks_mut(CHUNK * size).enumerate().map(|(index, out)| {
        let start = range.start + index * CHUNK;
        let range = start..start + out.len() / size;
        if is_copy {
            match size {
                2 => gather_bytes::<2>(part, &source.bytes, range, out),
                _ => gather_bytes::<4>(part, &source.bytes, range, out),
            }
            return None;
        }
        let values = source.values(part, range.clone());
        quant::encode_row(dtype, &values, out).expect("floats are stored in every float format");
        source.too_large(part, dtype, range, &values)
    });
    chunks.reduce(|| None, Option::or)
}

/// Reads blocks of a part, whose elements are codes, and returns the first scale that is too large.
fn read_blocks(
    sources: &Sources,
    part: &Part,
    dtype: DType,
    range: Range<usize>,
    out: &mut [u8],
) -> Option<f64> {
    let (size, len) = (dtype.block_bytes(), dtype.block_len());
    let data = sources.quantized_data(part.source).expect("floats have no blocks");
    let chunks = out.par_chunks_mut(CHUNK / len * size).enumerate().map(|(index, out)| {
        let start = range.start + index * CHUNK;
        let runs = part.runs(start..start + out.len() / size * len);
        let positions = runs.flat_map(|(first, run)| (first..first + run).step_by(len));
        let mut too_large = None;
        for (position, out) in positions.zip(out.chunks_exact_mut(size)) {
            too_large = too_large.or(data.block(dtype, position, out));
        }
        too_large
    });
    chunks.reduce(|| None, Option::or)
}

/// A tensor of the files.
struct Source<'a> {
    dtype: Dtype,
    bytes: Bytes,
    quantized: Option<QuantizedData<'a>>,
}

impl<'a> Source<'a> {
    fn new(sources: &'a Sources, number: usize) -> Self {
        let dtype = sources.tensor(number).dtype;
        Self { dtype, bytes: sources.data(number), quantized: sources.quantized_data(number) }
    }

    /// The elements of a part with these numbers, after its operations.
    fn values(&self, part: &Part, range: Range<usize>) -> Vec<f32> {
        let mut values = vec![0.0; range.len()];
        match &self.quantized {
            Some(data) => {
                let mut rest = &mut values[..];
                for (position, len) in part.runs(range) {
                    let (run, later) = rest.split_at_mut(len);
                    data.read(position, run);
                    rest = later;
                }
            }
            None => read_values(part, self.dtype, &self.bytes, range, &mut values),
        }
        for operation in &part.operations {
            values.iter_mut().for_each(|value| *value = operation.apply(*value));
        }
        values
    }

    /// The first of these elements of a part, with these values, that is finite but too large for format `dtype`.
    fn too_large(
        &self,
        part: &Part,
        dtype: DType,
        range: Range<usize>,
        values: &[f32],
    ) -> Option<f64> {
        if self.dtype == Dtype::F64 {
            let is_too_large = |value: &f64| value.is_finite() && !(*value as f32).is_finite();
            let found = double_values(part, &self.bytes, range).find(is_too_large);
            if found.is_some() {
                return found;
            }
        }
        match quant::check_range(dtype, values) {
            Err(TensorError::OutOfRange { value, .. }) => Some(value.into()),
            _ => None,
        }
    }
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
            let float = Float8::new(other).expect("checked when the checkpoint was opened");
            out.iter_mut().zip(copied).for_each(|(out, code)| *out = float.decode(code));
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
