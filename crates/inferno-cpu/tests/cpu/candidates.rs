//! The largest logits of rows.

use inferno_backend::CandidateShape;
use inferno_conformance::candidates;
use inferno_conformance::elementwise::select_candidates;

use crate::cases::{Random, all, bits, simplest};

#[test]
fn candidates_of_any_number_of_logits_agree() {
    all().iter().for_each(candidates::any_number_of_logits);
}

#[test]
fn candidates_of_large_vocabularies_agree() {
    all().iter().for_each(candidates::large_vocabularies);
}

#[test]
fn sums_of_many_small_exponentials_are_within_the_bound() {
    all().iter().for_each(candidates::many_small_exponentials);
}

#[test]
fn equal_logits_are_in_the_order_of_their_ids() {
    all().iter().for_each(candidates::equal_logits);
}

#[test]
fn logits_that_are_not_finite_are_detected_anywhere() {
    all().iter().for_each(candidates::not_finite);
}

#[test]
fn a_row_has_the_same_candidates_in_every_batch_and_for_every_count() {
    all().iter().for_each(candidates::batches_and_counts);
}

/// Every instruction set and number of threads adds the exponentials in the same order.
#[test]
fn sums_have_the_same_bits_on_every_backend() {
    let vocab_size = 20_001;
    let logits: Vec<f32> =
        Random::new(37).values(3 * vocab_size).iter().map(|x| 20.0 * x).collect();
    let shape = CandidateShape { count: 40, vocab_size };
    let expected = select_candidates(&simplest(), vocab_size, shape, &logits);
    for backend in all() {
        let found = select_candidates(&backend, vocab_size, shape, &logits);
        assert_eq!(bits(&found), bits(&expected), "{backend:?}");
    }
}
