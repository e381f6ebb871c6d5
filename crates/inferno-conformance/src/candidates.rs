//! The largest logits of rows, compared with the reference.

use inferno_backend::{
    Backend, CandidateRows, CandidateShape, EXP_SUM_ERROR, MAX_CANDIDATES, ReferenceBackend,
};

use crate::cases::Random;
use crate::elementwise::select_candidates;

/// Checks candidates of `logits`, in rows of `cols`, against the reference.
fn check<B: Backend>(backend: &B, cols: usize, shape: CandidateShape, logits: &[f32]) {
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

/// Candidates of rows of few and many logits.
pub fn any_number_of_logits<B: Backend>(backend: &B) {
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

/// Candidates of large vocabularies.
pub fn large_vocabularies<B: Backend>(backend: &B) {
    for (vocab_size, count) in [(70_001, 100), (262_144, 1), (262_144, 20)] {
        let logits = Random::new(36).values(vocab_size);
        check(backend, vocab_size, CandidateShape { count, vocab_size }, &logits);
    }
}

/// Exponentials of many logits that vanish in single precision next to that of the largest one, but not together.
pub fn many_small_exponentials<B: Backend>(backend: &B) {
    for vocab_size in [4096, 40_000] {
        let mut logits = vec![-16.635; vocab_size];
        logits[..16].fill(0.0);
        check(backend, vocab_size, CandidateShape { count: 20, vocab_size }, &logits);
    }
}

/// Equal logits are selected in the order of their ids.
pub fn equal_logits<B: Backend>(backend: &B) {
    let mut random = Random::new(32);
    let levels = [-0.0, 0.0, 1.5, -2.0, f32::MIN, f32::MAX, f32::MIN_POSITIVE];
    let logits: Vec<f32> =
        (0..2 * 4000).map(|_| levels[random.bits() as usize % levels.len()]).collect();
    for (count, vocab_size) in [(1, 4000), (200, 4000), (256, 300), (37, 3001)] {
        check(backend, 4000, CandidateShape { count, vocab_size }, &logits);
    }
}

/// Logits that are not finite are detected at any place of a row.
pub fn not_finite<B: Backend>(backend: &B) {
    let shape = CandidateShape { count: 3, vocab_size: 5000 };
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for place in [0, 1500, 4999, 5000] {
            let mut logits = Random::new(33).values(5001);
            logits[place] = value;
            check(backend, 5001, shape, &logits);
        }
    }
}

/// A row has the same candidates in every batch and for every count.
pub fn batches_and_counts<B: Backend>(backend: &B) {
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
