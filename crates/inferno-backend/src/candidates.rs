//! The largest logits of a row, which are often all that sampling needs of it.

/// The maximum number of candidates per row.
pub const MAX_CANDIDATES: usize = 256;

/// Bound of the relative error of [`CandidateRow::exp_sum`] on any backend.
pub const EXP_SUM_ERROR: f64 = 1e-5;

/// Words before the candidates of a row: the sum, and whether all logits are finite.
const HEADER: usize = 2;

/// What [`Pass::select_candidates`](crate::Pass::select_candidates) selects from each row of logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CandidateShape {
    /// Number of candidates: from 1 to [`MAX_CANDIDATES`], and at most `vocab_size`.
    pub count: usize,
    /// Number of logits, at the start of each row, that are considered.
    pub vocab_size: usize,
}

impl CandidateShape {
    /// Number of words that a row of candidates occupies: the sum as `f32`; 1 if all logits are finite, else 0; the
    /// logits as `f32`; their ids.
    pub const fn row_len(self) -> usize {
        HEADER + 2 * self.count
    }

    /// Selects the candidates of `logits` by the definition, and writes them to `words`.
    ///
    /// **Panics** unless `logits` holds `vocab_size` values or more and `words` holds [`row_len`](Self::row_len).
    pub fn select(self, logits: &[f32], words: &mut [f32]) {
        let logits = &logits[..self.vocab_size];
        let mut sorted: Vec<(u32, f32)> = (0..).zip(logits.iter().copied()).collect();
        // Adding zero makes the two zeros one.
        let key = |logit: f32| logit + 0.0;
        sorted.sort_by(|a, b| key(b.1).total_cmp(&key(a.1)).then(a.0.cmp(&b.0)));
        let max = f64::from(sorted[0].1);
        let sum: f64 = logits.iter().map(|&logit| libm::exp(f64::from(logit) - max)).sum();
        let is_finite = logits.iter().all(|logit| logit.is_finite());
        self.write(sum, is_finite, sorted[..self.count].iter().copied(), words);
    }

    /// Writes the candidates of a row to `words`: the sum of exponentials, whether all logits are finite, and the ids and
    /// logits of the candidates in order.
    ///
    /// **Panics** unless `best` yields `count` candidates and `words` holds [`row_len`](Self::row_len) values.
    pub fn write(
        self,
        exp_sum: f64,
        is_finite: bool,
        best: impl ExactSizeIterator<Item = (u32, f32)>,
        words: &mut [f32],
    ) {
        let (header, words) = words.split_at_mut(HEADER);
        header.copy_from_slice(&[exp_sum as f32, f32::from_bits(is_finite.into())]);
        let (logits, ids) = words.split_at_mut(self.count);
        assert_eq!(best.len(), self.count, "as many as were requested");
        for (i, (id, logit)) in best.enumerate() {
            (logits[i], ids[i]) = (logit, f32::from_bits(id));
        }
    }
}

/// The candidates of each row of a pass, as a device stores them.
#[derive(Debug, Clone, Copy)]
pub struct CandidateRows<'a> {
    /// What was selected.
    pub shape: CandidateShape,
    words: &'a [f32],
}

impl<'a> CandidateRows<'a> {
    /// Interprets `words`, which are those of whole rows.
    pub fn new(shape: CandidateShape, words: &'a [f32]) -> Self {
        Self { shape, words }
    }

    /// The rows as a device stores them.
    pub fn words(&self) -> &'a [f32] {
        self.words
    }

    /// Whether the words are those of whole rows whose ids are below `vocab_size`.
    pub fn are_valid(&self) -> bool {
        let vocab_size = self.shape.vocab_size as u32;
        let are_whole = self.words.len() % self.shape.row_len() == 0;
        are_whole && (0..self.len()).all(|row| self.row(row).iter().all(|(id, _)| id < vocab_size))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.words.len() / self.shape.row_len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The candidates of row `row`.
    ///
    /// **Panics** if there is no such row.
    pub fn row(&self, row: usize) -> CandidateRow<'a> {
        let len = self.shape.row_len();
        let (header, best) = self.words[row * len..][..len].split_at(HEADER);
        let (logits, ids) = best.split_at(self.shape.count);
        CandidateRow { exp_sum: header[0], is_finite: header[1].to_bits() == 1, logits, ids }
    }
}

/// The candidates of one row, in order of descending logits; equal ones in order of ascending ids.
#[derive(Debug, Clone, Copy)]
pub struct CandidateRow<'a> {
    exp_sum: f32,
    is_finite: bool,
    logits: &'a [f32],
    ids: &'a [f32],
}

impl<'a> CandidateRow<'a> {
    /// Whether all logits of the row are finite. If not, the candidates are unspecified.
    pub fn is_finite(&self) -> bool {
        self.is_finite
    }

    /// The sum of `exp(logit - max)` over the whole row, where `max` is the largest logit, within [`EXP_SUM_ERROR`].
    pub fn exp_sum(&self) -> f64 {
        f64::from(self.exp_sum)
    }

    /// The logarithm of the sum of `exp(logit)` over the whole row.
    pub fn log_sum_exp(&self) -> f64 {
        f64::from(self.logits[0]) + libm::log(self.exp_sum())
    }

    /// The logits of the candidates.
    pub fn logits(&self) -> &'a [f32] {
        self.logits
    }

    /// The ids and logits of the candidates.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f32)> + 'a {
        self.ids.iter().map(|id| id.to_bits()).zip(self.logits.iter().copied())
    }
}
