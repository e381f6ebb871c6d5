//! AMX int8: the matrix unit beside the AVX-512 level, through `asm!`, since its intrinsics are not
//! stable.
//!
//! A tile register holds 16 rows of 64 bytes. Activations are the first operand, 16 rows of 32 or 64
//! bytes; a group of a weight, `[k / 4][16 rows][4]`, is the second as it stands; the result is 16
//! rows of 16 sums. Where each 32 columns have a scale of their own, a tile holds no more than these.
//!
//! The unit works ahead: a result is stored when three more products have been begun. (Stored at
//! once, a product takes 31 cycles, so 20. Which tile a product goes to is written out, four at a
//! time: chosen by number, it was a jump for each, and a product took half as long again.)
//!
//! (Tried: scaling results while the unit goes on. While any instruction on tiles is under way,
//! loads and stores too, the second of the two ports that multiply floats of 512 bits is closed:
//! products and 16 fused multiply-adds take 18 cycles beside each other, 48 take 56. Conversions by a
//! subtraction of 1.5 * 2^23, which that port still does, make it 34 for the arithmetic alone, and 45
//! to 80 with loads and stores. Vectors of 256 bits have both ports, for half the work. Products and
//! then their scalings, one after the other, take 45 to 50 and are simpler. Products of bfloat16, exact
//! for these integers, would spare the conversion and take 41, but need operands of twice the size.)

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::cell::Cell;
use std::marker::PhantomData;

use crate::lanes::{ColumnTile, ExtraTiles, GroupBytes, RowTile, TileSums, TileUnit};

/// Proof that this processor has AMX int8 and that the system lets this process use it:
/// [`Amx::detect`] alone makes one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amx(());

/// Rows of a tile.
const ROWS: usize = 16;

/// What `ldtilecfg` reads.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    /// Bytes of a row, for each tile.
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Amx {
    /// The unit, where this processor and system have it and it multiplies as it should.
    ///
    /// Asks the system to let all threads of this process use it.
    pub(crate) fn detect() -> Option<Self> {
        (processor_has_it() && system_saves_tiles() && permitted()).then_some(Self(()))
    }

    /// Sets the unit up on this thread for sums of `cols` columns: 32 or 64.
    ///
    /// **Panics** while this thread has another value: it would be set up anew under that one's hands.
    pub(crate) fn tiles(self, cols: usize) -> Tiles {
        assert!(matches!(cols, 32 | 64), "columns that share a scale, or whole tiles");
        assert!(!IS_TAKEN.replace(true), "a thread has one value of `Tiles` at a time");
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
        // SAFETY: `self` proves that the processor has the instruction and the system permits it;
        // the configuration is one that palette 1 has room for.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &config, options(nostack, readonly)) };
        Tiles { cols, thread: PhantomData }
    }
}

/// Whether the processor has tiles and multiplies bytes.
fn processor_has_it() -> bool {
    const AMX_TILE: u32 = 1 << 24;
    const AMX_INT8: u32 = 1 << 25;
    const OSXSAVE: u32 = 1 << 27;
    #[allow(unused_unsafe)] // Newer compilers take it for safe.
    // SAFETY: every 64-bit processor has the instruction.
    let (highest, first, seventh) =
        unsafe { (__cpuid(0).eax, __cpuid(1).ecx, __cpuid_count(7, 0).edx) };
    highest >= 7 && first & OSXSAVE != 0 && seventh & (AMX_TILE | AMX_INT8) == AMX_TILE | AMX_INT8
}

/// Whether the system saves the tile registers when it changes threads. The processor must have
/// `xgetbv`, which `processor_has_it` checked.
fn system_saves_tiles() -> bool {
    const TILE_CONFIG_AND_DATA: u32 = 0b11 << 17;
    let enabled: u32;
    // SAFETY: the caller checked the OSXSAVE bit, which says that the instruction is there.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") enabled, out("edx") _, options(nomem, nostack));
    }
    enabled & TILE_CONFIG_AND_DATA == TILE_CONFIG_AND_DATA
}

