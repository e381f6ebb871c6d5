//! The hidden states of a model that its prediction head has not read yet.
//!
//! The head reads the hidden state of each position together with the token after it. It begins with the first position
//! whose hidden state it is shown: those of a prefix that was cached are unknown, which only makes its drafts worse.

/// Hidden states of neighboring positions of one sequence.
#[derive(Debug)]
pub(super) struct HiddenRows {
    hidden_size: usize,
    /// The first position that the head has read, or will read.
    base: usize,
    /// The position of the first of `rows`.
    start: usize,
    rows: Vec<f32>,
}

impl HiddenRows {
    pub(super) fn new(hidden_size: usize) -> Self {
        Self { hidden_size, base: 0, start: 0, rows: Vec::new() }
    }

    /// The position of the first token that the head reads.
    pub(super) fn first_token(&self) -> usize {
        self.base + 1
    }

    pub(super) fn num_rows(&self) -> usize {
        self.rows.len() / self.hidden_size
    }

    /// The first `num_rows` hidden states.
    pub(super) fn first(&self, num_rows: usize) -> &[f32] {
        &self.rows[..num_rows * self.hidden_size]
    }

    /// Adds the hidden states from position `start` on. Those that are known already are ignored. Returns false if others are
    /// missing before them: the head begins anew then.
    pub(super) fn push(&mut self, start: usize, rows: &[f32]) -> bool {
        let end = self.start + self.num_rows();
        if start > end || start < self.base {
            self.clear();
            (self.base, self.start) = (start, start);
            self.rows.extend_from_slice(rows);
            return false;
        }
        let num_known = (end - start) * self.hidden_size;
        self.rows.extend_from_slice(rows.get(num_known..).unwrap_or_default());
        true
    }

    /// Removes the first `num_rows` hidden states, which were read.
    pub(super) fn pop(&mut self, num_rows: usize) {
        self.rows.drain(..num_rows * self.hidden_size);
        self.start += num_rows;
    }

    /// Continues after the first `num_read` positions that were read, of another text.
    pub(super) fn rewind(&mut self, num_read: usize) {
        self.rows.clear();
        self.start = self.base + num_read;
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        (self.base, self.start) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_neighboring_and_read_once() {
        let mut hidden = HiddenRows::new(2);
        assert!(hidden.push(0, &[0.0, 0.0, 1.0, 1.0]));
        assert!(hidden.push(1, &[9.0, 9.0, 2.0, 2.0]), "position 1 is known");
        assert_eq!(hidden.first(3), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
        hidden.pop(2);
        assert_eq!((hidden.num_rows(), hidden.first(1)), (1, &[2.0, 2.0][..]));
        assert!(!hidden.push(7, &[7.0, 7.0]), "those before are missing");
        assert_eq!((hidden.first_token(), hidden.first(1)), (8, &[7.0, 7.0][..]));
        hidden.pop(1);
        hidden.rewind(0);
        assert!(hidden.push(7, &[8.0, 8.0]));
        assert_eq!(hidden.first(1), [8.0, 8.0]);
    }
}
