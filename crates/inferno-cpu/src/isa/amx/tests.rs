use std::panic::catch_unwind;

use super::*;

#[test]
fn a_thread_configures_the_unit_once_at_a_time() {
    let Some(amx) = Amx::detect() else { return };
    let tiles = amx.tiles();
    assert!(catch_unwind(|| amx.tiles()).is_err(), "it was configured twice");
    drop(tiles);
    drop(amx.tiles());
}

/// Tiles of columns with other work between them.
struct Columns<'a, const P: usize> {
    tiles: &'a [[[ColumnTile; 2]; P]; CHUNK_TILES],
    extra: Option<(&'a RowTile, &'a [[ColumnTile; 2]; P])>,
    called: Vec<usize>,
}

impl<const P: usize> ColumnTiles<P> for Columns<'_, P> {
    fn tile<const TILE: usize>(&mut self) -> [[&ColumnTile; 2]; P] {
        self.called.push(TILE);
        self.tiles[TILE].each_ref().map(|[high, low]| [high, low])
    }

    fn extra(&mut self) -> Option<ExtraTiles<'_, P>> {
        self.extra.map(|(rows, columns)| ExtraTiles { rows, columns })
    }
}

/// Adds the products of a tile of rows to `sums`, one number after another.
fn add_products(rows: &RowTile, columns: &[ColumnTile; 2], sums: &mut [TileSums; 2]) {
    let [high, low] = columns;
    let [high_sums, low_sums] = sums;
    for ((values, high_sums), low_sums) in rows.iter().zip(high_sums).zip(low_sums) {
        for (k, &x) in values.iter().enumerate() {
            let [high, low] =
                [high, low].map(|columns| columns[k / 4].iter().skip(k % 4).step_by(4));
            for (sum, &high) in high_sums.iter_mut().zip(high) {
                *sum += i32::from(x) * i32::from(high as i8);
            }
            for (sum, &low) in low_sums.iter_mut().zip(low) {
                *sum += i32::from(x) * i32::from(low);
            }
        }
    }
}

fn bytes_are_multiplied<const P: usize>() {
    let Some(amx) = Amx::detect() else { return };
    let mut state = 1_u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut columns =
        || [(); P].map(|()| [(); 2].map(|()| [(); 16].map(|()| [(); 64].map(|()| byte()))));
    let tiles = [(); CHUNK_TILES].map(|()| columns());
    let extra_columns = columns();
    let mut rows = || [(); 16].map(|()| [(); 64].map(|()| byte() as i8));
    let row_tiles = [(); CHUNK_TILES].map(|()| rows());
    let extra_rows = rows();
    for num_tiles in 1..=CHUNK_TILES {
        for extra in [None, Some((&extra_rows, &extra_columns))] {
            let mut expected = [[[[0; 16]; 16]; 2]; P];
            for (p, expected) in expected.iter_mut().enumerate() {
                for (rows, columns) in row_tiles.iter().zip(&tiles).take(num_tiles) {
                    add_products(rows, &columns[p], expected);
                }
                if let Some((rows, columns)) = extra {
                    add_products(rows, &columns[p], expected);
                }
            }
            let mut columns = Columns { tiles: &tiles, extra, called: Vec::new() };
            let mut found = [[[[-1; 16]; 16]; 2]; P];
            amx.tiles().multiply_bytes(num_tiles, &row_tiles, &mut columns, &mut found);
            assert_eq!(found, expected, "{P} {num_tiles} {}", extra.is_some());
            assert_eq!(columns.called, [0, 1, 2, 3]);
        }
    }
}

#[test]
fn bytes_are_multiplied_by_one_and_by_two_weights() {
    bytes_are_multiplied::<1>();
    bytes_are_multiplied::<2>();
}

#[test]
fn halves_outside_of_the_rows_are_not_read() {
    let Some(amx) = Amx::detect() else { return };
    let (rows, columns) = ([0; 16 * 64], [[[0; 64]; 16]]);
    let multiply = |row_stride| {
        let mut sums = [[[1; 16]; 16]; 3];
        let unit = amx.tiles();
        unit.multiply_halves([&rows; 2], row_stride, [&columns; 2], &mut sums);
        sums
    };
    assert_eq!(multiply(64), [[[0; 16]; 16]; 3]);
    // The last of these wraps around to a stride that fits, if the product is not checked.
    for row_stride in [65, usize::MAX, usize::MAX / 15 + 1] {
        assert!(catch_unwind(|| multiply(row_stride)).is_err(), "{row_stride}");
    }
}
