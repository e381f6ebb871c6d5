//! AMX: the matrix unit of the AVX-512 level, in assembly because its intrinsics are not stable.
//!
//! A tile register holds 16 rows of 64 bytes. The first operand is 16 rows of 64 activations; the second is 64 columns of
//! 16 rows of a weight in its packed layout, `[k / 4][16 rows][4]`; the result is 16 rows of 16 sums.
//!
//! A product of full tiles takes 16 cycles, with operands from the first-level cache 19 to 23, and also if it has only 32
//! columns. A result takes 16 cycles to store; and scaling its 16 rows 25 to 30, of which some are in the shadow of products
//! if they are written between them. (While any tile instruction is in flight, including loads and stores, the second of the
//! two ports for 512-bit float multiplication is blocked.) So sums of 32 columns, each with its own scale, took 75 to 110
//! cycles on a Xeon with 48 KiB of first-level cache; sums of 256 columns of integers in two bytes take about 35 for as many.

// Instructions for tiles are written as assembly.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::cell::Cell;
use std::marker::PhantomData;

use crate::lanes::{
    CHUNK_TILES, ColumnTile, ColumnTiles, ExtraTiles, MatrixUnit, RowTile, TileSums, VECTOR_BYTES,
};

/// A proof that this processor has AMX for bytes and bfloat16 numbers and that the system permits this process to use it. Only
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

    /// Configures the unit on this thread for products of bytes.
    ///
    /// **Panics** if this thread has configured it already.
    pub(crate) fn tiles(self) -> AmxTiles {
        AmxTiles { _configured: self.configure(ROWS) }
    }

    /// Configures the unit on this thread for products of bfloat16 numbers, with blocks of `num_rows` rows.
    ///
    /// **Panics** if this thread has configured it already, or if there are no rows or more than 16.
    pub(crate) fn bf16_tiles(self, num_rows: usize) -> Bf16Tiles {
        Bf16Tiles::new(self.configure(num_rows))
    }

    /// Configures the unit on this thread for first operands of `num_rows` rows.
    fn configure(self, num_rows: usize) -> Configured {
        assert!((1..=ROWS).contains(&num_rows), "a tile has 1 to 16 rows");
        assert!(!IS_CONFIGURED.replace(true), "a thread configures the unit once at a time");
        let mut config = TileConfig {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes: [0; 16],
            rows: [0; 16],
        };
        // Tiles 0 to 3 are results, 4 and 5 first operands, 6 and 7 second ones.
        config.row_bytes[..8].fill(VECTOR_BYTES as u16);
        config.rows[..6].fill(num_rows as u8);
        config.rows[6..8].fill(ROWS as u8);
        // SAFETY: `self` proves that the processor has the instruction and the system permits it; the
        // configuration is valid for palette 1.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &config, options(nostack, readonly)) };
        Configured { num_rows, thread: PhantomData }
    }
}

/// Whether the processor has tiles, and products of bytes and of bfloat16 numbers.
fn processor_has_it() -> bool {
    const AMX_TILE: u32 = 1 << 24;
    const AMX_INT8: u32 = 1 << 25;
    const AMX_BF16: u32 = 1 << 22;
    const ALL: u32 = AMX_TILE | AMX_INT8 | AMX_BF16;
    const OSXSAVE: u32 = 1 << 27;
    #[allow(unused_unsafe)] // It is safe in newer compilers.
    // SAFETY: every 64-bit processor has the instruction.
    let (highest, first, seventh) =
        unsafe { (__cpuid(0).eax, __cpuid(1).ecx, __cpuid_count(7, 0).edx) };
    highest >= 7 && first & OSXSAVE != 0 && seventh & ALL == ALL
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
    /// Whether a value of [`Configured`] exists on this thread. Only one may exist, so that no other value
    /// reconfigures or releases the unit.
    static IS_CONFIGURED: Cell<bool> = const { Cell::new(false) };
}

/// The unit is configured on this thread while the value lives.
struct Configured {
    /// Rows of first operands and of sums.
    num_rows: usize,
    /// Tile registers belong to a thread, so the value must not be sent to another.
    thread: PhantomData<*const ()>,
}

/// The unit, configured for products of bytes.
pub(crate) struct AmxTiles {
    _configured: Configured,
}

/// Adds the products of a tile of rows and the high and low bytes of 64 columns to tiles `$high` and `$low`. The rows are
/// loaded to tile `$rows`: tiles 4 and 5 alternate, so that the load does not wait for the product before.
macro_rules! add_products {
    ($high:literal, $low:literal, $rows:literal, $row_tile:expr, $columns:expr) => {{
        let rows: &RowTile = $row_tile;
        let [high, low]: [&ColumnTile; 2] = $columns;
        // SAFETY: a value of `Configured` proves that the unit exists and, since `IS_CONFIGURED` prevents other values, is
        // still configured on this thread. The assembly reads 16 lines of three tiles, which the references cover.
        unsafe {
            asm!(
                concat!("tileloadd tmm", $rows, ", [{rows} + {line}]"),
                "tileloadd tmm6, [{high} + {line}]",
                concat!("tdpbssd tmm", $high, ", tmm", $rows, ", tmm6"),
                "tileloadd tmm7, [{low} + {line}]",
                concat!("tdpbsud tmm", $low, ", tmm", $rows, ", tmm7"),
                rows = in(reg) rows.as_ptr(),
                high = in(reg) high.as_ptr(),
                low = in(reg) low.as_ptr(),
                line = in(reg) 64usize,
                options(nostack, readonly, preserves_flags),
            )
        }
    }};
}

