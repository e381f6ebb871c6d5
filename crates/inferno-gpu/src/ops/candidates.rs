//! The largest logits of rows.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use inferno_backend::{BackendError, CandidateShape, MAX_CANDIDATES, PassShape};

use crate::kernel::{Variant, kernel, snippets};
use crate::memory::allocation::{Allocation, Binding};
use crate::memory::buffer::GpuBuffer;
use crate::pass::{GpuPass, fold};

kernel!(
    SELECT_CANDIDATES,
    "select_candidates",
    [snippets::FLAT_INDEX, snippets::WORKGROUP_SUM, snippets::ORDER],
    [Read, ReadWrite]
);

/// Logits, or candidates of the round before, that a workgroup selects from.
const ENTRIES: usize = 1024;

/// Maximum size of the lists of a round, in bytes, unless they belong to a single row.
const MAX_LIST_BYTES: usize = 16 << 20;

/// Candidates per list, a power of two, so that lists can be merged in steps.
const MAX_WIDTH: usize = MAX_CANDIDATES.next_power_of_two();

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    vec![variant()]
}

fn variant() -> Variant {
    Variant::with_lanes(&SELECT_CANDIDATES).with("ENTRIES", ENTRIES as u32)
}

/// Upper bound of the bytes that [`select_candidates`] allocates.
pub(crate) fn scratch_bytes(pass: &PassShape) -> usize {
    let shape = CandidateShape { count: MAX_WIDTH, vocab_size: pass.vocab_size };
    let lists = Lists { shape, width: MAX_WIDTH };
    let of_rows = [0, 1].map(|round| {
        let row_bytes = lists.row_bytes(lists.num_lists(round));
        row_bytes.saturating_mul(lists.max_rows().min(pass.max_num_logit_rows))
    });
    let selected = pass.max_num_logit_rows.saturating_mul(shape.row_len() * size_of::<f32>());
    selected.saturating_add(of_rows[0]).saturating_add(of_rows[1])
}

/// Lists of candidates, which rounds merge until each row has one.
#[derive(Clone, Copy)]
struct Lists {
    shape: CandidateShape,
    width: usize,
}

impl Lists {
    /// Lists of a row after round `round`.
    fn num_lists(self, round: usize) -> usize {
        let first = self.shape.vocab_size.div_ceil(ENTRIES);
        (0..round).fold(first, |lists, _| lists.div_ceil(ENTRIES / self.width))
    }

    /// Bytes of `lists` lists.
    fn row_bytes(self, lists: usize) -> usize {
        let list = CandidateShape { count: self.width, ..self.shape };
        lists * list.row_len() * size_of::<u32>()
    }

    /// The number of rows that are selected from at a time.
    fn max_rows(self) -> usize {
        (MAX_LIST_BYTES / self.row_bytes(self.num_lists(0)).max(1)).max(1)
    }
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    rows: u32,
    num_inputs: u32,
    input_stride: u32,
    first_input: u32,
    width: u32,
    count: u32,
    num_lists: u32,
    first_list: u32,
    is_first: u32,
    is_last: u32,
}

/// See [`Pass::select_candidates`](inferno_backend::Pass::select_candidates).
pub(crate) fn select_candidates(
    pass: &mut GpuPass<'_>,
    rows: usize,
    shape: CandidateShape,
    logits: &GpuBuffer,
    out: &mut Option<GpuBuffer>,
) -> Result<(), BackendError> {
    let CandidateShape { count, vocab_size } = shape;
    assert!((1..=MAX_CANDIDATES.min(vocab_size)).contains(&count), "{count} candidates");
    assert!(vocab_size <= logits.cols() && rows <= logits.rows(), "more than the logits");
    let out = match out.take() {
        Some(known) if known.cols() >= shape.row_len() => out.insert(known),
        _ => out.insert(pass.backend.alloc_matrix(logits.rows(), shape.row_len())?),
    };
    let lists = Lists { shape, width: count.next_power_of_two() };
    for (tile, logits_of_tile) in logits.row_tiles(rows) {
        for first in tile.clone().step_by(lists.max_rows()) {
            let rows = lists.max_rows().min(tile.end - first);
            let of_rows = Rows { number: rows, in_tile: first - tile.start, first };
            select_rows(pass, lists, of_rows, (logits_of_tile, logits.cols()), out)?;
        }
    }
    Ok(())
}

/// Rows that are selected from at a time.
struct Rows {
    number: usize,
    /// The first one's place in the part of the logits that is bound.
    in_tile: usize,
    /// The first one's number.
    first: usize,
}

fn select_rows(
    pass: &mut GpuPass<'_>,
    lists: Lists,
    rows: Rows,
    (logits, cols): (Binding<'_>, usize),
    out: &GpuBuffer,
) -> Result<(), BackendError> {
    let mut params = Params {
        rows: rows.number as u32,
        num_inputs: lists.shape.vocab_size as u32,
        input_stride: cols as u32,
        first_input: rows.in_tile as u32,
        width: lists.width as u32,
        count: lists.width as u32,
        num_lists: 0,
        first_list: 0,
        is_first: 1,
        is_last: 0,
    };
    let mut input: Option<Arc<Allocation>> = None;
    for round in 0.. {
        let num_lists = lists.num_lists(round);
        params.num_lists = num_lists as u32;
        let row_bytes = lists.row_bytes(num_lists);
        let inputs = input.as_deref().map_or(logits, Binding::from);
        if num_lists == 1 {
            (params.count, params.is_last) = (lists.shape.count as u32, 1);
            params.first_list = rows.first as u32;
            pass.dispatch(variant(), [inputs, out.into()], &params, fold(rows.number));
            break;
        }
        let next = pass.scratch("candidates", round % 2, rows.number * row_bytes)?;
        let workgroups = fold(rows.number * num_lists);
        pass.dispatch(variant(), [inputs, (&*next).into()], &params, workgroups);
        (params.num_inputs, params.input_stride) = (num_lists as u32, (row_bytes / 4) as u32);
        (params.first_input, params.is_first) = (0, 0);
        input = Some(next);
    }
    Ok(())
}
