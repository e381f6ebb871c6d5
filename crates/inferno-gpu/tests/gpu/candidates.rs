//! The largest logits of rows, and logits that one kernel cannot bind.

use inferno_backend::{CandidateShape, DeviceMemory, Function, Pass};
use inferno_conformance::candidates;
use inferno_conformance::cases::{Random, bits, matrix, read, run};
use inferno_tensor::DType;

use crate::device::adapter;

#[test]
fn candidates_of_any_number_of_logits_agree() {
    adapter().into_iter().for_each(candidates::any_number_of_logits);
}

#[test]
fn candidates_of_large_vocabularies_agree() {
    adapter().into_iter().for_each(candidates::large_vocabularies);
}

#[test]
fn sums_of_many_small_exponentials_are_within_the_bound() {
    adapter().into_iter().for_each(candidates::many_small_exponentials);
}

#[test]
fn equal_logits_are_in_the_order_of_their_ids() {
    adapter().into_iter().for_each(candidates::equal_logits);
}

#[test]
fn logits_that_are_not_finite_are_detected_anywhere() {
    adapter().into_iter().for_each(candidates::not_finite);
}

#[test]
fn a_row_has_the_same_candidates_in_every_batch_and_for_every_count() {
    adapter().into_iter().for_each(candidates::batches_and_counts);
}

/// Rows whose logits are larger than a kernel can bind are computed in parts, with the same bits.
#[test]
fn logits_beyond_the_largest_binding_are_computed_in_tiles() {
    let Some(backend) = adapter() else { return };
    let (vocab_size, hidden_size) = (1 << 18, 32);
    let row_bytes = vocab_size * size_of::<f32>();
    let rows = backend.adapter().max_binding_bytes() as usize / row_bytes + 3;
    if rows > 400 {
        return println!("skipped: the device binds 400 rows of logits or more");
    }
    let mut random = Random::new(35);
    let weight = random.weight(DType::Q8_0, 1, vocab_size, hidden_size);
    let weight = backend.load_weight(&[weight]).expect("memory");
    let values = random.values(rows * hidden_size);
    let shape = CandidateShape { count: 4, vocab_size: 1500 };
    let compute = |values: &[f32]| {
        let rows = values.len() / hidden_size;
        let x = matrix(backend, rows, hidden_size, values);
        let mut logits = backend.alloc_logits(rows, vocab_size).expect("memory");
        let mut candidates = None;
        run(backend, |pass| {
            pass.linear(rows, &x, &weight, None, &mut logits).expect("memory");
            pass.apply(rows, Function::SoftCap { cap: 3.0 }, &mut logits);
            pass.select_candidates(rows, shape, &logits, &mut candidates).expect("memory");
        });
        let candidates = candidates.expect("the backend selects candidates");
        (logits, read(backend, &candidates, rows * shape.row_len()))
    };
    let (all, candidates) = compute(&values);
    let mut staging = Vec::new();
    for row in [0, rows - 4, rows - 1] {
        let (alone, expected) = compute(&values[row * hidden_size..][..hidden_size]);
        let found = &candidates[row * shape.row_len()..][..shape.row_len()];
        assert_eq!(bits(found), bits(&expected), "candidates of row {row}");
        let of_row = row * vocab_size..(row + 1) * vocab_size;
        let found = backend.download(&all, of_row, &mut staging).expect("a device that works");
        assert_eq!(bits(found), bits(&read(backend, &alone, vocab_size)), "row {row}");
    }
}
