//! The tensors of a checkpoint, in order and by name.
//!
//! Invariants: names are unique; payloads are aligned, inside their file, and do not overlap.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cursor::Cursor;
use crate::{GgufError, Result, TensorInfo};

/// The entries in the order of the file, with constant-time lookup by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct TensorIndex {
    tensors: Vec<TensorInfo>,
    by_name: HashMap<Arc<str>, usize>,
}

impl TensorIndex {
    pub(crate) fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    pub(crate) fn into_tensors(self) -> Vec<TensorInfo> {
        self.tensors
    }

    pub(crate) fn get(&self, name: &str) -> Option<&TensorInfo> {
        self.by_name.get(name).map(|&i| &self.tensors[i])
    }

    /// The number of the tensor in the order of the index.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Appends an entry.
    ///
    /// **Errors**: [`GgufError::DuplicateTensor`].
    pub(crate) fn push(&mut self, info: TensorInfo) -> Result<()> {
        if self.by_name.contains_key(info.name()) {
            let tensor = info.name().to_owned();
            return Err(GgufError::DuplicateTensor { tensor, offset: info.entry_offset });
        }
        self.by_name.insert(info.shared_name(), self.tensors.len());
        self.tensors.push(info);
        Ok(())
    }

    /// Reads `num_tensors` entries and computes the position of each payload in a file of `file_size`
    /// bytes.
    pub(crate) fn read(
        cursor: &mut Cursor<'_>,
        num_tensors: usize,
        alignment: u64,
        file_size: u64,
    ) -> Result<Self> {
        let mut index = Self::default();
        for _ in 0..num_tensors {
            index.push(TensorInfo::read(cursor)?)?;
        }
        let data_start = cursor.offset().checked_next_multiple_of(alignment);
        let ends = index
            .tensors
            .iter()
            .map(|info| start(info, data_start)?.checked_add(info.num_bytes() as u64));
        let expected_size = ends.map(|end| end.unwrap_or(u64::MAX)).max().unwrap_or(0);
        let file = FileSize { found: file_size, expected: expected_size };
        for info in &mut index.tensors {
            place(info, data_start, alignment, file)?;
        }
        check_overlaps(&index.tensors)?;
        Ok(index)
    }
}

/// The size of a file and the size that its payloads require (saturating), in bytes.
#[derive(Clone, Copy)]
struct FileSize {
    found: u64,
    expected: u64,
}

/// Returns the offset of a payload in the file.
fn start(info: &TensorInfo, data_start: Option<u64>) -> Option<u64> {
    data_start?.checked_add(info.data_offset)
}

/// Computes and checks the position of a payload in the file.
fn place(
    info: &mut TensorInfo,
    data_start: Option<u64>,
    alignment: u64,
    file: FileSize,
) -> Result<()> {
    let data_offset = info.data_offset;
    if !data_offset.is_multiple_of(alignment) {
        return Err(GgufError::MisalignedTensor {
            tensor: info.name().to_owned(),
            data_offset,
            alignment,
            offset: info.entry_offset,
        });
    }
    let num_bytes = info.num_bytes() as u64;
    let start = start(info, data_start);
    let end = start.and_then(|start| start.checked_add(num_bytes));
    match (start, end) {
        (Some(start), Some(end)) if end <= file.found => {
            info.file_offset = start;
            Ok(())
        }
        _ => Err(GgufError::TensorOutOfRange {
            tensor: info.name().to_owned(),
            offset: start.unwrap_or(u64::MAX),
            num_bytes,
            file_size: file.found,
            expected_size: file.expected,
        }),
    }
}

/// Checks that no payload overlaps the next one in the file.
fn check_overlaps(tensors: &[TensorInfo]) -> Result<()> {
    let mut in_file: Vec<&TensorInfo> = tensors.iter().collect();
    in_file.sort_by_key(|info| info.file_offset);
    for pair in in_file.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        let first_end = first.file_offset + first.num_bytes() as u64;
        if first_end > second.file_offset {
            return Err(GgufError::OverlappingTensors {
                first: first.name().to_owned(),
                first_end,
                second: second.name().to_owned(),
                offset: second.file_offset,
            });
        }
    }
    Ok(())
}
