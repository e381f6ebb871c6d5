//! Converts a checkpoint to another format, tensor by tensor.
//!
//! Invariants: only a few rows are in memory at a time; the output file appears only when it is complete; the output does
//! not depend on the number of threads.

mod format_selection;
mod recipe;

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use inferno_gguf::{GgmlType, Gguf, GgufWriter, Metadata, TensorInfo};
use inferno_tensor::{DType, quant};
use rayon::prelude::*;

use crate::Error;
use crate::output_file::{ensure_creatable, ensure_not_input, replaceable};
use format_selection::FormatSelection;
pub use recipe::Recipe;

/// Number of values decoded at a time.
const CHUNK_VALUES: usize = 4 << 20;

/// Version of the block formats, required by readers besides `general.file_type`.
const QUANTIZATION_VERSION: u32 = 2;

/// Options of [`quantize()`].
#[derive(Debug, Clone, Copy)]
pub struct QuantizeOptions {
    /// The target format.
    pub recipe: Recipe,
    /// Uses the main format of the recipe for all weights.
    pub is_pure: bool,
    /// Allows requantizing already quantized weights, which loses quality.
    pub allow_requantize: bool,
    /// Overwrites an existing output file.
    pub overwrite: bool,
    /// Number of threads; `None` for all cores.
    pub num_threads: Option<usize>,
}

/// The progress of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantizeProgress {
    /// Bytes of the input converted so far.
    pub done_bytes: u64,
    /// Bytes of all tensors of the input.
    pub total_bytes: u64,
}

/// The result for one tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantizedTensor {
    /// Name of the tensor.
    pub name: String,
    /// Format in the input.
    pub from: GgmlType,
    /// Format in the output.
    pub to: GgmlType,
    /// The format in the recipe, if the rows are not a multiple of its block length.
    pub instead_of: Option<DType>,
}

/// Converts `gguf`, writes it to `output`, and returns the result for each tensor.
///
/// `on_progress` is called every few rows, and may cancel the conversion.
///
/// **Errors**: [`Error::OutputExists`], [`Error::OutputIsInput`], [`Error::OutputNotFile`], [`Error::OutputFolder`],
/// [`Error::AlreadyQuantized`], [`Error::UndecodableTensor`], [`Error::QuantizeRow`], [`Error::Cancelled`],
/// [`Error::Threads`]; a failed write.
pub fn quantize(
    gguf: &Gguf,
    output: &Path,
    options: QuantizeOptions,
    on_progress: &mut dyn FnMut(QuantizeProgress) -> ControlFlow<()>,
) -> Result<Vec<QuantizedTensor>, Error> {
    ensure_not_input(gguf, output)?;
    let output = replaceable(output, options.overwrite)?;
    ensure_creatable(&output)?;
    let plan = plan(gguf, options)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.num_threads.unwrap_or(0))
        .build()
        .map_err(|error| Error::Threads { source: io::Error::other(error) })?;

    let mut writer = GgufWriter::new(&metadata(gguf, options.recipe))?;
    for (info, tensor) in gguf.tensors().iter().zip(&plan) {
        writer.add_tensor(info.name(), info.dims(), tensor.to)?;
    }
    let mut payloads = writer.create(output)?;
    let total_bytes = gguf.tensors().iter().map(|info| info.num_bytes() as u64).sum();
    let mut done_bytes = 0;
    for (info, tensor) in gguf.tensors().iter().zip(&plan) {
        let data = gguf.data(info);
        let conversion = Conversion::new(info, tensor.to)?;
        for (index, rows) in data.chunks(conversion.chunk_bytes()).enumerate() {
            let converted = pool.install(|| conversion.convert(index, rows))?;
            payloads.append(info.name(), converted.as_deref().unwrap_or(rows))?;
            done_bytes += rows.len() as u64;
            let start = index * conversion.chunk_bytes();
            gguf.release_part(info, start..start + rows.len());
            if on_progress(QuantizeProgress { done_bytes, total_bytes }).is_break() {
                return Err(Error::Cancelled);
            }
        }
    }
    payloads.finish()?;
    Ok(plan)
}

