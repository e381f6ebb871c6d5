//! Selection of the largest logits of rows.
//!
//! A row is divided into parts of [`PART`] logits, whatever the number of threads, and a part into blocks. The maximum of
//! each block is stored with the part's sum of exponentials; then only the blocks that can contain candidates are read
//! again.
//!
//! **Order of the sums.** Those of the exponentials of a part have the order of `softmax.rs`. The sums of the parts
//! are scaled to the maximum of the row, and added in order in double precision.

use std::cmp::Ordering;

use inferno_backend::{BackendError, CandidateShape, MAX_CANDIDATES, PassShape};

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::lanes::{Kernel, LANES, Lanes};
use crate::memory::{AlignedArray, Arena};
use crate::ops::softmax::{load_or, sum_of_exponentials};

/// Logits of a part. Few enough that the rounding of a lane's sum stays below the error that is allowed.
const PART: usize = 4096;

/// Logits of a block.
const BLOCK: usize = 64;

/// Values that are stored for a part: the sum, the maximum, and the maxima of the blocks. The maximum is NaN if a logit is
/// not finite.
const SUMMARY: usize = 2 + PART / BLOCK;

/// The summaries of rows, kept between calls.
#[derive(Debug, Default)]
pub(crate) struct CandidateWorkspace {
    summaries: Option<AlignedArray>,
}

impl CandidateWorkspace {
    fn summaries(&mut self, len: usize) -> Result<&mut [f32], BackendError> {
        let bytes = len.saturating_mul(size_of::<f32>());
        let known = self.summaries.take().filter(|array| array.get::<f32>().len() >= len);
        let array = match known {
            Some(array) => array,
            None => AlignedArray::zeroed(bytes, "candidates")?,
        };
        Ok(&mut self.summaries.insert(array).get_mut()[..len])
    }

    pub(crate) fn num_bytes(&self) -> usize {
        self.summaries.as_ref().map_or(0, |array| size_of_val(array.get::<f32>()))
    }
}

/// Number of values of the summaries of a row.
fn summaries_len(vocab_size: usize) -> usize {
    vocab_size.div_ceil(PART) * SUMMARY
}

/// Number of words of the largest number of candidates of a row.
fn max_row_len(vocab_size: usize) -> usize {
    CandidateShape { count: MAX_CANDIDATES.min(vocab_size), vocab_size }.row_len()
}

/// Upper bound of the bytes that [`select_candidates`] allocates.
pub(crate) fn max_scratch_bytes(pass: &PassShape) -> usize {
    let of_row = summaries_len(pass.vocab_size).saturating_add(max_row_len(pass.vocab_size));
    of_row.saturating_mul(size_of::<f32>()).saturating_mul(pass.max_num_logit_rows)
}

/// See [`Pass::select_candidates`](inferno_backend::Pass::select_candidates).
pub(crate) fn select_candidates(
    executor: Executor<'_>,
    workspace: &mut CandidateWorkspace,
    arena: &Arena,
    (rows, shape): (usize, CandidateShape),
    logits: &CpuBuffer,
    out: &mut Option<CpuBuffer>,
) -> Result<(), BackendError> {
    let CandidateShape { count, vocab_size } = shape;
    assert!((1..=MAX_CANDIDATES.min(vocab_size)).contains(&count), "{count} candidates");
    assert!(vocab_size <= logits.cols() && rows <= logits.num_rows(), "more than the logits");
    let row_len = shape.row_len();
    let out = match out.take() {
        Some(known) if known.values().len() >= rows * row_len => out.insert(known),
        // Room for any number of candidates of any part of a row, so that it is allocated once.
        _ => out.insert(CpuBuffer::zeroed(logits.num_rows(), max_row_len(logits.cols()), arena)?),
    };
    let num_parts = vocab_size.div_ceil(PART);
    let summaries = workspace.summaries(rows * summaries_len(vocab_size))?;
    let row = |row: usize| &logits.values()[row * logits.cols()..][..vocab_size];
    executor.pool.run_chunks(summaries, SUMMARY, |task, summary, _| {
        let logits = row(task / num_parts);
        let start = task % num_parts * PART;
        let logits = &logits[start..vocab_size.min(start + PART)];
        executor.level.run(Summarize { logits, summary });
    });
    let summaries = &*summaries;
    executor.pool.run_chunks(&mut out.values_mut()[..rows * row_len], row_len, |at, words, _| {
        let of_row = summaries_len(vocab_size);
        select(shape, row(at), &summaries[at * of_row..][..of_row], words);
    });
    Ok(())
}

