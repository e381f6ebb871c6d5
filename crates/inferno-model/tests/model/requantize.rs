//! Float weights quantized at load time.

use std::sync::Arc;

use crate::support::{Feed, ReferenceLogits, fixtures, logits};
use inferno_backend::ReferenceBackend;
use inferno_gguf::Gguf;
use inferno_model::{Model, Requantize};
use inferno_tensor::DType;

/// Norm of the difference relative to the norm of transformers' logits.
fn relative_error(requantize: Requantize) -> f64 {
    let path = fixtures().join("llama.gguf");
    let answer = ReferenceLogits::read(&path.with_extension("json"));
    let checkpoint = Gguf::open(&path).expect("the fixture");
    let backend = Arc::new(ReferenceBackend::new());
    let model = Model::load(&checkpoint, backend, Some(requantize), &mut |_| ()).expect("loads");
    let found = logits(&model, &answer.tokens, Feed::Whole).concat();
    let (mut difference, mut norm) = (0.0, 0.0);
    for (expected, found) in answer.logits.concat().iter().zip(found) {
        difference += f64::from(expected - found).powi(2);
        norm += f64::from(*expected).powi(2);
    }
    (difference / norm).sqrt()
}

#[test]
fn each_format_has_the_error_expected_of_its_width() {
    for (choice, bounds) in [
        (Requantize::Int8, 1e-4..0.05),
        (Requantize::Q8_0, 1e-4..0.05),
        (Requantize::Q4_0, 1e-2..0.5),
    ] {
        let error = relative_error(choice);
        assert!(bounds.contains(&error), "{choice}: relative error {error:.2e}");
    }
}

#[test]
fn rows_not_divisible_into_blocks_fall_back_to_one_scale_per_row() {
    assert_eq!(Requantize::Q4K.target(DType::F16, 512), DType::Q4K);
    assert_eq!(Requantize::Q4K.target(DType::F16, 172), DType::Int8);
    assert_eq!(Requantize::Q4_0.target(DType::F32, 172), DType::Int8);
}

#[test]
fn rows_too_short_for_a_super_block_use_four_bit_blocks() {
    assert_eq!(Requantize::Q4K.target(DType::F16, 896), DType::Q4_0);
}

#[test]
fn quantized_weights_are_not_converted() {
    for choice in Requantize::ALL {
        assert_eq!(choice.target(DType::Q6K, 512), DType::Q6K);
    }
}

#[test]
fn names_round_trip_and_unknown_names_list_the_choices() {
    for choice in Requantize::ALL {
        assert_eq!(choice.to_string().parse::<Requantize>().expect("its name"), choice);
    }
    let error = "q5_k".parse::<Requantize>().expect_err("not offered");
    assert!(error.to_string().contains("q4_k"), "{error}");
}
