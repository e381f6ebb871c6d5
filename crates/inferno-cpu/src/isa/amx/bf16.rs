//! Products of bfloat16 numbers.

use std::arch::asm;

use super::Configured;
use crate::lanes::{Bf16Columns, Bf16Rows, Bf16Sums, Bf16Unit};
use crate::scratch::CacheLine;

/// The unit, configured for products of bfloat16 numbers.
pub(crate) struct Bf16Tiles {
    _configured: Configured,
    /// The rows that it is configured for.
    num_rows: usize,
}

impl Bf16Tiles {
    /// The unit, which is configured for blocks of `num_rows` rows.
    pub(super) fn new(configured: Configured, num_rows: usize) -> Self {
        Self { _configured: configured, num_rows }
    }

    /// The rows of a block.
    ///
    /// **Panics** if there are more or fewer than the unit is configured for.
    #[inline(always)]
    fn rows(&self, rows: &[CacheLine]) -> *const CacheLine {
        assert_eq!(rows.len(), self.num_rows, "as many rows as the unit is configured for");
        rows.as_ptr()
    }
}

/// Loads tile `$tile` from rows of 64 bytes, one after the other, that `$rows` points to.
macro_rules! load {
    ($tile:literal, $rows:expr) => {{
        let rows = $rows;
        // SAFETY: a value of `Configured` proves that the unit exists and, since `IS_CONFIGURED` prevents other values, is
        // still configured on this thread. The assembly reads as many lines as tiles of this number are configured for:
        // second operands have 16 lines, as `Bf16Columns` does; sums have at most 16, as `Bf16Sums` does; and the number of
        // lines of first operands was compared with the configuration (`rows`).
        unsafe {
            asm!(
                concat!("tileloadd tmm", $tile, ", [{rows} + {line}]"),
                rows = in(reg) rows,
                line = in(reg) 64usize,
                options(nostack, readonly, preserves_flags),
            )
        }
    }};
}

/// Adds the products of tiles `$rows` and `$columns` to tile `$sums`.
macro_rules! add_products {
    ($sums:literal, $rows:literal, $columns:literal) => {
        // SAFETY: as above. The assembly touches no memory.
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
    fn load<const B: usize, const P: usize>(&self, sums: [&[Bf16Sums]; P]) {
        load!("0", sums[0][0].as_ptr());
        if P > 1 {
            load!("1", sums[1][0].as_ptr());
        }
        if B > 1 {
            load!("2", sums[0][1].as_ptr());
        }
        if B > 1 && P > 1 {
            load!("3", sums[1][1].as_ptr());
        }
    }

    #[inline(always)]
    fn add<const B: usize, const P: usize, const HAS_LOW: bool>(
        &self,
        rows: [Bf16Rows<'_>; B],
        columns: [&[Bf16Columns; 2]; P],
    ) {
        const { assert!((B == 1 || B == 2) && (P == 1 || P == 2), "sums have four tiles") };
        load!("4", self.rows(rows[0].low));
        load!("6", columns[0][0].as_ptr());
        add_products!("0", "4", "6");
        if P > 1 {
            load!("7", columns[1][0].as_ptr());
            add_products!("1", "4", "7");
        }
        if B > 1 {
            load!("5", self.rows(rows[1].low));
            add_products!("2", "5", "6");
            if P > 1 {
                add_products!("3", "5", "7");
            }
        }
        // One block has another tile for the high numbers, so that the load does not wait for the products above.
        if B == 1 {
            load!("5", self.rows(rows[0].high));
            add_products!("0", "5", "6");
            if P > 1 {
                add_products!("1", "5", "7");
            }
        } else {
            load!("4", self.rows(rows[0].high));
            add_products!("0", "4", "6");
            if P > 1 {
                add_products!("1", "4", "7");
            }
            load!("5", self.rows(rows[1].high));
            add_products!("2", "5", "6");
            if P > 1 {
                add_products!("3", "5", "7");
            }
        }
        if !HAS_LOW {
            return;
        }
        load!("6", columns[0][1].as_ptr());
        if B == 1 {
            add_products!("0", "5", "6");
        } else {
            add_products!("0", "4", "6");
            add_products!("2", "5", "6");
        }
        if P > 1 {
            load!("7", columns[1][1].as_ptr());
            if B == 1 {
                add_products!("1", "5", "7");
            } else {
                add_products!("1", "4", "7");
                add_products!("3", "5", "7");
            }
        }
    }

    #[inline(always)]
    fn store<const B: usize, const P: usize>(&self, sums: [&mut [Bf16Sums]; P]) {
        // Sums have at most 16 rows of 64 bytes, which the references cover.
        store!("0", sums[0][0]);
        if P > 1 {
            store!("1", sums[1][0]);
        }
        if B > 1 {
            store!("2", sums[0][1]);
        }
        if B > 1 && P > 1 {
            store!("3", sums[1][1]);
        }
    }
}