/// Computes the summary of a part.
struct Summarize<'a> {
    logits: &'a [f32],
    summary: &'a mut [f32],
}

impl Kernel for Summarize<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (header, maxima) = self.summary.split_at_mut(SUMMARY - PART / BLOCK);
        maxima.fill(f32::NEG_INFINITY);
        let mut max_of_part = lanes.splat(f32::NEG_INFINITY);
        // A product with zero is not zero if a factor is not finite.
        let mut check = lanes.splat(0.0);
        for (block, out) in self.logits.chunks(BLOCK).zip(maxima) {
            let mut max = lanes.splat(f32::NEG_INFINITY);
            for values in block.chunks(LANES) {
                max = lanes.max(load_or(lanes, values, f32::NEG_INFINITY), max);
                check = lanes.fma(lanes.load_part(values), lanes.splat(0.0), check);
            }
            *out = lanes.max_lane(max);
            max_of_part = lanes.max(max, max_of_part);
        }
        let max = lanes.max_lane(max_of_part);
        let sum = sum_of_exponentials(lanes, self.logits, max);
        header.copy_from_slice(&[sum, max + lanes.sum(check)]);
    }
}

/// Writes the candidates of a row, given the summaries of its parts, to `words`.
fn select(shape: CandidateShape, logits: &[f32], summaries: &[f32], words: &mut [f32]) {
    let parts = || summaries.chunks_exact(SUMMARY);
    let max = parts().fold(f32::NEG_INFINITY, |max, part| max.max(part[1]));
    let sum: f64 = parts().map(|part| f64::from(part[0]) * f64::from(part[1] - max).exp()).sum();
    let is_finite = parts().all(|part| part[1].is_finite());
    let mut best = if is_finite { largest(shape.count, logits, summaries) } else { Vec::new() };
    best.resize(shape.count, (0, 0.0));
    shape.write(sum, is_finite, &best, words);
}

/// Returns the `count` largest of finite logits with their ids, in the order of candidates.
fn largest(count: usize, logits: &[f32], summaries: &[f32]) -> Vec<(u32, f32)> {
    let num_blocks = logits.len().div_ceil(BLOCK);
    let maxima = || summaries.chunks_exact(SUMMARY).flat_map(|part| &part[2..]).take(num_blocks);
    // As many blocks as there are candidates contain a logit of at least this value each.
    let bound = match count < num_blocks {
        true => {
            let mut sorted: Vec<f32> = maxima().copied().collect();
            *sorted.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a)).1
        }
        false => f32::MIN,
    };
    let mut best = Vec::new();
    for (number, (&max, block)) in maxima().zip(logits.chunks(BLOCK)).enumerate() {
        if max >= bound {
            let ids = (number * BLOCK) as u32..;
            best.extend(ids.zip(block.iter().copied()).filter(|&(_, logit)| logit >= bound));
        }
    }
    if count < best.len() {
        best.select_nth_unstable_by(count, order);
        best.truncate(count);
    }
    best.sort_unstable_by(order);
    best
}

/// The order of candidates: descending logits, then ascending ids.
fn order(a: &(u32, f32), b: &(u32, f32)) -> Ordering {
    b.1.partial_cmp(&a.1).unwrap_or(Ordering::Equal).then(a.0.cmp(&b.0))
}
