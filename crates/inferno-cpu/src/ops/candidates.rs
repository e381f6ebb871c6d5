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
use crate::memory::{Arena, LINE_BYTES};
use crate::ops::softmax::{load_or, sum_of_exponentials};
use crate::scratch::{ScratchArray, allocated_bytes};

/// Logits of a part. Few enough for the error of its sum, which `EXP_SUM_ERROR` limits to 1e-5: 127 additions of a lane and
/// 4 of the lanes have a relative error of at most 2^-24 each, together 7.8e-6; an exponential has one of 2.4e-7, and of
/// 4.8e-7 from the rounding of its exponent. (The error of exponents below -16 is larger, but has no weight.)
const PART: usize = 2048;

/// Logits of a block.
const BLOCK: usize = 64;

/// Values that are stored for a part: the sum, the maximum, and the maxima of the blocks. The maximum is NaN if a logit is
/// not finite.
const SUMMARY: usize = 2 + PART / BLOCK;

/// Memory that selections reuse: tasks do not allocate.
#[derive(Debug, Default)]
pub(crate) struct CandidateWorkspace {
    /// The summaries of the parts of each row.
    summaries: ScratchArray,
    /// The [`Selection`] of each row.
    selections: ScratchArray,
}

impl CandidateWorkspace {
    pub(crate) fn num_bytes(&self) -> usize {
        self.summaries.num_bytes() + self.selections.num_bytes()
    }
}

/// `len` numbers of an array.
fn reserved(array: &mut ScratchArray, len: usize) -> Result<&mut [f32], BackendError> {
    array.reserve(num_lines(len))?;
    Ok(&mut bytemuck::cast_slice_mut(array.get_mut())[..len])
}

/// Number of cache lines of `len` numbers.
fn num_lines(len: usize) -> usize {
    len.saturating_mul(size_of::<f32>()).div_ceil(LINE_BYTES)
}

/// A logit and its id, as bits.
type Candidate = [f32; 2];

/// The memory of the selection from one row.
struct Selection<'a> {
    /// The words of the candidates.
    words: &'a mut [f32],
    /// The maxima of the blocks.
    maxima: &'a mut [f32],
    /// The best candidates so far, up to twice as many as are selected.
    best: &'a mut [Candidate],
}

impl<'a> Selection<'a> {
    /// Number of values of the memory.
    fn len(shape: CandidateShape) -> usize {
        let maxima = shape.vocab_size.div_ceil(BLOCK);
        shape.row_len().saturating_add(maxima).saturating_add(4 * shape.count)
    }

    /// Divides [`len`](Self::len) values.
    fn new(shape: CandidateShape, memory: &'a mut [f32]) -> Self {
        let (words, memory) = memory.split_at_mut(shape.row_len());
        let (maxima, best) = memory.split_at_mut(shape.vocab_size.div_ceil(BLOCK));
        Self { words, maxima, best: bytemuck::cast_slice_mut(best) }
    }
}

/// Number of values of the summaries of a row.
fn summaries_len(vocab_size: usize) -> usize {
    vocab_size.div_ceil(PART) * SUMMARY
}

/// The largest number of candidates of a row.
fn max_shape(vocab_size: usize) -> CandidateShape {
    CandidateShape { count: MAX_CANDIDATES.min(vocab_size), vocab_size }
}

