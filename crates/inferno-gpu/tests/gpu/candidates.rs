//! The largest logits of rows, and logits that one kernel cannot bind.

use inferno_backend::{
    CandidateRows, CandidateShape, DeviceMemory, EXP_SUM_ERROR, Function, MAX_CANDIDATES, Pass,
    ReferenceBackend,
};
use inferno_conformance::cases::{Random, bits, matrix, read, run};
use inferno_conformance::elementwise::select_candidates;
use inferno_gpu::GpuBackend;
use inferno_tensor::DType;

use crate::device::adapter;

/// Checks candidates of `logits`, in rows of `cols`, against the reference.
fn check(backend: &GpuBackend, cols: usize, shape: CandidateShape, logits: &[f32]) {
    let found = select_candidates(backend, cols, shape, logits);
    let expected = select_candidates(&ReferenceBackend::new(), cols, shape, logits);
    let [found, expected] = [&found, &expected].map(|words| CandidateRows::new(shape, words));
    assert_eq!((found.len(), expected.len()), (logits.len() / cols, logits.len() / cols));
    for row in 0..found.len() {
        let (found, expected) = (found.row(row), expected.row(row));
        assert_eq!(found.is_finite(), expected.is_finite());
        if !expected.is_finite() {
            continue;
        }
        assert!(found.iter().eq(expected.iter()), "{shape:?}: row {row}");
        let error = found.exp_sum() / expected.exp_sum() - 1.0;
        assert!(error.abs() < EXP_SUM_ERROR, "{shape:?}: row {row}: {error}");
    }
}

#[test]
fn candidates_of_any_number_of_logits_agree() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(31);
    for (rows, cols, vocab_size) in
        [(3, 1, 1), (2, 7, 5), (70, 300, 300), (1, 1024, 1024), (3, 1030, 1025), (5, 5000, 4999)]
    {
        for scale in [1.0, 30.0] {
            let logits = random.values(rows * cols);
            let logits: Vec<f32> = logits.into_iter().map(|logit| scale * logit).collect();
            for count in [1, 2, 20, 64, MAX_CANDIDATES] {
                let count = count.min(vocab_size);
                check(backend, cols, CandidateShape { count, vocab_size }, &logits);
            }
        }
    }
}

#[test]
fn candidates_of_large_vocabularies_agree() {
    let Some(backend) = adapter() else { return };
    for (vocab_size, count) in [(70_001, 100), (262_144, 1), (262_144, 20)] {
        let logits = Random::new(36).values(vocab_size);
        check(backend, vocab_size, CandidateShape { count, vocab_size }, &logits);
    }
}

#[test]
fn equal_logits_are_in_the_order_of_their_ids() {
    let Some(backend) = adapter() else { return };
    let mut random = Random::new(32);
    let levels = [-0.0, 0.0, 1.5, -2.0, f32::MIN, f32::MAX, f32::MIN_POSITIVE];
    let logits: Vec<f32> =
        (0..2 * 4000).map(|_| levels[random.bits() as usize % levels.len()]).collect();
    for (count, vocab_size) in [(1, 4000), (200, 4000), (256, 300), (37, 3001)] {
        check(backend, 4000, CandidateShape { count, vocab_size }, &logits);
    }
}

#[test]
fn logits_that_are_not_finite_are_detected_anywhere() {
    let Some(backend) = adapter() else { return };
    let shape = CandidateShape { count: 3, vocab_size: 5000 };
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for place in [0, 1500, 4999, 5000] {
            let mut logits = Random::new(33).values(5001);
            logits[place] = value;
            check(backend, 5001, shape, &logits);
        }
    }
}

#[test]
fn a_row_has_the_same_candidates_in_every_batch_and_for_every_count() {
    let Some(backend) = adapter() else { return };
    let (rows, cols) = (40, 3000);
    let logits = Random::new(34).values(rows * cols);
    let shape = |count| CandidateShape { count, vocab_size: cols };
    let together = select_candidates(backend, cols, shape(256), &logits);
    let together = CandidateRows::new(shape(256), &together);
    for row in [0, 17, rows - 1] {
        for count in [1, 30, 256] {
            let logits = &logits[row * cols..][..cols];
            let alone = select_candidates(backend, cols, shape(count), logits);
            let alone = CandidateRows::new(shape(count), &alone).row(0);
            let expected = together.row(row);
            assert!(alone.iter().eq(expected.iter().take(count)));
            if count == 256 {
                assert_eq!(alone.exp_sum(), expected.exp_sum());
            }
        }
    }
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
