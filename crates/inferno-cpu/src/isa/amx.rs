//! AMX int8: the matrix unit of the AVX-512 level, in assembly because its intrinsics are not stable.
//!
//! A tile register holds 16 rows of 64 bytes. The first operand is activations, 16 rows of 32 or 64 bytes; the
//! second is a group of a weight in its packed layout, `[k / 4][16 rows][4]`; the result is 16 rows of 16 sums. If
//! each 32 columns have a separate scale, a tile holds only these 32.
//!
//! Products are pipelined: a result is stored after three more products have started. (Storing it at once, a
//! product takes 31 cycles instead of 20. The tiles of four products are written out: selecting them by number
//! costs a jump per product, and a product took half as long again.)
//!
//! (Tried: scaling results while the unit computes. While any tile instruction is in flight, including loads and
//! stores, the second of the two ports for 512-bit float multiplication is blocked: a product takes 18 cycles
//! together with 16 fused multiply-adds, and 56 with 48 of them. Conversions by a subtraction of 1.5 * 2^23, which
//! that port still executes, reduce that to 34 for the arithmetic alone, but 45 to 80 with loads and stores. Vectors
//! of 256 bits can use both ports, for half the work each. Products followed by their scalings take 45 to 50 cycles
//! and are simpler. Products of bfloat16, which are exact for these integers, avoid the conversion and take 41, but
//! their operands are twice as large.)

// Instructions for tiles are written as assembly.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::cell::Cell;
use std::marker::PhantomData;

use crate::lanes::{ColumnTile, ExtraTiles, GroupBytes, MatrixUnit, RowTile, TileSums};

/// A proof that this processor has AMX int8 and that the system permits this process to use it. Only
/// [`Amx::detect`] creates values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amx(());

/// Rows of a tile.
const ROWS: usize = 16;

/// The operand of `ldtilecfg`.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    /// Bytes per row, for each tile.
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Amx {
    /// Detects the unit and requests permission for all threads of this process to use it.
    pub(crate) fn detect() -> Option<Self> {
        if !processor_has_it() {
            return None;
        }
        // SAFETY: `processor_has_it` checked the OSXSAVE bit.
        let saved = unsafe { system_saves_tiles() };
        (saved && permitted()).then_some(Self(()))
    }

    /// Configures the unit on this thread for sums of `cols` columns: 32 or 64.
    ///
    /// **Panics** if this thread has another value, whose configuration it would change.
    pub(crate) fn tiles(self, cols: usize) -> AmxTiles {
        assert!(matches!(cols, 32 | 64), "columns that share a scale, or whole tiles");
        assert!(!IS_TAKEN.replace(true), "a thread has one value of `AmxTiles` at a time");
        let mut config = TileConfig {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes: [0; 16],
            rows: [0; 16],
        };
        // Tiles 0 to 3 are results, 4 and 5 activations, 6 and 7 weights.
        for tile in 0..8 {
            config.row_bytes[tile] = if matches!(tile, 4 | 5) { cols as u16 } else { 64 };
            config.rows[tile] = if tile < 6 { ROWS as u8 } else { (cols / 4) as u8 };
        }
        // SAFETY: `self` proves that the processor has the instruction and the system permits it; the
        // configuration is valid for palette 1.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &config, options(nostack, readonly)) };
        AmxTiles { cols, thread: PhantomData }
    }
}

/// Whether the processor has tiles and products of bytes.
fn processor_has_it() -> bool {
    const AMX_TILE: u32 = 1 << 24;
    const AMX_INT8: u32 = 1 << 25;
    const OSXSAVE: u32 = 1 << 27;
    #[allow(unused_unsafe)] // It is safe in newer compilers.
    // SAFETY: every 64-bit processor has the instruction.
    let (highest, first, seventh) =
        unsafe { (__cpuid(0).eax, __cpuid(1).ecx, __cpuid_count(7, 0).edx) };
    highest >= 7 && first & OSXSAVE != 0 && seventh & (AMX_TILE | AMX_INT8) == AMX_TILE | AMX_INT8
}

