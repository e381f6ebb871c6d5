//! Products with some columns of a head's matrix, and their update.
//!
//! **Order of the sums.** A column's products with a key or a query are summed by fused multiply-add, separately for
//! even and odd rows of the matrix; then the odd sum is added to the even one.

use crate::lanes::{LANES, Lanes};

/// Columns of a block of a matrix, whose rows are contiguous: up to `V` vectors.
///
/// If the numbers are constants, loops over them need no length checks.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    /// The first column, in the block.
    pub(super) first: usize,
    /// Number of columns.
    pub(super) len: usize,
    /// Number of columns of the block.
    pub(super) block_cols: usize,
}

impl Columns {
    /// These columns of a row of the block.
    #[inline(always)]
    pub(super) fn of<'a>(&self, row: &'a [f32]) -> &'a [f32] {
        &row[self.first..self.first + self.len]
    }

    /// The mutable form of [`of`](Self::of).
    #[inline(always)]
    pub(super) fn of_mut<'a>(&self, row: &'a mut [f32]) -> &'a mut [f32] {
        &mut row[self.first..self.first + self.len]
    }

    /// Copies the columns of one block to another.
    #[inline(always)]
    pub(super) fn copy(&self, from: &[f32], to: &mut [f32]) {
        let rows = from.chunks_exact(self.block_cols).zip(to.chunks_exact_mut(self.block_cols));
        for (from, to) in rows {
            self.of_mut(to).copy_from_slice(self.of(from));
        }
    }

    /// Sets the columns of a block to zero.
    #[inline(always)]
    pub(super) fn clear(&self, block: &mut [f32]) {
        for row in block.chunks_exact_mut(self.block_cols) {
            self.of_mut(row).fill(0.0);
        }
    }

    /// The products of the columns with a key, without their common factor.
    #[inline(always)]
    pub(super) fn read<L: Lanes, D: Decay<L>, const V: usize>(
        &self,
        lanes: L,
        block: &[f32],
        read: DecayedRead<'_, D>,
    ) -> [L::F32; V] {
        let DecayedRead { key, decay } = read;
        let (mut even, mut odd) = ([lanes.splat(0.0); V], [lanes.splat(0.0); V]);
        let num_pairs = key.len() / 2;
        let (pairs, last_row) = block.split_at(2 * num_pairs * self.block_cols);
        for (pair, rows) in pairs.chunks_exact(2 * self.block_cols).enumerate() {
            let (even_row, odd_row) = rows.split_at(self.block_cols);
            even = add_product(lanes, self.of(even_row), decay.reader(key, 2 * pair), even);
            odd = add_product(lanes, self.of(odd_row), decay.reader(key, 2 * pair + 1), odd);
        }
        if key.len() % 2 == 1 {
            even = add_product(lanes, self.of(last_row), decay.reader(key, 2 * num_pairs), even);
        }
        for (even, odd) in even.iter_mut().zip(odd) {
            *even = lanes.add(*even, odd);
        }
        even
    }
}

/// The factors by which a token decays the rows of a matrix.
pub(super) trait Decay<L: Lanes>: Copy {
    /// The factor on row `index`.
    fn factor(self, lanes: L, index: usize) -> L::F32;

    /// The factor on row `index` in the product of the decayed matrix with a key, without the
    /// [common factor](Self::times_common_factor).
    fn reader(self, key: &[f32], index: usize) -> f32;

    /// Multiplies a sum of rows by the factor that they have in common.
    fn times_common_factor(self, lanes: L, sum: L::F32) -> L::F32;
}

/// One factor for all rows.
#[derive(Clone, Copy)]
pub(super) struct UniformDecay<L: Lanes>(pub(super) L::F32);

impl<L: Lanes> Decay<L> for UniformDecay<L> {
    #[inline(always)]
    fn factor(self, _: L, _: usize) -> L::F32 {
        self.0
    }

    #[inline(always)]
    fn reader(self, key: &[f32], index: usize) -> f32 {
        key[index]
    }

    #[inline(always)]
    fn times_common_factor(self, lanes: L, sum: L::F32) -> L::F32 {
        lanes.mul(self.0, sum)
    }
}

/// A factor for each row.
#[derive(Clone, Copy)]
pub(super) struct RowDecay<'a>(pub(super) &'a [f32]);

impl<L: Lanes> Decay<L> for RowDecay<'_> {
    #[inline(always)]
    fn factor(self, lanes: L, index: usize) -> L::F32 {
        lanes.splat(self.0[index])
    }

    #[inline(always)]
    fn reader(self, key: &[f32], index: usize) -> f32 {
        self.0[index] * key[index]
    }

    #[inline(always)]
    fn times_common_factor(self, _: L, sum: L::F32) -> L::F32 {
        sum
    }
}

/// A key, and the decay of the matrix before the key reads it.
#[derive(Clone, Copy)]
pub(super) struct DecayedRead<'a, D> {
    pub(super) key: &'a [f32],
    pub(super) decay: D,
}