/// Asks Linux for the tile registers, which it gives to a whole process when asked.
#[cfg(target_os = "linux")]
fn permitted() -> bool {
    const SYS_ARCH_PRCTL: isize = 158;
    const ARCH_REQ_XCOMP_PERM: usize = 0x1023;
    const XFEATURE_XTILEDATA: usize = 18;
    let result: isize;
    // SAFETY: a system call that takes two numbers and touches no memory of this process.
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

/// Other systems are not asked yet.
#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}

thread_local! {
    /// Whether a value of [`Tiles`] lives on this thread. There is no other meanwhile that could set the
    /// unit up in another way, or release it.
    static IS_TAKEN: Cell<bool> = const { Cell::new(false) };
}

/// The unit, set up on this thread while the value lives.
pub(crate) struct Tiles {
    /// Columns of a tile of activations.
    cols: usize,
    /// Tile registers are a thread's own, so the value must stay on it.
    thread: PhantomData<*const ()>,
}

/// Multiplies one group of 32 columns into tile `$sums`.
macro_rules! multiply {
    ($sums:literal, $activations:literal, $weights:literal, $operands:expr) => {{
        let (a, w): (*const i8, *const [u8; 64]) = $operands;
        // SAFETY: a value of `Tiles` proves that the unit is there and, as `IS_TAKEN` lets no other
        // live, still set up on this thread, and the caller that it is so for 32 columns. It reads 16
        // rows of activations, 32 bytes apart, and 8 vectors of weights, which the references that the
        // pointers were made of cover.
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
        // SAFETY: a value of `Tiles` proves that the unit is there and, as `IS_TAKEN` lets no other
        // live, still set up on this thread, and the caller that it is so for 64 columns. It reads 16
        // rows of 64 bytes, and 16 lines of two tiles of columns, which the references cover.
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
        // SAFETY: a value of `Tiles` proves that the unit is there and, as `IS_TAKEN` lets no other
        // live, still set up on this thread. It writes the 16 rows of 64 bytes that the reference
        // covers.
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

impl Tiles {
    /// Makes all sums zero.
    #[inline(always)]
    fn clear(&self) {
        // SAFETY: a value of `Tiles` proves that the unit is there and, as `IS_TAKEN` lets no other
        // live, still set up on this thread; tiles are its registers, and no memory is touched.
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

impl TileUnit for Tiles {
    const TURN_OPS: usize = 4 * 2 * ROWS * ROWS * 64;

    #[inline(always)]
    fn multiply<'a>(
        &self,
        activations: impl Fn(usize) -> &'a [[i8; 32]; ROWS],
        weights: &[GroupBytes],
        out: &mut [TileSums],
        before: impl Fn(usize),
    ) {
        assert_eq!(self.cols, 32, "the unit is set up for a group's columns");
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
        assert_eq!(self.cols, 64, "set up for 64 columns");
        assert_eq!(columns[1].len(), steps, "as many columns of both");
        for rows in rows {
            assert!(rows.len() >= steps, "as many tiles of rows as of columns");
        }
        self.clear();
        for (step, (first, second)) in columns[0].iter().zip(columns[1]).enumerate() {
            before(step);
            // SAFETY: a value of `Tiles` proves that the unit is there and, as `IS_TAKEN` lets no other
            // live, still set up on this thread, and `cols` that it is so for 64 columns. It reads 16
            // lines of each tile, which the references cover.
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
        assert_eq!(self.cols, 64, "set up for 64 columns");
        assert_eq!(columns[1].len(), steps, "as many high tiles as low ones");
        for rows in rows {
            let last = (ROWS - 1) * row_stride + steps.saturating_sub(1) * 64;
            assert!(rows.len() >= last + 64, "rows as long as the columns");
        }
        self.clear();
        for (step, (high, low)) in columns[0].iter().zip(columns[1]).enumerate() {
            // SAFETY: a value of `Tiles` proves that the unit is there and, as `IS_TAKEN` lets no other
            // live, still set up on this thread, and `cols` that it is so for 64 columns. It reads 16
            // rows of 64 bytes, `row_stride` bytes apart, which the slices were checked to hold for
            // each tile, and 16 lines of each tile of columns.
            unsafe {
                // The two products into one tile stand apart: the second waits for the first.
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
            // SAFETY: a value of `Tiles` proves that the unit is there and, as `IS_TAKEN` lets no other
            // live, still set up on this thread; tiles are its registers, and no memory is touched.
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

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: the unit is there, and set up on this thread. Without tiles in use the system has
        // less to save.
        unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) };
        IS_TAKEN.set(false);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_thread_has_the_unit_once_at_a_time() {
        let Some(amx) = Amx::detect() else { return };
        let tiles = amx.tiles(32);
        assert!(catch_unwind(|| amx.tiles(64)).is_err(), "it was set up anew");
        drop(tiles);
        drop(amx.tiles(64));
    }
}
