//! Importance matrices: how much each input of a product matters.
//!
//! The error of a product whose weights are rounded grows with the square of the inputs that the rounded weights multiply.
//! An importance matrix has the sum of these squares per column, over the tokens of a calibration text: [`collect`] computes
//! it, [`quantize`](crate::quantize()) uses it. Files are those of llama.cpp.

mod collection;
mod error;
mod file;
mod legacy_file;
mod summary;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) use collection::OUTPUT_HEAD;
pub use collection::{ImatrixOptions, ImatrixProgress, OnChunk, collect};
pub use error::ImatrixError;
pub(crate) use file::is_importance_matrix;
pub use summary::{LayerSummary, TensorSummary};

/// The default length of a chunk, in tokens: that of llama.cpp.
pub const DEFAULT_CHUNK_SIZE: usize = 512;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImatrixFormat {
    /// GGUF.
    #[default]
    Gguf,
    /// What llama.cpp wrote before (`.dat`). It has means instead of sums, so that matrices of experts with few inputs count
    /// as much as others when files are combined, and the name of only one text.
    Legacy,
}

/// Statistics of the inputs of products, per tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportanceMatrix {
    entries: BTreeMap<String, InputStatistics>,
    datasets: Vec<String>,
    chunk_size: usize,
    path: Option<PathBuf>,
}

/// The inputs of the products with one tensor, which has one or more matrices: those of experts or heads.
#[derive(Debug, Clone, PartialEq)]
pub struct InputStatistics {
    /// Sums of squares: one for each column of each matrix.
    sums: Vec<f64>,
    /// Number of rows that were multiplied with each matrix; a single number if it is the same for all.
    counts: Vec<u64>,
}

impl InputStatistics {
    /// Statistics of no inputs yet. `num_counts` is the number of matrices, or 1 if they have the same number of rows.
    fn empty(num_sums: usize, num_counts: usize) -> Self {
        Self { sums: vec![0.0; num_sums], counts: vec![0; num_counts] }
    }

    /// Returns the sums of squares: one for each column of each matrix.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// Returns the number of rows that were multiplied with each matrix; a single number if it is the same for all.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the mean squares. Matrices without inputs, such as those of experts that no token was routed to, have ones.
    pub fn mean_squares(&self) -> Vec<f32> {
        let cols = self.sums.len() / self.counts.len();
        let matrices = self.sums.chunks(cols.max(1)).zip(&self.counts);
        let means = matrices.flat_map(|(sums, &count)| {
            sums.iter().map(move |sum| if count == 0 { 1.0 } else { (sum / count as f64) as f32 })
        });
        means.collect()
    }

    /// Adds other statistics of the same tensor; false if their shapes differ.
    fn add(&mut self, other: &Self) -> bool {
        let (mut counts, mut added) = (self.counts.clone(), other.counts.clone());
        // A single count applies to all matrices.
        let len = counts.len().max(added.len());
        for counts in [&mut counts, &mut added] {
            if counts.len() == 1 {
                counts.resize(len, counts[0]);
            }
        }
        if self.sums.len() != other.sums.len() || counts.len() != added.len() {
            return false;
        }
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, added)| *sum += added);
        counts
            .iter_mut()
            .zip(added)
            .for_each(|(count, added)| *count = count.saturating_add(added));
        self.counts = counts;
        true
    }
}

impl ImportanceMatrix {
    /// Creates a matrix without entries, for chunks of this many tokens.
    pub fn new(chunk_size: usize) -> Self {
        let (entries, datasets) = (BTreeMap::new(), Vec::new());
        Self { entries, datasets, chunk_size: chunk_size.max(1), path: None }
    }

    /// Reads a file: GGUF, or the format that llama.cpp wrote before. The latter does not have the number of tokens, which is
    /// then that of chunks of `chunk_size` tokens.
    ///
    /// **Errors**: [`Error::Imatrix`](crate::Error::Imatrix) for files that cannot be read, that are not importance matrices,
    /// or that are damaged.
    pub fn open(path: &Path, chunk_size: usize) -> Result<Self, crate::Error> {
        let failed = |problem| crate::Error::Imatrix { path: path.to_owned(), problem };
        let matrix = file::read(path, chunk_size.max(1)).map_err(failed)?;
        Ok(Self { path: Some(path.to_owned()), ..matrix })
    }

    /// Writes a file, which replaces `path` when it is complete.
    ///
    /// **Errors**: [`Error::Imatrix`](crate::Error::Imatrix) for a matrix without entries and for tensors with too long
    /// names; a failed write.
    pub fn write(&self, path: &Path, format: ImatrixFormat) -> Result<(), crate::Error> {
        let failed = |problem| crate::Error::Imatrix { path: path.to_owned(), problem };
        let written = match format {
            ImatrixFormat::Gguf => file::write(self, path),
            ImatrixFormat::Legacy => legacy_file::write(self, path),
        };
        written.map_err(failed)
    }