/// Whether the system saves the tile registers when it switches threads.
///
/// # Safety
///
/// The processor must have the OSXSAVE bit set, which means that `xgetbv` is available.
unsafe fn system_saves_tiles() -> bool {
    const TILE_CONFIG_AND_DATA: u32 = 0b11 << 17;
    let enabled: u32;
    // SAFETY: the caller guarantees that the instruction is available. It touches no memory.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") enabled, out("edx") _, options(nomem, nostack));
    }
    enabled & TILE_CONFIG_AND_DATA == TILE_CONFIG_AND_DATA
}

/// Requests the tile registers from Linux, which grants them to the whole process.
#[cfg(target_os = "linux")]
fn permitted() -> bool {
    const SYS_ARCH_PRCTL: isize = 158;
    const ARCH_REQ_XCOMP_PERM: usize = 0x1023;
    const XFEATURE_XTILEDATA: usize = 18;
    let result: isize;
    // SAFETY: the system call has two numbers as arguments and touches no memory of this process.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") SYS_ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// Other systems are not supported yet.
#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}

thread_local! {
    /// Whether a value of [`AmxTiles`] exists on this thread. Only one may exist, so that no other value
    /// reconfigures or releases the unit.
    static IS_TAKEN: Cell<bool> = const { Cell::new(false) };
}

/// The unit, configured on this thread while the value lives.
pub(crate) struct AmxTiles {
    /// Columns of a tile of activations.
    cols: usize,
    /// Tile registers belong to a thread, so the value must not be sent to another.
    thread: PhantomData<*const ()>,
}

/// Multiplies one group of 32 columns into tile `$sums`.
macro_rules! multiply {
    ($sums:literal, $activations:literal, $weights:literal, $operands:expr) => {{
        let (a, w): (*const i8, *const [u8; 64]) = $operands;
        // SAFETY: a value of `AmxTiles` proves that the unit exists and, since `IS_TAKEN` prevents other values, is
        // still configured on this thread; the caller checked that it is configured for 32 columns. The
        // assembly reads 16 rows of activations, 32 bytes apart, and 8 vectors of weights, which the
        // references that the pointers come from cover.
        unsafe {
            asm!(
                concat!("tileloadd tmm", $activations, ", [{a} + {a_stride}]"),
                concat!("tileloadd tmm", $weights, ", [{w} + {w_stride}]"),
                concat!("tilezero tmm", $sums),
                concat!("tdpbssd tmm", $sums, ", tmm", $activations, ", tmm", $weights),
                a = in(reg) a,
                w = in(reg) w,
                a_stride = in(reg) 32usize,
                w_stride = in(reg) 64usize,
                options(nostack, readonly, preserves_flags),
            )
        }
    }};
}

/// Adds the products of 64 columns, high and low, to tiles `$high` and `$low`.
macro_rules! add_extra {
    ($high:literal, $low:literal, $extra:expr) => {{
        let ExtraTiles { rows, columns: [high, low] } = $extra;
        // SAFETY: a value of `AmxTiles` proves that the unit exists and, since `IS_TAKEN` prevents other values, is
        // still configured on this thread; the caller checked that it is configured for 64 columns. The
        // assembly reads 16 rows of 64 bytes, and 16 lines of two tiles of columns, which the references cover.
        unsafe {
            asm!(
                "tileloadd tmm4, [{rows} + {line}]",
                "tileloadd tmm6, [{high} + {line}]",
                concat!("tdpbssd tmm", $high, ", tmm4, tmm6"),
                "tileloadd tmm7, [{low} + {line}]",
                concat!("tdpbssd tmm", $low, ", tmm4, tmm7"),
                rows = in(reg) rows.as_ptr(),
                high = in(reg) high.as_ptr(),
                low = in(reg) low.as_ptr(),
                line = in(reg) 64usize,
                options(nostack, readonly, preserves_flags),
            )
        }
    }};
}

/// Stores tile `$sums`.
macro_rules! store {
    ($sums:literal, $out:expr) => {
        // SAFETY: a value of `AmxTiles` proves that the unit exists and, since `IS_TAKEN` prevents other values, is
        // still configured on this thread. The assembly writes the 16 rows of 64 bytes that the reference covers.
        unsafe {
            asm!(
                concat!("tilestored [{out} + {stride}], tmm", $sums),
                out = in(reg) $out.as_mut_ptr(),
                stride = in(reg) 64usize,
                options(nostack, preserves_flags),
            )
        }
    };
}

impl AmxTiles {
    /// Makes all sums zero.
    #[inline(always)]
    fn clear(&self) {
        // SAFETY: a value of `AmxTiles` proves that the unit exists and, since `IS_TAKEN` prevents other values, is
        // still configured on this thread. The assembly touches no memory.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                options(nomem, nostack, preserves_flags),
            );
        }
    }
}

