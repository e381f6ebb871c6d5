//! The format of importance matrices that llama.cpp wrote before GGUF.
//!
//! All numbers have 32 bits, little-endian: the number of entries; for each entry the length of the tensor's name, the name,
//! the number of chunks, the number of values, and the values, which are mean squares times the number of chunks; then,
//! optionally, the number of chunks of the whole file, and the length and name of the text.
//!
//! **Source**: llama.cpp's `imatrix.cpp`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use super::file::checked;
use super::{ImatrixError, ImportanceMatrix, InputStatistics};
use crate::output_file::temporary_next_to;

/// The longest name of a tensor or a text.
const MAX_NAME_BYTES: usize = 4096;

/// Reads the statistics of a file. Each counted chunk becomes `chunk_size` tokens.
///
/// **Errors**: [`ImatrixError::Unknown`], [`ImatrixError::Value`].
pub(super) fn parse(bytes: &[u8], chunk_size: usize) -> Result<ImportanceMatrix, ImatrixError> {
    let mut reader = Reader { rest: bytes };
    let num_entries = reader.count("the number of entries")?;
    if num_entries == 0 {
        return Err(unknown("it has no entries"));
    }
    let mut entries = BTreeMap::new();
    for _ in 0..num_entries {
        let tensor = reader.name("the name of a tensor")?;
        let num_chunks = reader.count("the number of chunks")? as u64;
        let num_values = reader.count("the number of values")?;
        let bytes = reader.take(num_values.saturating_mul(4), "the values of a tensor")?;
        if num_values == 0 {
            return Err(unknown("a tensor has no values"));
        }
        let (values, _) = bytes.as_chunks();
        let sums = checked(&tensor, values.iter().map(|&bytes| f32::from_le_bytes(bytes)))?;
        // Values of no chunk are means already.
        let count = num_chunks.max(1).saturating_mul(chunk_size as u64);
        let sums = sums.into_iter().map(|sum| sum * chunk_size as f64).collect();
        entries.insert(tensor, InputStatistics { sums, counts: vec![count] });
    }
    let mut datasets = Vec::new();
    if !reader.rest.is_empty() {
        reader.count("the number of chunks")?;
        if !reader.rest.is_empty() {
            datasets.push(reader.name("the name of the text")?);
        }
    }
    datasets.retain(|name| !name.is_empty());
    Ok(ImportanceMatrix { entries, datasets, chunk_size, path: None })
}

/// Writes a file, which replaces `path` when it is complete. Matrices without inputs have means of 1; tensors without any are
/// left out.
///
/// **Errors**: [`ImatrixError::Empty`], [`ImatrixError::Io`].
pub(super) fn write(matrix: &ImportanceMatrix, path: &Path) -> Result<(), ImatrixError> {
    let entries = matrix.entries.iter().filter(|(_, entry)| entry.counts.iter().any(|&n| n > 0));
    let entries: Vec<_> = entries.collect();
    if entries.is_empty() {
        return Err(ImatrixError::Empty);
    }
    let mut bytes = Vec::new();
    let number = |bytes: &mut Vec<u8>, number: u64| {
        bytes.extend(i32::try_from(number).unwrap_or(i32::MAX).to_le_bytes());
    };
    number(&mut bytes, entries.len() as u64);
    for (tensor, entry) in entries {
        // Rounded up, because files without chunks have no sums.
        let num_rows = entry.counts.iter().copied().max().unwrap_or(0);
        let num_chunks = num_rows.div_ceil(matrix.chunk_size as u64);
        number(&mut bytes, tensor.len() as u64);
        bytes.extend(tensor.as_bytes());
        number(&mut bytes, num_chunks);
        number(&mut bytes, entry.sums.len() as u64);
        let means = entry.mean_squares().into_iter();
        bytes.extend(means.flat_map(|mean| (mean * num_chunks as f32).to_le_bytes()));
    }
    let dataset = matrix.datasets.last().map_or("", String::as_str);
    number(&mut bytes, matrix.num_chunks());
    number(&mut bytes, dataset.len() as u64);
    bytes.extend(dataset.as_bytes());
    let mut file = temporary_next_to(path).map_err(ImatrixError::Io)?;
    file.write_all(&bytes).map_err(ImatrixError::Io)?;
    file.persist(path).map_err(|error| ImatrixError::Io(error.error))?;
    Ok(())
}

/// The rest of a file.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize, what: &str) -> Result<&'a [u8], ImatrixError> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(unknown(&format!("it ends before {what}")));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn count(&mut self, what: &str) -> Result<usize, ImatrixError> {
        let bytes = self.take(4, what)?;
        let number = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        usize::try_from(number).map_err(|_| unknown(&format!("{what} is {number}")))
    }

    fn name(&mut self, what: &str) -> Result<String, ImatrixError> {
        let len = self.count(what)?;
        if len > MAX_NAME_BYTES {
            return Err(unknown(&format!("{what} would be {len} bytes long")));
        }
        let bytes = self.take(len, what)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| unknown(&format!("{what} is not UTF-8")))
    }
}

fn unknown(reason: &str) -> ImatrixError {
    ImatrixError::Unknown { reason: reason.to_owned() }
}
