//! Log-probabilities in the format of llama.cpp's `perplexity --kl-divergence-base`.
//!
//! All numbers are little-endian. The magic `_logits_`, then the tokens in a window, the size of the vocabulary and the number
//! of windows (32 bits each), then the tokens of all windows (32 bits each). For each scored position of each window
//! follows a row: the step and the lowest log-probability as floats, then for each token of the vocabulary the number of
//! steps above the lowest as a 16-bit integer, padded to an even number of them.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use super::text_windows::TextWindows;
use crate::sampler::Softmax;

const MAGIC: &[u8; 8] = b"_logits_";

/// Log-probabilities that are further below the highest are stored as the lowest.
pub(super) const RANGE: f32 = 16.0;

const MAX_STEPS: f32 = 65535.0;

/// Why stored log-probabilities cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoredLogitsError {
    /// The file could not be read.
    #[error("failed to read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The log-probabilities could not be written.
    #[error("failed to write the log-probabilities: {0}")]
    Write(#[source] io::Error),
    /// The file has another format.
    #[error(
        "{} is not a file of log-probabilities: it does not begin with _logits_; write one with --kl-divergence-base",
        path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The file's header is invalid.
    #[error("{}: {field} is {found}, which is not possible; the file is damaged", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The field.
        field: &'static str,
        /// Its value.
        found: u32,
    },
    /// The file has another size than its header states.
    #[error(
        "{} has {found} bytes, but its header requires {expected}; it is incomplete or damaged",
        path.display()
    )]
    Size {
        /// The file.
        path: PathBuf,
        /// Required size in bytes.
        expected: u64,
        /// Actual size in bytes.
        found: u64,
    },
}

/// The size of a row in bytes.
fn row_bytes(vocab_size: usize) -> usize {
    2 * size_of::<f32>() + vocab_size.next_multiple_of(2) * size_of::<u16>()
}

/// A file of log-probabilities.
#[derive(Debug)]
pub struct StoredLogits {
    path: PathBuf,
    reader: BufReader<File>,
    vocab_size: usize,
    bytes: Vec<u8>,
}

impl StoredLogits {
    /// Whether a file begins like one of log-probabilities; false if it cannot be read.
    pub fn is_at(path: &Path) -> bool {
        let mut magic = [0; MAGIC.len()];
        File::open(path).is_ok_and(|mut file| file.read_exact(&mut magic).is_ok())
            && &magic == MAGIC
    }

    /// Opens a file, and returns it with its text. `bos` replaces the first token of each window, if the vocabulary adds one.
    ///
    /// **Errors**: a file that cannot be read, is incomplete or has another format.
    pub fn open(path: &Path, bos: Option<u32>) -> Result<(Self, TextWindows), StoredLogitsError> {
        let failed = |source| StoredLogitsError::Read { path: path.to_owned(), source };
        if !Self::is_at(path) {
            // A file that cannot be opened has a cause of its own.
            File::open(path).map_err(failed)?;
            return Err(StoredLogitsError::Unknown { path: path.to_owned() });
        }
        let file = File::open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?.len();
        let mut reader = BufReader::new(file);
        let mut header = [0; MAGIC.len() + 12];
        reader.read_exact(&mut header).map_err(failed)?;
        let field = |index: usize, field, lowest| {
            let bytes = header[MAGIC.len()..].as_chunks().0[index];
            match u32::from_le_bytes(bytes) {
                value if value >= lowest && value <= i32::MAX as u32 => Ok(value as usize),
                found => Err(StoredLogitsError::Header { path: path.to_owned(), field, found }),
            }
        };
        let window = field(0, "the number of tokens in a window", 3)?;
        let vocab_size = field(1, "the size of the vocabulary", 1)?;
        let num_windows = field(2, "the number of windows", 1)?;
        let num_rows = (num_windows as u128) * ((window - 1 - window / 2) as u128);
        let token_bytes = (window as u128) * (num_windows as u128) * size_of::<u32>() as u128;
        let expected =
            header.len() as u128 + token_bytes + num_rows * row_bytes(vocab_size) as u128;
        if expected != u128::from(found) {
            let expected = u64::try_from(expected).unwrap_or(u64::MAX);
            return Err(StoredLogitsError::Size { path: path.to_owned(), expected, found });
        }
        // The file has that many bytes.
        let mut bytes = vec![0; token_bytes as usize];
        reader.read_exact(&mut bytes).map_err(failed)?;
        let tokens = bytes.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        let bytes = vec![0; row_bytes(vocab_size)];
        let file = Self { path: path.to_owned(), reader, vocab_size, bytes };
        Ok((file, TextWindows::new(tokens, window, bos)))
    }

    /// Returns the number of tokens in the vocabulary.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// Reads the next row of log-probabilities.
    pub(super) fn read_row(&mut self, row: &mut Vec<f32>) -> Result<(), StoredLogitsError> {
        let Self { path, reader, vocab_size, bytes } = self;
        let failed = |source| StoredLogitsError::Read { path: path.clone(), source };
        reader.read_exact(bytes).map_err(failed)?;
        let (parameters, steps) = bytes.split_at(2 * size_of::<f32>());
        let [step, lowest] = [0, 1].map(|at| f32::from_le_bytes(parameters.as_chunks().0[at]));
        let steps = steps.as_chunks().0.iter().take(*vocab_size);
        row.clear();
        row.extend(steps.map(|&bytes| step * f32::from(u16::from_le_bytes(bytes)) + lowest));
        Ok(())
    }
}

/// Writes a file.
pub(super) struct Writer<'a> {
    output: &'a mut dyn Write,
    bytes: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Writes what precedes the rows.
    pub(super) fn begin(
        output: &'a mut dyn Write,
        text: &TextWindows,
        vocab_size: usize,
    ) -> Result<Self, StoredLogitsError> {
        let mut bytes = MAGIC.to_vec();
        for field in [text.window(), vocab_size, text.num_windows()] {
            bytes.extend((field as u32).to_le_bytes());
        }
        bytes.extend(text.used_tokens().iter().flat_map(|token| token.to_le_bytes()));
        output.write_all(&bytes).map_err(StoredLogitsError::Write)?;
        Ok(Self { output, bytes })
    }

    /// Writes the row of finite `logits`, whose softmax is given.
    pub(super) fn add(
        &mut self,
        logits: &[f32],
        softmax: &Softmax,
    ) -> Result<(), StoredLogitsError> {
        let (mut lowest, mut highest) = (f32::INFINITY, f32::NEG_INFINITY);
        for &logit in logits {
            (lowest, highest) = (lowest.min(logit), highest.max(logit));
        }
        let lowest = lowest.max(highest - RANGE);
        let step = (highest - lowest) / MAX_STEPS;
        let inverse = if step > 0.0 { 1.0 / step } else { 0.0 };
        let bytes = &mut self.bytes;
        bytes.clear();
        bytes.extend(step.to_le_bytes());
        bytes.extend((softmax.log_probability(lowest) as f32).to_le_bytes());
        for &logit in logits {
            // A cast of a negative number is 0.
            let num_steps = ((logit - lowest) * inverse).round_ties_even() as u16;
            bytes.extend(num_steps.to_le_bytes());
        }
        bytes.resize(row_bytes(logits.len()), 0);
        self.output.write_all(bytes).map_err(StoredLogitsError::Write)
    }

    /// Writes what is buffered.
    pub(super) fn finish(self) -> Result<(), StoredLogitsError> {
        self.output.flush().map_err(StoredLogitsError::Write)
    }
}
