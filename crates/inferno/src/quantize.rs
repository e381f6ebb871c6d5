//! Converts a checkpoint to another format, tensor by tensor.
//!
//! Invariants: only a few rows and the scales of one tensor are in memory at a time; the output file appears only when it
//! is complete; the output does not depend on the number of threads.

mod conversion;
mod error;
mod format_selection;
mod importance;
mod recipe;

use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use inferno_gguf::{GgmlType, Gguf, GgufError, GgufWriter, Metadata, TensorInfo};
use inferno_model::{ModelSpec, TensorScales, weight_dtype};
use inferno_tensor::DType;

use crate::imatrix::is_importance_matrix;
use crate::output_file::{ensure_creatable, ensure_not_input, ensure_not_read, replaceable};
use crate::{Error, ImportanceMatrix};
use conversion::{Conversion, ggml_type, has_matrix_scales, has_scales, replaces_scales};
pub use error::QuantizeError;
use format_selection::FormatSelection;
pub(crate) use format_selection::is_quantizable;
use importance::Importance;
pub use recipe::Recipe;

/// Version of the block formats, required by readers besides `general.file_type`.
const QUANTIZATION_VERSION: u32 = 2;

/// Options of [`quantize()`].
#[derive(Debug, Clone, Copy)]
pub struct QuantizeOptions<'a> {
    /// The target format.
    pub recipe: Recipe,
    /// The importance of each input, for a smaller error of products.
    pub importance: Option<&'a ImportanceMatrix>,
    /// Uses the main format of the recipe for all weights.
    pub is_pure: bool,
    /// What becomes of weights that are already quantized.
    pub quantized: QuantizedWeights,
    /// Overwrites an existing output file.
    pub overwrite: bool,
    /// Number of threads; `None` for all cores.
    pub num_threads: Option<usize>,
}

/// What becomes of weights that are already quantized, if the format is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuantizedWeights {
    /// They are an error.
    Reject,
    /// They are quantized again, which loses quality.
    Requantize,
    /// They are copied.
    Keep,
}

/// The progress of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantizeProgress {
    /// Bytes of the input read so far.
    pub done_bytes: u64,
    /// Bytes of all tensors of the input; twice those that become NVFP4, whose scales depend on all weights of a matrix.
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
/// **Errors**: [`Error::Quantize`], [`Error::Output`], [`Error::Cancelled`], [`Error::Threads`]; for [`Recipe::Int8`], those of
/// [`ModelSpec::from_checkpoint`]; a failed write.
pub fn quantize(
    gguf: &Gguf,
    output: &Path,
    options: QuantizeOptions<'_>,
    on_progress: &mut dyn FnMut(QuantizeProgress) -> ControlFlow<()>,
) -> Result<Vec<QuantizedTensor>, Error> {
    if is_importance_matrix(gguf) {
        let path = gguf.paths().next().map(Path::to_owned).unwrap_or_default();
        return Err(Error::Quantize(QuantizeError::InputIsImportanceMatrix { path }));
    }
    ensure_not_input(gguf, output)?;
    ensure_not_read(options.importance.and_then(ImportanceMatrix::path), output)?;
    let output = replaceable(output, options.overwrite)?;
    ensure_creatable(&output)?;
    let plan = plan(gguf, options)?;
    let options =
        QuantizeOptions { importance: used_matrix(&plan, options.importance)?, ..options };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.num_threads.unwrap_or(0))
        .build()
        .map_err(|error| Error::Threads { source: io::Error::other(error) })?;

    let mut writer = GgufWriter::new(&metadata(gguf, options))?;
    for tensor in &plan {
        tensor.declare(&mut writer)?;
    }
    let mut payloads = writer.create(output)?;
    let total_bytes = plan.iter().map(|tensor| tensor.num_reads() * tensor.info.num_bytes() as u64);
    let mut progress = QuantizeProgress { done_bytes: 0, total_bytes: total_bytes.sum() };
    let mut on_read = |bytes: usize| {
        progress.done_bytes += bytes as u64;
        match on_progress(progress) {
            ControlFlow::Break(()) => Err(Error::Cancelled),
            ControlFlow::Continue(()) => Ok(()),
        }
    };
    for tensor in &plan {
        let info = tensor.info;
        let mut conversion = Conversion::new(gguf, info, tensor.formats, options.importance)?;
        if conversion.has_matrix_scales() {
            let chunk_bytes = conversion.chunk_bytes();
            for_each_chunk(gguf, info, chunk_bytes, &pool, |index, rows| {
                pool.install(|| conversion.measure(index, rows))?;
                on_read(rows.len())
            })?;
        }
        let mut scales = conversion.matrix_scales();
        for_each_chunk(gguf, info, conversion.chunk_bytes(), &pool, |index, rows| {
            match pool.install(|| conversion.convert(index, rows))? {
                Some(converted) => {
                    payloads.append(info.name(), &converted.payload)?;
                    scales.extend(converted.scales);
                }
                None => payloads.append(info.name(), rows)?,
            }
            on_read(rows.len())
        })?;
        if tensor.scale_dims().is_some() {
            payloads.append(&TensorScales::name_for(info.name()), &scales)?;
        }
    }
    payloads.finish()?;
    Ok(plan.into_iter().map(|tensor| tensor.result).collect())
}