/// Makes tiles zero.
macro_rules! clear {
    ($($tile:literal)*) => {
        // SAFETY: a value of `Configured` proves that the unit exists and, since `IS_CONFIGURED` prevents other values, is
        // still configured on this thread. The assembly touches no memory.
        unsafe {
            asm!($(concat!("tilezero tmm", $tile)),*, options(nomem, nostack, preserves_flags));
        }
    };
}

/// Stores tile `$sums`.
macro_rules! store {
    ($sums:literal, $out:expr) => {
        // SAFETY: a value of `Configured` proves that the unit exists and, since `IS_CONFIGURED` prevents other values, is
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

impl MatrixUnit for AmxTiles {
    const TURN_OPS: usize = 4 * 2 * ROWS * ROWS * 64;

    #[inline(always)]
    fn multiply_bytes<const SET: usize>(
        &self,
        num_tiles: usize,
        rows: &[RowTile; CHUNK_TILES],
        columns: &mut impl ColumnTiles,
        before: Option<&mut [TileSums; 2]>,
    ) {
        const { assert!(CHUNK_TILES == 4, "each tile is multiplied") };
        const { assert!(SET < 2, "one of two sets") };
        let [high_before, low_before] = match before {
            Some([high, low]) => [Some(high), Some(low)],
            None => [None, None],
        };
        // The sums of this product, and those of the one before. The latter are stored a while after its last instruction:
        // a store that has to wait would occupy what other instructions need.
        macro_rules! multiply {
            ($high:literal, $low:literal, $high_before:literal, $low_before:literal) => {{
                clear!($high $low);
                // Not a loop: the number of a tile is a constant.
                let columns_of_tile = columns.tile::<0>();
                if num_tiles > 0 {
                    add_products!($high, $low, "4", &rows[0], columns_of_tile);
                }
                let columns_of_tile = columns.tile::<1>();
                if num_tiles > 1 {
                    add_products!($high, $low, "5", &rows[1], columns_of_tile);
                }
                if let Some(sums) = high_before {
                    store!($high_before, sums);
                }
                let columns_of_tile = columns.tile::<2>();
                if num_tiles > 2 {
                    add_products!($high, $low, "4", &rows[2], columns_of_tile);
                }
                if let Some(sums) = low_before {
                    store!($low_before, sums);
                }
                let columns_of_tile = columns.tile::<3>();
                if num_tiles > 3 {
                    add_products!($high, $low, "5", &rows[3], columns_of_tile);
                }
                if let Some(ExtraTiles { rows, columns: [high, low] }) = columns.extra() {
                    add_products!($high, $low, "4", rows, [high, low]);
                }
            }};
        }
        if SET == 0 { multiply!("0", "1", "2", "3") } else { multiply!("2", "3", "0", "1") }
    }

    #[inline(always)]
    fn store_bytes<const SET: usize>(&self, [high, low]: &mut [TileSums; 2]) {
        const { assert!(SET < 2, "one of two sets") };
        if SET == 0 {
            store!("0", high);
            store!("1", low);
        } else {
            store!("2", high);
            store!("3", low);
        }
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
        assert_eq!(columns[1].len(), steps, "as many high tiles as low ones");
        let last_row = (ROWS - 1).checked_mul(row_stride);
        let end = last_row.and_then(|last_row| last_row.checked_add(steps * 64));
        let end = end.expect("rows within the address space");
        assert!(rows.iter().all(|rows| rows.len() >= end), "rows as long as the columns");
        clear!("0" "1" "2");
        for (step, (high, low)) in columns[0].iter().zip(columns[1]).enumerate() {
            // SAFETY: a value of `Configured` proves that the unit exists and, since `IS_CONFIGURED` prevents others,
            // is still configured on this thread. The assembly reads 16 rows of 64 bytes, `row_stride` bytes apart,
            // which the slices were checked to hold for each tile, and 16 lines of each tile of columns.
            unsafe {
                // The two products into one tile are separated: the second waits for the first. (A fourth tile for one
                // of them is no faster, since it must be stored and added: 256 tokens after 3840 others take 3% longer.)
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
            // SAFETY: a value of `Configured` proves that the unit exists and, since `IS_CONFIGURED` prevents others,
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

impl Drop for Configured {
    fn drop(&mut self) {
        // SAFETY: the unit exists and is configured on this thread. Once released, the system has less state
        // to save.
        unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) };
        IS_CONFIGURED.set(false);
    }
}

// After `clear` and `store`, which it uses.
mod bf16;
#[cfg(test)]
mod tests;

pub(crate) use bf16::Bf16Tiles;
