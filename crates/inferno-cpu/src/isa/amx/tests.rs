use std::panic::catch_unwind;

use super::*;
use crate::lanes::{Bf16Rows, Bf16Unit};
use crate::scratch::CacheLine;

#[test]
fn a_thread_configures_the_unit_once_at_a_time() {
    let Some(amx) = Amx::detect() else { return };
    let tiles = amx.tiles();
    assert!(catch_unwind(|| amx.tiles()).is_err(), "it was configured twice");
    drop(tiles);
    drop(amx.tiles());
}

/// Tiles of columns with other work between them.
struct Columns<'a> {
    tiles: &'a [[ColumnTile; 2]; CHUNK_TILES],
    extra: Option<(&'a RowTile, &'a [ColumnTile; 2])>,
    called: Vec<usize>,
}

impl ColumnTiles for Columns<'_> {
    fn tile<const TILE: usize>(&mut self) -> [&ColumnTile; 2] {
        self.called.push(TILE);
        self.tiles[TILE].each_ref()
    }

    fn extra(&mut self) -> Option<ExtraTiles<'_>> {
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

#[test]
fn bytes_are_multiplied_while_the_sums_before_are_stored() {
    let Some(amx) = Amx::detect() else { return };
    let mut state = 1_u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut columns = || [(); 2].map(|()| [(); 16].map(|()| [(); 64].map(|()| byte())));
    let tiles = [(); CHUNK_TILES].map(|()| columns());
    let extra_columns = columns();
    let mut rows = || [(); 16].map(|()| [(); 64].map(|()| byte() as i8));
    let row_tiles = [(); CHUNK_TILES].map(|()| rows());
    let extra_rows = rows();
    // Both sets have products with and without an extra tile.
    let extra = Some((&extra_rows, &extra_columns));
    let cases = (0..=CHUNK_TILES).flat_map(|num_tiles| match num_tiles % 2 {
        0 => [(num_tiles, None), (num_tiles, extra)],
        _ => [(num_tiles, extra), (num_tiles, None)],
    });
    let unit = amx.tiles();
    let mut before: Option<[TileSums; 2]> = None;
    for (number, (num_tiles, extra)) in cases.enumerate() {
        let what = format!("{num_tiles} {} {number}", extra.is_some());
        let mut expected = [[[0; 16]; 16]; 2];
        for (rows, columns) in row_tiles.iter().zip(&tiles).take(num_tiles) {
            add_products(rows, columns, &mut expected);
        }
        if let Some((rows, columns)) = extra {
            add_products(rows, columns, &mut expected);
        }
        let mut columns = Columns { tiles: &tiles, extra, called: Vec::new() };
        // The sums before are not needed each time.
        let before_is_stored = number % 3 != 0;
        let mut found = [[[-1; 16]; 16]; 2];
        let stored = before_is_stored.then_some(&mut found);
        if number % 2 == 0 {
            unit.multiply_bytes::<0>(num_tiles, &row_tiles, &mut columns, stored);
        } else {
            unit.multiply_bytes::<1>(num_tiles, &row_tiles, &mut columns, stored);
        }
        assert_eq!(columns.called, [0, 1, 2, 3]);
        if before_is_stored {
            assert_eq!(Some(found), before, "{what}");
        }
        if number % 2 == 0 {
            unit.store_bytes::<0>(&mut found);
        } else {
            unit.store_bytes::<1>(&mut found);
        }
        assert_eq!(found, expected, "{what}");
        before = Some(expected);
    }
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

#[test]
fn blocks_of_other_heights_than_configured_are_rejected() {
    let Some(amx) = Amx::detect() else { return };
    for num_rows in [0, 17] {
        assert!(catch_unwind(|| amx.bf16_tiles(num_rows)).is_err(), "{num_rows}");
    }
    let lines = [CacheLine([0.0; 16]); 3];
    let columns = [[[0; 64]; 16]; 2];
    for (num_high, num_low) in [(2, 2), (1, 2), (2, 1), (3, 2), (2, 3)] {
        let multiply = || {
            let rows = Bf16Rows { high: &lines[..num_high], low: &lines[..num_low] };
            amx.bf16_tiles(2).add::<1, 1, false>([rows], [&columns]);
        };
        assert_eq!(catch_unwind(multiply).is_ok(), (num_high, num_low) == (2, 2));
    }
}