impl MatrixUnit for AmxTiles {
    const TURN_OPS: usize = 4 * 2 * ROWS * ROWS * 64;

    #[inline(always)]
    fn multiply<'a>(
        &self,
        activations: impl Fn(usize) -> &'a [[i8; 32]; ROWS],
        weights: &[GroupBytes],
        out: &mut [TileSums],
        before: impl Fn(usize),
    ) {
        assert_eq!(self.cols, 32, "the unit is configured for the columns of a group");
        let out = &mut out[..weights.len()];
        let operands = |number: usize| {
            before(number);
            (activations(number).as_flattened().as_ptr(), weights[number].as_ptr())
        };
        let fours = out.len() / 4 * 4;
        for number in (0..fours).step_by(4) {
            multiply!("0", "4", "6", operands(number));
            if number > 0 {
                store!("1", out[number - 3]);
            }
            multiply!("1", "5", "7", operands(number + 1));
            if number > 0 {
                store!("2", out[number - 2]);
            }
            multiply!("2", "4", "6", operands(number + 2));
            if number > 0 {
                store!("3", out[number - 1]);
            }
            multiply!("3", "5", "7", operands(number + 3));
            store!("0", out[number]);
        }
        if fours > 0 {
            store!("1", out[fours - 3]);
            store!("2", out[fours - 2]);
            store!("3", out[fours - 1]);
        }
        for (number, out) in out.iter_mut().enumerate().skip(fours) {
            multiply!("0", "4", "6", operands(number));
            store!("0", out);
        }
    }

    #[inline(always)]
    fn multiply_two(
        &self,
        rows: [&[RowTile]; 2],
        columns: [&[ColumnTile]; 2],
        extra: [Option<ExtraTiles<'_>>; 2],
        sums: &mut [TileSums; 4],
        before: impl Fn(usize),
    ) {
        let steps = columns[0].len();
        assert_eq!(self.cols, 64, "the unit is configured for 64 columns");
        assert_eq!(columns[1].len(), steps, "as many columns of both");
        for rows in rows {
            assert!(rows.len() >= steps, "as many tiles of rows as of columns");
        }
        self.clear();
        for (step, (first, second)) in columns[0].iter().zip(columns[1]).enumerate() {
            before(step);
            // SAFETY: a value of `AmxTiles` proves that the unit exists and, since `IS_TAKEN` prevents other values,
            // is still configured on this thread; `cols` was checked to be 64. The assembly reads 16 lines of
            // each tile, which the references cover.
            unsafe {
                asm!(
                    "tileloadd tmm4, [{first_rows} + {line}]",
                    "tileloadd tmm6, [{first_columns} + {line}]",
                    "tdpbssd tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{second_columns} + {line}]",
                    "tdpbssd tmm1, tmm4, tmm7",
                    "tileloadd tmm5, [{second_rows} + {line}]",
                    "tdpbssd tmm2, tmm5, tmm6",
                    "tdpbssd tmm3, tmm5, tmm7",
                    first_rows = in(reg) rows[0][step].as_ptr(),
                    second_rows = in(reg) rows[1][step].as_ptr(),
                    first_columns = in(reg) first.as_ptr(),
                    second_columns = in(reg) second.as_ptr(),
                    line = in(reg) 64usize,
                    options(nostack, readonly, preserves_flags),
                );
            }
        }
        if let Some(extra) = extra[0] {
            add_extra!("0", "1", extra);
        }
        if let Some(extra) = extra[1] {
            add_extra!("2", "3", extra);
        }
        store!("0", sums[0]);
        store!("1", sums[1]);
        store!("2", sums[2]);
        store!("3", sums[3]);
    }

    #[inline(always)]
    fn multiply_halves(
        &self,
        rows: [&[i8]; 2],
        row_stride: usize,
        columns: [&[ColumnTile]; 2],
        sums: &mut [TileSums; 3],
    ) {
        let steps = columns[0].len();
        assert_eq!(self.cols, 64, "the unit is configured for 64 columns");
        assert_eq!(columns[1].len(), steps, "as many high tiles as low ones");
        let last_row = (ROWS - 1).checked_mul(row_stride);
        let end = last_row.and_then(|last_row| last_row.checked_add(steps * 64));
        let end = end.expect("rows within the address space");
        assert!(rows.iter().all(|rows| rows.len() >= end), "rows as long as the columns");
        self.clear();
        for (step, (high, low)) in columns[0].iter().zip(columns[1]).enumerate() {
            // SAFETY: a value of `AmxTiles` proves that the unit exists and, since `IS_TAKEN` prevents other values,
            // is still configured on this thread; `cols` was checked to be 64. The assembly reads 16 rows of 64
            // bytes, `row_stride` bytes apart, which the slices were checked to hold for each tile, and 16
            // lines of each tile of columns.
            unsafe {
                // The two products into one tile are separated: the second waits for the first.
                asm!(
                    "tileloadd tmm4, [{high_rows} + {row_stride}]",
                    "tileloadd tmm7, [{low} + {line}]",
                    "tdpbssd tmm1, tmm4, tmm7",
                    "tileloadd tmm6, [{high} + {line}]",
                    "tdpbssd tmm0, tmm4, tmm6",
                    "tileloadd tmm5, [{low_rows} + {row_stride}]",
                    "tdpbssd tmm2, tmm5, tmm7",
                    "tdpbssd tmm1, tmm5, tmm6",
                    high_rows = in(reg) rows[0][step * 64..].as_ptr(),
                    low_rows = in(reg) rows[1][step * 64..].as_ptr(),
                    high = in(reg) high.as_ptr(),
                    low = in(reg) low.as_ptr(),
                    row_stride = in(reg) row_stride,
                    line = in(reg) 64usize,
                    options(nostack, readonly, preserves_flags),
                );
            }
        }
        store!("0", sums[0]);
        store!("1", sums[1]);
        store!("2", sums[2]);
    }

    fn repeat(&self, turns: usize) {
        for _ in 0..turns {
            // SAFETY: a value of `AmxTiles` proves that the unit exists and, since `IS_TAKEN` prevents other values,
            // is still configured on this thread. The assembly touches no memory.
            unsafe {
                asm!(
                    "tdpbssd tmm0, tmm4, tmm6",
                    "tdpbssd tmm1, tmm4, tmm7",
                    "tdpbssd tmm2, tmm5, tmm6",
                    "tdpbssd tmm3, tmm5, tmm7",
                    options(nomem, nostack, preserves_flags),
                );
            }
        }
    }
}