/// Selects the format of every tensor.
fn plan(gguf: &Gguf, options: QuantizeOptions) -> Result<Vec<QuantizedTensor>, Error> {
    let formats = FormatSelection::new(gguf, options.recipe, options.is_pure);
    let plan_tensor = |info: &TensorInfo| {
        let from = info.ggml_type();
        let (target, instead_of) = match is_number(from) {
            true => (None, None),
            false => formats.target(info),
        };
        let to = target.and_then(ggml_type).unwrap_or(from);
        if to != from {
            let stored = decodable(info)?;
            let is_lossy = target.is_some_and(|target| !target.is_float());
            if is_lossy && !stored.is_float() && !options.allow_requantize {
                return Err(Error::AlreadyQuantized {
                    tensor: info.name().to_owned(),
                    found: stored,
                });
            }
        }
        Ok(QuantizedTensor { name: info.name().to_owned(), from, to, instead_of })
    };
    gguf.tensors().iter().map(plan_tensor).collect()
}

/// Returns whether a type holds plain numbers, such as indices, rather than weights.
fn is_number(ggml_type: GgmlType) -> bool {
    use GgmlType::{F64, I8, I16, I32, I64};
    matches!(ggml_type, I8 | I16 | I32 | I64 | F64)
}

fn ggml_type(dtype: DType) -> Option<GgmlType> {
    dtype.ggml_id().and_then(GgmlType::from_id)
}

fn decodable(info: &TensorInfo) -> Result<DType, Error> {
    DType::from_ggml_id(info.ggml_type().id()).ok_or_else(|| Error::UndecodableTensor {
        tensor: info.name().to_owned(),
        found: info.ggml_type().name(),
    })
}

/// Returns the metadata with the new format and without shards.
fn metadata(gguf: &Gguf, recipe: Recipe) -> Metadata {
    let mut metadata = gguf.metadata().clone();
    for key in ["split.no", "split.count", "split.tensors.count"] {
        metadata.remove(key);
    }
    metadata.insert("general.file_type", recipe.file_type());
    metadata.insert("general.quantization_version", QUANTIZATION_VERSION);
    metadata
}

/// The conversion of one tensor.
struct Conversion<'a> {
    info: &'a TensorInfo,
    /// Input and output format; `None` if the bytes are copied.
    formats: Option<(DType, DType)>,
    cols: usize,
    row_bytes: usize,
    rows_per_chunk: usize,
}

impl<'a> Conversion<'a> {
    fn new(info: &'a TensorInfo, to: GgmlType) -> Result<Self, Error> {
        let cols = info.dims().first().copied().unwrap_or(1);
        let formats = match (to == info.ggml_type(), DType::from_ggml_id(to.id())) {
            (false, Some(to)) => Some((decodable(info)?, to)),
            _ => None,
        };
        let num_rows = info.num_elements() / cols;
        Ok(Self {
            info,
            formats,
            cols,
            row_bytes: info.num_bytes() / num_rows,
            rows_per_chunk: (CHUNK_VALUES / cols).max(1),
        })
    }

    fn chunk_bytes(&self) -> usize {
        self.row_bytes * self.rows_per_chunk
    }

    /// Converts the rows of chunk `index`; `None` if the bytes are copied.
    fn convert(&self, index: usize, rows: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let Some((from, to)) = self.formats else {
            return Ok(None);
        };
        let error = |row: usize, source| Error::QuantizeRow {
            tensor: self.info.name().to_owned(),
            row: index * self.rows_per_chunk + row,
            source: Box::new(source),
        };
        let out_bytes = to.row_bytes(self.cols).map_err(|source| error(0, source))?;
        let mut out = vec![0; rows.len() / self.row_bytes * out_bytes];
        rows.par_chunks(self.row_bytes)
            .zip(out.par_chunks_mut(out_bytes))
            .enumerate()
            .try_for_each_init(
                || vec![0.0; self.cols],
                |values, (row, (bytes, out))| {
                    quant::decode_row(from, bytes, values)
                        .and_then(|()| quant::encode_row(to, values, out))
                        .map_err(|source| error(row, source))
                },
            )?;
        Ok(Some(out))
    }
}
