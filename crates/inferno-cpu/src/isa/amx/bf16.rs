//! Products of bfloat16 numbers.

use std::arch::asm;

use super::Configured;
use crate::lanes::{Bf16Columns, Bf16Rows, Bf16Unit, TileFloats};
use crate::scratch::CacheLine;

/// The unit, configured for products of bfloat16 numbers.
pub(crate) struct Bf16Tiles {
    configured: Configured,
}

impl Bf16Tiles {
    pub(super) fn new(configured: Configured) -> Self {
        Self { configured }
    }
}

/// Loads tile `$tile` from 64 bytes for each of its rows, which follow one another from `$lines` on; the macros below make sure
/// that there is a line for each row.
macro_rules! load {
    ($tile:literal, $lines:expr) => {{
        let lines = $lines;
        // SAFETY: a value of `Configured` proves that the unit exists and, since `IS_CONFIGURED` prevents other values, is
        // still configured on this thread. The assembly reads a line for each row of the tile.
        unsafe {
            asm!(
                concat!("tileloadd tmm", $tile, ", [{lines} + {line}]"),
                lines = in(reg) lines,
                line = in(reg) 64usize,
                options(nostack, readonly, preserves_flags),
            )
        }
    }};
}

/// Loads a second operand, whose tiles have 16 rows.
macro_rules! load_columns {
    ($tile:literal, $columns:expr) => {{
        let columns: &Bf16Columns = &$columns;
        load!($tile, columns.as_ptr());
    }};
}

/// Loads sums, whose tiles have at most 16 rows.
macro_rules! load_sums {
    ($tile:literal, $sums:expr) => {{
        let sums: &TileFloats = &$sums;
        load!($tile, sums.as_ptr());
    }};
}

/// Loads a first operand, whose tiles have as many rows as `$unit` is configured for.
macro_rules! load_rows {
    ($unit:expr, $tile:literal, $rows:expr) => {{
        let rows: &[CacheLine] = $rows;
        let expected = $unit.configured.num_rows;
        assert_eq!(rows.len(), expected, "as many rows as the unit is configured for");
        load!($tile, rows.as_ptr());
    }};
}

/// Adds the products of tiles `$rows` and `$columns` to tile `$sums`.
macro_rules! multiply {
    ($sums:literal, $rows:literal, $columns:literal) => {
        // SAFETY: a value of `Configured` proves that the unit exists and, since `IS_CONFIGURED` prevents other values, is
        // still configured on this thread. The assembly touches no memory.
        unsafe {
            asm!(
                concat!("tdpbf16ps tmm", $sums, ", tmm", $rows, ", tmm", $columns),
                options(nomem, nostack, preserves_flags),
            )
        }
    };
}

// Sums are in tile `2 block + panel`.
impl Bf16Unit for Bf16Tiles {
    #[inline(always)]
    fn clear(&self) {
        clear!("0" "1" "2" "3");
    }

    #[inline(always)]
    fn load<const B: usize, const P: usize>(&self, sums: &[&mut [TileFloats]; P], first: usize) {
        load_sums!("0", sums[0][first]);
        if P > 1 {
            load_sums!("1", sums[1][first]);
        }
        if B > 1 {
            load_sums!("2", sums[0][first + 1]);
        }
        if B > 1 && P > 1 {
            load_sums!("3", sums[1][first + 1]);
        }
    }

    #[inline(always)]
    fn add<const B: usize, const P: usize, const HAS_LOW: bool>(
        &self,
        rows: [Bf16Rows<'_>; B],
        columns: [&[Bf16Columns; 2]; P],
    ) {
        const { assert!((B == 1 || B == 2) && (P == 1 || P == 2), "sums have four tiles") };
        load_rows!(self, "4", rows[0].low);
        load_columns!("6", columns[0][0]);
        multiply!("0", "4", "6");
        if P > 1 {
            load_columns!("7", columns[1][0]);
            multiply!("1", "4", "7");
        }
        if B > 1 {
            load_rows!(self, "5", rows[1].low);
            multiply!("2", "5", "6");
            if P > 1 {
                multiply!("3", "5", "7");
            }
        }
        // One block has another tile for the high numbers, so that the load does not wait for the products above.
        if B == 1 {
            load_rows!(self, "5", rows[0].high);
            multiply!("0", "5", "6");
            if P > 1 {
                multiply!("1", "5", "7");
            }
        } else {
            load_rows!(self, "4", rows[0].high);
            multiply!("0", "4", "6");
            if P > 1 {
                multiply!("1", "4", "7");
            }
            load_rows!(self, "5", rows[1].high);
            multiply!("2", "5", "6");
            if P > 1 {
                multiply!("3", "5", "7");
            }
        }
        if !HAS_LOW {
            return;
        }
        load_columns!("6", columns[0][1]);
        if B == 1 {
            multiply!("0", "5", "6");
        } else {
            multiply!("0", "4", "6");
            multiply!("2", "5", "6");
        }
        if P > 1 {
            load_columns!("7", columns[1][1]);
            if B == 1 {
                multiply!("1", "5", "7");
            } else {
                multiply!("1", "4", "7");
                multiply!("3", "5", "7");
            }
        }
    }

    #[inline(always)]
    fn store<const B: usize, const P: usize>(
        &self,
        sums: &mut [&mut [TileFloats]; P],
        first: usize,
    ) {
        // Sums have at most 16 rows of 64 bytes, which the references cover.
        store!("0", sums[0][first]);
        if P > 1 {
            store!("1", sums[1][first]);
        }
        if B > 1 {
            store!("2", sums[0][first + 1]);
        }
        if B > 1 && P > 1 {
            store!("3", sums[1][first + 1]);
        }
    }
}