/// The update of a matrix by one token: `matrix = decay * matrix + key * written`.
pub(super) struct Update<'a, L: Lanes, D, const V: usize> {
    pub(super) decay: D,
    pub(super) key: &'a [f32],
    pub(super) written: [L::F32; V],
}

/// Sums of products with up to `V` vectors of columns: those of a query, and those of `N` keys.
#[derive(Clone, Copy)]
pub(super) struct Sums<L: Lanes, const V: usize, const N: usize> {
    pub(super) query: [L::F32; V],
    pub(super) keys: [[L::F32; V]; N],
}

impl<L: Lanes, const V: usize, const N: usize> Sums<L, V, N> {
    #[inline(always)]
    fn zero(lanes: L) -> Self {
        let zero = [lanes.splat(0.0); V];
        Self { query: zero, keys: [zero; N] }
    }
}

impl<L: Lanes, D: Decay<L>, const V: usize> Update<'_, L, D, V> {
    /// Updates columns of a block. Returns their products with the query, and those of `next`, the next token, without their
    /// common factor.
    #[inline(always)]
    pub(super) fn apply<const N: usize>(
        &self,
        lanes: L,
        columns: Columns,
        block: &mut [f32],
        query: &[f32],
        next: [DecayedRead<'_, D>; N],
    ) -> Sums<L, V, N> {
        let (query, mut next) = (&query[..self.key.len()], next);
        for read in &mut next {
            read.key = &read.key[..self.key.len()];
        }
        let (mut even, mut odd) = (Sums::zero(lanes), Sums::zero(lanes));
        let num_pairs = self.key.len() / 2;
        let (pairs, last_row) = block.split_at_mut(2 * num_pairs * columns.block_cols);
        for (pair, rows) in pairs.chunks_exact_mut(2 * columns.block_cols).enumerate() {
            let (even_row, odd_row) = rows.split_at_mut(columns.block_cols);
            even = self.row(lanes, columns.of_mut(even_row), (query, next), 2 * pair, even);
            odd = self.row(lanes, columns.of_mut(odd_row), (query, next), 2 * pair + 1, odd);
        }
        if self.key.len() % 2 == 1 {
            even = self.row(lanes, columns.of_mut(last_row), (query, next), 2 * num_pairs, even);
        }
        let pairs = even.keys.as_flattened_mut().iter_mut().zip(odd.keys.as_flattened());
        for (even, odd) in even.query.iter_mut().zip(&odd.query).chain(pairs) {
            *even = lanes.add(*even, *odd);
        }
        even
    }

    /// Updates row `index` of the matrix, and returns `sums` with its products.
    #[inline(always)]
    fn row<const N: usize>(
        &self,
        lanes: L,
        row: &mut [f32],
        (query, next): (&[f32], [DecayedRead<'_, D>; N]),
        index: usize,
        mut sums: Sums<L, V, N>,
    ) -> Sums<L, V, N> {
        let (old, key) = (load_columns::<L, V>(lanes, row), lanes.splat(self.key[index]));
        let decay = self.decay.factor(lanes, index);
        let mut new = old;
        for (new, written) in new.iter_mut().zip(self.written) {
            *new = lanes.fma(key, written, lanes.mul(decay, *new));
        }
        store_columns::<L, V>(lanes, new, row);
        let query = lanes.splat(query[index]);
        for (sum, new) in sums.query.iter_mut().zip(new) {
            *sum = lanes.fma(query, new, *sum);
        }
        for (sums, read) in sums.keys.iter_mut().zip(next) {
            let factor = lanes.splat(read.decay.reader(read.key, index));
            for (sum, new) in sums.iter_mut().zip(new) {
                *sum = lanes.fma(factor, new, *sum);
            }
        }
        sums
    }
}

/// Returns `sums + key * row`.
#[inline(always)]
fn add_product<L: Lanes, const V: usize>(
    lanes: L,
    row: &[f32],
    key: f32,
    mut sums: [L::F32; V],
) -> [L::F32; V] {
    let (row, key) = (load_columns::<L, V>(lanes, row), lanes.splat(key));
    for (sum, row) in sums.iter_mut().zip(row) {
        *sum = lanes.fma(key, row, *sum);
    }
    sums
}

/// Loads up to `V` vectors.
#[inline(always)]
pub(super) fn load_columns<L: Lanes, const V: usize>(lanes: L, row: &[f32]) -> [L::F32; V] {
    let mut columns = [lanes.splat(0.0); V];
    for (column, part) in columns.iter_mut().zip(row.chunks(LANES)) {
        *column = lanes.load_part(part);
    }
    columns
}

/// Stores up to `V` vectors.
#[inline(always)]
pub(super) fn store_columns<L: Lanes, const V: usize>(
    lanes: L,
    vectors: [L::F32; V],
    row: &mut [f32],
) {
    for (part, vector) in row.chunks_mut(LANES).zip(vectors) {
        lanes.store_part(vector, part);
    }
}
