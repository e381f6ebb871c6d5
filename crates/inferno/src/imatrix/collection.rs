//! Collects the statistics of a text.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inferno_backend::{LogitRows, ObservedMatrices, ObservedProduct, PassObserver};
use inferno_engine::{EngineError, SequenceRunner};
use inferno_model::LoadProgress;

use super::{ImatrixError, ImportanceMatrix, InputStatistics};
use crate::{EncodeOptions, Error, Model};

/// Name of the output head's tensor.
pub(crate) const OUTPUT_HEAD: &str = "output.weight";

/// Options of [`collect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImatrixOptions {
    /// Number of chunks to skip at the start of the text.
    pub first_chunk: usize,
    /// Maximum number of chunks to compute; `None` for all.
    pub max_chunks: Option<usize>,
    /// Collects the inputs of the output head as well, if it has a tensor of its own.
    pub process_output: bool,
    /// Parses special tokens in the text.
    pub parse_special: bool,
}

/// The progress of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImatrixProgress {
    /// Chunks computed so far.
    pub done_chunks: usize,
    /// Chunks to compute.
    pub total_chunks: usize,
}

/// Called after each chunk with the progress and the matrix so far; may stop the collection.
pub type OnChunk<'a> =
    dyn FnMut(ImatrixProgress, &ImportanceMatrix) -> Result<ControlFlow<()>, Error> + 'a;

/// Computes the chunks of `text` with `model` and adds the statistics of the inputs of all products to `matrix`.
///
/// Each chunk has [`ImportanceMatrix::chunk_size`] tokens and is computed from an empty context; its first token is replaced by
/// BOS if the model adds one to texts. A remainder that does not fill a chunk is ignored. `on_load` is called after each tensor
/// that is loaded, `on_chunk` after each chunk with the statistics so far; it may stop the collection.
///
/// **Errors**: as [`Model::runner`]; [`EngineError::ContextTooLong`] for chunks longer than the model's context;
/// [`Error::Imatrix`] for a text that is too short, for inputs that are not finite, and if `matrix` is that of another model;
/// a pass that fails; those of `on_chunk`.
pub fn collect(
    model: &Model,
    text: &str,
    matrix: &mut ImportanceMatrix,
    options: ImatrixOptions,
    on_load: &mut dyn FnMut(LoadProgress),
    on_chunk: &mut OnChunk<'_>,
) -> Result<(), Error> {
    let chunk_size = matrix.chunk_size;
    let failed = |problem| Error::Imatrix { path: Default::default(), problem };
    let tokenizer = model.tokenizer()?;
    let encode = EncodeOptions { add_special: true, parse_special: options.parse_special };
    let tokens = tokenizer.encode(text, encode);
    let bos =
        tokenizer.encode("", encode).first().copied().filter(|&id| tokenizer.bos() == Some(id));
    let skipped = options.first_chunk.saturating_mul(chunk_size).min(tokens.len());
    let chunks = tokens[skipped..].chunks_exact(chunk_size);
    let total_chunks = chunks.len().min(options.max_chunks.unwrap_or(usize::MAX));
    if chunks.len() == 0 {
        let found = tokens.len() - skipped;
        return Err(failed(ImatrixError::TextTooShort { found, skipped, chunk_size }));
    }

    let statistics = Arc::new(Statistics {
        state: Mutex::new(State { matrix: matrix.clone(), problem: None }),
        process_output: options.process_output,
    });
    let mut runner = model.observed_runner(Arc::clone(&statistics), on_load)?;
    let limit = runner.context_length();
    if chunk_size > limit {
        return Err(EngineError::ContextTooLong { asked_for: chunk_size, limit }.into());
    }
    let limits = runner.limits();
    let (rows, max_num_tokens) = match options.process_output {
        true => (LogitRows::All, limits.max_num_tokens.min(limits.max_num_logit_rows)),
        false => (LogitRows::None, limits.max_num_tokens),
    };
    let mut forward = SequenceRunner::new(&mut *runner);
    let mut sequence = [forward.sequence()];
    for (index, chunk) in chunks.take(total_chunks).enumerate() {
        let mut chunk = chunk.to_vec();
        if let Some(bos) = bos {
            chunk[0] = bos;
        }
        sequence[0].extend(&chunk);
        while forward.run_next(&mut sequence, max_num_tokens, rows)?.is_some() {}
        forward.truncate(&mut sequence[0], 0);
        let mut state = statistics.lock();
        if let Some(problem) = state.problem.take() {
            return Err(failed(problem));
        }
        let progress = ImatrixProgress { done_chunks: index + 1, total_chunks };
        if on_chunk(progress, &state.matrix)?.is_break() {
            break;
        }
    }
    *matrix = statistics.lock().matrix.clone();
    Ok(())
}

/// Adds up the squares of the inputs of products.
struct Statistics {
    state: Mutex<State>,
    process_output: bool,
}

struct State {
    matrix: ImportanceMatrix,
    /// The first problem.
    problem: Option<ImatrixError>,
}

impl Statistics {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PassObserver for Statistics {
    /// The tensors of layers, and the output head on request: those that llama.cpp collects.
    fn wants(&self, tensor: &str) -> bool {
        tensor.starts_with("blk.") || self.process_output && tensor == OUTPUT_HEAD
    }

    fn observe(&self, product: &ObservedProduct<'_>) {
        let added = squares(product);
        let state = &mut *self.lock();
        let is_finite = added.sums.iter().all(|sum| sum.is_finite());
        for tensor in product.tensors {
            let entries = &mut state.matrix.entries;
            let empty = || InputStatistics::empty(added.sums.len(), added.counts.len());
            let entry = entries.entry(tensor.clone()).or_insert_with(empty);
            let (tensor, expected, found) = (tensor.clone(), entry.sums.len(), added.sums.len());
            if !is_finite {
                state.problem.get_or_insert(ImatrixError::NonFiniteInput { tensor });
            } else if !entry.add(&added) {
                state.problem.get_or_insert(ImatrixError::Merge { tensor, expected, found });
            }
        }
    }
}

/// The statistics of one product.
fn squares(product: &ObservedProduct<'_>) -> InputStatistics {
    let ObservedProduct { cols, values, matrices, .. } = *product;
    let rows = values.chunks_exact(cols);
    let (num_matrices, num_counts) = match matrices {
        ObservedMatrices::One => (1, 1),
        ObservedMatrices::Each { count } => (count, 1),
        ObservedMatrices::Experts { count, .. } => (count, count),
    };
    let mut statistics = InputStatistics::empty(num_matrices * cols, num_counts);
    let InputStatistics { sums, counts } = &mut statistics;
    let mut add = |matrix: usize, row: &[f32]| {
        let sums = &mut sums[matrix * cols..][..cols];
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x) * f64::from(*x));
    };
    match matrices {
        ObservedMatrices::One | ObservedMatrices::Each { .. } => {
            counts[0] = (rows.len() / num_matrices) as u64;
            rows.enumerate().for_each(|(index, row)| add(index % num_matrices, row));
        }
        ObservedMatrices::Experts { chosen, choices_per_row, .. } => {
            for (row, chosen) in rows.zip(chosen.chunks_exact(choices_per_row)) {
                for &expert in chosen {
                    counts[expert as usize] += 1;
                    add(expert as usize, row);
                }
            }
        }
    }
    statistics
}