/// Upper bound of the bytes that [`select_candidates`] allocates.
pub(crate) fn max_scratch_bytes(pass: &PassShape) -> usize {
    let shape = max_shape(pass.vocab_size);
    let lens = [summaries_len(pass.vocab_size), Selection::len(shape)];
    let lens = lens.map(|len| len.saturating_mul(pass.max_num_logit_rows));
    let words = shape.row_len() * size_of::<f32>();
    lens.map(|len| allocated_bytes(num_lines(len)))
        .into_iter()
        .fold(words.saturating_mul(pass.max_num_logit_rows), usize::saturating_add)
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
        _ => {
            let row_len = max_shape(logits.cols()).row_len();
            out.insert(CpuBuffer::zeroed(logits.num_rows(), row_len, arena)?)
        }
    };
    let num_parts = vocab_size.div_ceil(PART);
    let CandidateWorkspace { summaries, selections } = workspace;
    let summaries = reserved(summaries, rows * summaries_len(vocab_size))?;
    let selection_len = Selection::len(shape);
    let selections = reserved(selections, rows * selection_len)?;
    let row = |row: usize| &logits.values()[row * logits.cols()..][..vocab_size];
    executor.pool.run_chunks(summaries, SUMMARY, |task, summary, _| {
        let logits = row(task / num_parts);
        let start = task % num_parts * PART;
        let logits = &logits[start..vocab_size.min(start + PART)];
        executor.level.run(Summarize { logits, summary });
    });
    let summaries = &*summaries;
    executor.pool.run_chunks(selections, selection_len, |at, memory, _| {
        let of_row = summaries_len(vocab_size);
        let summaries = &summaries[at * of_row..][..of_row];
        select(shape, row(at), summaries, Selection::new(shape, memory));
    });
    let out = out.values_mut().chunks_exact_mut(row_len);
    for (out, selection) in out.zip(selections.chunks_exact(selection_len)) {
        out.copy_from_slice(&selection[..row_len]);
    }
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

/// Writes the candidates of a row, given the summaries of its parts, to `selection.words`.
fn select(shape: CandidateShape, logits: &[f32], summaries: &[f32], selection: Selection<'_>) {
    let parts = || summaries.chunks_exact(SUMMARY);
    let max = parts().fold(f32::NEG_INFINITY, |max, part| max.max(part[1]));
    let of_part = |part: &[f32]| f64::from(part[0]) * libm::exp(f64::from(part[1] - max));
    let sum: f64 = parts().map(of_part).sum();
    let Selection { words, maxima, best } = selection;
    if !parts().all(|part| part[1].is_finite()) {
        return shape.write(sum, false, std::iter::repeat_n((0, 0.0), shape.count), words);
    }
    let best = largest(shape.count, logits, summaries, maxima, best);
    shape.write(sum, true, best.iter().map(|&[logit, id]| (id.to_bits(), logit)), words);
}

/// Returns the `count` largest of finite logits, in the order of candidates. Overwrites `sorted` and `best`.
fn largest<'a>(
    count: usize,
    logits: &[f32],
    summaries: &[f32],
    sorted: &mut [f32],
    best: &'a mut [Candidate],
) -> &'a [Candidate] {
    let num_blocks = sorted.len();
    let maxima = || summaries.chunks_exact(SUMMARY).flat_map(|part| &part[2..]).take(num_blocks);
    // As many blocks as there are candidates contain a logit of at least this value each.
    let mut bound = match count < num_blocks {
        true => {
            sorted.iter_mut().zip(maxima()).for_each(|(sorted, max)| *sorted = *max);
            *sorted.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a)).1
        }
        false => f32::MIN,
    };
    let mut len = 0;
    for (number, (&max, block)) in maxima().zip(logits.chunks(BLOCK)).enumerate() {
        if max < bound {
            continue;
        }
        for (id, &logit) in ((number * BLOCK) as u32..).zip(block) {
            if logit < bound {
                continue;
            }
            best[len] = [logit, f32::from_bits(id)];
            len += 1;
            if len == best.len() {
                best.select_nth_unstable_by(count - 1, order);
                len = count;
                bound = best[count - 1][0];
            }
        }
    }
    let best = &mut best[..len];
    if count < len {
        best.select_nth_unstable_by(count - 1, order);
    }
    let best = &mut best[..count];
    best.sort_unstable_by(order);
    best
}

/// The order of candidates: descending logits, then ascending ids.
fn order(a: &Candidate, b: &Candidate) -> Ordering {
    let ids = a[1].to_bits().cmp(&b[1].to_bits());
    b[0].partial_cmp(&a[0]).unwrap_or(Ordering::Equal).then(ids)
}