/// Reads a tensor in chunks, calls `body` with the index and bytes of each, and releases its memory.
fn for_each_chunk(
    gguf: &Gguf,
    info: &TensorInfo,
    chunk_bytes: usize,
    pool: &rayon::ThreadPool,
    mut body: impl FnMut(usize, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    for (index, start) in (0..info.num_bytes()).step_by(chunk_bytes).enumerate() {
        let part = start..info.num_bytes().min(start + chunk_bytes);
        // Payloads that are computed use these threads, too.
        let rows = pool.install(|| gguf.part(info, part.clone()));
        gguf.check_payloads()?;
        body(index, &rows)?;
        gguf.release_part(info, part);
    }
    Ok(())
}

/// What becomes of one tensor of the input.
struct PlannedTensor<'a> {
    info: &'a TensorInfo,
    /// Format in the input and in the output; `None` if the bytes are copied.
    formats: Option<(DType, DType)>,
    result: QuantizedTensor,
}

impl PlannedTensor<'_> {
    /// Adds the tensor to the output, and its new scales.
    fn declare(&self, writer: &mut GgufWriter) -> Result<(), GgufError> {
        let (name, dims) = (self.info.name(), self.info.dims());
        writer.add_tensor(name, dims, self.result.to)?;
        if let Some(dims) = self.scale_dims() {
            writer.add_tensor(&TensorScales::name_for(name), &dims, GgmlType::F32)?;
        }
        Ok(())
    }

    /// The dimensions of the new tensor with the scales of this one, if the output has one: one scale per row of INT8, and
    /// one per matrix of NVFP4, as llama.cpp reads them.
    fn scale_dims(&self) -> Option<Vec<usize>> {
        let (_, to) = self.formats.filter(|(_, to)| has_scales(*to))?;
        // The first dimension is that of columns, the second that of rows.
        let num_shared = if has_matrix_scales(to) { 2 } else { 1 };
        let dims = self.info.dims().get(num_shared..).unwrap_or(&[]);
        Some(if dims.is_empty() { vec![1] } else { dims.to_vec() })
    }

    /// How often the weights are read.
    fn num_reads(&self) -> u64 {
        match self.formats {
            Some((_, to)) if has_matrix_scales(to) => 2,
            _ => 1,
        }
    }
}

/// Selects the format of every tensor. Scales that conversions replace are omitted.
fn plan<'a>(gguf: &'a Gguf, options: QuantizeOptions<'_>) -> Result<Vec<PlannedTensor<'a>>, Error> {
    let formats = FormatSelection::new(gguf, &options);
    let spec = match options.recipe {
        Recipe::Int8 => Some(ModelSpec::from_checkpoint(gguf)?),
        _ => None,
    };
    let matrices = spec.as_ref().map(ModelSpec::convertible_tensors);
    let target = |info: &TensorInfo| match &matrices {
        Some(matrices) if matrices.contains(info.name()) => (Some(DType::Int8), None),
        Some(_) if info.dims().len() > 1 => (None, None),
        _ => formats.target(info),
    };
    let tensors = gguf.tensors().iter();
    let planned = tensors.map(|info| plan_tensor(gguf, info, options, target(info)));
    let mut planned: Vec<_> = planned.collect::<Result<_, _>>()?;
    let replacing = planned.iter().filter(|tensor| tensor.formats.is_some_and(replaces_scales));
    let replaced: HashSet<String> =
        replacing.map(|tensor| TensorScales::name_for(tensor.info.name())).collect();
    planned.retain(|tensor| !replaced.contains(tensor.info.name()));
    Ok(planned)
}

