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

    /// The products of the columns with a key.
    #[inline(always)]
    pub(super) fn read<L: Lanes, const V: usize>(
        &self,
        lanes: L,
        block: &[f32],
        key: &[f32],
    ) -> [L::F32; V] {
        let (mut even, mut odd) = ([lanes.splat(0.0); V], [lanes.splat(0.0); V]);
        let num_pairs = key.len() / 2;
        let (pairs, last_row) = block.split_at(2 * num_pairs * self.block_cols);
        for (rows, keys) in pairs.chunks_exact(2 * self.block_cols).zip(key.chunks_exact(2)) {
            let (even_row, odd_row) = rows.split_at(self.block_cols);
            even = add_product(lanes, self.of(even_row), keys[0], even);
            odd = add_product(lanes, self.of(odd_row), keys[1], odd);
        }
        if key.len() % 2 == 1 {
            even = add_product(lanes, self.of(last_row), key[key.len() - 1], even);
        }
        for (even, odd) in even.iter_mut().zip(odd) {
            *even = lanes.add(*even, odd);
        }
        even
    }
}

/// The update of a matrix by one token: `matrix = decay * matrix + key * written`.
pub(super) struct Update<'a, L: Lanes, const V: usize> {
    pub(super) decay: L::F32,
    pub(super) key: &'a [f32],
    pub(super) written: [L::F32; V],
}

impl<L: Lanes, const V: usize> Update<'_, L, V> {
    /// Updates columns of a block, and returns their products with each of `readers`.
    #[inline(always)]
    pub(super) fn apply<const R: usize>(
        &self,
        lanes: L,
        columns: Columns,
        block: &mut [f32],
        readers: [&[f32]; R],
    ) -> [[L::F32; V]; R] {
        let mut readers = readers;
        for reader in &mut readers {
            *reader = &reader[..self.key.len()];
        }
        let (mut even, mut odd) = ([[lanes.splat(0.0); V]; R], [[lanes.splat(0.0); V]; R]);
        let num_pairs = self.key.len() / 2;
        let (pairs, last_row) = block.split_at_mut(2 * num_pairs * columns.block_cols);
        for (pair, rows) in pairs.chunks_exact_mut(2 * columns.block_cols).enumerate() {
            let (even_row, odd_row) = rows.split_at_mut(columns.block_cols);
            even = self.row(lanes, columns.of_mut(even_row), readers, 2 * pair, even);
            odd = self.row(lanes, columns.of_mut(odd_row), readers, 2 * pair + 1, odd);
        }
        if self.key.len() % 2 == 1 {
            even = self.row(lanes, columns.of_mut(last_row), readers, 2 * num_pairs, even);
        }
        for (even, odd) in even.as_flattened_mut().iter_mut().zip(odd.as_flattened()) {
            *even = lanes.add(*even, *odd);
        }
        even
    }

    /// Updates row `index` of the matrix, and returns `sums` with its products.
    #[inline(always)]
    fn row<const R: usize>(
        &self,
        lanes: L,
        row: &mut [f32],
        readers: [&[f32]; R],
        index: usize,
        mut sums: [[L::F32; V]; R],
    ) -> [[L::F32; V]; R] {
        let (old, key) = (load_columns::<L, V>(lanes, row), lanes.splat(self.key[index]));
        let mut new = old;
        for (new, written) in new.iter_mut().zip(self.written) {
            *new = lanes.fma(key, written, lanes.mul(self.decay, *new));
        }
        store_columns::<L, V>(lanes, new, row);
        for (sums, reader) in sums.iter_mut().zip(readers) {
            let reader = lanes.splat(reader[index]);
            for (sum, new) in sums.iter_mut().zip(new) {
                *sum = lanes.fma(reader, new, *sum);
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
