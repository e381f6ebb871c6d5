//! Files of importance matrices: GGUF with two tensors for each tensor of the model.
//!
//! **Source**: llama.cpp's `imatrix.cpp`. `NAME.in_sum2` has one row of sums per matrix of tensor `NAME`, `NAME.counts` one
//! number per matrix; a tensor of heads has one count for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use inferno_gguf::{GgmlType, Gguf, GgufWriter, Metadata, StringArray};

use super::legacy_file;
use super::{ImatrixError, ImportanceMatrix, InputStatistics};

const TYPE: &str = "general.type";
const IMATRIX: &str = "imatrix";
const DATASETS: &str = "imatrix.datasets";
const CHUNK_COUNT: &str = "imatrix.chunk_count";
const CHUNK_SIZE: &str = "imatrix.chunk_size";
const SUMS: &str = ".in_sum2";
const COUNTS: &str = ".counts";

/// The first bytes of a GGUF file.
const MAGIC: &[u8] = b"GGUF";

/// Reads a file of either format.
///
/// **Errors**: those of both formats.
pub(super) fn read(path: &Path, chunk_size: usize) -> Result<ImportanceMatrix, ImatrixError> {
    let mut file = File::open(path).map_err(ImatrixError::Io)?;
    if !file.metadata().map_err(ImatrixError::Io)?.is_file() {
        return Err(ImatrixError::NotFile);
    }
    let mut start = Vec::new();
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut start).map_err(ImatrixError::Io)?;
    if start == MAGIC {
        return from_gguf(&Gguf::open(path)?, chunk_size);
    }
    file.read_to_end(&mut start).map_err(ImatrixError::Io)?;
    legacy_file::parse(&start, chunk_size)
}

/// Returns whether a GGUF file says that it holds an importance matrix.
pub(crate) fn is_importance_matrix(gguf: &Gguf) -> bool {
    matches!(gguf.metadata().optional::<&str>(TYPE), Ok(Some(IMATRIX)))
}

/// Reads the statistics of a GGUF file.
///
/// **Errors**: a file of another type, sums or counts that are missing, of another format, or invalid.
fn from_gguf(gguf: &Gguf, chunk_size: usize) -> Result<ImportanceMatrix, ImatrixError> {
    let metadata = gguf.metadata();
    let kind: Option<&str> = metadata.optional(TYPE)?;
    let is_imatrix = is_importance_matrix(gguf);
    let names = gguf.tensors().iter().map(|info| info.name());
    let tensors: BTreeSet<&str> = names
        .filter_map(|name| name.strip_suffix(SUMS).or_else(|| name.strip_suffix(COUNTS)))
        .collect();
    if !is_imatrix && (kind.is_some() || tensors.is_empty()) {
        let architecture: Option<&str> = metadata.optional("general.architecture")?;
        let found = kind.or(architecture).unwrap_or("unknown").to_owned();
        return Err(ImatrixError::OtherType { found });
    }
    if tensors.is_empty() {
        return Err(ImatrixError::Empty);
    }
    let mut entries = BTreeMap::new();
    for tensor in tensors {
        let sums = values(gguf, tensor, SUMS)?;
        let counts = values(gguf, tensor, COUNTS)?;
        if sums.len() % counts.len() != 0 {
            return Err(ImatrixError::Shape {
                tensor: tensor.to_owned(),
                num_sums: sums.len(),
                num_counts: counts.len(),
            });
        }
        let counts = counts.into_iter().map(|count| count.round() as u64).collect();
        entries.insert(tensor.to_owned(), InputStatistics { sums, counts });
    }
    let datasets: Option<&StringArray> = metadata.optional(DATASETS)?;
    let stored_chunk_size: Option<u32> = metadata.optional(CHUNK_SIZE)?;
    let stored_chunk_size = stored_chunk_size.filter(|&size| size > 0);
    Ok(ImportanceMatrix {
        entries,
        datasets: datasets.into_iter().flatten().map(str::to_owned).collect(),
        chunk_size: stored_chunk_size.map_or(chunk_size, |size| size as usize),
        path: None,
    })
}

/// The numbers of `tensor` with a suffix.
fn values(gguf: &Gguf, tensor: &str, suffix: &str) -> Result<Vec<f64>, ImatrixError> {
    let name = format!("{tensor}{suffix}");
    let Some(info) = gguf.tensor(&name) else {
        return Err(ImatrixError::Unpaired { tensor: tensor.to_owned(), missing: name });
    };
    if info.ggml_type() != GgmlType::F32 {
        return Err(ImatrixError::Format { name, found: info.ggml_type().name() });
    }
    let data = gguf.data(info);
    let (numbers, _) = data.as_chunks();
    checked(tensor, numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)))
}

/// Numbers that are neither negative, infinite nor NaN.
///
/// **Errors**: [`ImatrixError::Value`].
pub(super) fn checked(
    tensor: &str,
    values: impl Iterator<Item = f32>,
) -> Result<Vec<f64>, ImatrixError> {
    let values = values.map(f64::from).map(|value| match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(ImatrixError::Value { tensor: tensor.to_owned(), value }),
    });
    values.collect()
}

/// Writes a GGUF file.
///
/// **Errors**: [`ImatrixError::Empty`], [`ImatrixError::Gguf`].
pub(super) fn write(matrix: &ImportanceMatrix, path: &Path) -> Result<(), ImatrixError> {
    if matrix.entries.is_empty() {
        return Err(ImatrixError::Empty);
    }
    let saturated = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let mut metadata = Metadata::new();
    metadata.insert(TYPE, IMATRIX);
    metadata.insert(DATASETS, matrix.datasets.iter().collect::<StringArray>());
    metadata.insert(CHUNK_COUNT, saturated(matrix.num_chunks()));
    metadata.insert(CHUNK_SIZE, saturated(matrix.chunk_size as u64));
    let mut writer = GgufWriter::new(&metadata)?;
    for (tensor, InputStatistics { sums, counts }) in &matrix.entries {
        // Dimensions of size 1 at the end are omitted.
        let num_dims = if counts.len() > 1 { 2 } else { 1 };
        let dims = [sums.len() / counts.len(), counts.len()];
        writer.add_tensor(&format!("{tensor}{SUMS}"), &dims[..num_dims], GgmlType::F32)?;
        writer.add_tensor(
            &format!("{tensor}{COUNTS}"),
            &[1, counts.len()][..num_dims],
            GgmlType::F32,
        )?;
    }
    let mut payloads = writer.create(path)?;
    let bytes = |numbers: &mut dyn Iterator<Item = f32>| -> Vec<u8> {
        numbers.flat_map(f32::to_le_bytes).collect()
    };
    for (tensor, InputStatistics { sums, counts }) in &matrix.entries {
        let sums = bytes(&mut sums.iter().map(|&sum| sum as f32));
        payloads.write_tensor(&format!("{tensor}{SUMS}"), &sums)?;
        let counts = bytes(&mut counts.iter().map(|&count| count as f32));
        payloads.write_tensor(&format!("{tensor}{COUNTS}"), &counts)?;
    }
    Ok(payloads.finish()?)
}