/// The conversion of `info` to format `target`, if there is one.
fn plan_tensor<'a>(
    gguf: &Gguf,
    info: &'a TensorInfo,
    options: QuantizeOptions<'_>,
    (target, instead_of): (Option<DType>, Option<DType>),
) -> Result<PlannedTensor<'a>, Error> {
    let (name, stored) = (info.name().to_owned(), weight_dtype(gguf, info));
    let is_kept = options.quantized == QuantizedWeights::Keep
        && stored.is_some_and(|dtype| !dtype.is_float());
    let (target, instead_of) = match is_kept || is_number(info.ggml_type()) && stored.is_none() {
        true => (None, None),
        false => (target, instead_of),
    };
    let formats = match (stored, target) {
        (_, None) => None,
        (Some(stored), Some(target)) => (stored != target).then_some((stored, target)),
        (None, Some(_)) => {
            return Err(Error::Quantize(QuantizeError::UndecodableTensor {
                tensor: name,
                found: info.ggml_type().name(),
            }));
        }
    };
    let is_lossy = |(from, to): &(DType, DType)| !from.is_float() && !to.is_float();
    if let Some((found, _)) =
        formats.filter(is_lossy).filter(|_| options.quantized == QuantizedWeights::Reject)
    {
        return Err(Error::Quantize(QuantizeError::AlreadyQuantized { tensor: name, found }));
    }
    if let Some((_, format)) = formats {
        ensure_importance(info, format, options.importance)?;
    }
    let from = info.ggml_type();
    let to = formats.and_then(|(_, to)| ggml_type(to)).unwrap_or(from);
    Ok(PlannedTensor { info, formats, result: QuantizedTensor { name, from, to, instead_of } })
}

/// Checks that the importance of the columns is known if the format needs it.
///
/// **Errors**: [`QuantizeError::NeedsImportanceMatrix`], [`QuantizeError::ImportanceMismatch`].
fn ensure_importance(
    info: &TensorInfo,
    format: DType,
    matrix: Option<&ImportanceMatrix>,
) -> Result<(), Error> {
    let importance = Importance::of_tensor(info, format, matrix)?;
    match format.needs_importance() && importance.is_none() {
        true => Err(Error::Quantize(QuantizeError::NeedsImportanceMatrix {
            tensor: info.name().to_owned(),
            format,
            has_matrix: matrix.is_some(),
        })),
        false => Ok(()),
    }
}

/// Returns `matrix` if a tensor is encoded with it.
///
/// **Errors**: [`QuantizeError::ForeignImportance`].
fn used_matrix<'m>(
    plan: &[PlannedTensor<'_>],
    matrix: Option<&'m ImportanceMatrix>,
) -> Result<Option<&'m ImportanceMatrix>, Error> {
    let Some(matrix) = matrix else { return Ok(None) };
    let mut covered =
        plan.iter().filter(|tensor| matrix.entry(tensor.info.name()).is_some()).peekable();
    if covered.peek().is_none() {
        let path = matrix.path().map(Path::to_owned).unwrap_or_default();
        return Err(Error::Quantize(QuantizeError::ForeignImportance { path }));
    }
    let is_used =
        covered.any(|tensor| tensor.formats.is_some_and(|(_, format)| format.uses_importance()));
    Ok(is_used.then_some(matrix))
}

/// Returns whether a type holds plain numbers, such as indices, rather than weights.
fn is_number(ggml_type: GgmlType) -> bool {
    use GgmlType::{F64, I8, I16, I32, I64};
    matches!(ggml_type, I8 | I16 | I32 | I64 | F64)
}

/// Returns the metadata with the new format, without shards, and with where the importance of columns comes from.
fn metadata(gguf: &Gguf, options: QuantizeOptions<'_>) -> Metadata {
    let QuantizeOptions { recipe, quantized, .. } = options;
    let mut metadata = gguf.metadata().clone();
    for key in ["split.no", "split.count", "split.tensors.count"] {
        metadata.remove(key);
    }
    // The type of most weights is that of the quantized ones.
    let keeps_type = quantized == QuantizedWeights::Keep
        && recipe.base().is_float()
        && gguf
            .tensors()
            .iter()
            .any(|info| weight_dtype(gguf, info).is_some_and(|dtype| !dtype.is_float()));
    if !keeps_type {
        metadata.insert("general.file_type", recipe.file_type());
    }
    metadata.insert("general.quantization_version", QUANTIZATION_VERSION);
    if let Some(matrix) = options.importance {
        if let Some(path) = matrix.path() {
            metadata.insert("quantize.imatrix.file", path.display().to_string());
        }
        if let Some(dataset) = matrix.datasets().first() {
            metadata.insert("quantize.imatrix.dataset", dataset.clone());
        }
        metadata.insert("quantize.imatrix.entries_count", matrix.entries().len() as u32);
        metadata.insert("quantize.imatrix.chunks_count", matrix.num_chunks() as u32);
    }
    metadata
}