impl Drop for AmxTiles {
    fn drop(&mut self) {
        // SAFETY: the unit exists and is configured on this thread. Once released, the system has less state
        // to save.
        unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) };
        IS_TAKEN.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_thread_configures_the_unit_once_at_a_time() {
        let Some(amx) = Amx::detect() else { return };
        let tiles = amx.tiles(32);
        assert!(catch_unwind(|| amx.tiles(64)).is_err(), "it was configured twice");
        drop(tiles);
        drop(amx.tiles(64));
    }

    #[test]
    fn halves_outside_of_the_rows_are_not_read() {
        let Some(amx) = Amx::detect() else { return };
        let (rows, columns) = ([0; 16 * 64], [[[0; 64]; 16]]);
        let multiply = |row_stride| {
            let mut sums = [[[1; 16]; 16]; 3];
            let unit = amx.tiles(64);
            unit.multiply_halves([&rows; 2], row_stride, [&columns; 2], &mut sums);
            sums
        };
        assert_eq!(multiply(64), [[[0; 16]; 16]; 3]);
        // The last of these wraps around to a stride that fits, if the product is not checked.
        for row_stride in [65, usize::MAX, usize::MAX / 15 + 1] {
            assert!(catch_unwind(|| multiply(row_stride)).is_err(), "{row_stride}");
        }
    }
}