    /// Adds the statistics of `other`, as if they had been collected together.
    ///
    /// **Errors**: [`Error::Imatrix`](crate::Error::Imatrix) for tensors of other shapes, which belong to another model.
    pub fn merge(&mut self, other: &Self) -> Result<(), crate::Error> {
        for (tensor, added) in &other.entries {
            match self.entries.get_mut(tensor) {
                None => {
                    self.entries.insert(tensor.clone(), added.clone());
                }
                Some(entry) => {
                    let (expected, found) = (entry.sums.len(), added.sums.len());
                    if !entry.add(added) {
                        let path = other.path.clone().unwrap_or_default();
                        let tensor = tensor.clone();
                        let problem = ImatrixError::Merge { tensor, expected, found };
                        return Err(crate::Error::Imatrix { path, problem });
                    }
                }
            }
        }
        self.datasets.extend_from_slice(&other.datasets);
        Ok(())
    }

    /// Adds the name of a calibration text.
    pub fn add_dataset(&mut self, name: &str) {
        self.datasets.push(name.to_owned());
    }

    /// Returns the statistics of each tensor, by name.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&str, &InputStatistics)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// Returns the statistics of a tensor.
    pub fn entry(&self, tensor: &str) -> Option<&InputStatistics> {
        self.entries.get(tensor)
    }

    /// Returns the names of the calibration texts.
    pub fn datasets(&self) -> &[String] {
        &self.datasets
    }

    /// Returns the number of tokens of a chunk.
    pub fn chunk_size(&self) -> usize {
        self.chunk_size
    }

    /// Returns the number of whole chunks that the inputs of any tensor amount to.
    pub fn num_chunks(&self) -> u64 {
        let counts = self.entries.values().flat_map(|entry| &entry.counts);
        counts.max().map_or(0, |&most| most / self.chunk_size as u64)
    }

    /// Returns the file that was read.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fixture(name: &str) -> Vec<u8> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/imatrix");
        std::fs::read(folder.join(name)).expect("the fixture is there")
    }

    /// Writes `bytes` to a file and reads it.
    fn parse(bytes: &[u8]) -> Result<ImportanceMatrix, crate::Error> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).expect("the folder is writable");
        ImportanceMatrix::open(&path, 64)
    }

    proptest! {
        #[test]
        fn damaged_files_are_read_or_rejected(
            is_legacy in any::<bool>(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            len in any::<prop::sample::Index>(),
            is_cut in any::<bool>(),
        ) {
            let mut bytes = fixture(if is_legacy { "llama-cpp.dat" } else { "llama-cpp.gguf" });
            for (index, byte) in changes {
                let at = index.index(bytes.len());
                bytes[at] = byte;
            }
            if is_cut {
                bytes.truncate(len.index(bytes.len()));
            }
            if let Ok(matrix) = parse(&bytes) {
                for (_, entry) in matrix.entries() {
                    prop_assert!(entry.mean_squares().iter().all(|mean| *mean >= 0.0));
                }
            }
        }

        #[test]
        fn arbitrary_bytes_are_read_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn written_files_are_read_back(
            sums in prop::collection::vec(0.0f32..1e20, 12),
            counts in prop::collection::vec(0u64..1 << 24, 3),
            chunk_size in 1usize..10_000,
        ) {
            let mut matrix = ImportanceMatrix::new(chunk_size);
            let sums: Vec<f64> = sums.into_iter().map(f64::from).collect();
            matrix.entries.insert("one".to_owned(), InputStatistics { sums: sums.clone(), counts: vec![7] });
            matrix.entries.insert("three".to_owned(), InputStatistics { sums, counts });
            matrix.add_dataset("a text");
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join("file");
            matrix.write(&path, ImatrixFormat::Gguf).expect("the folder is writable");
            let found = ImportanceMatrix::open(&path, 1).expect("a valid file");
            prop_assert_eq!(found, ImportanceMatrix { path: Some(path.clone()), ..matrix.clone() });

            matrix.write(&path, ImatrixFormat::Legacy).expect("the folder is writable");
            let found = ImportanceMatrix::open(&path, chunk_size).expect("a valid file");
            prop_assert_eq!(found.datasets(), matrix.datasets());
            for (tensor, entry) in found.entries() {
                let expected = matrix.entry(tensor).expect("a tensor of the matrix").mean_squares();
                for (found, expected) in entry.mean_squares().iter().zip(expected) {
                    prop_assert!((found - expected).abs() <= 1e-5 * expected + 1e-30, "{found} {expected}");
                }
            }
        }
    }

    #[test]
    fn a_single_count_applies_to_all_matrices_of_what_it_is_combined_with() {
        let entry = |sums: &[f64], counts: &[u64]| InputStatistics {
            sums: sums.to_vec(),
            counts: counts.to_vec(),
        };
        let mut sum = entry(&[1.0, 2.0], &[4]);
        assert!(sum.add(&entry(&[3.0, 8.0], &[0, 1])));
        assert_eq!(sum, entry(&[4.0, 10.0], &[4, 5]));
        assert!(!sum.add(&entry(&[1.0], &[1])));
        assert_eq!(entry(&[2.0, 9.0], &[4, 0]).mean_squares(), [0.5, 1.0]);
    }
}
